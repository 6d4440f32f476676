//! Owns the kubelet's `/configz`, as far as [`KubeletConfig`] has fields for it, and the settings worth knowing as text.
//! It must not fill in defaults: an absent setting is absent.

use std::collections::BTreeMap;

use serde_json::Value;

use super::DecodeError;
use crate::observation::KubeletConfig;
use crate::text::Text;
use crate::time::parse_duration_seconds;

/// Settings that are kept as text; none of them is a secret or names a file with one.
const KEPT: &[&str] = &[
    "cgroupDriver",
    "containerLogMaxFiles",
    "containerLogMaxSize",
    "cpuCFSQuota",
    "cpuManagerPolicy",
    "enforceNodeAllocatable",
    "eventRecordQPS",
    "evictionHard",
    "evictionMaxPodGracePeriod",
    "evictionMinimumReclaim",
    "evictionPressureTransitionPeriod",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "failCgroupV1",
    "failSwapOn",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
    "imageMaximumGCAge",
    "imageMinimumGCAge",
    "kubeAPIBurst",
    "kubeAPIQPS",
    "kubeReserved",
    "localStorageCapacityIsolation",
    "maxParallelImagePulls",
    "maxPods",
    "memoryManagerPolicy",
    "mergeDefaultEvictionSettings",
    "nodeLeaseDurationSeconds",
    "nodeStatusReportFrequency",
    "nodeStatusUpdateFrequency",
    "podPidsLimit",
    "podsPerCore",
    "registryBurst",
    "registryPullQPS",
    "reservedSystemCPUs",
    "rotateCertificates",
    "runtimeRequestTimeout",
    "serializeImagePulls",
    "serverTLSBootstrap",
    "shutdownGracePeriod",
    "shutdownGracePeriodCriticalPods",
    "singleProcessOOMKill",
    "staticPodPath",
    "syncFrequency",
    "systemReserved",
    "topologyManagerPolicy",
];
/// Most entries kept of one setting that is a map.
const MAX_ENTRIES: usize = 32;
/// Longest value that is kept, characters.
const MAX_VALUE: usize = 200;

/// Reads the page.
///
/// # Errors
/// When the text is not a page of `/configz`.
pub fn kubelet_config(json: &str) -> Result<KubeletConfig, DecodeError> {
    let page: Value = serde_json::from_str(json)?;
    let Some(Value::Object(config)) = page.get("kubeletconfig") else {
        return Err(DecodeError::Shape("not a page of /configz"));
    };
    let of = |name: &str| config.get(name).unwrap_or(&Value::Null);
    let seconds = |value: &Value| value.as_str().and_then(parse_duration_seconds);
    Ok(KubeletConfig {
        max_container_restart_period: seconds(&of("crashLoopBackOff")["maxContainerRestartPeriod"]),
        serialize_image_pulls: of("serializeImagePulls").as_bool(),
        max_pods: of("maxPods").as_u64().and_then(|n| n.try_into().ok()),
        sync_frequency: seconds(of("syncFrequency")),
        evented_pleg: of("featureGates")["EventedPLEG"] == Value::Bool(true),
        settings: KEPT.iter().flat_map(|name| entries(name, of(name))).collect(),
    })
}

/// A setting as text, one that is a map entry by entry.
fn entries(name: &str, value: &Value) -> BTreeMap<Text, Text> {
    match value {
        Value::Object(map) => {
            let entries = map.iter().take(MAX_ENTRIES);
            entries.filter_map(|(key, value)| Some((Text::name(&format!("{name}.{key}")), text(value)?))).collect()
        }
        value => text(value).map(|text| (name.into(), text)).into_iter().collect(),
    }
}

fn text(value: &Value) -> Option<Text> {
    let text = match value {
        Value::Null | Value::Object(_) => return None,
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    Some(Text::name(&text.chars().take(MAX_VALUE).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page() {
        let json = r#"{"kubeletconfig":{"syncFrequency":"1m0s","maxPods":250,"serializeImagePulls":false,"podPidsLimit":-1,
            "tlsPrivateKeyFile":"/etc/key","evictionHard":{"memory.available":"100Mi"},"enforceNodeAllocatable":["pods","kube-reserved"],
            "crashLoopBackOff":{"maxContainerRestartPeriod":"5m0s"},"featureGates":{"EventedPLEG":true}}}"#;
        let settings = [
            ("enforceNodeAllocatable", "pods,kube-reserved"),
            ("evictionHard.memory.available", "100Mi"),
            ("maxPods", "250"),
            ("podPidsLimit", "-1"),
            ("serializeImagePulls", "false"),
            ("syncFrequency", "1m0s"),
        ];
        let expected = KubeletConfig {
            max_container_restart_period: Some(300.0),
            serialize_image_pulls: Some(false),
            max_pods: Some(250),
            sync_frequency: Some(60.0),
            evented_pleg: true,
            settings: settings.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        };
        assert_eq!(kubelet_config(json), Ok(expected));
        assert_eq!(kubelet_config(r#"{"kubeletconfig":{"featureGates":null}}"#), Ok(KubeletConfig::default()));
        for wrong in ["Authorization error", "{}", "[]", r#"{"kubeletconfig":null}"#] {
            assert!(kubelet_config(wrong).is_err(), "{wrong}");
        }
    }
}
