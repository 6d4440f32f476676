//! `crictl version` and the conditions in `crictl info`. The rest of info, the runtime's configuration, is not decoded.

use serde::Deserialize;

use super::{DecodeError, nullable};
use crate::observation::{RuntimeCondition, RuntimeStatus};
use crate::text::{Message, Text};

/// Version and conditions from `crictl version` (text or JSON) and the status part of `crictl info`.
///
/// # Errors
/// When neither can be read.
pub fn runtime_status(version: Option<&str>, info: Option<&str>) -> Result<RuntimeStatus, DecodeError> {
    #[derive(Deserialize)]
    struct CrictlInfo {
        status: CrictlConditions,
    }
    #[derive(Deserialize)]
    struct CrictlConditions {
        #[serde(default, deserialize_with = "nullable")]
        conditions: Vec<CrictlCondition>,
    }
    #[derive(Deserialize)]
    struct CrictlCondition {
        #[serde(rename = "type")]
        kind: Text,
        #[serde(default)]
        status: bool,
        #[serde(default)]
        reason: Text,
        #[serde(default)]
        message: Message,
    }
    let mut result = RuntimeStatus::default();
    if let Some(text) = version {
        let field = |text_key: &str, json_key: &str| {
            text.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                let key = key.trim().trim_matches('"');
                (key == text_key || key == json_key)
                    .then(|| Text::name(value.trim().trim_end_matches(',').trim_matches('"')))
            })
        };
        result.name = field("RuntimeName", "runtimeName").unwrap_or_default();
        result.version = field("RuntimeVersion", "runtimeVersion").unwrap_or_default();
    }
    if let Some(info) = info.and_then(|info| serde_json::from_str::<CrictlInfo>(info).ok()) {
        result.conditions = info
            .status
            .conditions
            .into_iter()
            .map(|c| RuntimeCondition { kind: c.kind, ok: c.status, reason: c.reason, message: c.message })
            .collect();
    }
    if result == RuntimeStatus::default() {
        return Err(DecodeError::Shape("neither a version nor a status of a runtime"));
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_version_and_info() {
        let info = r#"{"config":{"x":1},"status":{"conditions":[{"type":"NetworkReady","status":false,"reason":"R","message":"m"}]}}"#;
        for version in [
            "Version:  0.1.0\nRuntimeName:  containerd\nRuntimeVersion:  2.1.9+unknown\n",
            "{\n \"runtimeName\": \"containerd\",\n \"runtimeVersion\": \"2.1.9+unknown\"\n}",
        ] {
            let s = runtime_status(Some(version), Some(info)).unwrap();
            assert_eq!((s.name.as_str(), s.version.as_str()), ("containerd", "2.1.9+unknown"));
            assert_eq!((s.conditions[0].kind.as_str(), s.conditions[0].ok), ("NetworkReady", false));
        }
        assert!(runtime_status(Some("time=x level=error"), None).is_err());
    }
}
