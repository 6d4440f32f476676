//! Finds the kubelet's ports, certificate and directories, and the logs of kubelet and runtime; it does not connect.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use super::defaults::{HEALTHZ_PORT, KUBELET_UNITS, POD_LOGS, PORT, ROOT_DIR};
use super::settings::Setting;
use super::{Discovered, Host, Miss};
use crate::trust::KnownFile;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Default serving certificates: rotated, self-signed, k3s, RKE2, MicroK8s.
const SERVING: &[&str] = &[
    "/var/lib/kubelet/pki/kubelet-server-current.pem",
    "/var/lib/kubelet/pki/kubelet.crt",
    "/var/lib/rancher/k3s/agent/serving-kubelet.crt",
    "/var/lib/rancher/rke2/agent/serving-kubelet.crt",
    "/var/snap/microk8s/current/certs/kubelet.crt",
];
/// Default directories of static pods: kubeadm and OpenShift, RKE2.
const STATIC_PODS: &[&str] = &["/etc/kubernetes/manifests", "/var/lib/rancher/rke2/agent/pod-manifests"];
/// Directories of systemd units.
const UNIT_DIRS: &[&str] = &[
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];
/// Log files of kubelets that do not use the journal.
const KUBELET_LOGS: &[&str] = &["/var/lib/rancher/rke2/agent/logs/kubelet.log"];
/// Runtimes: part of the socket path, units, log files.
const RUNTIMES: &[(&str, &[&str], &[&str])] = &[
    (
        "/k3s/",
        &[],
        &[
            "/var/lib/rancher/k3s/agent/containerd/containerd.log",
            "/var/lib/rancher/rke2/agent/containerd/containerd.log",
        ],
    ),
    ("/microk8s/", &["snap.microk8s.daemon-containerd.service"], &[]),
    ("crio", &["crio.service"], &[]),
    ("cri-dockerd", &["cri-docker.service", "docker.service"], &[]),
    ("", &["containerd.service"], &[]),
];

/// Addresses, certificate and directories of the kubelet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeletPlace {
    /// Address and port of the authenticated server; loopback when it listens on all addresses.
    pub server: SocketAddr,
    /// The user set the address (`--kubelet-endpoint`).
    pub server_named: bool,
    /// Address of `/healthz`; None when disabled.
    pub healthz: Option<SocketAddr>,
    /// Serving certificate on the node's disk; its CA can follow in the same file.
    pub certificate: Option<KnownFile>,
    /// Its root directory.
    pub root_dir: PathBuf,
    /// `podLogsDir`.
    pub pod_logs: PathBuf,
    /// Directory (or file) of static pods' manifests.
    pub static_pods: Option<PathBuf>,
}

/// The location of a log: a file, else units of the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPlan {
    /// Units.
    pub units: Vec<String>,
    /// File.
    pub file: Option<KnownFile>,
}

impl Host {
    /// Finds the kubelet, with its server at `named` if set by the user; no value when this machine is not a node.
    pub fn kubelet_place(&self, named: Option<SocketAddr>) -> Discovered<KubeletPlace> {
        let mut found = Discovered::default();
        if let Some(server) = named {
            found.miss("--kubelet-endpoint", server.to_string());
        } else if !self.is_node() {
            found.miss("processes, settings, /var/lib/kubelet", "no kubelet runs here, and none is set up");
            return found;
        }
        for refused in &self.kubelets.refused {
            found.miss(format!("process {}, which has the name of a kubelet", refused.pid), refused.doubt.to_string());
        }
        let mut told = |setting: Setting| {
            if let Some((what, value)) = &setting.found {
                found.miss(what.as_str(), value.as_str());
            }
            setting.found.map(|(_, value)| value)
        };
        let port = told(self.settings.get("port", "port")).and_then(|p| p.parse().ok()).unwrap_or(PORT);
        let address = told(self.settings.get("address", "address"));
        let healthz_port = told(self.settings.get("healthz-port", "healthzPort")).and_then(|p| p.parse().ok());
        let healthz_address = told(self.settings.get("healthz-bind-address", "healthzBindAddress"));
        let root_dir = told(self.settings.flag("root-dir")).unwrap_or_else(|| ROOT_DIR.into());
        let certificate = told(self.settings.get("tls-cert-file", "tlsCertFile"));
        let cert_dir = told(self.settings.flag("cert-dir"));
        let static_pods = told(self.settings.get("pod-manifest-path", "staticPodPath"));
        let pod_logs = told(self.settings.get("pod-logs-dir", "podLogsDir")).filter(|dir| dir.starts_with('/'));
        let healthz_port = healthz_port.unwrap_or(HEALTHZ_PORT);
        let place = KubeletPlace {
            server: named.unwrap_or_else(|| SocketAddr::new(reachable(address), port)),
            server_named: named.is_some(),
            healthz: (healthz_port != 0).then(|| SocketAddr::new(reachable(healthz_address), healthz_port)),
            certificate: certificate
                .map(PathBuf::from)
                .or_else(|| self.serving(cert_dir))
                .map(|c| self.root.discovered(c)),
            root_dir: root_dir.into(),
            pod_logs: pod_logs.unwrap_or_else(|| POD_LOGS.into()).into(),
            static_pods: static_pods.map(PathBuf::from).or_else(|| self.first(STATIC_PODS.iter().map(PathBuf::from))),
        };
        let certificate = place.certificate.as_ref().map_or("none found".into(), KnownFile::to_string);
        found.miss("serving certificate", certificate);
        let runs = if self.kubelet_runs() { "a kubelet runs" } else { "no kubelet runs, one is set up" };
        found.take("kubelet", format!("{runs}; {}", place.server), place);
        found
    }

