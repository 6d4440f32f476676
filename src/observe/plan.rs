//! What will be observed: everything that was found on the node, and how it was searched. Nothing connects here.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::discover::{Credential, Discovered, Env, Host, KubeletPlace, LogPlan, PortProof, Root, SearchStep};
use crate::observation::{Budget, NodePaths};
use crate::text::Text;
use crate::trust::{KnownFile, Owners};

/// The user's options; options that are not set are discovered.
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
    /// The kubelet's serving certificate, or that of its CA.
    pub kubelet_certificate: Option<PathBuf>,
    /// Do not verify the kubelet's certificate.
    pub insecure_kubelet: bool,
    /// Memory budget.
    pub budget: Budget,
}

/// Everything that was found. Not `Debug`: an environment contains secrets.
#[derive(Clone)]
pub struct Plan {
    /// The machine.
    pub host: Host,
    /// Node name.
    pub node: Discovered<String>,
    /// Socket of the runtime.
    pub cri: Discovered<KnownFile>,
    /// Credential for API server and kubelet.
    pub credential: Discovered<Credential>,
    /// Context of the kubeconfig, instead of its current one.
    pub context: Option<String>,
    /// Where the kubelet is.
    pub kubelet: Discovered<KubeletPlace>,
    /// The kubelet's log.
    pub kubelet_log: Discovered<LogPlan>,
    /// The runtime's log.
    pub runtime_log: Discovered<LogPlan>,
    /// The kubelet's serving certificate, or that of its CA, if the user named one.
    pub kubelet_certificate: Option<PathBuf>,
    /// Do not verify the kubelet's certificate.
    pub insecure_kubelet: bool,
    /// Memory budget.
    pub budget: Budget,
}

/// Name of the API server's credential in [`Plan::searches`].
pub const CREDENTIAL: &str = "credential";

/// One search: its object, the result as text, and what was tried.
pub type SearchResult<'a> = (&'static str, Option<String>, &'a [SearchStep]);

impl Plan {
    /// Searches the node. Blocks, for each file up to a short deadline.
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

    /// The proof that a port is the kubelet's. Only as root, whose credential the listening process could steal; other users
    /// cannot see the owner of a socket, and rely on the certificate alone.
    pub fn port_proof(&self) -> Option<PortProof> {
        Owners::of_process().is_root().then(|| PortProof::new(self.host.root().clone()))
    }

    /// Where the parts of the node are, for the commands of remedies.
    pub fn node_paths(&self) -> NodePaths {
        let text = |path: &Path| Text::name(&path.to_string_lossy());
        let kubelet = self.kubelet.value.as_ref();
        let log = |log: &Discovered<LogPlan>| {
            let plan = log.value.clone().unwrap_or_default();
            let file = plan.file.map(|file| text(file.path())).unwrap_or_default();
            (plan.units.first().map(|unit| Text::name(unit)).unwrap_or_default(), file)
        };
        let ((kubelet_unit, kubelet_log), (runtime_unit, runtime_log)) =
            (log(&self.kubelet_log), log(&self.runtime_log));
        NodePaths {
            runtime_socket: self.cri.value.as_ref().map(|socket| text(socket.path())).unwrap_or_default(),
            is_kubelet_credential: self.is_kubelet_credential(),
            kubeconfig: self.kubeconfig_flag().map(|file| text(&file)).unwrap_or_default(),
            kubelet_config: self.host.kubelet_config().map(|file| text(&file)).unwrap_or_default(),
            kubelet_root: kubelet.map(|k| text(&k.root_dir)).unwrap_or_default(),
            pod_logs: kubelet.map(|k| text(&k.pod_logs)).unwrap_or_default(),
            static_pods: kubelet.and_then(|k| k.static_pods.as_deref()).map(text).unwrap_or_default(),
            healthz: kubelet
                .and_then(|k| k.healthz)
                .map(|address| Text::name(&address.to_string()))
                .unwrap_or_default(),
            kubelet_unit,
            kubelet_log,
            runtime_unit,
            runtime_log,
        }
    }

    fn is_kubelet_credential(&self) -> bool {
        let files = self.credential.value.as_ref().map(Credential::kubeconfigs).unwrap_or_default();
        files.iter().any(|file| self.host.is_kubelet_kubeconfig(file.path()))
    }

    /// The kubeconfig that kubectl needs as a flag: neither `$KUBECONFIG` nor the default file name it.
    fn kubeconfig_flag(&self) -> Option<PathBuf> {
        let files = self.credential.value.as_ref()?.kubeconfigs();
        let [file] = &files[..] else { return None };
        let path = file.path();
        let env = self.host.env();
        let named = env.get("KUBECONFIG").is_some_and(|value| Path::new(value) == path);
        let default = env.get("HOME").is_some_and(|home| Path::new(home).join(".kube/config") == path);
        (!named && !default).then(|| path.to_owned())
    }

    /// True when neither kubelet, runtime nor credential was found.
    pub fn is_empty(&self) -> bool {
        self.kubelet.value.is_none() && self.cri.value.is_none() && self.credential.value.is_none()
    }

    /// All searches, the most important first.
    pub fn searches(&self) -> Vec<SearchResult<'_>> {
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
