//! Turns the lines of one log into entries: joins records, and applies process and time zone.

use crate::decode::{Joiner, RuntimeLine, kernel_line, klog, kubelet_entries, runtime_line};
use crate::observation::{LogEntry, LogKind, Source, Time};
use crate::text::Text;
use crate::time::TimeDelta;

/// Whose log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeLog {
    /// The kubelet: klog; inside of k3s with lines of k3s' own between.
    Kubelet,
    /// The container runtime.
    Runtime,
    /// The kernel.
    Kernel,
}

impl NodeLog {
    /// The source that speaks.
    pub fn source(self) -> Source {
        match self {
            NodeLog::Kubelet => Source::KubeletLog,
            NodeLog::Runtime => Source::RuntimeLog,
            NodeLog::Kernel => Source::KernelLog,
        }
    }
}

/// Zones are whole quarters of an hour away from UTC, at most fourteen hours.
const QUARTER: i64 = 900;
const MAX_QUARTERS: i64 = 14 * 4;
/// syslog's level of a warning: systemd says so when a unit failed.
const WARNING: u8 = 4;
/// systemd's own process, which says how a unit fares in the unit's log.
const SYSTEMD: u32 = 1;

/// What is known of a line besides its text.
#[derive(Clone, Copy, Debug)]
pub struct RawLogLine<'a> {
    /// The text.
    pub text: &'a str,
    /// When it was received: by journald, or now.
    pub received: Time,
    /// The process that wrote it.
    pub pid: Option<u32>,
    /// syslog's level.
    pub priority: Option<u8>,
}

/// Lines of one log on their way to entries.
#[derive(Debug)]
pub struct LogLines {
    of: NodeLog,
    joiner: Joiner<Time>,
    open: bool,
    pid: Option<u32>,
    /// Times of receipt are those of writing; otherwise text lines are read in this machine's zone.
    prompt: bool,
}

impl LogLines {
    /// Lines whose time of receipt is that of writing (`prompt`), or of a file of any age.
    pub fn new(of: NodeLog, prompt: bool) -> Self {
        Self { of, joiner: Joiner::default(), open: false, pid: None, prompt }
    }

    /// Takes the next line; adds the entries that are complete.
    pub fn push(&mut self, line: RawLogLine<'_>, entries: &mut Vec<LogEntry>) {
        if line.pid == Some(SYSTEMD) && self.of != NodeLog::Kernel {
            self.flush(entries);
            self.pid = line.pid;
            if line.priority.is_some_and(|p| p <= WARNING) {
                entries.push(other(line));
            }
            return;
        }
        match self.of {
            NodeLog::Kernel => entries.extend(kernel_line(line.text, line.received)),
            NodeLog::Runtime => {
                if let RuntimeLine::Severe(entry) = runtime_line(line.text) {
                    entries.push(entry);
                }
            }
            NodeLog::Kubelet => self.kubelet(line, entries),
        }
    }

    fn kubelet(&mut self, line: RawLogLine<'_>, entries: &mut Vec<LogEntry>) {
        // A record does not continue in another process, nor after a line of k3s.
        if line.pid != self.pid {
            self.flush(entries);
            self.pid = line.pid;
        }
        if line.text.starts_with("time=") {
            self.flush(entries);
            if let RuntimeLine::Severe(entry) = runtime_line(line.text) {
                entries.push(entry);
            }
            return;
        }
        let before = self.joiner.push(line.received, line.text);
        self.open = true;
        self.record(before, entries);
    }

    /// True while a record can continue.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Ends the record that is open: nothing has come for a while.
    pub fn flush(&mut self, entries: &mut Vec<LogEntry>) {
        self.open = false;
        let record = self.joiner.take();
        self.record(record, entries);
    }

    fn record(&self, record: Option<(Time, String)>, entries: &mut Vec<LogEntry>) {
        let Some((received, text)) = record else { return };
        let Some(mut record) = klog(&text, received) else { return };
        // JSON lines carry their zone.
        if !text.starts_with('{') {
            record.at = if self.prompt { zoned(record.at, received) } else { local(record.at) };
        }
        entries.extend(kubelet_entries(&record));
    }
}

fn other(line: RawLogLine<'_>) -> LogEntry {
    LogEntry {
        at: line.received,
        severe: true,
        pod: Text::default(),
        uid: Text::default(),
        what: LogKind::Other { message: line.text.into() },
    }
}

/// klog writes the time of the kubelet's zone and does not say which: the one that puts it nearest to its receipt.
fn zoned(at: Time, received: Time) -> Time {
    let seconds = (received - at).num_seconds();
    let quarters = (seconds + seconds.signum() * QUARTER / 2) / QUARTER;
    if quarters.abs() > MAX_QUARTERS { at } else { at + TimeDelta::seconds(quarters * QUARTER) }
}

/// The same without a receipt: this machine's zone.
fn local(at: Time) -> Time {
    at.read_as_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: &str) -> Time {
        s.parse().unwrap()
    }

    fn line(text: &str, pid: u32) -> RawLogLine<'_> {
        RawLogLine { text, received: at("2026-11-29T10:38:26.9Z"), pid: Some(pid), priority: Some(6) }
    }

    #[test]
    fn zones_by_the_receipt() {
        let received = at("2026-11-29T10:38:27Z");
        for (written, is) in [
            ("2026-11-29T12:38:26Z", "2026-11-29T10:38:26Z"),
            ("2026-11-29T05:08:26Z", "2026-11-29T10:38:26Z"),
            ("2026-11-29T10:38:26Z", "2026-11-29T10:38:26Z"),
            ("2026-11-29T10:36:00Z", "2026-11-29T10:36:00Z"),
            ("2026-11-20T10:36:00Z", "2026-11-20T10:36:00Z"),
        ] {
            assert_eq!(zoned(at(written), received), at(is), "{written}");
        }
    }

    #[test]
    fn records_end_with_their_process_and_at_lines_of_k3s() {
        let mut lines = LogLines::new(NodeLog::Kubelet, true);
        let mut got = Vec::new();
        lines.push(line("E1129 12:38:26.8 7 a.go:1] \"Error syncing pod, skipping\" err=<", 7), &mut got);
        lines.push(line("\tone", 7), &mut got);
        lines.push(line("kubelet.service: Consumed 5s CPU time.", 1), &mut got);
        assert_eq!(got.len(), 1);
        assert_eq!(got[0].at, at("2026-11-29T10:38:26.8Z"));
        lines.push(line("E1129 12:38:26.8 9 a.go:1] \"x\"", 9), &mut got);
        lines.push(line("time=\"2026-11-29T10:38:26Z\" level=error msg=\"k3s' own\"", 9), &mut got);
        assert_eq!(got.len(), 3);
        assert!(!lines.is_open());
        let failed = "kubelet.service: Failed with result 'oom-kill'.";
        lines.push(RawLogLine { priority: Some(4), ..line(failed, 1) }, &mut got);
        assert_eq!(got[3].what, LogKind::Other { message: failed.into() });
    }
}
