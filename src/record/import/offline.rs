//! Import of files to explain: a list of objects, logs of any origin, a page of metrics, each optional. Of a log the last part is
//! read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::files::{self, Limits};
use super::kubectl;
use super::timeline::Timeline;
use super::{ImportError, Imported};
use crate::decode::{LogZone, NodeLog, NodeLogDecoder, RawLogLine, UNDATED, plain_line, scrape};
use crate::observation::{Fact, LogLevel, LogRecord, Source, Time};
use crate::text::{PemLines, Text};

/// Lines of one file that are read, from its end.
const LINES_READ: usize = 50_000;

/// Whose log a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogFileKind {
    /// The kubelet's.
    Kubelet,
    /// The container runtime's.
    Runtime,
    /// The kernel's.
    Kernel,
    /// What the container of that name wrote.
    Container(String),
    /// Anything else.
    Other,
    /// No log: a page of the kubelet's metrics.
    Metrics,
}

/// A file and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// What it is.
    pub of: LogFileKind,
    /// Where it is.
    pub path: PathBuf,
}

/// Reads the inputs. `now` is the time of the diagnosis; without it the newest time in the files. `subject` is
/// the pod, `namespace/name`, that a container's log is taken to be of; `memory` what may be used, bytes.
///
/// # Errors
/// When a file cannot be read, contains no object, or no input contains a time.
pub fn examine(
    objects: Option<&Path>,
    logs: &[LogFile],
    now: Option<Time>,
    subject: &str,
    memory: u64,
) -> Result<Imported, ImportError> {
    let limits = Limits::new(memory);
    let mut timeline = Timeline::new(limits.decoded());
    let moment = objects.map(|path| kubectl::read(path, limits, &mut timeline)).transpose()?;
    let newest = moment.as_ref().and_then(kubectl::ClusterObjects::newest);
    // A log without years is of the year of whatever else is known; nothing here asks a clock.
    let reference = now.or(newest).unwrap_or(Time::UNIX_EPOCH);
    let mut logs_read: BTreeMap<Source, ReadLog> = BTreeMap::new();
    let mut page = None;
    for log in logs {
        let of = match &log.of {
            LogFileKind::Metrics => {
                match scrape(&files::text(&log.path, limits)?) {
                    Ok(found) => page = Some(found),
                    Err(e) => timeline.skip(&log.path.to_string_lossy(), format!("no page of metrics: {e}"), 1),
                }
                continue;
            }
            LogFileKind::Container(name) => {
                let lines = files::last_lines(&log.path, limits, LINES_READ)?;
                let lines = lines.iter().map(String::as_str);
                logs_read.entry(Source::ContainerLog).or_default().container(lines, name, subject, reference);
                continue;
            }
            LogFileKind::Kubelet => NodeLog::Kubelet,
            LogFileKind::Runtime => NodeLog::Runtime,
            LogFileKind::Kernel => NodeLog::Kernel,
            LogFileKind::Other => NodeLog::Other,
        };
        let lines = files::last_lines(&log.path, limits, LINES_READ)?;
        logs_read.entry(of.source()).or_default().node(lines.iter().map(String::as_str), of, reference);
    }
    let in_logs = logs_read.values().filter_map(|log| log.newest).max();
    let end = now.or([newest, in_logs].into_iter().flatten().max());
    let first = objects.map(Path::to_owned).or_else(|| logs.first().map(|l| l.path.clone())).unwrap_or_default();
    let end = end.ok_or_else(|| ImportError::NoTime { path: first.clone() })?;
    for source in Source::ALL {
        timeline.set_off(source, "not among the files that were given");
    }
    let mut node = Text::default();
    if let Some(moment) = moment {
        node = moment.node();
        moment.emit(&[Source::ApiPods, Source::ApiNode, Source::ApiEvents], end, &mut timeline);
    }
    if let Some(page) = page {
        timeline.push(Source::KubeletMetrics, end, Fact::Scrape(Box::new(page)));
    }
    for (source, log) in logs_read {
        log.emit(source, end, &mut timeline);
    }
    timeline.check_limit(&first)?;
    Ok(timeline.finish(end, node))
}

/// The kept records of all files of one source.
#[derive(Default)]
struct ReadLog {
    /// In the order of the files.
    records: Vec<LogRecord>,
    /// The newest time in the files, of lines that are not kept too.
    newest: Option<Time>,
}

impl ReadLog {
    fn node<'a>(&mut self, lines: impl Iterator<Item = &'a str>, log: NodeLog, reference: Time) {
        let (mut decoder, mut records) = (NodeLogDecoder::new(log, reference, LogZone::OfReceipt), Vec::new());
        for line in lines {
            let plain = plain_line(line, reference);
            let (received, pid, priority) = (plain.at, plain.pid, plain.priority);
            let is_separate = received.is_some() && pid.is_none();
            for text in plain.text.split('\n') {
                decoder.push(RawLogLine { text, received, pid, priority, is_separate }, &mut records);
            }
        }
        decoder.flush(&mut records);
        self.newest = self.newest.max(decoder.newest());
        self.records.extend(records.into_iter().map(|(_, record)| record));
    }

    fn container<'a>(&mut self, lines: impl Iterator<Item = &'a str>, name: &str, subject: &str, reference: Time) {
        let (container, pod) = (Text::name(name), Text::name(subject));
        let mut keys = PemLines::default();
        for line in lines {
            let plain = plain_line(line, reference);
            self.newest = self.newest.max(plain.at);
            let record = LogRecord::new(plain.at.unwrap_or(UNDATED), LogLevel::Info, keys.line(&plain.text));
            self.records.push(LogRecord { pod: pod.clone(), container: container.clone(), ..record });
        }
    }

    /// Adds the records in their order; a line without a time has that of the line before.
    fn emit(self, source: Source, end: Time, timeline: &mut Timeline) {
        let mut last = self.records.iter().map(|record| record.at).find(|at| *at != UNDATED).unwrap_or(end);
        for mut record in self.records {
            last = if record.at == UNDATED { last } else { record.at.min(end) };
            record.at = last;
            timeline.push(source, last, Fact::LogRecord(Box::new(record)));
        }
        // The log was read to its end, also where no line is kept.
        timeline.push(source, self.newest.unwrap_or(last).min(end), Fact::Alive);
    }
}
