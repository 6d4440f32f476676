//! Entry points for the fuzz targets of this module.

use crate::decode::{LogZone, NodeLog, NodeLogDecoder, RawLogLine, ReceivedRecord, journal_entry};
use crate::observation::Time;

const LOGS: [NodeLog; 3] = [NodeLog::Kubelet, NodeLog::Runtime, NodeLog::Kernel];

/// Lines of `journalctl -o json`, as each of the logs that are read from it.
pub fn journal(text: &[u8]) -> Vec<ReceivedRecord> {
    let mut records = Vec::new();
    for log in LOGS {
        let mut decoder = NodeLogDecoder::new(log, Time::UNIX_EPOCH, LogZone::OfReceipt);
        for entry in text.split(|b| *b == b'\n').filter_map(journal_entry) {
            let (received, pid, priority) = (Some(entry.at), entry.pid, entry.priority);
            decoder
                .push(RawLogLine { text: &entry.message, received, pid, priority, is_separate: false }, &mut records);
        }
        decoder.flush(&mut records);
    }
    records
}

/// Lines of a log file, as each of the logs, received at that time.
pub fn file(text: &str, received: Time) -> Vec<ReceivedRecord> {
    let mut records = Vec::new();
    for log in LOGS {
        let mut decoder = NodeLogDecoder::new(log, received, LogZone::Fixed(Time::read_as_local));
        for text in text.lines() {
            decoder.push(RawLogLine { text, received: Some(received), ..RawLogLine::default() }, &mut records);
        }
        decoder.flush(&mut records);
    }
    records
}
