//! Owns what the kubelet's metrics say between two scrapes: PLEG relists and runtime operations, each per window.
//! It must not average over a restart: counters that go backwards begin a new history.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::histogram::HistogramDelta;
use crate::observation::{Histogram, KubeletConfig, OperationTotals, Scrape, Time};
use crate::text::{Message, Text};

/// Windows kept: fifteen minutes at one scrape every ten seconds.
const WINDOWS_KEPT: usize = 90;

/// PLEG counts as silent after this (`genericPlegRelistThreshold`, pkg/kubelet/kubelet.go).
pub const RELIST_THRESHOLD_S: i64 = 180;
/// The same with the EventedPLEG gate (pkg/kubelet/kubelet.go).
pub const EVENTED_RELIST_THRESHOLD_S: i64 = 600;

/// What PLEG did between two scrapes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelistWindow {
    /// The earlier scrape.
    pub from: Time,
    /// The later scrape.
    pub to: Time,
    /// Relists that ended in the window.
    pub relists: u64,
    /// Mean duration of a relist, seconds.
    pub mean: Option<f64>,
    /// Interpolated median, seconds, with whether it is only a lower bound.
    pub p50: Option<(f64, bool)>,
    /// Interpolated 90th percentile.
    pub p90: Option<(f64, bool)>,
    /// Interpolated 99th percentile.
    pub p99: Option<(f64, bool)>,
    /// Relists longer than the highest bucket (10 s).
    pub beyond: u64,
    /// Mean time from begin to begin, seconds; about one second and the duration when all is well.
    pub interval: Option<f64>,
    /// Events thrown away because the channel was full.
    pub discarded: u64,
}

/// What one kind of runtime operation did between the last two scrapes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationWindow {
    /// `operation_type`.
    pub name: Text,
    /// Calls that returned.
    pub calls: u64,
    /// Calls per second.
    pub rate: f64,
    /// Mean duration, seconds.
    pub mean: Option<f64>,
    /// Interpolated median, seconds, with whether it is only a lower bound.
    pub p50: Option<(f64, bool)>,
    /// Interpolated 99th percentile.
    pub p99: Option<(f64, bool)>,
    /// Calls that failed.
    pub errors: u64,
    /// Calls since the kubelet started.
    pub total_calls: u64,
    /// Failures since the kubelet started.
    pub total_errors: u64,
}

/// How long pods took from their creation until they ran, pulls and init containers left out, since the kubelet started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PodStartLatency {
    /// Pods.
    pub count: u64,
    /// Mean, seconds.
    pub mean: Option<f64>,
    /// Interpolated median, seconds, with whether it is only a lower bound.
    pub p50: Option<(f64, bool)>,
    /// Interpolated 99th percentile.
    pub p99: Option<(f64, bool)>,
}

/// What is known of the kubelet process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KubeletFacts {
    /// The last scrape and when it came.
    last: Option<(Time, Box<Scrape>)>,
    /// Relist windows, oldest first.
    pub windows: VecDeque<RelistWindow>,
    /// Operations of the last window, by name.
    pub operations: Vec<OperationWindow>,
    /// When a scrape showed that the kubelet had restarted.
    pub restarted: Option<Time>,
    /// Settings.
    pub config: Option<Box<KubeletConfig>>,
    /// Last answer of `/healthz`: when, ok, and the text.
    pub health: Option<(Time, bool, Message)>,
}

impl KubeletFacts {
    pub(super) fn scrape(&mut self, scrape: Scrape, at: Time) {
        if let Some((before, old)) = &self.last {
            if is_restart(old, &scrape) {
                self.restarted = Some(at);
                self.operations.clear();
            } else {
                let window = relist_window(*before, at, old, &scrape);
                self.windows.extend(window);
                if self.windows.len() > WINDOWS_KEPT {
                    self.windows.pop_front();
                }
                self.operations = operation_windows(*before, at, old, &scrape);
            }
        }
        self.last = Some((at, Box::new(scrape)));
    }

    /// The kubelet's version, as its metrics say.
    pub fn version(&self) -> Option<&Text> {
        self.last.as_ref().map(|(_, s)| &s.version).filter(|v| !v.is_empty())
    }

    /// When the last page of metrics came.
    pub fn scraped_at(&self) -> Option<Time> {
        self.last.as_ref().map(|(at, _)| *at)
    }

    /// When the process started.
    pub fn started_at(&self) -> Option<Time> {
        self.last.as_ref().and_then(|(_, s)| from_unix(s.process_start?))
    }

    /// Begin of the last relist that the health check saw.
    pub fn last_seen(&self) -> Option<Time> {
        self.last.as_ref().and_then(|(_, s)| from_unix(s.last_seen?))
    }

    /// Relists since the kubelet started: count and mean seconds.
    pub fn relist_totals(&self) -> Option<(u64, Option<f64>)> {
        let relist = self.last.as_ref()?.1.relist.as_ref()?;
        Some((relist.count, (relist.count > 0).then(|| relist.sum / relist.count as f64)))
    }

