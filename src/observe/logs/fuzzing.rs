//! Entry points for the fuzz targets of this module.

use super::entry::entry;
use super::lines::{LogLines, NodeLog, RawLogLine};
use crate::observation::{LogEntry, Time};

/// Lines of `journalctl -o json`, as each of the logs that are read from it.
pub fn journal(text: &[u8]) -> Vec<LogEntry> {
    let mut entries = Vec::new();
    for of in [NodeLog::Kubelet, NodeLog::Runtime, NodeLog::Kernel] {
        let mut lines = LogLines::new(of, true);
        for entry in text.split(|b| *b == b'\n').filter_map(entry) {
            let line =
                RawLogLine { text: &entry.message, received: entry.at, pid: entry.pid, priority: entry.priority };
            lines.push(line, &mut entries);
        }
        lines.flush(&mut entries);
    }
    entries
}

/// Lines of a log file, as each of the logs, received at that time.
pub fn file(text: &str, received: Time) -> Vec<LogEntry> {
    let mut entries = Vec::new();
    for of in [NodeLog::Kubelet, NodeLog::Runtime, NodeLog::Kernel] {
        let mut lines = LogLines::new(of, false);
        for text in text.lines() {
            lines.push(RawLogLine { text, received, pid: None, priority: None }, &mut entries);
        }
        lines.flush(&mut entries);
    }
    entries
}
