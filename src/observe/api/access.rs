//! Owns the client of the API server: built from a credential, built again when its files change or a 401 says so.
//! It must not log or show a credential.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use tokio::sync::Mutex;

use super::super::Failure;
use super::super::discover::{Credential, Env};
use super::proxy::proxy_for;
use crate::observation::{ErrorKind, SourceError};

/// Longest time for TCP and TLS together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What tells that a file is another than before.
type FileStamp = Option<(u64, i64, i64, u64)>;

/// A way to the API server. Cheap to clone; clones share one client.
#[derive(Clone)]
pub struct ApiAccess {
    credential: Credential,
    env: Env,
    built: Arc<Mutex<Option<Built>>>,
}

struct Built {
    files: Vec<(PathBuf, FileStamp)>,
    client: kube::Client,
    server: String,
}

impl ApiAccess {
    /// Access with a credential; `env` is where proxies are named.
    pub fn new(credential: Credential, env: Env) -> Self {
        Self { credential, env, built: Arc::new(Mutex::new(None)) }
    }

    /// The client and the server's address; built anew when a file has changed since.
    pub(super) async fn client(&self) -> Result<(kube::Client, String), Failure> {
        let mut built = self.built.lock().await;
        if built.as_ref().is_none_or(|b| b.files.iter().any(|(path, stamp)| file_stamp(path) != *stamp)) {
            *built = Some(self.build().await?);
        }
        match built.as_ref() {
            Some(b) => Ok((b.client.clone(), b.server.clone())),
            None => Err(self.useless("no client was built")),
        }
    }

    /// Forgets the client: the server did not accept it.
    pub(super) async fn forget(&self) {
        *self.built.lock().await = None;
    }

    async fn build(&self) -> Result<Built, Failure> {
        let (mut config, mut files) = match &self.credential {
            Credential::Kubeconfig(paths) => self.kubeconfig(paths).await?,
            Credential::ServiceAccount(dir) => {
                let config = Config::incluster_env().map_err(|e| self.useless(&e.to_string()))?;
                (config, vec![dir.join("token"), dir.join("ca.crt")])
            }
        };
        let auth = &config.auth_info;
        let named = [&auth.client_certificate, &auth.client_key, &auth.token_file];
        files.extend(named.into_iter().flatten().map(PathBuf::from));
        config.default_retry = false;
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        // Deadlines are the caller's: a watch is silent for minutes.
        config.read_timeout = None;
        config.write_timeout = None;
        config.proxy_url = proxy_for(&config.cluster_url, &self.env);
        let server = config.cluster_url.to_string();
        let files = files.into_iter().map(|path| (path.clone(), file_stamp(&path))).collect();
        let client = kube::Client::try_from(config).map_err(|e| self.useless(&e.to_string()))?;
        Ok(Built { files, client, server: server.trim_end_matches('/').to_owned() })
    }

    async fn kubeconfig(&self, paths: &[PathBuf]) -> Result<(Config, Vec<PathBuf>), Failure> {
        let mut merged = Kubeconfig::default();
        for path in paths {
            let one = Kubeconfig::read_from(path).map_err(|e| self.unreadable(path, &e.to_string()))?;
            merged = merged.merge(one).map_err(|e| self.useless(&e.to_string()))?;
        }
        let options = KubeConfigOptions::default();
        let config =
            Config::from_custom_kubeconfig(merged, &options).await.map_err(|e| self.useless(&e.to_string()))?;
        Ok((config, paths.to_vec()))
    }

    fn unreadable(&self, path: &Path, why: &str) -> Failure {
        let fix = "run as root, or give a credential that this user may read with --kubeconfig";
        failed(format!("read {}: {why}", path.display()), ErrorKind::Denied, fix)
    }

    fn useless(&self, why: &str) -> Failure {
        let from = match &self.credential {
            Credential::Kubeconfig(paths) => {
                paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(":")
            }
            Credential::ServiceAccount(dir) => dir.display().to_string(),
        };
        failed(format!("use the credential in {from}: {why}"), ErrorKind::Other, "give another one with --kubeconfig")
    }
}

fn failed(tried: String, kind: ErrorKind, fix: &str) -> Failure {
    Failure::Retry(SourceError { tried: tried.into(), kind, fix: fix.into() })
}

fn file_stamp(path: &Path) -> FileStamp {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.ino(), meta.ctime(), meta.ctime_nsec(), meta.len()))
}
