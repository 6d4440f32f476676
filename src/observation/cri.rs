//! Objects of the container runtime: sandboxes and containers over CRI, ingests of the content store of containerd. Verbose
//! responses are not kept: they contain the OCI spec with its environment.

use serde::{Deserialize, Serialize};

use super::Time;
use crate::objects::limits::CONDITIONS;
use crate::objects::{Bounded, BoundedEntry, OmittedCount};
use crate::text::{Message, Text};

/// A pod sandbox (`PodSandbox` of CRI v1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Sandbox id.
    pub id: Text,
    /// Pod name.
    pub name: Text,
    /// Pod namespace.
    pub namespace: Text,
    /// Pod UID; of a static pod its own, not its mirror's.
    pub uid: Text,
    /// Number of earlier sandboxes of this pod.
    pub attempt: u32,
    /// SANDBOX_READY.
    pub ready: bool,
    /// Creation; the runtime lists a sandbox only once it is complete.
    pub created_at: Option<Time>,
    /// `kubernetes.io/config.seen`: when the kubelet first saw the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Time>,
    /// `kubernetes.io/config.source`: `api`, `file` or `http`.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub config_source: Text,
    /// Pod address, from PodSandboxStatus; empty for host-network pods.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub ip: Text,
}

/// State of a container (`ContainerState` of CRI v1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContainerPhase {
    /// CONTAINER_CREATED.
    Created,
    /// CONTAINER_RUNNING.
    Running,
    /// CONTAINER_EXITED.
    Exited,
    /// CONTAINER_UNKNOWN, or an unknown value.
    #[serde(other)]
    Unknown,
}

impl ContainerPhase {
    /// The state in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Running => "running",
            Self::Exited => "exited",
            Self::Unknown => "in an unknown state",
        }
    }
}

/// A container (`Container`, and `ContainerStatus` once that was called).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Container {
    /// Container id.
    pub id: Text,
    /// Sandbox id.
    pub sandbox: Text,
    /// Container name.
    pub name: Text,
    /// Pod name.
    pub pod: Text,
    /// Pod namespace.
    pub namespace: Text,
    /// Pod UID.
    pub uid: Text,
    /// Restart count at its creation.
    pub attempt: u32,
    /// State.
    pub phase: ContainerPhase,
    /// Creation.
    pub created_at: Option<Time>,
    /// Start; absent before ContainerStatus was called, or if it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// Exit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,
    /// Exit code, once it has exited and ContainerStatus was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// `Completed`, `Error`, `OOMKilled`, `StartError`, …
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
    /// The runtime's message.
    #[serde(default, skip_serializing_if = "Message::is_empty")]
    pub message: Message,
    /// Image as the user wrote it, or its id if the runtime does not report that.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub image: Text,
}

/// An active ingest: a layer or manifest that is written to the content store of containerd.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pull {
    /// Ingest reference, `layer-sha256:…`.
    pub reference: Text,
    /// Bytes so far.
    pub offset: u64,
    /// Total bytes; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Start of the ingest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
}

/// `Version` and `Status` of the runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuntimeStatus {
    /// `containerd`, `cri-o`.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub name: Text,
    /// Version.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub version: Text,
    /// RuntimeReady, NetworkReady and others.
    #[serde(default)]
    pub conditions: Bounded<RuntimeCondition, CONDITIONS>,
}

/// One condition of the runtime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeCondition {
    /// Type.
    pub kind: Text,
    /// Status.
    pub ok: bool,
    /// Reason word.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
    /// Message.
    #[serde(default, skip_serializing_if = "Message::is_empty")]
    pub message: Message,
}

impl BoundedEntry for RuntimeCondition {
    type Summary = OmittedCount;
    fn fold(self, rest: &mut OmittedCount) {
        rest.add();
    }
    fn is_essential(&self) -> bool {
        matches!(self.kind.as_str(), "RuntimeReady" | "NetworkReady")
    }
}
