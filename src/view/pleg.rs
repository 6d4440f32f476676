//! PLEG at one instant: relists between two reads of the kubelet's metrics, the age of the last relist, runtime operations, and
//! our own CRI list calls.

use super::NodeView;
use super::format::since;
use crate::model::{CallHistory, CallTiming, OperationWindow, RelistWindow};
use crate::observation::{Call, ErrorKind, Source, SourceState, Time};
use crate::thresholds::{CALL_STALLED, CALL_WAITING, METRICS_STALE, RELIST_UNHEALTHY, SLOW_OPERATION_S};
use crate::time::TimeDelta;

/// State of PLEG.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlegVerdict {
    /// Relists finish in time.
    Ok,
    /// No rate is known yet.
    Unknown,
    /// The metrics do not describe the present.
    Stale,
    /// Relists take long, or are missing.
    Slow,
    /// The last relist started longer ago than the kubelet's threshold.
    Silent,
    /// Our own list call has no response.
    Hanging,
    /// The container runtime cannot be reached.
    Down,
}

impl PlegVerdict {
    /// The name in JSON and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            PlegVerdict::Ok => "ok",
            PlegVerdict::Unknown => "unknown",
            PlegVerdict::Stale => "stale",
            PlegVerdict::Slow => "slow",
            PlegVerdict::Silent => "silent",
            PlegVerdict::Hanging => "hanging",
            PlegVerdict::Down => "down",
        }
    }

    /// The node is NotReady because of it, or will be.
    pub fn is_failing(self) -> bool {
        matches!(self, PlegVerdict::Silent | PlegVerdict::Hanging | PlegVerdict::Down)
    }
}

/// PLEG at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct PlegView {
    /// Its state.
    pub verdict: PlegVerdict,
    /// Windows between reads of the metrics, oldest first.
    pub windows: Vec<RelistWindow>,
    /// The same windows in one.
    pub relists: RelistSummary,
    /// Relists since the kubelet started, and their mean in seconds.
    pub total: Option<(u64, Option<f64>)>,
    /// Start of the last relist (`kubelet_pleg_last_seen_seconds`).
    pub last_seen: Option<Time>,
    /// Time since then.
    pub last_seen_age: Option<TimeDelta>,
    /// Age at which the kubelet reports PLEG as unhealthy.
    pub threshold: TimeDelta,
    /// When the metrics were last read.
    pub scraped_at: Option<Time>,
    /// How long the metrics have not been readable; None while they are.
    pub metrics_unanswered_for: Option<TimeDelta>,
    /// The metrics are too old to describe the present, or can no longer be read.
    pub stale: bool,
    /// The runtime's socket is missing or refuses connections: calls fail at once, ours and the kubelet's.
    pub unreachable: bool,
    /// Our own ListPodSandbox and ListContainers calls.
    pub own: OwnCalls,
    /// When a read of the metrics showed that the kubelet had restarted.
    pub restarted: Option<Time>,
    /// Runtime operations that were called or failed in the last window, slowest mean first.
    pub operations: Vec<OperationWindow>,
}

impl NodeView {
    /// PLEG, and our own measurement of its CRI calls.
    pub fn pleg(&self) -> PlegView {
        PlegView::new(self)
    }
}

