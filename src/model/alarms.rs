//! Owns what time alone makes true of the node: calls and pulls that stand still, a PLEG that is silent.
//! It must not look at single pods, and every alarm must have a deadline at which it begins.

use crate::time::TimeDelta;
use serde::Serialize;

use super::{Snapshot, SourceFacts};
use crate::observation::{Call, ErrorKind, Source, SourceState, Time};
use crate::text::Text;

/// A call of ours that has brought no answer for so long is told, seconds.
pub const CALL_STALLED_S: i64 = 10;
/// A pull that has not moved for so long is told, seconds.
pub const PULL_STALLED_S: i64 = 10;

/// Something about the node that became true by waiting.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "alarm", rename_all = "kebab-case")]
pub enum Alarm {
    /// A source has brought no answer to a call.
    Unanswered {
        /// Which source.
        source: Source,
        /// Which call.
        call: Call,
        /// Since when.
        since: Time,
        /// Begin of the call in flight, if one is.
        in_flight: Option<Time>,
    },
    /// PLEG has not begun a relist for longer than its threshold.
    #[serde(rename = "pleg-silent")]
    PlegStale {
        /// Begin of the last relist that is known.
        last_seen: Time,
        /// When that was read: an older page says less.
        as_of: Option<Time>,
    },
    /// An image layer stands still.
    PullStalled {
        /// Ingest reference.
        reference: Text,
        /// Bytes so far.
        offset: u64,
        /// Since when it has not moved.
        since: Time,
    },
}

impl Alarm {
    /// When it began to be waited for.
    pub fn since(&self) -> Time {
        match self {
            Alarm::Unanswered { since, .. } | Alarm::PullStalled { since, .. } => *since,
            Alarm::PlegStale { last_seen, .. } => *last_seen,
        }
    }
}

impl Snapshot {
    /// The node's name; empty where nobody knows it.
    pub fn node_name(&self) -> &Text {
        self.node.as_ref().map_or(&self.named, |node| &node.metadata.name)
    }

    /// What is alarming at `now`.
    pub fn alarms(&self, now: Time) -> Vec<Alarm> {
        let due = self.waited_for();
        due.into_iter().filter(|(deadline, _)| *deadline <= now).map(|(_, alarm)| alarm).collect()
    }

    /// The kubelet's health has had no answer for as long as makes an alarm, or has never had one and nobody listens there:
    /// what it would do next is not done.
    pub fn is_kubelet_unresponsive(&self, now: Time) -> bool {
        let Some(health) = self.sources.get(&Source::KubeletHealth).filter(|facts| !facts.is_live()) else {
            return false;
        };
        let waited = |since| now - since >= TimeDelta::seconds(CALL_STALLED_S);
        let refused =
            matches!(&health.state, SourceState::Retrying { error, .. } if error.kind == ErrorKind::Unreachable);
        health.unanswered_since().is_some_and(|since| waited(since) || refused && health.last_answer.is_none())
    }

    /// The next moment after `now` at which an alarm begins without any observation.
    pub fn next_alarm(&self, now: Time) -> Option<Time> {
        self.waited_for().into_iter().map(|(deadline, _)| deadline).filter(|deadline| *deadline > now).min()
    }

    fn waited_for(&self) -> Vec<(Time, Alarm)> {
        let mut out = Vec::new();
        // A source that was given up, or refused, is told as such and waits for nothing.
        let tried = |facts: &SourceFacts| {
            matches!(
                facts.state,
                SourceState::Connecting
                    | SourceState::Live { .. }
                    | SourceState::Degraded { .. }
                    | SourceState::Retrying { .. }
            )
        };
        for (&source, facts) in self.sources.iter().filter(|(_, facts)| tried(facts)) {
            for (&call, calls) in &facts.calls {
                if let Some(since) = calls.unanswered_since {
                    let alarm = Alarm::Unanswered { source, call, since, in_flight: calls.in_flight };
                    out.push((since + TimeDelta::seconds(CALL_STALLED_S), alarm));
                }
            }
        }
        if let Some(last_seen) = self.kubelet.last_seen() {
            let alarm = Alarm::PlegStale { last_seen, as_of: self.kubelet.scraped_at() };
            out.push((last_seen + self.kubelet.relist_threshold(), alarm));
        }
        for pull in &self.pulls {
            let alarm = Alarm::PullStalled {
                reference: pull.value.reference.clone(),
                offset: pull.value.offset,
                since: pull.changed,
            };
            out.push((pull.changed + TimeDelta::seconds(PULL_STALLED_S), alarm));
        }
        out
    }
}
