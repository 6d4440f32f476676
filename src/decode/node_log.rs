//! From the raw lines of one log of the node to the lines that are kept: records are joined, formats recognised, times put into
//! UTC. The journal, followed files, recordings and imported files all use this decoder.

use super::klog::{starts_crash, starts_record, without_component};
use super::relevance::{is_notable, is_relevant_to_unit};
use super::{Joiner, LogfmtRecord, kernel_record, klog, kubelet_records};
use crate::observation::{LogLevel, LogRecord, Source, Time};
use crate::time::TimeDelta;

/// A log of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeLog {
    /// The kubelet: klog; in k3s with logfmt lines of k3s in between.
    Kubelet,
    /// The container runtime.
    Runtime,
    /// The kernel.
    Kernel,
    /// Any other log that the user names: every line is kept.
    Other,
}

impl NodeLog {
    /// The source of its lines.
    pub fn source(self) -> Source {
        match self {
            NodeLog::Kubelet => Source::KubeletLog,
            NodeLog::Runtime => Source::RuntimeLog,
            NodeLog::Kernel => Source::KernelLog,
            NodeLog::Other => Source::OtherLog,
        }
    }
}

/// Time zones differ from UTC by whole quarters of an hour, seconds, at most 14 hours.
const QUARTER_S: i64 = 900;
const MOST_QUARTERS: i64 = 14 * 4;
/// systemd's own process, which writes the state of a unit into the unit's log.
const SYSTEMD: u32 = 1;

/// The time of a kept line that has no time and follows no line with a time.
pub const UNDATED: Time = Time::UNIX_EPOCH;

/// One line as a source delivers it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawLogLine<'a> {
    /// The text without the prefix of journal or syslog.
    pub text: &'a str,
    /// The time of receipt: by journald or syslog, or now. Nothing if no source recorded it.
    pub received: Option<Time>,
    /// The process that wrote it.
    pub pid: Option<u32>,
    /// syslog's level.
    pub priority: Option<u8>,
    /// It has a separate prefix without a process: it continues no record.
    pub is_separate: bool,
}

/// The zone of times that are written without one, as klog does.
#[derive(Clone, Copy, Debug)]
pub enum LogZone {
    /// The zone that puts the time nearest to its receipt; UTC if the receipt is not known.
    OfReceipt,
    /// The zone that this function applies to a time read as UTC.
    Fixed(fn(Time) -> Time),
}

/// A kept line and the time of its receipt.
pub type ReceivedRecord = (Option<Time>, LogRecord);

/// Decodes the lines of one log, in their order.
#[derive(Debug)]
pub struct NodeLogDecoder {
    log: NodeLog,
    zone: LogZone,
    /// Gives the year where a line has none and its receipt is not known.
    reference: Time,
    joiner: Joiner<Option<Time>>,
    pid: Option<u32>,
    last: Option<Time>,
    newest: Option<Time>,
    unformatted: u64,
}

impl NodeLogDecoder {
    /// A decoder for lines of `log`; `reference` gives the year where a line has none and its receipt is not known.
    pub fn new(log: NodeLog, reference: Time, zone: LogZone) -> Self {
        let (joiner, pid, last, newest) = Default::default();
        Self { log, zone, reference, joiner, pid, last, newest, unformatted: 0 }
    }

    /// Takes the next line; adds the lines that are complete and kept.
    pub fn push(&mut self, line: RawLogLine<'_>, out: &mut Vec<ReceivedRecord>) {
        self.date(line.received);
        if line.pid == Some(SYSTEMD) && matches!(self.log, NodeLog::Kubelet | NodeLog::Runtime) {
            self.flush(out);
            self.pid = line.pid;
            if is_relevant_to_unit(line.text, line.priority) {
                self.plain(line.received, line.text, out);
            }
            return;
        }
        match self.log {
            NodeLog::Kernel => {
                let at = self.date(line.received);
                out.extend(kernel_record(line.text, at).map(|kept| (line.received, kept)));
            }
            NodeLog::Runtime => match LogfmtRecord::read(line.text) {
                Some(record) => self.logfmt(line.received, &record, record.is_relevant_to_runtime(), out),
                None => self.unformatted(line, out),
            },
            NodeLog::Kubelet => self.kubelet(line, out),
            NodeLog::Other => self.plain(line.received, line.text, out),
        }
    }

