//! Alarms that become active as time passes without an observation: calls without a response, stalled pulls, no relist.

use serde::Serialize;

use super::{Snapshot, SourceFacts};
use crate::observation::{Call, Source, SourceState, Time};
use crate::text::Text;
use crate::thresholds::{CALL_STALLED, PULL_STALLED};

/// A condition of the node that became true as time passed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "alarm", rename_all = "kebab-case")]
pub enum Alarm {
    /// A source has not responded to a call.
    Unanswered {
        /// The source.
        source: Source,
        /// The call.
        call: Call,
        /// Since when.
        since: Time,
        /// Start of the call in flight, if any.
        in_flight: Option<Time>,
    },
    /// PLEG has not started a relist for longer than its threshold.
    #[serde(rename = "pleg-silent")]
    PlegStale {
        /// Start of the last known relist.
        last_seen: Time,
        /// When the metric was scraped: it is as old as the scrape.
        as_of: Option<Time>,
    },
    /// The pull of an image layer makes no progress.
    PullStalled {
        /// Reference of the ingest in containerd.
        reference: Text,
        /// Bytes received.
        offset: u64,
        /// Time of the last progress.
        since: Time,
    },
}

impl Alarm {
    /// Since when there is no response, relist or progress.
    pub fn since(&self) -> Time {
        match self {
            Alarm::Unanswered { since, .. } | Alarm::PullStalled { since, .. } => *since,
            Alarm::PlegStale { last_seen, .. } => *last_seen,
        }
    }
}

impl Snapshot {
    /// The node's name; empty if unknown.
    pub fn node_name(&self) -> &Text {
        self.node.as_ref().map_or(&self.observed_node, |node| &node.metadata.name)
    }

    /// The alarms that are active at `now`.
    pub fn alarms(&self, now: Time) -> Vec<Alarm> {
        self.pending_alarms().into_iter().filter(|(deadline, _)| *deadline <= now).map(|(_, alarm)| alarm).collect()
    }

    /// The kubelet's health endpoint has not responded for [`CALL_STALLED`], or has never responded and nothing listens
    /// there. The kubelet then performs none of the next actions.
    pub fn is_kubelet_unresponsive(&self, now: Time) -> bool {
        let Some(health) = self.sources.get(&Source::KubeletHealth).filter(|facts| !facts.is_live()) else {
            return false;
        };
        let is_stalled = |since| now - since >= CALL_STALLED;
        let never_listened = health.last_answer.is_none() && health.refusal().is_some();
        health.unanswered_since().is_some_and(|since| is_stalled(since) || never_listened)
    }

    /// The next time after `now` at which an alarm becomes active without an observation.
    pub fn next_alarm(&self, now: Time) -> Option<Time> {
        self.pending_alarms().into_iter().map(|(deadline, _)| deadline).filter(|deadline| *deadline > now).min()
    }

    /// Every alarm that is active or will become so, with the time at which it becomes active.
    fn pending_alarms(&self) -> Vec<(Time, Alarm)> {
        let mut out = Vec::new();
        // A source that is off or forbidden has no calls to wait for.
        let is_tried = |facts: &SourceFacts| {
            matches!(
                facts.state,
                SourceState::Connecting
                    | SourceState::Live { .. }
                    | SourceState::Degraded { .. }
                    | SourceState::Retrying { .. }
            )
        };
        for (&source, facts) in self.sources.iter().filter(|(_, facts)| is_tried(facts)) {
            for (&call, calls) in &facts.calls {
                if let Some(since) = calls.unanswered_since {
                    let alarm = Alarm::Unanswered { source, call, since, in_flight: calls.in_flight };
                    out.push((since + CALL_STALLED, alarm));
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
            out.push((pull.changed + PULL_STALLED, alarm));
        }
        out
    }
}
