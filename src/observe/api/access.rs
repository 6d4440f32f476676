//! Owns the client of the API server: built from a credential, built again when its files change or a 401 says so.
//! It must not log or show a credential, nor wait for a file or a plugin without a deadline.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use kube::client::AuthError;
use kube::config::{AuthInfo, Cluster, Config};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::super::Failure;
use super::super::discover::{Credential, Env};
use super::proxy::{proxy_for, shown};
use super::{kubeconfig, plugin};
use crate::observation::{ErrorKind, SourceError, Time};

/// Longest time for TCP and TLS together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time for reading the credential's files.
const FILES_DEADLINE: Duration = Duration::from_secs(5);
/// Longest time for a credential plugin.
const PLUGIN_DEADLINE: Duration = Duration::from_secs(15);
/// What failed just now is not tried again for the next source that asks.
const FAILED_FOR: Duration = Duration::from_secs(1);
/// A credential that ends within this time is asked for again.
const MARGIN: TimeDelta = TimeDelta::seconds(60);

/// What tells that a file is another than before, seen through symbolic links: those are what rotates.
type FileStamp = Option<(u64, i64, i64, u64)>;

/// A way to the API server. Cheap to clone; clones share one client.
#[derive(Clone)]
pub struct ApiAccess {
    credential: Credential,
    env: Env,
    plugin_deadline: Duration,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    built: Option<Built>,
    failed: Option<(Instant, Failure)>,
    builds: u64,
}

struct Built {
    files: Vec<(PathBuf, FileStamp)>,
    until: Option<Time>,
    way: Way,
}

/// A client, and what is said of where it goes.
#[derive(Clone)]
pub(super) struct Way {
    pub client: kube::Client,
    /// The server's address, and the proxy on the way to it.
    pub server: Arc<str>,
    /// The credential says whose certificates to trust.
    pub names_ca: bool,
    build: u64,
}

/// Who to ask, and as whom.
pub(super) struct Target {
    pub cluster: Cluster,
    pub user: AuthInfo,
    /// Files whose change makes it another.
    pub files: Vec<PathBuf>,
}

impl ApiAccess {
    /// Access with a credential; `env` is where proxies are named.
    pub fn new(credential: Credential, env: Env) -> Self {
        Self { credential, env, plugin_deadline: PLUGIN_DEADLINE, shared: Arc::default() }
    }

    /// Waits for a credential plugin no longer than this.
    #[must_use]
    pub fn plugin_deadline(self, plugin_deadline: Duration) -> Self {
        Self { plugin_deadline, ..self }
    }

    /// The client; built anew when a file has changed since, or when the credential is about to end.
    pub(super) async fn way(&self) -> Result<Way, Failure> {
        let mut shared = self.shared.lock().await;
        if let Some(built) = &shared.built {
            let ends = built.until.is_some_and(|until| Utc::now() + MARGIN >= until);
            if !ends && !changed(built.files.clone()).await {
                return Ok(built.way.clone());
            }
        }
        if let Some((at, failure)) = &shared.failed
            && at.elapsed() < FAILED_FOR
        {
            return Err(failure.clone());
        }
        shared.builds += 1;
        match self.build(shared.builds).await {
            Ok(built) => {
                let way = built.way.clone();
                (shared.built, shared.failed) = (Some(built), None);
                Ok(way)
            }
            Err(failure) => {
                (shared.built, shared.failed) = (None, Some((Instant::now(), failure.clone())));
                Err(failure)
            }
        }
    }

    /// The server did not accept this client: the next is built from what the files hold then.
    pub(super) async fn forget(&self, way: &Way) {
        let mut shared = self.shared.lock().await;
        if shared.built.as_ref().is_some_and(|b| b.way.build == way.build) {
            shared.built = None;
        }
    }