    /// Pods by the state of their worker, `lifecycle/config`.
    pub fn pod_workers(&self) -> impl Iterator<Item = (&Text, &u64)> {
        self.last.iter().flat_map(|(_, scrape)| &scrape.working)
    }

    /// How long pods took to start.
    pub fn pod_start_latency(&self) -> Option<PodStartLatency> {
        let all = HistogramDelta::between(&Histogram::default(), self.last.as_ref()?.1.start_sli.as_ref()?)?;
        let (p50, p99) = (quantile(&all, 0.5), quantile(&all, 0.99));
        Some(PodStartLatency { count: all.count, mean: all.mean(), p50, p99 })
    }

    /// After how long without a relist PLEG counts as unhealthy.
    pub fn relist_threshold(&self) -> crate::time::TimeDelta {
        let evented = self.config.as_ref().is_some_and(|c| c.evented_pleg);
        crate::time::TimeDelta::seconds(if evented { EVENTED_RELIST_THRESHOLD_S } else { RELIST_THRESHOLD_S })
    }
}

fn from_unix(seconds: f64) -> Option<Time> {
    (seconds > 0.0).then(|| Time::from_unix_seconds(seconds)).flatten()
}

fn is_restart(old: &Scrape, new: &Scrape) -> bool {
    let later = matches!((old.process_start, new.process_start), (Some(a), Some(b)) if b > a + 0.5);
    let fewer =
        |a: &Option<Histogram>, b: &Option<Histogram>| matches!((a, b), (Some(a), Some(b)) if b.count < a.count);
    later || fewer(&old.relist, &new.relist) || fewer(&old.interval, &new.interval)
}

fn quantile(delta: &HistogramDelta, q: f64) -> Option<(f64, bool)> {
    delta.quantile(q).map(|v| (v.seconds, v.at_least))
}

fn relist_window(from: Time, to: Time, old: &Scrape, new: &Scrape) -> Option<RelistWindow> {
    let empty = Histogram::default();
    let delta = HistogramDelta::between(old.relist.as_ref().unwrap_or(&empty), new.relist.as_ref()?)?;
    let interval =
        new.interval.as_ref().and_then(|i| HistogramDelta::between(old.interval.as_ref().unwrap_or(&empty), i));
    Some(RelistWindow {
        from,
        to,
        relists: delta.count,
        mean: delta.mean(),
        p50: quantile(&delta, 0.5),
        p90: quantile(&delta, 0.9),
        p99: quantile(&delta, 0.99),
        beyond: delta.beyond(),
        interval: interval.and_then(|d| d.mean()),
        discarded: new.discarded.unwrap_or(0).saturating_sub(old.discarded.unwrap_or(0)),
    })
}

fn operation_windows(from: Time, to: Time, old: &Scrape, new: &Scrape) -> Vec<OperationWindow> {
    let seconds = ((to - from).num_milliseconds() as f64 / 1000.0).max(0.001);
    let none = OperationTotals::default();
    let old: &BTreeMap<_, _> = &old.operations;
    let window = |(name, now): (&Text, &OperationTotals)| {
        let before = old.get(name).unwrap_or(&none);
        let delta = HistogramDelta::between(&before.duration, &now.duration)?;
        Some(OperationWindow {
            name: name.clone(),
            calls: delta.count,
            rate: delta.count as f64 / seconds,
            mean: delta.mean(),
            p50: quantile(&delta, 0.5),
            p99: quantile(&delta, 0.99),
            errors: now.errors.saturating_sub(before.errors),
            total_calls: now.duration.count,
            total_errors: now.errors,
        })
    };
    new.operations.iter().filter_map(window).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Bucket;

    fn at(s: i64) -> Time {
        Time::from_timestamp(1_000_000 + s, 0).unwrap()
    }

    fn scrape(count: u64, sum: f64, start: f64) -> Scrape {
        let relist = Histogram { buckets: vec![Bucket(10.0, count)], sum, count };
        Scrape { process_start: Some(start), relist: Some(relist), last_seen: Some(1_000_000.0), ..Default::default() }
    }

    #[test]
    fn a_window_is_the_difference_of_two_scrapes() {
        let mut facts = KubeletFacts::default();
        facts.scrape(scrape(100, 1.0, 5.0), at(0));
        assert!(facts.windows.is_empty(), "one scrape is no window");
        facts.scrape(scrape(110, 3.0, 5.0), at(10));
        let window = facts.windows.back().unwrap();
        assert_eq!((window.relists, window.mean), (10, Some(0.2)));
    }

    #[test]
    fn backwards_or_a_later_start_is_a_restart() {
        let mut facts = KubeletFacts::default();
        facts.scrape(scrape(100, 1.0, 5.0), at(0));
        facts.scrape(scrape(3, 0.1, 5.0), at(10));
        assert_eq!(facts.restarted, Some(at(10)));
        assert!(facts.windows.is_empty());
        facts.scrape(scrape(200, 2.0, 900.0), at(20));
        assert_eq!(facts.restarted, Some(at(20)));
        facts.scrape(scrape(201, 2.0, 900.0), at(30));
        assert_eq!(facts.windows.len(), 1);
    }
}