    fn kubelet(&mut self, line: RawLogLine<'_>, out: &mut Vec<ReceivedRecord>) {
        // A record ends where another process writes.
        if line.pid != self.pid {
            self.flush(out);
            self.pid = line.pid;
        }
        if line.text.starts_with("time=")
            && let Some(record) = LogfmtRecord::read(line.text)
        {
            self.flush(out);
            let kept = record.level > LogLevel::Info || is_notable(record.message());
            return self.logfmt(line.received, &record, kept, out);
        }
        let text = without_component(line.text);
        let starts = starts_record(text) || starts_crash(text);
        if starts || (self.joiner.is_open() && !line.is_separate && !starts_message(text)) {
            let record = self.joiner.push(line.received, line.text);
            return self.record(record, out);
        }
        self.flush(out);
        self.unformatted(line, out);
    }

    /// A record may continue with the next line.
    pub fn is_open(&self) -> bool {
        self.joiner.is_open()
    }

    /// Ends the open record: at the end of the log, or after a pause.
    pub fn flush(&mut self, out: &mut Vec<ReceivedRecord>) {
        let record = self.joiner.take();
        self.record(record, out);
    }

    /// The newest time in the log so far, of the lines that are not kept too.
    pub fn newest(&self) -> Option<Time> {
        self.newest
    }

    /// Lines so far that are not of the log's format.
    pub fn unformatted_lines(&self) -> u64 {
        self.unformatted
    }

    /// The time of a line: its own, else that of the line before.
    fn date(&mut self, at: Option<Time>) -> Time {
        self.newest = self.newest.max(at);
        self.last = at.or(self.last);
        self.last.unwrap_or(UNDATED)
    }

    fn record(&mut self, record: Option<(Option<Time>, String)>, out: &mut Vec<ReceivedRecord>) {
        let Some((received, text)) = record else { return };
        let Some(mut record) = klog(&text, received.unwrap_or(self.reference)) else {
            self.unformatted += 1;
            return self.plain(received, &text, out);
        };
        // JSON lines are in UTC.
        if !text.starts_with('{') {
            record.at = match (self.zone, received) {
                (LogZone::Fixed(zone), _) => zone(record.at),
                (LogZone::OfReceipt, Some(received)) => nearest_zone(record.at, received),
                (LogZone::OfReceipt, None) => record.at,
            };
        }
        self.date(Some(record.at));
        out.extend(kubelet_records(&record).into_iter().map(|line| (received, line)));
    }

    fn logfmt(&mut self, received: Option<Time>, record: &LogfmtRecord, kept: bool, out: &mut Vec<ReceivedRecord>) {
        self.date(Some(record.at));
        if kept {
            out.push((received, record.line()));
        }
    }

    fn unformatted(&mut self, line: RawLogLine<'_>, out: &mut Vec<ReceivedRecord>) {
        // An indented line is the rest of a record whose start is not in the input.
        let is_rest = self.log == NodeLog::Kubelet && line.text.starts_with(['\t', ' ']);
        self.unformatted += u64::from(!line.text.trim().is_empty());
        if !line.text.trim().is_empty() && !is_rest {
            self.plain(line.received, line.text, out);
        }
    }

    /// A line without a level: the writer has left its log format, which programs do when they fail.
    fn plain(&mut self, received: Option<Time>, text: &str, out: &mut Vec<ReceivedRecord>) {
        let at = self.date(received);
        out.push((received, LogRecord::new(at, LogLevel::Error, text)));
    }
}

/// The line does not continue a record of klog though it has no header: the kubelet writes it to stderr when it stops, or while
/// it reads its flags.
fn starts_message(text: &str) -> bool {
    ["Error: ", "Flag --", "failed to run Kubelet"].iter().any(|start| text.starts_with(start))
}