impl PlegView {
    fn new(view: &NodeView) -> Self {
        let (snapshot, now) = (&view.snapshot, view.now);
        let kubelet = &snapshot.kubelet;
        let source = |source| snapshot.sources.get(&source);
        let own = source(Source::Cri).and_then(|s| s.calls.get(&Call::CriList));
        let scraped_at = kubelet.scraped_at();
        let metrics = source(Source::KubeletMetrics);
        let unanswered = metrics.and_then(|facts| facts.unanswered_since()).map(|at| since(now, at));
        let unreadable = metrics.is_some_and(|facts| matches!(facts.state, SourceState::Retrying { .. }))
            && unanswered.is_some_and(|waited| waited >= CALL_STALLED);
        let unreachable = source(Source::Cri).is_some_and(
            |facts| matches!(&facts.state, SourceState::Retrying { error, .. } if error.kind == ErrorKind::Unreachable),
        );
        let windows: Vec<RelistWindow> = kubelet.windows.iter().cloned().collect();
        let mut pleg = Self {
            verdict: PlegVerdict::Unknown,
            relists: RelistSummary::new(&windows),
            windows,
            total: kubelet.relist_totals(),
            last_seen: kubelet.last_seen(),
            last_seen_age: kubelet.last_seen().map(|at| since(now, at)),
            threshold: kubelet.relist_threshold(),
            scraped_at,
            metrics_unanswered_for: unanswered.filter(|waited| *waited >= CALL_WAITING),
            stale: unreadable
                || snapshot.is_kubelet_unresponsive(now)
                || scraped_at.is_none_or(|at| now - at > METRICS_STALE),
            unreachable,
            own: own.map(|own| OwnCalls::new(own, now)).unwrap_or_default(),
            restarted: kubelet.restarted,
            operations: by_slowness(&kubelet.operations),
        };
        pleg.verdict = pleg.judge();
        pleg
    }

    fn judge(&self) -> PlegVerdict {
        let waiting = self.own.unanswered_for.is_some_and(|waited| waited >= CALL_STALLED);
        // A relist in progress shows only as a missing one: without EventedPLEG the next starts a second after the last.
        let missing = |w: &RelistWindow| w.relists == 0 && self.threshold == RELIST_UNHEALTHY;
        match self.windows.last() {
            _ if waiting && self.unreachable && self.own.in_flight_since.is_none() => PlegVerdict::Down,
            _ if waiting => PlegVerdict::Hanging,
            _ if self.last_seen_age.is_some_and(|age| age >= self.threshold) => PlegVerdict::Silent,
            _ if self.stale && self.scraped_at.is_some() => PlegVerdict::Stale,
            Some(w) if is_slow(w.mean) || w.beyond > 0 || missing(w) => PlegVerdict::Slow,
            Some(_) => PlegVerdict::Ok,
            None => PlegVerdict::Unknown,
        }
    }

    /// Age of the last relist as a share of the kubelet's threshold; 1 and above is unhealthy.
    pub fn last_seen_share(&self) -> Option<f64> {
        let age = self.last_seen_age?.num_milliseconds() as f64;
        Some(age / self.threshold.num_milliseconds().max(1) as f64)
    }

    /// The newest window with a relist above the last bucket bound of the histogram.
    pub fn last_beyond(&self) -> Option<&RelistWindow> {
        self.windows.iter().rfind(|w| w.beyond > 0)
    }
}

/// True for a mean duration that counts as slow.
pub fn is_slow(mean_seconds: Option<f64>) -> bool {
    mean_seconds.is_some_and(|mean| mean >= SLOW_OPERATION_S)
}

/// True for a runtime operation that counts as slow; an image pull takes its time.
pub fn is_slow_operation(operation: &OperationWindow) -> bool {
    is_slow(operation.mean) && operation.name != "pull_image"
}

/// Relists per second of one window; None when it has no length.
pub fn relist_rate(window: &RelistWindow) -> Option<f64> {
    rate(window.relists, (window.to - window.from).num_milliseconds())
}

fn rate(count: u64, milliseconds: i64) -> Option<f64> {
    (milliseconds > 0).then(|| count as f64 * 1000.0 / milliseconds as f64)
}

fn by_slowness(operations: &[OperationWindow]) -> Vec<OperationWindow> {
    let mut called: Vec<_> = operations.iter().filter(|o| o.calls > 0 || o.errors > 0).cloned().collect();
    let mean = |o: &OperationWindow| o.mean.unwrap_or(-1.0);
    called.sort_by(|a, b| mean(b).total_cmp(&mean(a)).then_with(|| a.name.cmp(&b.name)));
    called
}

/// Relists of all windows that are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RelistSummary {
    /// Time from the start of the first window to the end of the last.
    pub span: Option<TimeDelta>,
    /// Relists.
    pub count: u64,
    /// Relists per second.
    pub rate: Option<f64>,
    /// Mean duration, seconds.
    pub mean: Option<f64>,
    /// The longest mean of one window in seconds, and the end of that window.
    pub worst: Option<(f64, Time)>,
    /// Relists above the last bucket bound, [`crate::thresholds::HIGHEST_BUCKET_S`].
    pub beyond: u64,
    /// Events that were dropped because PLEG's channel was full.
    pub discarded: u64,
}

