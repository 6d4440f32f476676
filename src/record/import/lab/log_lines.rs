//! Decodes the log lines of lab folders, with or without a time of receipt.

use crate::decode::{Joiner, RuntimeLine, klog, kubelet_entries, runtime_line};
use crate::observation::{Fact, LogEntry, Source, Time};
use crate::record::import::timeline::Timeline;

/// Entries of a kubelet log, each with the tag of its first line. `reference` gives the time from which the year is taken.
pub(super) fn kubelet_entries_of<'a, T>(
    lines: impl Iterator<Item = (T, &'a str)>,
    reference: impl Fn(&T) -> Time,
    path: &str,
    timeline: &mut Timeline,
) -> Vec<(T, LogEntry)>
where
    T: Copy,
{
    let (mut joiner, mut entries, mut bad) = (Joiner::default(), Vec::new(), 0);
    let mut take = |(tag, record): (T, String)| match klog(&record, reference(&tag)) {
        Some(record) => entries.extend(kubelet_entries(&record).into_iter().map(|e| (tag, e))),
        None => bad += 1,
    };
    for (tag, line) in lines {
        if let Some(record) = joiner.push(tag, line) {
            take(record);
        }
    }
    if let Some(record) = joiner.take() {
        take(record);
    }
    timeline.skip(path, "lines before the first whole record", joiner.stray());
    timeline.skip(path, "records that are not klog", bad);
    entries
}

/// Entries of a runtime log, each with the tag of its line.
pub(super) fn runtime_entries_of<'a, T>(
    lines: impl Iterator<Item = (T, &'a str)>,
    path: &str,
    timeline: &mut Timeline,
) -> Vec<(T, LogEntry)> {
    let (mut entries, mut bad) = (Vec::new(), 0);
    for (tag, line) in lines {
        match runtime_line(line) {
            RuntimeLine::Severe(entry) => entries.push((tag, entry)),
            RuntimeLine::Quiet => {}
            RuntimeLine::Other if line.trim().is_empty() => {}
            RuntimeLine::Other => bad += 1,
        }
    }
    timeline.skip(path, "lines that are not in the runtime's log format", bad);
    entries
}

/// Adds entries in the order of their own times.
pub(super) fn push_by_own_time(entries: Vec<((), LogEntry)>, source: Source, timeline: &mut Timeline) {
    let mut entries: Vec<LogEntry> = entries.into_iter().map(|(_, e)| e).collect();
    entries.sort_by_key(|e| e.at);
    for entry in entries {
        timeline.push(source, entry.at, Fact::Log(Box::new(entry)));
    }
}
