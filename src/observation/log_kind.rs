//! The kubelet's log messages that mean something to the pipeline, with their values.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::{Message, Text};
use crate::time::parse_duration_seconds;
use crate::weight::Weigh;

/// Messages of PLEG that report a relist that failed or events that were lost.
const PLEG_FAILURES: [&str; 2] =
    ["GenericPLEG: Unable to retrieve pod", "Event channel is full, discard this relist() cycle event"];

/// What a log line means. Recordings of format 1 and 2 hold it; of a [`LogRecord`](super::LogRecord) it is derived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum LogKind {
    /// `SyncLoop ADD`: the kubelet has the pod.
    PodSeen {
        /// Config source: `api`, `file` or `http`.
        source: Text,
    },
    /// `SyncLoop DELETE`.
    PodDelete,
    /// `SyncLoop REMOVE`.
    PodRemove,
    /// `Pod admission denied`.
    AdmissionDenied {
        /// Reason, such as `OutOfcpu`.
        reason: Text,
        /// Message.
        message: Message,
    },
    /// `Creating PodSandbox for pod` (level 4): an attempt starts. `No sandbox for pod can be found` does not prove an
    /// attempt: the kubelet writes it whenever it generates the status of a pod without a sandbox.
    SandboxCreating,
    /// `Failed to create sandbox for pod`.
    SandboxFailed {
        /// The runtime's error.
        error: Message,
    },
    /// `Error syncing pod, skipping`.
    SyncError {
        /// The whole chain of errors.
        error: Message,
    },
    /// `Observed pod startup duration`.
    Startup {
        /// podStartE2EDuration, seconds.
        e2e_s: f64,
        /// podStartSLOduration, seconds: without image pulls and init containers.
        slo_s: f64,
    },
    /// `Killing container with a grace period`.
    Killing {
        /// Container.
        container: Text,
        /// Grace period, seconds.
        grace_s: i64,
    },
    /// `Generic (PLEG): container finished`.
    ContainerFinished {
        /// Container id.
        container: Text,
        /// Exit code.
        exit_code: i32,
    },
    /// `SyncLoop (PLEG): event for pod`: a relist found a change of a container or a sandbox.
    PlegEvent {
        /// `ContainerStarted`, `ContainerDied`, `ContainerRemoved`, …
        event: Text,
        /// Container or sandbox id; the line does not distinguish them.
        id: Text,
    },
    /// `Skipping pod synchronization`: the sync loop is blocked.
    LoopBlocked {
        /// The reasons.
        error: Message,
    },
    /// `GenericPLEG: Unable to retrieve pods`, or a full event channel.
    PlegTrouble {
        /// The message with its error.
        error: Message,
    },
    /// Any other error or warning. Only in recordings of format 1 and 2.
    Other {
        /// The message with its error.
        message: Message,
    },
    /// A line that a container wrote. Only in recordings of format 1 and 2.
    Output {
        /// Container.
        container: Text,
        /// The line.
        line: Message,
    },
}

impl LogKind {
    /// The kind of a line of the kubelet's log with this message (kubelet 1.34 to 1.36); `field` gives the value of a key, empty
    /// if the line does not have it.
    pub fn of_line<'a>(message: &str, field: impl Fn(&str) -> &'a str) -> Option<Self> {
        let name = |key: &str| Text::name(field(key));
        let text = |key: &str| Message::new(field(key));
        Some(match message {
            "SyncLoop ADD" => Self::PodSeen { source: name("source") },
            "SyncLoop DELETE" => Self::PodDelete,
            "SyncLoop REMOVE" => Self::PodRemove,
            "Pod admission denied" => Self::AdmissionDenied { reason: name("reason"), message: text("message") },
            "Creating PodSandbox for pod" => Self::SandboxCreating,
            "Failed to create sandbox for pod" => Self::SandboxFailed { error: text("err") },
            "Error syncing pod, skipping" => Self::SyncError { error: text("err") },
            "Observed pod startup duration" => {
                let e2e_s = parse_duration_seconds(field("podStartE2EDuration"))?;
                let slo = field("podStartSLOduration");
                let slo_s = slo.parse().ok().or_else(|| parse_duration_seconds(slo)).filter(|s: &f64| s.is_finite())?;
                Self::Startup { e2e_s, slo_s }
            }
            "Killing container with a grace period" => Self::Killing {
                container: name("containerName"),
                grace_s: field("gracePeriod").parse().unwrap_or_default(),
            },
            "Generic (PLEG): container finished" => {
                Self::ContainerFinished { container: name("containerID"), exit_code: field("exitCode").parse().ok()? }
            }
            "SyncLoop (PLEG): event for pod" => {
                let event: Value = serde_json::from_str(field("event")).ok()?;
                let text = |key: &str| event.get(key).and_then(Value::as_str).map(Text::name).unwrap_or_default();
                Self::PlegEvent { event: text("Type"), id: text("Data") }
            }
            "Skipping pod synchronization" => Self::LoopBlocked { error: text("err") },
            message if PLEG_FAILURES.iter().any(|start| message.starts_with(start)) => {
                let separator = if field("err").is_empty() { "" } else { ": " };
                Self::PlegTrouble { error: format!("{message}{separator}{}", field("err")).into() }
            }
            _ => return None,
        })
    }

    /// The line marks progress: it does not prove a failure, and its text is not kept.
    pub fn is_progress(&self) -> bool {
        match self {
            Self::PodSeen { .. }
            | Self::PodDelete
            | Self::PodRemove
            | Self::SandboxCreating
            | Self::Startup { .. }
            | Self::Killing { .. }
            | Self::ContainerFinished { .. }
            | Self::PlegEvent { .. } => true,
            Self::AdmissionDenied { .. }
            | Self::SandboxFailed { .. }
            | Self::SyncError { .. }
            | Self::LoopBlocked { .. }
            | Self::PlegTrouble { .. }
            | Self::Other { .. }
            | Self::Output { .. } => false,
        }
    }
}

impl Weigh for LogKind {
    fn heap(&self) -> usize {
        match self {
            Self::PodSeen { source: text }
            | Self::Killing { container: text, .. }
            | Self::ContainerFinished { container: text, .. } => text.heap(),
            Self::SandboxFailed { error: text }
            | Self::SyncError { error: text }
            | Self::LoopBlocked { error: text }
            | Self::PlegTrouble { error: text }
            | Self::Other { message: text } => text.heap(),
            Self::PlegEvent { event: a, id: b } => a.heap() + b.heap(),
            Self::AdmissionDenied { reason: a, message: b } | Self::Output { container: a, line: b } => {
                a.heap() + b.heap()
            }
            Self::PodDelete | Self::PodRemove | Self::SandboxCreating | Self::Startup { .. } => 0,
        }
    }
}
