//! The client of the API server: built from a credential, and built again when its files change or after a 401. No
//! credential is logged or shown.

use std::sync::Arc;
use std::time::Duration;

use kube::client::AuthError;
use kube::config::{AuthInfo, Cluster, Config};

use super::super::SourceFailure;
use super::super::client_cache::{Built, ClientCache, FILES_DEADLINE, StampedFiles};
use super::super::discover::{Credential, Env};
use super::super::kubeconfig::{self, ClusterTarget, describe, failed, unusable};
use super::plugin::{PluginRun, PluginRunner};
use super::proxy::{describe_proxy, proxy_for};
use crate::observation::ErrorKind;
use crate::text::without_user;

/// Longest time for TCP and TLS together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time for a credential plugin.
const PLUGIN_DEADLINE: Duration = Duration::from_secs(15);
/// After a failure the client is not built again for this time, whichever source needs it.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Access to the API server. Cheap to clone; clones share one client.
#[derive(Clone)]
pub struct ApiAccess {
    credential: Credential,
    context: Option<String>,
    env: Env,
    plugin_deadline: Duration,
    plugin_run: PluginRun,
    cache: ClientCache<ApiConnection>,
}

/// A client, and what errors show of its server.
#[derive(Clone)]
pub(super) struct ApiConnection {
    pub client: kube::Client,
    /// The server's address, and the proxy in front of it.
    pub server: Arc<str>,
    /// The credential names the CA to trust, or that none is verified.
    pub names_ca: bool,
    /// The server's certificate is verified.
    pub verified: bool,
    build: u64,
}

impl ApiAccess {
    /// Access with a credential; `env` is the environment that names proxies.
    pub fn new(credential: Credential, env: Env) -> Self {
        let (context, plugin_run, cache) = (None, PluginRun::default(), ClientCache::new(RETRY_AFTER));
        Self { credential, context, env, plugin_deadline: PLUGIN_DEADLINE, plugin_run, cache }
    }

    /// With this context of the kubeconfig instead of its current one.
    #[must_use]
    pub fn context(self, context: Option<String>) -> Self {
        Self { context, ..self }
    }

    /// With another deadline for a credential plugin.
    #[must_use]
    pub fn plugin_deadline(self, plugin_deadline: Duration) -> Self {
        Self { plugin_deadline, ..self }
    }

    /// Contains the program of the credential plugin, once it was run.
    pub fn plugin_run(&self) -> PluginRun {
        Arc::clone(&self.plugin_run)
    }

    /// The client; another one when a file has changed since, or when the credential expires soon.
    pub(super) async fn connection(&self) -> Result<ApiConnection, SourceFailure> {
        self.cache.get(|build| self.build(build)).await
    }

    /// Drops a client whose credential the server rejected: the next is built from the files' current contents.
    pub(super) async fn discard(&self, conn: &ApiConnection) {
        self.cache.discard(conn.build).await;
    }

    async fn build(&self, build: u64) -> Result<Built<ApiConnection>, SourceFailure> {
        let (credential, context, env) = (self.credential.clone(), self.context.clone(), self.env.clone());
        let target = self.run_blocking(move || {
            let mut target = kubeconfig::read_target(&credential, context.as_deref(), &env)?;
            let files = StampedFiles::new(target.files.iter().cloned());
            kubeconfig::load_files(&credential, &mut target.user)?;
            Ok((target, files))
        });
        let (ClusterTarget { cluster, mut user, plugin, .. }, files) = target.await?;
        let plugin = PluginRunner { rule: plugin, deadline: self.plugin_deadline, run: &self.plugin_run };
        let expires_at = plugin.resolve(self.cache.worker(), &mut user, &cluster).await?;
        let verified = !cluster.insecure_skip_tls_verify.unwrap_or(false);
        let (credential, env) = (self.credential.clone(), self.env.clone());
        let client = self.run_blocking(move || client(&credential, cluster, user, &env));
        let (client, server, names_ca) = client.await?;
        let client = ApiConnection { client, server: server.into(), names_ca, verified, build };
        Ok(Built { client, files, expires_at })
    }

    /// Runs what waits for a file system on another thread: all sources share this one.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, SourceFailure> + Send + 'static,
    ) -> Result<T, SourceFailure> {
        self.cache.worker().run(FILES_DEADLINE, work).await.unwrap_or_else(|| {
            let tried =
                format!("read {}: no response within {}s", describe(&self.credential), FILES_DEADLINE.as_secs());
            Err(failed(tried, ErrorKind::Timeout, "check the file system that contains it: it does not respond"))
        })
    }
}

/// The client, the server as it is shown, and whether the credential names a CA. Blocks.
fn client(
    credential: &Credential,
    cluster: Cluster,
    user: AuthInfo,
    env: &Env,
) -> Result<(kube::Client, String, bool), SourceFailure> {
    let server = cluster.server.as_deref().unwrap_or_default();
    let uri: http::Uri = server.parse().map_err(|_| unusable(credential, "the server's address is not a URL"))?;
    if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(unusable(credential, "the server's address is not an http or https URL"));
    }
    let mut config = Config::new(uri);
    config.root_cert = kubeconfig::authorities(credential, &cluster)?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    if config.accept_invalid_certs || config.cluster_url.scheme_str() == Some("http") {
        // Else kube reads the machine's own CAs, which are not needed, and fails where there are none.
        config.root_cert.get_or_insert_default();
    }
    config.tls_server_name = cluster.tls_server_name.filter(|name| !name.is_empty());
    config.auth_info = user;
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // The caller sets deadlines: a watch is silent for minutes.
    config.read_timeout = None;
    config.write_timeout = None;
    config.proxy_url = proxy_for(&config.cluster_url, cluster.proxy_url.as_deref(), env).map_err(|why| {
        let fix = "correct proxy-url in the kubeconfig or HTTPS_PROXY, or list the API server in NO_PROXY";
        let tried = format!("connect to {}: {why}", without_user(&config.cluster_url.to_string()));
        failed(tried, ErrorKind::Other, fix)
    })?;
    let mut server = without_user(&config.cluster_url.to_string()).trim_end_matches('/').to_owned();
    if let Some(proxy) = &config.proxy_url {
        server = format!("{server} through the proxy {}", describe_proxy(proxy));
    }
    let names_ca = config.root_cert.is_some() || config.accept_invalid_certs;
    let client = kube::Client::try_from(config).map_err(|error| match error {
        kube::Error::Auth(AuthError::ReadTokenFile(error, path)) => kubeconfig::unreadable(&path.into(), &error),
        // Other errors of this kind may quote a command's output.
        kube::Error::Auth(_) => unusable(credential, "its authentication method is not supported"),
        _ if !names_ca => unusable(credential, kubeconfig::NO_CA),
        error => unusable(credential, &error.to_string()),
    })?;
    Ok((client, server, names_ca))
}
