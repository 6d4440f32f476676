//! Owns the client of the API server: built from a credential, built again when its files change or a 401 says so.
//! It must not log or show a credential, nor wait for a file or a plugin without a deadline.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::time::TimeDelta;
use kube::client::AuthError;
use kube::config::{AuthInfo, Cluster, Config};
use tokio::sync::Mutex;

use super::super::SourceFailure;
use super::super::blocking::BlockingWorker;
use super::super::discover::{Credential, Env};
use super::super::kubeconfig::{self, ClusterTarget, describe, failed, unusable};
use super::plugin::PluginRunner;
use super::proxy::{proxy_for, shown};
use crate::observation::{ErrorKind, Time};
use crate::text::without_user;
use crate::trust::{self, KnownFile};

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

/// Its stamp, as far as it can be looked at.
type FileStamp = Option<trust::FileStamp>;

/// The program of the credential plugin, once one was run.
pub type PluginRun = Arc<OnceLock<String>>;

/// A conn to the API server. Cheap to clone; clones share one client.
#[derive(Clone)]
pub struct ApiAccess {
    credential: Credential,
    context: Option<String>,
    env: Env,
    plugin_deadline: Duration,
    plugin_run: PluginRun,
    /// Looks at files, and starts plugins: both may hang.
    worker: BlockingWorker,
    shared: Arc<Mutex<AccessState>>,
}

#[derive(Default)]
struct AccessState {
    built: Option<BuiltConnection>,
    failed: Option<(Instant, SourceFailure)>,
    builds: u64,
}

struct BuiltConnection {
    files: Vec<(KnownFile, FileStamp)>,
    until: Option<Time>,
    conn: ApiConnection,
}

/// A client, and what is said of where it goes.
#[derive(Clone)]
pub(super) struct ApiConnection {
    pub client: kube::Client,
    /// The server's address, and the proxy on the conn to it.
    pub server: Arc<str>,
    /// The credential says whose certificates to trust.
    pub names_ca: bool,
    /// Who answers is verified.
    pub verified: bool,
    build: u64,
}

impl ApiAccess {
    /// Access with a credential; `env` is where proxies are named.
    pub fn new(credential: Credential, env: Env) -> Self {
        let (worker, shared, plugin_run) = Default::default();
        Self { credential, context: None, env, plugin_deadline: PLUGIN_DEADLINE, plugin_run, worker, shared }
    }

    /// With that context of the kubeconfig instead of its current one.
    #[must_use]
    pub fn context(self, context: Option<String>) -> Self {
        Self { context, ..self }
    }

    /// Waits for a credential plugin no longer than this.
    #[must_use]
    pub fn plugin_deadline(self, plugin_deadline: Duration) -> Self {
        Self { plugin_deadline, ..self }
    }

    /// Tells, from when one was run, which credential plugin it was.
    pub fn plugin_run(&self) -> PluginRun {
        Arc::clone(&self.plugin_run)
    }

    /// The client; built anew when a file has changed since, or when the credential is about to end.
    pub(super) async fn connection(&self) -> Result<ApiConnection, SourceFailure> {
        let mut shared = self.shared.lock().await;
        if let Some(built) = &shared.built {
            let ends = built.until.is_some_and(|until| Time::now() + MARGIN >= until);
            if !ends && !self.changed(built.files.clone()).await {
                return Ok(built.conn.clone());
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
                let conn = built.conn.clone();
                (shared.built, shared.failed) = (Some(built), None);
                Ok(conn)
            }
            Err(failure) => {
                (shared.built, shared.failed) = (None, Some((Instant::now(), failure.clone())));
                Err(failure)
            }
        }
    }

    /// The server did not accept this client: the next is built from what the files hold then.
    pub(super) async fn discard(&self, conn: &ApiConnection) {
        let mut shared = self.shared.lock().await;
        if shared.built.as_ref().is_some_and(|b| b.conn.build == conn.build) {
            shared.built = None;
        }
    }

