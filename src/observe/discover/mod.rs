//! Owns how everything on the node is found: its name, sockets, credentials, the kubelet's place and its logs.
//! It must not connect to anything: it reads small files and says what it tried, in order, with the answer.

mod bounds;
mod certificate;
mod cgroup;
mod credential;
mod cri;
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
pub use found::{Found, Tried};
pub use kubelet::{KubeletPlace, LogPlan, POD_LOGS};
pub use port::{PortDoubt, PortProof};
pub use root::{Miss, Root, within};

use std::collections::BTreeMap;

use process::{Kubelet, Kubelets};
use settings::Settings;

/// Environment variables by name, passed in so that nothing here depends on the process.
pub type Env = BTreeMap<String, String>;

/// The node as far as it was read: its root, the environment, and the kubelet that runs or is set up to run.
///
/// All methods block, each file at most for the root's deadline. Not `Debug`: an environment holds secrets.
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

    /// Where files are read from.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The environment.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The kubelet that runs here, if one is proven to be the node's.
    fn kubelet(&self) -> Option<&Kubelet> {
        self.kubelets.proven.as_ref()
    }

    /// True when a kubelet runs here that is proven to be the node's.
    pub fn kubelet_runs(&self) -> bool {
        self.kubelet().is_some()
    }

    /// True when anything says that this machine is a node: a kubelet that runs or one that was set up.
    pub fn is_node(&self) -> bool {
        self.kubelet_runs() || self.settings.any() || self.root.exists("/var/lib/kubelet") != Ok(false)
    }
}
