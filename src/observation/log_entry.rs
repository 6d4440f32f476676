//! A log line as recordings of format 1 and 2 hold it. Kept to read them; [`LogRecord`] replaces it.

use serde::{Deserialize, Serialize};

use super::{LogKind, LogLevel, LogRecord, Time};
use crate::text::Text;

/// A log line of an old recording, with the kind that the decoder of that time gave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// The time in the line.
    pub at: Time,
    /// The line is an error or a warning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub severe: bool,
    /// Pod as `namespace/name`; empty if the line names none.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub pod: Text,
    /// Pod UID; empty if the line names none.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub uid: Text,
    /// The kind of the line, with its values.
    pub what: LogKind,
}

impl From<LogEntry> for LogRecord {
    /// Restores the klog message and the fields from which [`LogRecord::kind`] gives the same kind.
    fn from(entry: LogEntry) -> Self {
        let LogEntry { at, severe, pod, uid, what } = entry;
        let level = if severe { LogLevel::Error } else { LogLevel::Info };
        let line =
            |message: &str| LogRecord { pod: pod.clone(), uid: uid.clone(), ..LogRecord::new(at, level, message) };
        match what {
            LogKind::PodSeen { source } => line("SyncLoop ADD").with("source", &source),
            LogKind::PodDelete => line("SyncLoop DELETE"),
            LogKind::PodRemove => line("SyncLoop REMOVE"),
            LogKind::AdmissionDenied { reason, message } => {
                line("Pod admission denied").with("reason", &reason).with("message", &message)
            }
            LogKind::SandboxCreating => line("Creating PodSandbox for pod"),
            LogKind::SandboxFailed { error } => line("Failed to create sandbox for pod").with("err", &error),
            LogKind::SyncError { error } => line("Error syncing pod, skipping").with("err", &error),
            LogKind::Startup { e2e_s, slo_s } => line("Observed pod startup duration")
                .with("podStartSLOduration", &slo_s.to_string())
                .with("podStartE2EDuration", &format!("{e2e_s}s")),
            LogKind::Killing { container, grace_s } => line("Killing container with a grace period")
                .with("containerName", &container)
                .with("gracePeriod", &grace_s.to_string()),
            LogKind::ContainerFinished { container, exit_code } => line("Generic (PLEG): container finished")
                .with("containerID", &container)
                .with("exitCode", &exit_code.to_string()),
            LogKind::PlegEvent { event, id } => {
                let event = serde_json::json!({"ID": uid.as_str(), "Type": event.as_str(), "Data": id.as_str()});
                line("SyncLoop (PLEG): event for pod").with("event", &event.to_string())
            }
            LogKind::LoopBlocked { error } => line("Skipping pod synchronization").with("err", &error),
            LogKind::PlegTrouble { error: message } | LogKind::Other { message } => {
                LogRecord { pod, uid, ..LogRecord::new(at, level, message) }
            }
            LogKind::Output { container, line } => LogRecord { pod, uid, container, ..LogRecord::new(at, level, line) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_entry_keeps_its_kind() {
        let kinds = [
            LogKind::PodSeen { source: "api".into() },
            LogKind::PodDelete,
            LogKind::PodRemove,
            LogKind::AdmissionDenied { reason: "OutOfcpu".into(), message: "m".into() },
            LogKind::SandboxCreating,
            LogKind::SandboxFailed { error: "e".into() },
            LogKind::SyncError { error: "a b=c".into() },
            LogKind::Startup { e2e_s: 62.5, slo_s: 1.5 },
            LogKind::Killing { container: "app".into(), grace_s: 2 },
            LogKind::ContainerFinished { container: "c".into(), exit_code: 137 },
            LogKind::PlegEvent { event: "ContainerStarted".into(), id: "c".into() },
            LogKind::LoopBlocked { error: "e".into() },
            LogKind::PlegTrouble { error: "GenericPLEG: Unable to retrieve pods: x".into() },
        ];
        for what in kinds {
            let entry =
                LogEntry { at: Time::UNIX_EPOCH, severe: true, pod: "n/p".into(), uid: "u".into(), what: what.clone() };
            let line = LogRecord::from(entry);
            assert_eq!((line.kind(), line.pod.as_str(), line.uid.as_str()), (Some(what), "n/p", "u"));
        }
        let what = LogKind::Output { container: "app".into(), line: "SyncLoop ADD".into() };
        let entry = LogEntry { at: Time::UNIX_EPOCH, severe: false, pod: "".into(), uid: "".into(), what };
        let line = LogRecord::from(entry);
        assert_eq!((line.kind(), line.container.as_str(), line.text().as_str()), (None, "app", "SyncLoop ADD"));
    }
}