    async fn build(&self, build: u64) -> Result<Built, Failure> {
        let (credential, env) = (self.credential.clone(), self.env.clone());
        let target = within(&self.credential, move || {
            let target = kubeconfig::target(&credential, &env)?;
            // Stamped before the client reads them: what changes meanwhile is seen as changed.
            let files = target.files.iter().map(|path| (path.clone(), file_stamp(path))).collect::<Vec<_>>();
            Ok((target, files))
        });
        let (Target { cluster, mut user, .. }, files) = target.await?;
        let until = plugin::resolve(&mut user, &cluster, self.plugin_deadline).await?;
        let (credential, env) = (self.credential.clone(), self.env.clone());
        let client = within(&self.credential, move || client(&credential, cluster, user, &env));
        let (client, server, names_ca) = client.await?;
        Ok(Built { files, until, way: Way { client, server: server.into(), names_ca, build } })
    }
}

/// Does what waits for a file system on another thread: all sources share this one.
async fn within<T: Send + 'static>(
    credential: &Credential,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    match timeout(FILES_DEADLINE, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(useless(credential, "it could not be read")),
        Err(_) => Err(failed(
            format!("read {}: no answer within {} s", named(credential), FILES_DEADLINE.as_secs()),
            ErrorKind::Timeout,
            "the file system that holds it hangs",
        )),
    }
}

fn client(
    credential: &Credential,
    cluster: Cluster,
    user: AuthInfo,
    env: &Env,
) -> Result<(kube::Client, String, bool), Failure> {
    let server = cluster.server.as_deref().unwrap_or_default();
    let uri: http::Uri = server.parse().map_err(|_| useless(credential, "the server's address cannot be read"))?;
    if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(useless(credential, "the server's address is no http or https URL"));
    }
    let mut config = Config::new(uri);
    config.root_cert = kubeconfig::authorities(credential, &cluster)?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    config.tls_server_name = cluster.tls_server_name;
    config.auth_info = user;
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // Deadlines are the caller's: a watch is silent for minutes.
    config.read_timeout = None;
    config.write_timeout = None;
    config.proxy_url = proxy_for(&config.cluster_url, cluster.proxy_url.as_deref(), env).map_err(|why| {
        let fix = "correct proxy-url in the kubeconfig or HTTPS_PROXY, or name the API server in NO_PROXY";
        failed(format!("go to {}: {why}", config.cluster_url), ErrorKind::Other, fix)
    })?;
    let mut server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    if let Some(proxy) = &config.proxy_url {
        server = format!("{server} through the proxy {}", shown(proxy));
    }
    let names_ca = config.root_cert.is_some() || config.accept_invalid_certs;
    let client = kube::Client::try_from(config).map_err(|error| match error {
        kube::Error::Auth(AuthError::ReadTokenFile(error, path)) => kubeconfig::no_file(&path, &error),
        // The rest of this kind may quote what a command printed.
        kube::Error::Auth(_) => useless(credential, "its way of logging in cannot be used here"),
        _ if !names_ca => useless(credential, kubeconfig::NO_CA),
        error => useless(credential, &error.to_string()),
    })?;
    Ok((client, server, names_ca))
}

fn named(credential: &Credential) -> String {
    match credential {
        Credential::Kubeconfig(paths) => paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(":"),
        Credential::ServiceAccount(dir) => dir.display().to_string(),
    }
}

/// The credential is there and of no use.
pub(super) fn useless(credential: &Credential, why: &str) -> Failure {
    let tried = format!("use the credential in {}: {why}", named(credential));
    failed(tried, ErrorKind::Other, "give another one with --kubeconfig")
}

pub(super) fn failed(tried: String, kind: ErrorKind, fix: &str) -> Failure {
    Failure::Retry(SourceError { tried: tried.into(), kind, fix: fix.into() })
}

/// A file system that hangs says nothing new: what was read before still serves.
async fn changed(files: Vec<(PathBuf, FileStamp)>) -> bool {
    let look = move || files.iter().any(|(path, stamp)| file_stamp(path) != *stamp);
    matches!(timeout(FILES_DEADLINE, tokio::task::spawn_blocking(look)).await, Ok(Ok(true)))
}

fn file_stamp(path: &Path) -> FileStamp {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.ino(), meta.ctime(), meta.ctime_nsec(), meta.len()))
}