/// The time in the zone that puts it nearest to its receipt.
fn nearest_zone(at: Time, received: Time) -> Time {
    let seconds = (received - at).num_seconds();
    let quarters = (seconds + seconds.signum() * QUARTER_S / 2) / QUARTER_S;
    if quarters.abs() > MOST_QUARTERS { at } else { at + TimeDelta::seconds(quarters * QUARTER_S) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: &str) -> Time {
        s.parse().unwrap()
    }

    fn line(text: &str, pid: u32) -> RawLogLine<'_> {
        let received = Some(at("2026-11-29T10:38:26.9Z"));
        RawLogLine { text, received, pid: Some(pid), priority: Some(6), is_separate: false }
    }

    fn decoder(log: NodeLog) -> NodeLogDecoder {
        NodeLogDecoder::new(log, at("2026-11-29T10:00:00Z"), LogZone::OfReceipt)
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
            assert_eq!(nearest_zone(at(written), received), at(is), "{written}");
        }
    }

    #[test]
    fn records_end_with_their_process_and_at_lines_of_k3s() {
        let mut lines = decoder(NodeLog::Kubelet);
        let mut got = Vec::new();
        lines.push(line("E1129 12:38:26.8 7 a.go:1] \"Error syncing pod, skipping\" err=<", 7), &mut got);
        lines.push(line("\tone", 7), &mut got);
        lines.push(line("kubelet.service: Consumed 5s CPU time.", 1), &mut got);
        assert_eq!(got.len(), 1);
        assert_eq!(got[0].1.at, at("2026-11-29T10:38:26.8Z"));
        lines.push(line("E1129 12:38:26.8 9 a.go:1] \"x\"", 9), &mut got);
        lines.push(line("time=\"2026-11-29T10:38:26Z\" level=error msg=\"of k3s\"", 9), &mut got);
        assert_eq!(got.len(), 3);
        assert!(!lines.is_open());
        let failed = "kubelet.service: Failed with result 'oom-kill'.";
        lines.push(RawLogLine { priority: Some(4), ..line(failed, 1) }, &mut got);
        assert_eq!(got[3].1.text(), failed);
    }

    #[test]
    fn a_crash_and_an_error_of_the_command_line_are_not_part_of_the_previous_record() {
        let mut lines = decoder(NodeLog::Kubelet);
        let mut got = Vec::new();
        lines.push(line("I1129 12:38:26.8 7 a.go:1] \"Adding apiserver pod source\"", 7), &mut got);
        lines.push(line("Error: failed to run Kubelet: misconfiguration", 7), &mut got);
        lines.push(line("I1129 12:38:26.9 7 a.go:1] \"Exiting\"", 7), &mut got);
        lines.push(line("panic: nil map", 7), &mut got);
        lines.push(line("goroutine 1 [running]:", 7), &mut got);
        lines.flush(&mut got);
        let texts: Vec<String> = got.iter().map(|(_, line)| line.text().to_string()).collect();
        assert_eq!(texts, ["Error: failed to run Kubelet: misconfiguration", "panic: nil map\ngoroutine 1 [running]:"]);
        assert!(got.iter().all(|(_, line)| line.is_severe()));
    }

    #[test]
    fn a_line_without_a_time_has_that_of_the_line_before() {
        let mut lines = decoder(NodeLog::Other);
        let mut got = Vec::new();
        let undated = |text| RawLogLine { text, ..RawLogLine::default() };
        lines.push(undated("a"), &mut got);
        lines.push(line("b", 7), &mut got);
        lines.push(undated("c"), &mut got);
        let times: Vec<Time> = got.iter().map(|(_, line)| line.at).collect();
        assert_eq!(times, [UNDATED, at("2026-11-29T10:38:26.9Z"), at("2026-11-29T10:38:26.9Z")]);
        assert_eq!(lines.newest(), Some(at("2026-11-29T10:38:26.9Z")));
    }
}
