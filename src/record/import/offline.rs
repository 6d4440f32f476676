//! Owns what a colleague sends to be explained: a list of objects, logs of any origin, a page of metrics, each optional.
//! It must not keep whole logs: what the model folds is bounded, and a file's last part counts.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use super::files::{self, Limits};
use super::kubectl;
use super::timeline::Timeline;
use super::{ImportError, Imported};
use crate::decode::{
    Joiner, RuntimeLine, every_kubelet_entry, every_runtime_entry, kernel_entry, klog, plain_line, runtime_line, scrape,
};
use crate::observation::{Fact, LogEntry, LogKind, Source, Time};
use crate::text::{PemLines, Text};

/// Lines of one file that are read, from its end.
const LINES_READ: usize = 50_000;

/// Whose log a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogOf {
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
    pub of: LogOf,
    /// Where it is.
    pub path: PathBuf,
}

/// Reads what there is. `now` is the time at which it is looked at; without it the newest time in the files. `subject` is
/// the pod, `namespace/name`, that a container's log is taken to be of; `memory` what may be used, bytes.
///
/// # Errors
/// When a file cannot be read, the objects are none, or nothing says when it all was.
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
    let mut entries: BTreeMap<Source, Vec<(Option<Time>, LogEntry)>> = BTreeMap::new();
    let mut page = None;
    for log in logs {
        let lines = match log.of {
            LogOf::Metrics => VecDeque::new(),
            _ => files::last_lines(&log.path, limits, LINES_READ)?,
        };
        let lines = lines.iter().map(String::as_str);
        let read = match &log.of {
            LogOf::Metrics => {
                match scrape(&files::text(&log.path, limits)?) {
                    Ok(found) => page = Some(found),
                    Err(e) => timeline.skip(&log.path.to_string_lossy(), format!("no page of metrics: {e}"), 1),
                }
                continue;
            }
            LogOf::Kubelet => (Source::KubeletLog, kubelet(lines, reference)),
            LogOf::Runtime => (Source::RuntimeLog, each(lines, reference, runtime)),
            LogOf::Kernel => (Source::KernelLog, each(lines, reference, kernel_entry)),
            LogOf::Other => (Source::OtherLog, each(lines, reference, any)),
            LogOf::Container(name) => {
                let container = Text::name(name);
                let mut keys = PemLines::default();
                let output = |text: &str, at| LogEntry {
                    at,
                    severe: false,
                    pod: Text::name(subject),
                    uid: Text::default(),
                    what: LogKind::Output { container: container.clone(), line: keys.line(text).into() },
                };
                (Source::ContainerLog, each(lines, reference, output))
            }
        };
        entries.entry(read.0).or_default().extend(read.1);
    }
    let in_logs = entries.values().flatten().filter_map(|(at, _)| *at).max();
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
    for (source, entries) in entries {
        // A line without a time of its own keeps its place among the others.
        let mut last = entries.iter().find_map(|(at, _)| *at).unwrap_or(end);
        for (at, mut entry) in entries {
            last = at.unwrap_or(last).min(end);
            entry.at = last;
            timeline.push(source, last, Fact::Log(Box::new(entry)));
        }
    }
    timeline.check_limit(&first)?;
    Ok(timeline.finish(end, node))
}

fn each<'a>(
    lines: impl Iterator<Item = &'a str>,
    reference: Time,
    mut read: impl FnMut(&str, Time) -> LogEntry,
) -> Vec<(Option<Time>, LogEntry)> {
    let each = lines.map(|line| {
        let plain = plain_line(line, reference);
        let entry = read(&plain.text, plain.at.unwrap_or(reference));
        (plain.at.or((entry.at != reference).then_some(entry.at)), entry)
    });
    each.collect()
}

fn kubelet<'a>(lines: impl Iterator<Item = &'a str>, reference: Time) -> Vec<(Option<Time>, LogEntry)> {
    let (mut joiner, mut out) = (Joiner::default(), Vec::new());
    let mut take = |(at, record): (Option<Time>, String)| match klog(&record, reference) {
        Some(record) => out.extend(every_kubelet_entry(&record).into_iter().map(|e| (Some(e.at), e))),
        None => out.push((at, any(&record, at.unwrap_or(reference)))),
    };
    let mut begun = false;
    for line in lines {
        let plain = plain_line(line, reference);
        let begins = klog(&plain.text, reference).is_some();
        begun |= begins;
        // Before the first record, and where a line has a prefix of its own, a line that is no record stands for itself.
        if !begun || (!begins && plain.at.is_some()) {
            take((plain.at, plain.text));
        } else if let Some(record) = joiner.push(plain.at, &plain.text) {
            take(record);
        }
    }
    if let Some(record) = joiner.take() {
        take(record);
    }
    out
}

fn runtime(text: &str, at: Time) -> LogEntry {
    match runtime_line(text) {
        RuntimeLine::Severe(entry) => entry,
        _ => every_runtime_entry(text).unwrap_or_else(|| any(text, at)),
    }
}

fn any(text: &str, at: Time) -> LogEntry {
    LogEntry {
        at,
        severe: true,
        pod: Text::default(),
        uid: Text::default(),
        what: LogKind::Other { message: text.into() },
    }
}
