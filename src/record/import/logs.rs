//! From the lines of a log in a capture or an incident folder to facts.

use super::timeline::Timeline;
use crate::decode::{LogZone, NodeLog, NodeLogDecoder, RawLogLine, ReceivedRecord, UNDATED};
use crate::observation::{Fact, Source, Time};

/// The kept records of a log. Each line has its time of receipt, if that is known; else `reference` gives the year.
pub(super) fn node_log<'a>(
    log: NodeLog,
    lines: impl Iterator<Item = (Option<Time>, &'a str)>,
    reference: Time,
    path: &str,
    timeline: &mut Timeline,
) -> Vec<ReceivedRecord> {
    let (mut decoder, mut records) = (NodeLogDecoder::new(log, reference, LogZone::OfReceipt), Vec::new());
    for (received, text) in lines {
        decoder.push(RawLogLine { text, received, ..RawLogLine::default() }, &mut records);
    }
    decoder.flush(&mut records);
    // Lines before the first time in the log.
    let first = records.iter().map(|(_, record)| record.at).find(|at| *at != UNDATED);
    records.retain_mut(|(_, record)| {
        record.at = if record.at == UNDATED { first.unwrap_or(UNDATED) } else { record.at };
        record.at != UNDATED
    });
    timeline.skip(path, "lines that are not of the log's format", decoder.unformatted_lines());
    records
}

/// Adds records stamped at their own time, ordered by it.
pub(super) fn push_own_time(records: Vec<ReceivedRecord>, source: Source, timeline: &mut Timeline) {
    let mut records: Vec<_> = records.into_iter().map(|(_, record)| record).collect();
    records.sort_by_key(|record| record.at);
    for record in records {
        timeline.push(source, record.at, Fact::LogRecord(Box::new(record)));
    }
}