    fn serving(&self, cert_dir: Option<String>) -> Option<PathBuf> {
        let own = cert_dir
            .into_iter()
            .flat_map(|dir| ["kubelet-server-current.pem", "kubelet.crt"].map(|name| Path::new(&dir).join(name)));
        self.first(own.chain(SERVING.iter().map(PathBuf::from)))
    }

    /// The first existing path.
    fn first(&self, mut paths: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
        paths.find(|path| self.root.exists(path) == Ok(true))
    }

    /// Finds the kubelet's log: the given file, its log file, its unit, installed units.
    pub fn kubelet_log(&self, given: Option<&Path>) -> Discovered<LogPlan> {
        let mut found = Discovered::default();
        self.log_file("--kubelet-log", given, KUBELET_LOGS, &mut found);
        if let Some(kubelet) = self.kubelet().filter(|_| found.open()) {
            let what = format!("unit of process {}", kubelet.pid);
            match kubelet.unit() {
                Some(unit) => found.take(what, unit, LogPlan { units: vec![unit.to_owned()], file: None }),
                None => found.miss(what, "not run by systemd"),
            }
            let what = format!("standard error of process {}", kubelet.pid);
            match self.root.link(format!("/proc/{}/fd/2", kubelet.pid)) {
                _ if !found.open() => {}
                Ok(file) => match self.root.is_file(&file) {
                    Ok(true) => {
                        let answer = file.display().to_string();
                        let file = Some(self.root.discovered(file));
                        found.take(what, answer, LogPlan { units: Vec::new(), file });
                    }
                    Err(miss @ Miss::Untrusted(_)) => found.miss(what, miss.with_way_out("--kubelet-log FILE")),
                    Ok(false) | Err(_) => found.miss(what, format!("{} is not a file", file.display())),
                },
                Err(miss) => found.miss(what, miss.to_string()),
            }
        }
        self.log_units(KUBELET_UNITS, &mut found);
        found
    }

    /// Finds the runtime's log: the given file, the file of k3s and RKE2, the units that match its socket.
    pub fn runtime_log(&self, given: Option<&Path>, socket: Option<&KnownFile>) -> Discovered<LogPlan> {
        let mut found = Discovered::default();
        let socket = socket.map(KnownFile::to_string).unwrap_or_default();
        let Some((_, units, files)) = RUNTIMES.iter().find(|(part, ..)| socket.contains(part)) else { return found };
        self.log_file("--runtime-log", given, files, &mut found);
        self.log_units(units, &mut found);
        found
    }

    fn log_file(&self, flag: &str, given: Option<&Path>, files: &[&str], found: &mut Discovered<LogPlan>) {
        let plan = |file: KnownFile| LogPlan { units: Vec::new(), file: Some(file) };
        if let Some(file) = given {
            let answer = self.root.may_read_named(file).map_or_else(|miss| miss.to_string(), |()| "a file".into());
            found.take(format!("{flag} {}", file.display()), answer, plan(file.into()));
        }
        for file in files.iter().filter(|_| given.is_none()) {
            match self.root.is_file(file) {
                Ok(true) => found.take(*file, "a file", plan(self.root.discovered(*file))),
                Ok(false) => found.miss(*file, "not a file"),
                Err(miss) => found.miss(*file, miss.with_way_out(&format!("{flag} FILE"))),
            }
        }
    }

    fn log_units(&self, names: &[&str], found: &mut Discovered<LogPlan>) {
        if !found.open() || names.is_empty() {
            return;
        }
        let there = |name: &&&str| UNIT_DIRS.iter().any(|dir| self.root.exists(format!("{dir}/{name}")) == Ok(true));
        let units: Vec<String> = names.iter().filter(there).map(|name| (*name).to_owned()).collect();
        let what = format!("units {}", names.join(", "));
        match units.is_empty() {
            true => found.miss(what, "none is set up"),
            false => found.take(what, units.join(", "), LogPlan { units, file: None }),
        }
    }
}

/// An address to connect to: the loopback address where a server listens on all.
fn reachable(address: Option<String>) -> IpAddr {
    address.and_then(|a| a.parse().ok()).filter(|a: &IpAddr| !a.is_unspecified()).unwrap_or(LOOPBACK)
}
