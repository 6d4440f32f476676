//! The kubelet's settings from files and flags, of a running kubelet or of one that is down; without defaults.

use super::flags::KubeletFlags;
use super::one_key::one_key;
use super::process::{Flavor, Kubelet};
use super::root::{Miss, Root};

/// Files that hold flags, read when no kubelet runs.
const FLAG_FILES: &[&str] = &[
    "/var/lib/kubelet/kubeadm-flags.env",
    "/etc/default/kubelet",
    "/etc/sysconfig/kubelet",
    "/var/snap/microk8s/current/args/kubelet",
];
/// Configurations by distribution, read when no kubelet runs: kubeadm, EKS (AL2023, AL2), OpenShift, GKE.
const CONFIG_FILES: &[&str] = &[
    "/var/lib/kubelet/config.yaml",
    "/etc/kubernetes/kubelet/config.json",
    "/etc/kubernetes/kubelet/kubelet-config.json",
    "/etc/kubernetes/kubelet.conf",
    "/home/kubernetes/kubelet-config.yaml",
];
/// kubeadm's settings for this machine; they override the shared configuration.
const INSTANCE_CONFIG: &str = "/var/lib/kubelet/instance-config.yaml";
/// Drop-in directories by distribution: k3s, RKE2, EKS.
const CONFIG_DIRS: &[&str] = &[
    "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d",
    "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d",
    "/etc/kubernetes/kubelet/config.json.d",
];
/// Settings of k3s and RKE2 themselves.
const RANCHER: &[&str] = &["/etc/rancher/k3s/config.yaml", "/etc/rancher/rke2/config.yaml"];
const MICROK8S_ARGS: &str = "/var/snap/microk8s/current/args/kubelet";
/// `$SNAP_DATA`, the only variable in MicroK8s' files of flags that matters here, and `$SNAP_COMMON`.
const SNAP: &[(&str, &str)] = &[
    ("${SNAP_DATA}", "/var/snap/microk8s/current"),
    ("$SNAP_DATA", "/var/snap/microk8s/current"),
    ("${SNAP_COMMON}", "/var/snap/microk8s/common"),
    ("$SNAP_COMMON", "/var/snap/microk8s/common"),
];

/// The settings.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    flags: KubeletFlags,
    /// Where the flags are from.
    origin: String,
    /// Configurations, the one that wins first.
    files: Vec<(String, Result<String, Miss>)>,
}

/// One setting: the steps without a value, and the value with its origin.
#[derive(Debug, Default)]
pub struct Setting {
    pub missed: Vec<(String, String)>,
    pub found: Option<(String, String)>,
}

impl Setting {
    /// The value.
    pub fn value(&self) -> Option<&str> {
        self.found.as_ref().map(|(_, value)| value.as_str())
    }
}

impl Settings {
    /// The configuration file, of several the one that wins.
    pub fn config_file(&self) -> Option<&str> {
        self.files.iter().find(|(_, text)| text.is_ok()).map(|(path, _)| path.as_str())
    }

    /// Reads them: of the kubelet that runs, or else from the places where distributions keep them.
    pub fn read(root: &Root, kubelet: Option<&Kubelet>) -> Self {
        let Some(kubelet) = kubelet else { return Self::of_one_that_is_down(root) };
        let mut settings = Self { flags: kubelet.flags.clone(), origin: "running kubelet".into(), files: Vec::new() };
        match kubelet.flavor {
            Flavor::Plain | Flavor::MicroShift => {}
            Flavor::MicroK8s => settings.flag_file(root, MICROK8S_ARGS),
            Flavor::K3s => {
                settings.rancher(root);
                CONFIG_DIRS.iter().take(1).for_each(|dir| settings.dir(root, dir));
            }
        }
        let flag = |name: &str| settings.flags.get(name).map(str::to_owned);
        let (dir, config) = (flag("config-dir"), flag("config"));
        if let Some(dir) = dir {
            settings.dir(root, &dir);
        }
        if let Some(config) = config {
            settings.files.push((config.clone(), root.read(&config)));
        }
        settings
    }

    fn of_one_that_is_down(root: &Root) -> Self {
        let mut settings = Self::default();
        FLAG_FILES.iter().for_each(|path| settings.flag_file(root, path));
        settings.rancher(root);
        CONFIG_DIRS.iter().for_each(|dir| settings.dir(root, dir));
        for path in [INSTANCE_CONFIG].iter().chain(CONFIG_FILES) {
            let text = root.read(path);
            // OpenShift's configuration has the name of kubeadm's kubeconfig.
            let is_config = text.as_ref().is_ok_and(|t| one_key(t, "kind") == Ok(Some("KubeletConfiguration".into())));
            if is_config || text.as_ref().is_err_and(|e| *e != Miss::Absent) {
                settings.files.push(((*path).to_owned(), text));
            }
        }
        settings
    }

    fn flag_file(&mut self, root: &Root, path: &str) {
        if let Ok(text) = root.read(path) {
            let mut flags = KubeletFlags::of_file(&text);
            SNAP.iter().for_each(|(from, to)| flags.expand(from, to));
            self.flags = std::mem::take(&mut self.flags).and(flags);
            self.origin = path.to_owned();
        }
    }

    /// k3s and RKE2 take the kubelet's flags from settings of other names.
    fn rancher(&mut self, root: &Root) {
        for path in RANCHER {
            let Ok(text) = root.read(path) else { continue };
            for (key, flag) in
                [("node-name", "hostname-override"), ("container-runtime-endpoint", "container-runtime-endpoint")]
            {
                if let Ok(Some(value)) = one_key(&text, key) {
                    self.flags = std::mem::take(&mut self.flags).and(KubeletFlags::of(&[format!("--{flag}={value}")]));
                    self.origin = (*path).to_owned();
                }
            }
        }
    }

    fn dir(&mut self, root: &Root, dir: &str) {
        let names = root.names(dir).unwrap_or_default();
        // Drop-ins are merged in order, so the last one wins.
        for name in names.iter().rev().filter(|n| n.ends_with(".conf") || n.ends_with(".json")) {
            let path = format!("{dir}/{name}");
            let text = root.read(&path);
            self.files.push((path, text));
        }
    }

    /// True when there is any.
    pub fn any(&self) -> bool {
        self.flags != KubeletFlags::default() || self.files.iter().any(|(_, text)| text.is_ok())
    }

    /// A flag alone.
    pub fn flag(&self, flag: &str) -> Setting {
        let mut setting = Setting::default();
        if self.flags == KubeletFlags::default() {
            return setting;
        }
        let what = format!("{}, --{flag}", self.origin);
        match self.flags.get(flag) {
            Some(value) => setting.found = Some((what, value.to_owned())),
            None => setting.missed.push((what, "not given".into())),
        }
        setting
    }

    /// A setting that is a flag or a key of the configuration; the flag wins.
    pub fn get(&self, flag: &str, key: &str) -> Setting {
        let mut setting = self.flag(flag);
        for (path, text) in &self.files {
            if setting.found.is_some() {
                break;
            }
            let what = format!("{path}, {key}");
            match text.as_ref().map(|text| one_key(text, key)) {
                Err(miss) => setting.missed.push((what, miss.to_string())),
                Ok(Err(why)) => setting.missed.push((what, why.into())),
                // Decoders take an empty value as not given.
                Ok(Ok(Some(value))) if !value.is_empty() => setting.found = Some((what, value)),
                Ok(Ok(_)) => setting.missed.push((what, "not set".into())),
            }
        }
        setting
    }
}
