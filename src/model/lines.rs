//! The kept log lines: repeats are folded, each pod and source has its limit.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::observation::{LogRecord, Source, Time};
use crate::text::{Message, Text};
use crate::weight::Weigh;

/// Different lines kept of one pod and source.
const OF_POD: usize = 12;
/// Different lines kept of the node and one source.
const OF_NODE: usize = 96;
/// KeptLines kept of what one pod's containers wrote.
const OF_OUTPUT: usize = 40;

/// A line with its repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptLine {
    /// The log.
    pub source: Source,
    /// The container that wrote it; empty for the logs of the node.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub container: Text,
    /// It is an error or a warning.
    #[serde(default)]
    pub severe: bool,
    /// First time of the line, or of one that differs in numbers only.
    pub first: Time,
    /// Last time.
    pub at: Time,
    /// Repeats, at least 1.
    pub count: u32,
    /// The text of the latest.
    pub text: Message,
    shape: u64,
}

/// The lines of one pod, or of the node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeptLines(BTreeMap<Source, VecDeque<KeptLine>>);

impl Weigh for KeptLines {
    fn heap(&self) -> usize {
        self.iter().map(|line| size_of::<KeptLine>() + line.text.heap() + line.container.heap()).sum()
    }
}

impl KeptLines {
    /// Takes in a line; `of_node` if it names no pod.
    pub(super) fn take(&mut self, source: Source, record: &LogRecord, of_node: bool) {
        let (text, container) = (record.text(), record.container.clone());
        let lines = self.0.entry(source).or_default();
        let shape = shape(&text);
        let output = !container.is_empty();
        // Order matters in the output of a program; a log of the node repeats its lines.
        if !output
            && let Some(i) = lines.iter().position(|l| l.shape == shape && l.container == container)
            && let Some(mut line) = lines.remove(i)
        {
            (line.text, line.at, line.count) = (text, line.at.max(record.at), line.count.saturating_add(1));
            line.severe |= record.is_severe();
            lines.push_back(line);
            return;
        }
        let (severe, at) = (record.is_severe(), record.at);
        let line = KeptLine { source, container, severe, first: at, at, count: 1, text, shape };
        lines.push_back(line);
        let most = if output { OF_OUTPUT } else { [OF_POD, OF_NODE][usize::from(of_node)] };
        if lines.len() > most {
            lines.pop_front();
        }
    }

    /// Every line, source by source, each oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &KeptLine> {
        self.0.values().flatten()
    }

    /// When the last of them was seen.
    pub(super) fn last(&self) -> Option<Time> {
        self.iter().map(|l| l.at).max()
    }
}

/// Hash of a text without digits and hexadecimal ids (FNV-1a): equal for lines that differ in those only.
fn shape(text: &str) -> u64 {
    let rest = text.bytes().filter(|b| !b.is_ascii_hexdigit());
    rest.fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::LogLevel;

    fn entry(s: i64, message: &str) -> LogRecord {
        LogRecord::new(Time::from_timestamp(s, 0).unwrap(), LogLevel::Error, message)
    }

    #[test]
    fn repeats_fold_and_the_latest_stays() {
        let mut lines = KeptLines::default();
        lines.take(Source::KubeletLog, &entry(1, "no space on /dev/sda1 (attempt 1)"), false);
        lines.take(Source::RuntimeLog, &entry(2, "other"), false);
        lines.take(Source::KubeletLog, &entry(3, "no space on /dev/sda1 (attempt 27)"), false);
        let got: Vec<_> =
            lines.iter().map(|l| (l.text.as_str(), l.count, l.first.timestamp(), l.at.timestamp())).collect();
        assert_eq!(got, [("no space on /dev/sda1 (attempt 27)", 2, 1, 3), ("other", 1, 2, 2)]);
        for i in 0..200_u32 {
            let words: String = (0..i).map(|_| 'x').collect();
            lines.take(Source::KubeletLog, &entry(9, &words), false);
        }
        assert_eq!(lines.iter().count(), OF_POD + 1, "each source has its own limit");
    }
}