impl RelistSummary {
    fn new(windows: &[RelistWindow]) -> Self {
        let count: u64 = windows.iter().map(|w| w.relists).sum();
        let took: f64 = windows.iter().filter_map(|w| Some(w.mean? * w.relists as f64)).sum();
        let covered: i64 = windows.iter().map(|w| (w.to - w.from).num_milliseconds()).sum();
        let worst = windows.iter().filter_map(|w| Some((w.mean?, w.to))).max_by(|a, b| a.0.total_cmp(&b.0));
        Self {
            span: windows.first().zip(windows.last()).map(|(first, last)| last.to - first.from),
            count,
            rate: rate(count, covered),
            mean: (count > 0).then(|| took / count as f64),
            worst,
            beyond: windows.iter().map(|w| w.beyond).sum(),
            discarded: windows.iter().map(|w| w.discarded).sum(),
        }
    }
}

/// Our own list calls that are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnCalls {
    /// Finished calls.
    pub count: usize,
    /// Those that failed.
    pub failed: usize,
    /// The oldest.
    pub first: Option<OwnCall>,
    /// The newest.
    pub last: Option<OwnCall>,
    /// The longest.
    pub worst: Option<OwnCall>,
    /// Mean duration, seconds.
    pub mean: Option<f64>,
    /// Start of the call in flight.
    pub in_flight_since: Option<Time>,
    /// Time since then.
    pub in_flight_for: Option<TimeDelta>,
    /// Start of the first call since which none has returned.
    pub unanswered_since: Option<Time>,
    /// Time since then.
    pub unanswered_for: Option<TimeDelta>,
}

/// One finished call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnCall {
    /// When it finished.
    pub at: Time,
    /// Its duration, seconds.
    pub seconds: f64,
    /// It returned a list.
    pub ok: bool,
}

impl From<&CallTiming> for OwnCall {
    fn from(timing: &CallTiming) -> Self {
        Self { at: timing.at, seconds: timing.took_us as f64 / 1e6, ok: timing.ok }
    }
}

impl OwnCalls {
    fn new(calls: &CallHistory, now: Time) -> Self {
        let done = &calls.done;
        let sum: f64 = done.iter().map(|t| OwnCall::from(t).seconds).sum();
        Self {
            count: done.len(),
            failed: done.iter().filter(|t| !t.ok).count(),
            first: done.front().map(OwnCall::from),
            last: done.back().map(OwnCall::from),
            worst: done.iter().max_by_key(|t| t.took_us).map(OwnCall::from),
            mean: (!done.is_empty()).then(|| sum / done.len() as f64),
            in_flight_since: calls.in_flight,
            in_flight_for: calls.in_flight.map(|at| since(now, at)),
            unanswered_since: calls.unanswered_since,
            unanswered_for: calls.unanswered_since.map(|at| since(now, at)),
        }
    }

    /// How long no call has returned, once that is worth showing.
    pub fn waiting_for(&self) -> Option<TimeDelta> {
        self.unanswered_for.filter(|waited| *waited >= CALL_WAITING)
    }

    /// The call in flight is the first without a response.
    pub fn is_first_unanswered(&self) -> bool {
        self.in_flight_since.is_some() && self.in_flight_since == self.unanswered_since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_operation_comes_first_and_idle_ones_are_left_out() {
        let operation = |name: &str, calls, mean, errors| OperationWindow {
            name: name.into(),
            calls,
            rate: 1.0,
            mean,
            p50: None,
            p99: None,
            errors,
            total_calls: 9,
            total_errors: errors,
        };
        let all = [
            operation("fast", 3, Some(0.01), 0),
            operation("idle", 0, None, 0),
            operation("failing", 0, None, 2),
            operation("slow", 1, Some(2.0), 0),
        ];
        let names: Vec<_> = by_slowness(&all).iter().map(|o| o.name.to_string()).collect();
        assert_eq!(names, ["slow", "fast", "failing"]);
    }
}
