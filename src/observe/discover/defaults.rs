//! Defaults of the kubelet: ports, directories, systemd units.

/// `port`, the authenticated server.
pub const PORT: u16 = 10250;
/// `healthzPort`.
pub const HEALTHZ_PORT: u16 = 10248;
/// `--root-dir`.
pub const ROOT_DIR: &str = "/var/lib/kubelet";
/// `podLogsDir`.
pub const POD_LOGS: &str = "/var/log/pods";
/// systemd units that run a kubelet, by distribution.
pub const KUBELET_UNITS: &[&str] = &[
    "kubelet.service",
    "k3s.service",
    "k3s-agent.service",
    "rke2-server.service",
    "rke2-agent.service",
    "snap.microk8s.daemon-kubelite.service",
    "snap.kubelet-eks.daemon.service",
    "microshift.service",
];
