//! Finds what is on the node: name, sockets, credentials, the kubelet and its logs. It reads small files, does not connect, and
//! records each step for `doctor`.

mod bounds;
mod certificate;
mod cgroup;
mod credential;
mod cri;
mod defaults;
mod flags;
mod found;
#[doc(hidden)]
pub mod fuzzing;
mod kubelet;
mod node;
mod one_key;
mod port;
mod process;
mod proof;
mod root;
mod settings;
#[cfg(test)]
mod tests;

pub use bounds::{Bounds, LogDirs};
pub use certificate::{base64, to_base64, validity};
pub use credential::Credential;
pub use defaults::POD_LOGS;
pub use found::{Discovered, SearchStep};
pub use kubelet::{KubeletPlace, LogPlan};
pub use port::{PortDoubt, PortProof};
pub use root::{Miss, Root, within};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use process::{Kubelet, Kubelets};
use settings::Settings;

/// Environment variables by name, passed in so that nothing here depends on the process.
pub type Env = BTreeMap<String, String>;

/// The node: its root, the environment, and the running or configured kubelet.
///
/// All methods block, for at most the root's deadline per file. Not `Debug`: an environment contains secrets.
#[derive(Clone)]
pub struct Host {
    root: Root,
    env: Env,
    kubelets: Kubelets,
    settings: Settings,
}

impl Host {
    /// Reads the processes and the kubelet's settings under `root`.
    pub fn look(root: Root, env: Env) -> Self {
        let kubelets = process::kubelets(&root);
        let settings = Settings::read(&root, kubelets.proven.as_ref());
        Self { root, env, kubelets, settings }
    }

    /// The root of the file system.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The environment.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The running kubelet, if it is proven to be the node's.
    fn kubelet(&self) -> Option<&Kubelet> {
        self.kubelets.proven.as_ref()
    }

    /// True for the kubeconfig of the kubelet, running or not.
    pub fn is_kubelet_kubeconfig(&self, path: &Path) -> bool {
        self.node_kubeconfigs().iter().any(|own| own.path() == path)
    }

    /// The kubelet's configuration file.
    pub fn kubelet_config(&self) -> Option<PathBuf> {
        self.settings.config_file().map(PathBuf::from)
    }

    /// True with a running kubelet that is proven to be the node's.
    pub fn kubelet_runs(&self) -> bool {
        self.kubelet().is_some()
    }

    /// True with a running or configured kubelet.
    pub fn is_node(&self) -> bool {
        self.kubelet_runs() || self.settings.any() || self.root.exists("/var/lib/kubelet") != Ok(false)
    }
}
