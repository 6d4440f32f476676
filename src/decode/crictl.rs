//! Owns what `crictl -o json` prints of sandboxes and containers: lists, and the status part of inspect.
//! It must not decode labels, annotations or environments but the kubelet's own few.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{DecodeError, nullable};
use crate::observation::{Container, ContainerPhase, Sandbox, Time};
use crate::text::{Message, Text};

/// A time as nanoseconds or RFC 3339; zero times of Go, of Unix and of protobuf are absent.
#[derive(Clone, Copy, Debug, Default)]
struct Moment(Option<Time>);

impl<'de> Deserialize<'de> for Moment {
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
struct Metadata {
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
struct Labels {
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
struct Annotations {
    #[serde(rename = "kubernetes.io/config.seen")]
    seen: String,
    #[serde(rename = "kubernetes.io/config.source")]
    source: Text,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Image {
    #[serde(deserialize_with = "nullable")]
    image: Text,
    #[serde(deserialize_with = "nullable")]
    user_specified_image: Text,
}

impl Image {
    fn shown(self) -> Text {
        if self.user_specified_image.is_empty() { self.image } else { self.user_specified_image }
    }
}

/// A list's entry or a status: the two share most of their fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    id: Text,
    #[serde(default)]
    pod_sandbox_id: Text,
    #[serde(default, deserialize_with = "nullable")]
    metadata: Metadata,
    #[serde(default, deserialize_with = "nullable")]
    labels: Labels,
    #[serde(default, deserialize_with = "nullable")]
    annotations: Annotations,
    #[serde(default, deserialize_with = "nullable")]
    image: Image,
    #[serde(default)]
    state: String,
    #[serde(default)]
    created_at: Moment,
    #[serde(default)]
    started_at: Moment,
    #[serde(default)]
    finished_at: Moment,
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

fn list(json: &str) -> Result<Vec<Raw>, DecodeError> {
    #[derive(Deserialize)]
    struct Listed {
        #[serde(alias = "containers")]
        items: Option<Vec<Raw>>,
    }
    if json.trim_start().starts_with('[') {
        return Ok(serde_json::from_str(json)?);
    }
    Ok(serde_json::from_str::<Listed>(json)?.items.unwrap_or_default())
}

fn status(json: &str) -> Result<Raw, DecodeError> {
    #[derive(Deserialize)]
    struct Inspected {
        status: Raw,
    }
    serde_json::from_str::<Inspected>(json).map(|i| i.status).or_else(|_| Ok(serde_json::from_str(json)?))
}

/// Sandboxes of `crictl pods -o json`, or of the bare list in it.
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

/// Containers of `crictl ps -a -o json`, or of the bare list in it.
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
            image: raw.image.shown(),
        })
        .collect())
}

/// SANDBOX_READY is the default of the protocol: an absent state means it.
fn is_ready(state: &str) -> bool {
    matches!(state, "SANDBOX_READY" | "")
}

/// CONTAINER_CREATED is the default of the protocol: an absent state means it.
fn phase(state: &str) -> ContainerPhase {
    match state {
        "CONTAINER_CREATED" | "" => ContainerPhase::Created,
        "CONTAINER_RUNNING" => ContainerPhase::Running,
        "CONTAINER_EXITED" => ContainerPhase::Exited,
        _ => ContainerPhase::Unknown,
    }
}

/// What only ContainerStatus says.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerDetails {
    /// Container id.
    pub id: Text,
    /// State when it was asked for.
    pub phase: ContainerPhase,
    /// Start.
    pub started_at: Option<Time>,
    /// End.
    pub finished_at: Option<Time>,
    /// Exit code; means something once it has ended.
    pub exit_code: i32,
    /// Reason word.
    pub reason: Text,
    /// The runtime's message.
    pub message: Message,
    /// Image as the user wrote it, or its id where the runtime does not say.
    pub image: Text,
}

/// Reads `crictl inspect` (its status part), or the bare status.
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
        image: raw.image.shown(),
    })
}

impl ContainerDetails {
    /// Adds the details to what a list said. A list whose state has moved on keeps its own, and of the details only the start.
    pub fn merge_into(&self, container: &mut Container) {
        let rank = |phase| match phase {
            ContainerPhase::Created => Some(0),
            ContainerPhase::Running => Some(1),
            ContainerPhase::Exited => Some(2),
            ContainerPhase::Unknown => None,
        };
        container.started_at = self.started_at.or(container.started_at);
        if container.image.is_empty() {
            container.image = self.image.clone();
        }
        let stale = match (rank(self.phase), rank(container.phase)) {
            (Some(details), Some(listed)) => details < listed,
            _ => self.phase != container.phase,
        };
        if stale {
            return;
        }
        container.phase = self.phase;
        container.finished_at = self.finished_at;
        container.exit_code = (self.phase == ContainerPhase::Exited).then_some(self.exit_code);
        container.reason = self.reason.clone();
        container.message = self.message.clone();
    }
}

/// What only PodSandboxStatus says.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxDetails {
    /// Sandbox id.
    pub id: Text,
    /// SANDBOX_READY when it was asked for.
    pub ready: bool,
    /// Pod address; empty for host-network pods.
    pub ip: Text,
}

/// Reads `crictl inspectp` (its status part), or the bare status.
///
/// # Errors
/// When the text is not such a status.
pub fn sandbox_details(json: &str) -> Result<SandboxDetails, DecodeError> {
    let raw = status(json)?;
    Ok(SandboxDetails { id: raw.id, ready: is_ready(&raw.state), ip: raw.network.ip })
}

impl SandboxDetails {
    /// Adds the details to what a list said. A sandbox that is not ready never becomes ready again.
    pub fn merge_into(&self, sandbox: &mut Sandbox) {
        sandbox.ready &= self.ready;
        sandbox.ip = self.ip.clone();
    }
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

        let mut moved_on = Container { phase: ContainerPhase::Exited, ..c.clone() };
        details("CONTAINER_RUNNING", "2026-11-29T11:21:18Z", "0001-01-01T00:00:00Z").merge_into(&mut moved_on);
        assert_eq!((moved_on.phase, moved_on.exit_code), (ContainerPhase::Exited, None));
        assert!(moved_on.started_at.is_some() && moved_on.finished_at.is_none() && moved_on.reason.is_empty());
    }

    #[test]
    fn times_that_are_none() {
        for none in ["\"0\"", "0", "\"0001-01-01T00:00:00Z\"", "\"1970-01-01T00:00:00Z\"", "\"\"", "null", "{}"] {
            assert!(serde_json::from_str::<Moment>(none).unwrap().0.is_none(), "{none}");
        }
    }

    #[test]
    fn sandboxes_and_their_address() {
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
