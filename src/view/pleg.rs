//! Owns what is shown of PLEG: windows of relists, last-seen age, and our own timing of the same two calls.
//! It must not call anything healthy that was not read recently.

use super::NodeView;
use super::format::ago;
use crate::model::{CallHistory, OperationWindow, RELIST_THRESHOLD_S, RelistWindow};
use crate::observation::{Call, ErrorKind, Source, SourceState, Time};
use crate::time::TimeDelta;

/// A page of metrics older than this says nothing about now, seconds: three scrapes.
pub const METRICS_STALE_S: i64 = 30;

/// PLEG at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct PlegView {
    /// Windows between scrapes, oldest first.
    pub windows: Vec<RelistWindow>,
    /// Relists since the kubelet started, and their mean in seconds.
    pub total: Option<(u64, Option<f64>)>,
    /// Begin of the last relist, as the kubelet's gauge says.
    pub last_seen: Option<Time>,
    /// How long ago that is at the time shown.
    pub last_seen_age: Option<TimeDelta>,
    /// After how long PLEG counts as unhealthy.
    pub threshold: TimeDelta,
    /// When the metrics were last read.
    pub scraped_at: Option<Time>,
    /// The metrics are too old to speak of now, or cannot be read any more.
    pub stale: bool,
    /// The runtime's socket is not there or lets nobody in: calls fail at once, ours and the kubelet's.
    pub unreachable: bool,
    /// Our own timing of ListPodSandbox and ListContainers.
    pub own: CallHistory,
    /// When a scrape showed that the kubelet had restarted.
    pub restarted: Option<Time>,
    /// Runtime operations of the last window.
    pub operations: Vec<OperationWindow>,
}

impl PlegView {
    pub(super) fn new(moment: &NodeView) -> Self {
        let (snapshot, now) = (&moment.snapshot, moment.now);
        let kubelet = &snapshot.kubelet;
        let own = snapshot.sources.get(&Source::Cri).and_then(|s| s.calls.get(&Call::CriList)).cloned();
        let scraped_at = kubelet.scraped_at();
        let source = |source| snapshot.sources.get(&source);
        let stalled = TimeDelta::seconds(crate::model::CALL_STALLED_S);
        let unread = source(Source::KubeletMetrics)
            .filter(|facts| matches!(facts.state, SourceState::Retrying { .. }))
            .and_then(|facts| facts.unanswered_since())
            .is_some_and(|since| now - since >= stalled);
        let unreachable = source(Source::Cri).is_some_and(
            |facts| matches!(&facts.state, SourceState::Retrying { error, .. } if error.kind == ErrorKind::Unreachable),
        );
        Self {
            windows: kubelet.windows.iter().cloned().collect(),
            total: kubelet.relist_totals(),
            last_seen: kubelet.last_seen(),
            last_seen_age: kubelet.last_seen().map(|at| ago(now, at)),
            threshold: kubelet.relist_threshold(),
            scraped_at,
            stale: unread
                || snapshot.is_kubelet_unresponsive(now)
                || scraped_at.is_none_or(|at| now - at > TimeDelta::seconds(METRICS_STALE_S)),
            unreachable,
            own: own.unwrap_or_default(),
            restarted: kubelet.restarted,
            operations: kubelet.operations.clone(),
        }
    }

    /// What PLEG does, in one word: `down` (the runtime cannot be reached), `hanging` (our own call has no answer),
    /// `silent`, `stale`, `slow`, `ok` or `unknown`.
    pub fn verdict(&self, now: Time) -> &'static str {
        let waiting =
            self.own.unanswered_since.is_some_and(|at| now - at >= TimeDelta::seconds(crate::model::CALL_STALLED_S));
        // A relist that still runs shows only as one that is missing: without events the next comes a second after the last.
        let missing = |w: &RelistWindow| w.relists == 0 && self.threshold == TimeDelta::seconds(RELIST_THRESHOLD_S);
        match self.windows.last() {
            _ if waiting && self.unreachable && self.own.in_flight.is_none() => "down",
            _ if waiting => "hanging",
            _ if self.last_seen_age.is_some_and(|age| age >= self.threshold) => "silent",
            _ if self.stale && self.scraped_at.is_some() => "stale",
            Some(w) if w.mean.is_some_and(|mean| mean >= 1.0) || w.beyond > 0 || missing(w) => "slow",
            Some(_) => "ok",
            None => "unknown",
        }
    }

    /// How long our own list call has had no answer.
    pub fn unanswered_for(&self, now: Time) -> Option<TimeDelta> {
        self.own.unanswered_since.map(|at| ago(now, at))
    }
}
