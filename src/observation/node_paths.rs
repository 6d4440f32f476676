//! Where the parts of this node are, as discovered on it: commands that are shown to the user name these places.

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// Paths, units and endpoints of one node. An empty text is unknown, or the default of the tool that uses it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodePaths {
    /// Path of the runtime's socket.
    pub runtime_socket: Text,
    /// The kubeconfig in use, unless kubectl finds it without a flag.
    pub kubeconfig: Text,
    /// The kubeconfig is the kubelet's own, which is not allowed to read logs of pods through the API server.
    pub is_kubelet_credential: bool,
    /// The kubelet's configuration file (`--config`).
    pub kubelet_config: Text,
    /// The kubelet's root directory (`--root-dir`).
    pub kubelet_root: Text,
    /// Directory of the logs of pods (`podLogsDir`).
    pub pod_logs: Text,
    /// Directory of static manifests (`staticPodPath`).
    pub static_pods: Text,
    /// Address and port of the kubelet's `/healthz`.
    pub healthz: Text,
    /// systemd unit of the kubelet.
    pub kubelet_unit: Text,
    /// The kubelet's log, if it is a file.
    pub kubelet_log: Text,
    /// systemd unit of the runtime.
    pub runtime_unit: Text,
    /// The runtime's log, if it is a file.
    pub runtime_log: Text,
}

impl NodePaths {
    /// All texts.
    pub(super) fn all(&self) -> impl Iterator<Item = &Text> {
        let Self { runtime_socket, kubeconfig, kubelet_config, kubelet_root, pod_logs, static_pods, healthz, .. } =
            self;
        let Self { kubelet_unit, kubelet_log, runtime_unit, runtime_log, .. } = self;
        [runtime_socket, kubeconfig, kubelet_config, kubelet_root, pod_logs, static_pods, healthz].into_iter().chain([
            kubelet_unit,
            kubelet_log,
            runtime_unit,
            runtime_log,
        ])
    }
}
