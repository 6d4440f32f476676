//! Settings of the kubelet with their defaults, and the consequences of risky values.

use super::NodeView;
use crate::text::Text;
use crate::thresholds::{BACK_OFF_MAX, EVICTION_HARD, LOW_PULL_QPS, MANY_PODS};

/// A setting.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingLine {
    /// Its name in KubeletConfiguration.
    pub name: &'static str,
    /// Its value; None when it is not set and the default holds.
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
        "crashLoopBackOff" => value == format!("{}s", BACK_OFF_MAX.num_seconds()),
        "evictionHard" => {
            let mut parts: Vec<&str> = value.split(' ').collect();
            parts.sort_unstable();
            let mut defaults = EVICTION_HARD.map(|(signal, threshold)| format!("{signal}={threshold}"));
            defaults.sort_unstable();
            parts == defaults
        }
        _ => false,
    }
}

fn remark(name: &str, value: &str, of: &dyn Fn(&str) -> Option<Text>) -> String {
    let number = || value.parse::<f64>().ok();
    match (name, value) {
        ("serializeImagePulls", "true") => "one image at a time: a large pull delays all others".into(),
        ("maxParallelImagePulls", "1") => "one image at a time: a large pull delays all others".into(),
        ("maxParallelImagePulls", "none") if of("serializeImagePulls").as_deref() == Some("false") => {
            "unlimited parallel pulls compete for disk and network".into()
        }
        ("registryPullQPS", "0") => "unlimited".into(),
        ("registryPullQPS", _) if number().is_some_and(|n| n <= LOW_PULL_QPS) => {
            "more pulls, as after a reboot, fail with \"pull QPS exceeded\" and back off".into()
        }
        ("crashLoopBackOff", _) if number_of_seconds(value).is_some_and(|s| s < BACK_OFF_MAX.num_seconds() as f64) => {
            format!("a crashing container restarts at least every {value}")
        }
        ("imageGCHighThresholdPercent", "100") => "no image garbage collection before disk eviction".into(),
        ("maxPods", _) if number().is_some_and(|n| n > MANY_PODS) => {
            "PLEG lists all pods every second: relists slow down with their number".into()
        }
        ("podPidsLimit", "-1") => "unlimited: one pod can exhaust the node's PIDs".into(),
        ("kubeReserved", "none") if of("systemReserved").is_none() => {
            "nothing reserved for the kubelet, runtime or system: pods can request the whole node".into()
        }
        ("evictionHard", "5 signals") => String::new(),
        ("evictionHard", _) => {
            let merged = of("mergeDefaultEvictionSettings").as_deref() == Some("true");
            let has = |signal: &&str| value.split(' ').any(|part| part.starts_with(&format!("{signal}=")));
            let missing: Vec<&str> = EVICTION_HARD.into_iter().map(|(signal, _)| signal).filter(|s| !has(s)).collect();
            if merged || missing.is_empty() {
                String::new()
            } else {
                format!("replaces all defaults: no eviction for {}", missing.join(", "))
            }
        }
        ("rotateCertificates", "false") => {
            "the client certificate is not rotated; see its expiry in the Node pane".into()
        }
        ("cpuManagerPolicy", "static") => {
            "Guaranteed pods with whole CPUs get exclusive cores: fewer remain shared".into()
        }
        ("memoryManagerPolicy", "Static") => {
            "memory of Guaranteed pods is reserved per NUMA node: admission can reject them".into()
        }
        ("topologyManagerPolicy", "restricted" | "single-numa-node") => {
            "pods that do not fit one NUMA node are rejected (TopologyAffinityError)".into()
        }
        ("shutdownGracePeriod", "0s") => "no graceful node shutdown: pods are killed at once".into(),
        _ => String::new(),
    }
}

fn number_of_seconds(value: &str) -> Option<f64> {
    value.strip_suffix('s')?.parse().ok()
}
