//! Decoders of foreign formats, one file each: text or JSON in, observation values out. No I/O and no clock.

mod configz;
mod cri_details;
mod cri_log;
mod failure;
mod go;
mod health;
mod items;
mod journal_entry;
mod kernel;
mod klog;
mod kube;
mod kubelet_log;
#[cfg(feature = "lab-formats")]
mod lab;
mod logfmt;
mod manifest;
mod node_log;
mod plain_line;
mod prometheus;
mod relevance;
mod vitals;

pub use configz::kubelet_config;
pub use cri_details::{ContainerDetails, SandboxDetails};
pub use cri_log::{LogDecoder, LogForm, cri_log, first_complete_line};
pub use failure::{failure, failure_kind};
pub use go::go_unquote;
pub use health::health_answer;
pub use items::{ListHead, ListItem, ListMeta, ListSplitter, MAX_ITEM};
pub use journal_entry::{JournalEntry, journal_entry};
pub use kernel::kernel_record;
pub use klog::{Joiner, KlogRecord, klog};
pub use kube::{Object, WatchEvent, item, objects, watch_event};
pub use kubelet_log::kubelet_records;
#[cfg(feature = "lab-formats")]
pub use lab::{
    active_ingests, container_details, containers, health_response, image_fs, images, runtime_status, sandbox_details,
    sandboxes, spans,
};
pub use logfmt::LogfmtRecord;
pub use manifest::{Manifest, manifest};
pub use node_log::{LogZone, NodeLog, NodeLogDecoder, RawLogLine, ReceivedRecord, UNDATED};
pub use plain_line::{PlainLine, plain_line};
pub use prometheus::{ScrapeBuilder, scrape};
pub use vitals::{counter, cpu_ticks, memory_info, pressure, threads};

use serde::{Deserialize, Deserializer};

/// Why a foreign text could not be decoded. Never quotes the text, which can contain secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Not JSON, or JSON with other fields or types.
    #[error("not valid JSON of this kind (line {line}, column {column})")]
    Json {
        /// Line of the text, starting at 1.
        line: usize,
        /// Column of the line, starting at 1.
        column: usize,
    },
    /// An object above the size limit.
    #[error("object above the size limit")]
    TooLarge,
    /// Valid, but of another kind; the text names what was expected.
    #[error("{0}")]
    Shape(&'static str),
}

impl From<serde_json::Error> for DecodeError {
    fn from(e: serde_json::Error) -> Self {
        Self::Json { line: e.line(), column: e.column() }
    }
}

/// Reads `null` as the default value: Go encodes empty slices as `null`.
fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(d: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

/// `message: error`, or only the one that is not empty.
fn joined(message: &str, error: &str) -> String {
    match (message.is_empty(), error.is_empty()) {
        (_, true) => message.to_owned(),
        (true, false) => error.to_owned(),
        (false, false) => format!("{message}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Time;
    use proptest::prelude::*;

    fn decode_all(raw: &str) {
        let at = Time::from_timestamp(1_795_951_277, 0).unwrap();
        let _ = (kubelet_config(raw), containers(raw), sandboxes(raw), container_details(raw), sandbox_details(raw));
        let _ = (runtime_status(Some(raw), Some(raw)), active_ingests(raw, at), failure("x", raw));
        let _ = (
            crate::time::parse_duration_seconds(raw),
            go_unquote(raw),
            health_answer(raw),
            health_response(raw),
            objects(raw),
            watch_event(raw),
        );
        let _ = (images(raw), image_fs(raw));
        let _ = (
            LogfmtRecord::read(raw).map(|record| record.line()),
            spans(raw),
            scrape(raw),
            kernel_record(raw, at),
            plain_line(raw, at),
        );
        let mut joiner = Joiner::default();
        let mut records: Vec<String> = raw.split('\n').filter_map(|l| joiner.push((), l)).map(|(_, r)| r).collect();
        records.extend(joiner.take().map(|(_, r)| r));
        records.push(raw.to_owned());
        for record in records {
            if let Some(record) = klog(&record, at) {
                let _ = kubelet_records(&record);
            }
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(raw in "\\PC{0,200}") {
            decode_all(&raw);
        }

        #[test]
        fn arbitrary_bytes_never_panic(raw in proptest::collection::vec(any::<u8>(), 0..300)) {
            decode_all(&String::from_utf8_lossy(&raw));
        }

        #[test]
        fn almost_valid_text_never_panics(raw in
            "(I1129 12:38:26\\.8284(99|x)   5 a\\.go:1\\] )?[\"\\\\xu0-9{}\\[\\]<>=a-zé\n\t ,:;(_)'.+-]{0,60}\
             |[a-z_]{1,8}\\{[a-z]=\"[\\\\\"né}]{0,6}\"?\\}? [0-9eE+.NaInf-]{0,6}\
             |\\{\"(ts|msg|items|status|createdAt)\":[0-9\\[{\"}\\]:a-z,.-]{0,30}\
             |REF SIZE AGE\n[a-z]{1,4}\t[0-9.]{1,30}[kKMGTiB]{0,3}\t[A-Za-z0-9 ]{0,20}") {
            decode_all(&raw);
        }
    }
}
