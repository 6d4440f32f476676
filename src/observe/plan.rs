//! Owns what will be observed: everything that was found on the node, and how it was looked for.
//! It must not connect to anything.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::discover::{Credential, Discovered, Env, Host, KubeletPlace, LogPlan, PortProof, Root, SearchStep};
use crate::observation::Budget;
use crate::trust::{KnownFile, Owners};

/// What the user asked for; what is not given is found.
#[derive(Clone, Debug, Default)]
pub struct ObserveOptions {
    /// Node name.
    pub node: Option<String>,
    /// Credential for API server and kubelet.
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, instead of its current one.
    pub context: Option<String>,
    /// Endpoint of the runtime.
    pub runtime_endpoint: Option<String>,
    /// The kubelet's log as a file.
    pub kubelet_log: Option<PathBuf>,
    /// The runtime's log as a file.
    pub runtime_log: Option<PathBuf>,
    /// Address of the kubelet's server.
    pub kubelet_endpoint: Option<SocketAddr>,
    /// The certificate that the kubelet serves with, or that of its CA.
    pub kubelet_certificate: Option<PathBuf>,
    /// Do not verify the kubelet's certificate.
    pub insecure_kubelet: bool,
    /// Memory that may be used.
    pub budget: Budget,
}

/// Everything that was found. It is not `Debug`: an environment holds secrets.
#[derive(Clone)]
pub struct Plan {
    /// The machine.
    pub host: Host,
    /// Node name.
    pub node: Discovered<String>,
    /// Socket of the runtime.
    pub cri: Discovered<KnownFile>,
    /// Way to the API server, and identity for the kubelet.
    pub credential: Discovered<Credential>,
    /// Context of the kubeconfig, instead of its current one.
    pub context: Option<String>,
    /// Where the kubelet is.
    pub kubelet: Discovered<KubeletPlace>,
    /// The kubelet's log.
    pub kubelet_log: Discovered<LogPlan>,
    /// The runtime's log.
    pub runtime_log: Discovered<LogPlan>,
    /// The certificate that the kubelet serves with, or that of its CA, as the user named it.
    pub kubelet_certificate: Option<PathBuf>,
    /// Do not verify the kubelet's certificate.
    pub insecure_kubelet: bool,
    /// Memory that may be used.
    pub budget: Budget,
}

/// What the way to the API server is called among the things looked for.
pub const CREDENTIAL: &str = "credential";

/// One thing that was looked for: what, what was found in words, and what was tried.
pub type SearchResult<'a> = (&'static str, Option<String>, &'a [SearchStep]);

impl Plan {
    /// Looks at the node. Blocks, each file for a short deadline.
    pub fn discover(wants: &ObserveOptions, env: Env) -> Self {
        let host = Host::look(Root::live(), env);
        let cri = host.cri_endpoint(wants.runtime_endpoint.as_deref());
        Self {
            node: host.node_name(wants.node.as_deref()),
            credential: host.credential(wants.kubeconfig.as_deref()),
            context: wants.context.clone(),
            kubelet: host.kubelet_place(wants.kubelet_endpoint),
            kubelet_certificate: wants.kubelet_certificate.clone(),
            kubelet_log: host.kubelet_log(wants.kubelet_log.as_deref()),
            runtime_log: host.runtime_log(wants.runtime_log.as_deref(), cri.value.as_ref()),
            cri,
            host,
            insecure_kubelet: wants.insecure_kubelet,
            budget: wants.budget,
        }
    }

    /// The proof that a port is the kubelet's. Only as root, whose credential could be taken by whoever listens; other users
    /// cannot see whose a socket is, and rely on the certificate alone.
    pub fn port_proof(&self) -> Option<PortProof> {
        Owners::of_process().is_root().then(|| PortProof::new(self.host.root().clone()))
    }

    /// Nothing of a node is here: no kubelet, no runtime, no credential.
    pub fn is_empty(&self) -> bool {
        self.kubelet.value.is_none() && self.cri.value.is_none() && self.credential.value.is_none()
    }

    /// What was looked for, in the order in which it matters.
    pub fn looked_for(&self) -> Vec<SearchResult<'_>> {
        let path = KnownFile::to_string;
        let log = |plan: &LogPlan| match &plan.file {
            Some(file) => path(file),
            None => plan.units.join(", "),
        };
        let credential = self.credential.value.as_ref().map(|c| match c {
            Credential::ServiceAccount(dir) => format!("service account in {dir}"),
            kubeconfigs => kubeconfigs.kubeconfigs().iter().map(path).collect::<Vec<_>>().join(":"),
        });
        vec![
            ("node name", self.node.value.clone(), &self.node.tried),
            ("container runtime", self.cri.value.as_ref().map(path), &self.cri.tried),
            (CREDENTIAL, credential, &self.credential.tried),
            ("kubelet", self.kubelet.value.as_ref().map(|k| k.server.to_string()), &self.kubelet.tried),
            ("kubelet log", self.kubelet_log.value.as_ref().map(log), &self.kubelet_log.tried),
            ("runtime log", self.runtime_log.value.as_ref().map(log), &self.runtime_log.tried),
        ]
    }
}
