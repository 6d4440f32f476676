//! `crictl -o json` for sandboxes and containers: lists, and the status part of inspect. Of labels and annotations only the
//! kubelet's own are decoded, and no environments.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{DecodeError, nullable};
use crate::decode::{ContainerDetails, SandboxDetails};
use crate::observation::{Container, ContainerPhase, Sandbox, Time};
use crate::text::{Message, Text};

/// A time in nanoseconds or RFC 3339. Zero times of Go, Unix and protobuf count as absent.
#[derive(Clone, Copy, Debug, Default)]
struct CrictlTime(Option<Time>);

impl<'de> Deserialize<'de> for CrictlTime {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let at = match Value::deserialize(d)? {
            Value::Number(n) => n.as_i64().map(Time::from_timestamp_nanos),
            Value::String(s) => s.parse().ok().map(Time::from_timestamp_nanos).or_else(|| s.parse().ok()),
            _ => None,
        };
        Ok(Self(at.filter(|t| t.timestamp() > 0)))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CrictlMetadata {
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    namespace: Text,
    #[serde(deserialize_with = "nullable")]
    uid: Text,
    #[serde(deserialize_with = "nullable")]
    attempt: u32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CrictlLabels {
    #[serde(rename = "io.kubernetes.container.name")]
    container: Text,
    #[serde(rename = "io.kubernetes.pod.name")]
    pod: Text,
    #[serde(rename = "io.kubernetes.pod.namespace")]
    namespace: Text,
    #[serde(rename = "io.kubernetes.pod.uid")]
    uid: Text,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CrictlAnnotations {
    #[serde(rename = "kubernetes.io/config.seen")]
    seen: String,
    #[serde(rename = "kubernetes.io/config.source")]
    source: Text,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CrictlImage {
    #[serde(deserialize_with = "nullable")]
    image: Text,
    #[serde(deserialize_with = "nullable")]
    user_specified_image: Text,
}

impl CrictlImage {
    fn name(self) -> Text {
        if self.user_specified_image.is_empty() { self.image } else { self.user_specified_image }
    }
}

/// An entry of a list, or a status: they share most of their fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CrictlEntry {
    id: Text,
    #[serde(default)]
    pod_sandbox_id: Text,
    #[serde(default, deserialize_with = "nullable")]
    metadata: CrictlMetadata,
    #[serde(default, deserialize_with = "nullable")]
    labels: CrictlLabels,
    #[serde(default, deserialize_with = "nullable")]
    annotations: CrictlAnnotations,
    #[serde(default, deserialize_with = "nullable")]
    image: CrictlImage,
    #[serde(default)]
    state: String,
    #[serde(default)]
    created_at: CrictlTime,
    #[serde(default)]
    started_at: CrictlTime,
    #[serde(default)]
    finished_at: CrictlTime,
    #[serde(default)]
    exit_code: i32,
    #[serde(default)]
    reason: Text,
    #[serde(default)]
    message: Message,
    #[serde(default, deserialize_with = "nullable")]
    network: Network,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Network {
    ip: Text,
}

fn list(json: &str) -> Result<Vec<CrictlEntry>, DecodeError> {
    #[derive(Deserialize)]
    struct CrictlList {
        #[serde(alias = "containers")]
        items: Option<Vec<CrictlEntry>>,
    }
    if json.trim_start().starts_with('[') {
        return Ok(serde_json::from_str(json)?);
    }
    Ok(serde_json::from_str::<CrictlList>(json)?.items.unwrap_or_default())
}

fn status(json: &str) -> Result<CrictlEntry, DecodeError> {
    #[derive(Deserialize)]
    struct Inspected {
        status: CrictlEntry,
    }
    serde_json::from_str::<Inspected>(json).map(|i| i.status).or_else(|_| Ok(serde_json::from_str(json)?))
}

/// Sandboxes in the output of `crictl pods -o json`, or in its list alone.
///
/// # Errors
/// When the text is not such a list.
pub fn sandboxes(json: &str) -> Result<Vec<Sandbox>, DecodeError> {
    Ok(list(json)?
        .into_iter()
        .map(|raw| Sandbox {
            id: raw.id,
            name: raw.metadata.name,
            namespace: raw.metadata.namespace,
            uid: raw.metadata.uid,
            attempt: raw.metadata.attempt,
            ready: is_ready(&raw.state),
            created_at: raw.created_at.0,
            seen: raw.annotations.seen.parse().ok(),
            config_source: raw.annotations.source,
            ip: Text::default(),
        })
        .collect())
}

/// Containers in the output of `crictl ps -a -o json`, or in its list alone.
///
/// # Errors
/// When the text is not such a list.
pub fn containers(json: &str) -> Result<Vec<Container>, DecodeError> {
    Ok(list(json)?
        .into_iter()
        .map(|raw| Container {
            id: raw.id,
            sandbox: raw.pod_sandbox_id,
            name: if raw.metadata.name.is_empty() { raw.labels.container } else { raw.metadata.name },
            pod: raw.labels.pod,
            namespace: raw.labels.namespace,
            uid: raw.labels.uid,
            attempt: raw.metadata.attempt,
            phase: phase(&raw.state),
            created_at: raw.created_at.0,
            started_at: None,
            finished_at: None,
            exit_code: None,
            reason: Text::default(),
            message: Message::default(),
            image: raw.image.name(),
        })
        .collect())
}

/// SANDBOX_READY is 0 in CRI v1, which JSON omits.
fn is_ready(state: &str) -> bool {
    matches!(state, "SANDBOX_READY" | "")
}

/// CONTAINER_CREATED is 0 in CRI v1, which JSON omits.
fn phase(state: &str) -> ContainerPhase {
    match state {
        "CONTAINER_CREATED" | "" => ContainerPhase::Created,
        "CONTAINER_RUNNING" => ContainerPhase::Running,
        "CONTAINER_EXITED" => ContainerPhase::Exited,
        _ => ContainerPhase::Unknown,
    }
}

/// Reads `crictl inspect` (its status part), or a status alone.
///
/// # Errors
/// When the text is not such a status.
pub fn container_details(json: &str) -> Result<ContainerDetails, DecodeError> {
    let raw = status(json)?;
    Ok(ContainerDetails {
        id: raw.id,
        phase: phase(&raw.state),
        started_at: raw.started_at.0,
        finished_at: raw.finished_at.0,
        exit_code: raw.exit_code,
        reason: raw.reason,
        message: raw.message,
        image: raw.image.name(),
    })
}

/// Reads `crictl inspectp` (its status part), or a status alone.
///
/// # Errors
/// When the text is not such a status.
pub fn sandbox_details(json: &str) -> Result<SandboxDetails, DecodeError> {
    let raw = status(json)?;
    Ok(SandboxDetails { id: raw.id, ready: is_ready(&raw.state), ip: raw.network.ip })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = r#"{"containers":[{"id":"c","podSandboxId":"p","metadata":{"name":"app","attempt":2},
        "image":{"image":"sha256:1","userSpecifiedImage":"app:1"},"state":"CONTAINER_RUNNING","createdAt":"1795951277612222610",
        "labels":{"io.kubernetes.pod.name":"web","io.kubernetes.pod.namespace":"s","io.kubernetes.pod.uid":"u","secret":"hunter2"},
        "annotations":null}]}"#;

    fn details(state: &str, started: &str, finished: &str) -> ContainerDetails {
        container_details(&format!(
            r#"{{"status":{{"id":"c","state":"{state}","createdAt":"2026-11-29T11:21:17Z","startedAt":"{started}",
            "finishedAt":"{finished}","exitCode":3,"reason":"Error","message":"m"}}}}"#
        ))
        .unwrap()
    }

    #[test]
    fn listed_and_merged() {
        let list = containers(LISTED).unwrap();
        let c = &list[0];
        assert_eq!((c.name.as_str(), c.pod.as_str(), c.uid.as_str(), c.attempt), ("app", "web", "u", 2));
        assert_eq!(c.created_at.unwrap().to_rfc3339(), "2026-11-29T11:21:17.612222610Z");
        assert_eq!((c.phase, c.image.as_str()), (ContainerPhase::Running, "app:1"));

        let mut exited = c.clone();
        details("CONTAINER_EXITED", "2026-11-29T11:21:18Z", "2026-11-29T11:21:19Z").merge_into(&mut exited);
        assert_eq!((exited.phase, exited.exit_code), (ContainerPhase::Exited, Some(3)));
        assert_eq!((exited.reason.as_str(), exited.image.as_str()), ("Error", "app:1"));

        let mut exited_later = Container { phase: ContainerPhase::Exited, ..c.clone() };
        details("CONTAINER_RUNNING", "2026-11-29T11:21:18Z", "0001-01-01T00:00:00Z").merge_into(&mut exited_later);
        assert_eq!((exited_later.phase, exited_later.exit_code), (ContainerPhase::Exited, None));
        assert!(
            exited_later.started_at.is_some() && exited_later.finished_at.is_none() && exited_later.reason.is_empty()
        );
    }

    #[test]
    fn zero_times_are_absent() {
        for none in ["\"0\"", "0", "\"0001-01-01T00:00:00Z\"", "\"1970-01-01T00:00:00Z\"", "\"\"", "null", "{}"] {
            assert!(serde_json::from_str::<CrictlTime>(none).unwrap().0.is_none(), "{none}");
        }
    }

    #[test]
    fn a_sandbox_and_its_address() {
        let json = r#"[{"id":"p","metadata":{"name":"web","uid":"u","namespace":"s"},"state":"SANDBOX_NOTREADY","createdAt":1795951277000000000,
            "annotations":{"kubernetes.io/config.seen":"2026-11-29T11:21:16.9Z","kubernetes.io/config.source":"api","x":"hunter2"}}]"#;
        let mut s = sandboxes(json).unwrap().remove(0);
        assert!(!s.ready && s.seen.is_some() && s.config_source == "api");
        sandbox_details(r#"{"id":"p","state":"SANDBOX_READY","network":{"ip":"10.0.0.1"}}"#)
            .unwrap()
            .merge_into(&mut s);
        assert_eq!((s.ready, s.ip.as_str()), (false, "10.0.0.1"));
        assert!(sandboxes("time=\"2026\" level=error").is_err());
    }
}