    async fn build(&self, build: u64) -> Result<BuiltConnection, SourceFailure> {
        let (credential, context, env) = (self.credential.clone(), self.context.clone(), self.env.clone());
        let target = self.within(move || {
            let mut target = kubeconfig::read_target(&credential, context.as_deref(), &env)?;
            // Stamped before the client reads them: what changes meanwhile is seen as changed.
            let files = target.files.iter().map(|file| (file.clone(), file.stamp().ok())).collect::<Vec<_>>();
            kubeconfig::load_files(&credential, &mut target.user)?;
            Ok((target, files))
        });
        let (ClusterTarget { cluster, mut user, plugin, .. }, files) = target.await?;
        let plugin = PluginRunner { rule: plugin, deadline: self.plugin_deadline, run: &self.plugin_run };
        let until = plugin.resolve(&self.worker, &mut user, &cluster).await?;
        let verified = !cluster.insecure_skip_tls_verify.unwrap_or(false);
        let (credential, env) = (self.credential.clone(), self.env.clone());
        let client = self.within(move || client(&credential, cluster, user, &env));
        let (client, server, names_ca) = client.await?;
        Ok(BuiltConnection {
            files,
            until,
            conn: ApiConnection { client, server: server.into(), names_ca, verified, build },
        })
    }

    /// Does what waits for a file system on another thread: all sources share this one.
    async fn within<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, SourceFailure> + Send + 'static,
    ) -> Result<T, SourceFailure> {
        self.worker.run(FILES_DEADLINE, work).await.unwrap_or_else(|| {
            Err(failed(
                format!("read {}: no answer within {} s", describe(&self.credential), FILES_DEADLINE.as_secs()),
                ErrorKind::Timeout,
                "the file system that holds it hangs",
            ))
        })
    }

    /// A file system that hangs says nothing new: what was read before still serves.
    async fn changed(&self, files: Vec<(KnownFile, FileStamp)>) -> bool {
        let look = move || files.iter().any(|(file, stamp)| file.stamp().ok() != *stamp);
        self.worker.run(FILES_DEADLINE, look).await == Some(true)
    }
}

fn client(
    credential: &Credential,
    cluster: Cluster,
    user: AuthInfo,
    env: &Env,
) -> Result<(kube::Client, String, bool), SourceFailure> {
    let server = cluster.server.as_deref().unwrap_or_default();
    let uri: http::Uri = server.parse().map_err(|_| unusable(credential, "the server's address cannot be read"))?;
    if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(unusable(credential, "the server's address is no http or https URL"));
    }
    let mut config = Config::new(uri);
    config.root_cert = kubeconfig::authorities(credential, &cluster)?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    if config.accept_invalid_certs || config.cluster_url.scheme_str() == Some("http") {
        // kube would read the machine's own CAs, which nothing is compared with, and fail where it has none.
        config.root_cert.get_or_insert_default();
    }
    config.tls_server_name = cluster.tls_server_name.filter(|name| !name.is_empty());
    config.auth_info = user;
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // Deadlines are the caller's: a watch is silent for minutes.
    config.read_timeout = None;
    config.write_timeout = None;
    config.proxy_url = proxy_for(&config.cluster_url, cluster.proxy_url.as_deref(), env).map_err(|why| {
        let fix = "correct proxy-url in the kubeconfig or HTTPS_PROXY, or name the API server in NO_PROXY";
        failed(format!("go to {}: {why}", without_user(&config.cluster_url.to_string())), ErrorKind::Other, fix)
    })?;
    let mut server = without_user(&config.cluster_url.to_string()).trim_end_matches('/').to_owned();
    if let Some(proxy) = &config.proxy_url {
        server = format!("{server} through the proxy {}", shown(proxy));
    }
    let names_ca = config.root_cert.is_some() || config.accept_invalid_certs;
    let client = kube::Client::try_from(config).map_err(|error| match error {
        kube::Error::Auth(AuthError::ReadTokenFile(error, path)) => kubeconfig::unreadable(&path.into(), &error),
        // The rest of this kind may quote what a command printed.
        kube::Error::Auth(_) => unusable(credential, "its conn of logging in cannot be used here"),
        _ if !names_ca => unusable(credential, kubeconfig::NO_CA),
        error => unusable(credential, &error.to_string()),
    })?;
    Ok((client, server, names_ca))
}
