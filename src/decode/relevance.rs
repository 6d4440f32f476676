//! The one decision which lines of the logs of kubelet, runtime and kernel are kept, for live, recorded and imported logs alike.

use super::klog::KlogRecord;
use crate::observation::{LogKind, LogLevel, reports_failure, reports_recovery};

/// Words of level I that rules look for besides those of a failure.
const NOTABLE: [&str; 9] = [
    "infeasible",
    "Infeasible",
    "deferred",
    "Deferred",
    "shutting down",
    "shutdown",
    "DiskPressure",
    "MemoryPressure",
    "PIDPressure",
];
/// Fields whose values may report a failure at level I. Others quote whole objects, which hold such words by chance.
const TELLING_FIELDS: [&str; 6] = ["err", "error", "reason", "message", "containerMessage", "output"];

/// Parts of kernel messages (Linux 4 to 6) that rules look for besides words of a failure.
const KERNEL: [&str; 14] = [
    "segfault at ",
    "general protection fault",
    "trap invalid opcode",
    "file-max limit ",
    "table full, dropping packet",
    "not responding",
    "has not responded",
    "XFS (",
    "Remounting filesystem read-only",
    "unregister_netdevice: waiting for ",
    "session lost",
    "type=1326",
    "type=1701",
    "hung_task",
];

/// A line of the kubelet's log: an error or a warning, one that the pipeline uses, or one of level I that reports a failure or
/// its end.
pub(super) fn is_relevant(record: &KlogRecord) -> bool {
    record.level > LogLevel::Info
        || LogKind::of_line(&record.message, |key| record.value(key)).is_some()
        || is_notable(&record.message)
        || TELLING_FIELDS.iter().any(|key| is_notable(record.value(key)))
}

/// The text reports a failure or its end, or has a word that rules look for.
pub(super) fn is_notable(text: &str) -> bool {
    reports_failure(text) || reports_recovery(text) || NOTABLE.iter().any(|word| text.contains(word))
}

/// A line of the runtime's log of that level. Below a warning the runtime reports only failures that it can handle.
pub(super) fn is_relevant_to_runtime(level: LogLevel, message: &str) -> bool {
    level > LogLevel::Info || reports_recovery(message)
}

/// A message of systemd in the log of a unit: the unit failed or is restarted.
pub(super) fn is_relevant_to_unit(message: &str, priority: Option<u8>) -> bool {
    /// syslog's level of a warning.
    const WARNING: u8 = 4;
    priority.is_some_and(|p| p <= WARNING) || reports_failure(message) || message.contains("restart")
}

/// A message of the kernel.
pub(super) fn is_relevant_to_kernel(message: &str) -> bool {
    reports_failure(message) || KERNEL.iter().any(|part| message.contains(part))
}
