//! Owns the kubelet's `/configz`, as far as [`KubeletConfig`] has fields for it.
//! It must not fill in defaults: an absent setting is absent.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{DecodeError, go_duration, nullable};
use crate::observation::KubeletConfig;

/// Reads the page.
///
/// # Errors
/// When the text is not a page of `/configz`.
pub fn kubelet_config(json: &str) -> Result<KubeletConfig, DecodeError> {
    #[derive(Deserialize)]
    struct Page {
        kubeletconfig: Config,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Config {
        #[serde(default, deserialize_with = "nullable")]
        crash_loop_back_off: BackOff,
        serialize_image_pulls: Option<bool>,
        max_pods: Option<u32>,
        sync_frequency: Option<String>,
        #[serde(default, deserialize_with = "nullable")]
        feature_gates: BTreeMap<String, Value>,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct BackOff {
        max_container_restart_period: Option<String>,
    }
    let config = serde_json::from_str::<Page>(json)?.kubeletconfig;
    let seconds = |duration: Option<String>| duration.as_deref().and_then(go_duration);
    Ok(KubeletConfig {
        max_container_restart_period: seconds(config.crash_loop_back_off.max_container_restart_period),
        serialize_image_pulls: config.serialize_image_pulls,
        max_pods: config.max_pods,
        sync_frequency: seconds(config.sync_frequency),
        evented_pleg: config.feature_gates.get("EventedPLEG") == Some(&Value::Bool(true)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page() {
        let json = r#"{"kubeletconfig":{"syncFrequency":"1m0s","maxPods":250,"serializeImagePulls":false,
            "crashLoopBackOff":{"maxContainerRestartPeriod":"5m0s"},"featureGates":{"EventedPLEG":true}}}"#;
        let expected = KubeletConfig {
            max_container_restart_period: Some(300.0),
            serialize_image_pulls: Some(false),
            max_pods: Some(250),
            sync_frequency: Some(60.0),
            evented_pleg: true,
        };
        assert_eq!(kubelet_config(json), Ok(expected));
        assert_eq!(kubelet_config(r#"{"kubeletconfig":{"featureGates":null}}"#), Ok(KubeletConfig::default()));
        assert!(kubelet_config("Authorization error").is_err());
    }
}
