//! Owns which of the kubelet's settings are shown, their true defaults, and what is to be said where one bites.
//! It must not call a setting wrong: a remark says what follows from it.

use super::NodeView;
use crate::text::Text;

/// A setting.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingLine {
    /// Its name in KubeletConfiguration.
    pub name: &'static str,
    /// As it is; None where it is not set, and the default holds.
    pub value: Option<Text>,
    /// The default, as the code has it.
    pub default: &'static str,
    /// It is another than the default.
    pub changed: bool,
    /// What follows from it here; empty for nothing worth saying.
    pub remark: String,
}

/// Names with their defaults (pkg/kubelet/apis/config/v1beta1/defaults.go).
const SHOWN: &[(&str, &str)] = &[
    ("serializeImagePulls", "true"),
    ("maxParallelImagePulls", "none"),
    ("registryPullQPS", "5"),
    ("registryBurst", "10"),
    ("syncFrequency", "1m0s"),
    ("runtimeRequestTimeout", "2m0s"),
    ("crashLoopBackOff", "5m0s"),
    ("imageGCHighThresholdPercent", "85"),
    ("imageGCLowThresholdPercent", "80"),
    ("maxPods", "110"),
    ("podPidsLimit", "-1"),
    ("kubeReserved", "none"),
    ("systemReserved", "none"),
    ("enforceNodeAllocatable", "pods"),
    ("evictionHard", "5 signals"),
    ("evictionSoft", "none"),
    ("evictionPressureTransitionPeriod", "5m0s"),
    ("nodeStatusUpdateFrequency", "10s"),
    ("nodeStatusReportFrequency", "5m0s"),
    ("nodeLeaseDurationSeconds", "40"),
    ("rotateCertificates", "false"),
    ("serverTLSBootstrap", "false"),
    ("cpuManagerPolicy", "none"),
    ("memoryManagerPolicy", "None"),
    ("topologyManagerPolicy", "none"),
    ("shutdownGracePeriod", "0s"),
    ("kubeAPIQPS", "50"),
];
/// Signals of `evictionHard` that are set by default.
const EVICTION_SIGNALS: [&str; 5] =
    ["memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree"];

/// Every setting that is shown; none while the kubelet's settings were not read.
pub fn settings(moment: &NodeView) -> Vec<SettingLine> {
    let Some(config) = moment.snapshot.kubelet.config.as_ref().filter(|c| !c.settings.is_empty()) else {
        return Vec::new();
    };
    let of = |name: &str| -> Option<Text> {
        if name == "crashLoopBackOff" {
            return config.max_container_restart_period.map(|s| format!("{s}s").into());
        }
        if let Some(value) = config.settings.get(name) {
            return Some(value.clone());
        }
        let prefix = format!("{name}.");
        let entries: Vec<String> = config
            .settings
            .iter()
            .filter_map(|(key, value)| Some(format!("{}={value}", key.strip_prefix(prefix.as_str())?)))
            .collect();
        (!entries.is_empty()).then(|| entries.join(" ").into())
    };
    let line = |(name, default): &(&'static str, &'static str)| {
        let value = of(name);
        let same = |value: &Text| value == *default || is_default(name, value);
        SettingLine {
            name,
            changed: value.as_ref().is_some_and(|v| !same(v)),
            remark: remark(name, value.as_deref().unwrap_or(default), &of),
            value,
            default,
        }
    };
    SHOWN.iter().map(line).collect()
}

/// Values that mean the default and are written otherwise.
fn is_default(name: &str, value: &str) -> bool {
    match name {
        "crashLoopBackOff" => value == "300s",
        "evictionHard" => {
            let mut parts: Vec<&str> = value.split(' ').collect();
            parts.sort_unstable();
            parts
                == [
                    "imagefs.available=15%",
                    "imagefs.inodesFree=5%",
                    "memory.available=100Mi",
                    "nodefs.available=10%",
                    "nodefs.inodesFree=5%",
                ]
        }
        _ => false,
    }
}

fn remark(name: &str, value: &str, of: &dyn Fn(&str) -> Option<Text>) -> String {
    let number = || value.parse::<f64>().ok();
    match (name, value) {
        ("serializeImagePulls", "true") => "one image at a time: a large pull holds up every other".into(),
        ("maxParallelImagePulls", "1") => "one image at a time: a large pull holds up every other".into(),
        ("maxParallelImagePulls", "none") if of("serializeImagePulls").as_deref() == Some("false") => {
            "any number of pulls at once: they share disk and network".into()
        }
        ("registryPullQPS", "0") => "no bound".into(),
        ("registryPullQPS", _) if number().is_some_and(|n| n <= 5.0) => {
            "beyond it pulls fail with \"pull QPS exceeded\" and back off, as after a reboot".into()
        }
        ("crashLoopBackOff", _) if number_of_seconds(value).is_some_and(|s| s < 300.0) => {
            format!("a crashing container is started again at least every {value}")
        }
        ("imageGCHighThresholdPercent", "100") => "images are never collected before the disk evicts".into(),
        ("maxPods", _) if number().is_some_and(|n| n > 250.0) => {
            "PLEG lists all of them each second: its relists grow with them".into()
        }
        ("podPidsLimit", "-1") => "no bound: one pod can take all process ids of the node".into(),
        ("kubeReserved", "none") if of("systemReserved").is_none() => {
            "nothing is kept for kubelet, runtime and system: pods may ask for all of the node".into()
        }
        ("evictionHard", "5 signals") => String::new(),
        ("evictionHard", _) => {
            let merged = of("mergeDefaultEvictionSettings").as_deref() == Some("true");
            let has = |signal: &&str| value.split(' ').any(|part| part.starts_with(&format!("{signal}=")));
            let missing: Vec<&str> = EVICTION_SIGNALS.into_iter().filter(|s| !has(s)).collect();
            if merged || missing.is_empty() {
                String::new()
            } else {
                format!("replaces all defaults: nothing evicts for {}", missing.join(", "))
            }
        }
        ("rotateCertificates", "false") => {
            "its client certificate is not renewed: see when it ends on the node's pane".into()
        }
        ("cpuManagerPolicy", "static") => {
            "whole cores of Guaranteed pods are theirs alone: fewer are left to share".into()
        }
        ("memoryManagerPolicy", "Static") => {
            "memory of Guaranteed pods comes from NUMA nodes: admission may refuse them".into()
        }
        ("topologyManagerPolicy", "restricted" | "single-numa-node") => {
            "pods that do not fit one NUMA node are refused (TopologyAffinityError)".into()
        }
        ("shutdownGracePeriod", "0s") => "pods get no grace when the machine shuts down".into(),
        _ => String::new(),
    }
}

fn number_of_seconds(value: &str) -> Option<f64> {
    value.strip_suffix('s')?.parse().ok()
}
