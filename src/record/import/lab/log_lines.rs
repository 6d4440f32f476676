//! Decodes the log lines of lab folders, with or without a time of receipt.

use crate::decode::{LogZone, NodeLog, NodeLogDecoder, RawLogLine, ReceivedRecord, UNDATED};
use crate::observation::{Fact, Source, Time};
use crate::record::import::timeline::Timeline;

/// The kept records of a log. Without the time of receipt `reference` gives the year.
pub(super) fn node_log_records<'a>(
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
    timeline.skip(path, "lines that are not in the log's format", decoder.unformatted_lines());
    records
}

/// Adds records in the order of their timestamps.
pub(super) fn push_by_own_time(records: Vec<ReceivedRecord>, source: Source, timeline: &mut Timeline) {
    let mut records: Vec<_> = records.into_iter().map(|(_, record)| record).collect();
    records.sort_by_key(|record| record.at);
    for record in records {
        timeline.push(source, record.at, Fact::LogRecord(Box::new(record)));
    }
}
