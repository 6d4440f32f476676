//! Owns the document `PlegReport`.
//! It must not print a quantile without saying that it is interpolated.

use crate::time::TimeDelta;
use serde::Serialize;

use super::json::{DocumentHead, JsonTime, NodeContext, call_name, json_time, known, node_context};
use super::kubelet::word;
use super::pleg::{by_slowness, rate};
use super::verdict::sentence;
use crate::model::{CallHistory, CallTiming, OperationWindow, PodStartLatency, RelistWindow};
use crate::observation::{Call, Time};
use crate::text::{Message, Text};
use crate::view::{KubeletView, LoopChannel, NodeView, RelistSummary, SettingLine, Workers};

/// PLEG at a moment.
#[derive(Debug, Serialize)]
pub struct PlegReport {
    #[serde(flatten)]
    head: DocumentHead,
    #[serde(flatten)]
    around: NodeContext,
    verdict: &'static str,
    verdict_text: String,
    last_seen: Option<JsonTime>,
    last_seen_age_seconds: Option<f64>,
    threshold_seconds: f64,
    scraped_at: Option<JsonTime>,
    stale: bool,
    kubelet_restarted: Option<JsonTime>,
    loop_blocked: Option<LogLineJson>,
    pleg_trouble: Option<LogLineJson>,
    relists_total: Option<TotalJson>,
    own_calls: OwnJson,
    windows: Vec<WindowJson>,
    operations: Vec<OperationJson>,
    relists: RelistsJson,
    feeds: Vec<ChannelJson>,
    workers: Vec<WorkersJson>,
    pod_starts: Option<StartsJson>,
    settings: Vec<SettingJson>,
}

#[derive(Debug, Serialize)]
struct RelistsJson {
    span_seconds: Option<f64>,
    count: u64,
    per_second: Option<f64>,
    mean_seconds: Option<f64>,
    worst_mean_seconds: Option<f64>,
    worst_at: Option<JsonTime>,
    beyond_10s: u64,
    discarded: u64,
}

#[derive(Debug, Serialize)]
struct ChannelJson {
    channel: &'static str,
    what: &'static str,
    state: &'static str,
    known: String,
}

#[derive(Debug, Serialize)]
struct WorkersJson {
    lifecycle: Text,
    config: Text,
    pods: u64,
}

#[derive(Debug, Serialize)]
struct StartsJson {
    count: u64,
    mean_seconds: Option<f64>,
    p50: Option<QuantileJson>,
    p99: Option<QuantileJson>,
}

#[derive(Debug, Serialize)]
struct SettingJson {
    name: &'static str,
    value: Option<Text>,
    default: &'static str,
    changed: bool,
    remark: Option<String>,
}

#[derive(Debug, Serialize)]
struct LogLineJson {
    at: JsonTime,
    text: Text,
}

#[derive(Debug, Serialize)]
struct TotalJson {
    count: u64,
    mean_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct WindowJson {
    from: JsonTime,
    to: JsonTime,
    relists: u64,
    per_second: Option<f64>,
    mean_seconds: Option<f64>,
    p50: Option<QuantileJson>,
    p90: Option<QuantileJson>,
    p99: Option<QuantileJson>,
    beyond_10s: u64,
    interval_mean_seconds: Option<f64>,
    discarded: u64,
}

#[derive(Debug, Serialize)]
struct QuantileJson {
    seconds: f64,
    interpolated: bool,
    at_least: bool,
}

#[derive(Debug, Serialize)]
struct OperationJson {
    name: Option<Text>,
    calls: u64,
    per_second: f64,
    mean_seconds: Option<f64>,
    p50: Option<QuantileJson>,
    p99: Option<QuantileJson>,
    errors: u64,
    total_calls: u64,
    total_errors: u64,
}

#[derive(Debug, Serialize)]
struct OwnJson {
    call: &'static str,
    calls: usize,
    failed: usize,
    first: Option<JsonTime>,
    last: Option<TimingJson>,
    worst: Option<TimingJson>,
    mean_seconds: Option<f64>,
    in_flight_since: Option<JsonTime>,
    in_flight_seconds: Option<f64>,
    unanswered_since: Option<JsonTime>,
    unanswered_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct TimingJson {
    at: JsonTime,
    took_seconds: f64,
    ok: bool,
}

/// What the kept calls amount to.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnStats {
    /// Calls that ended without an answer.
    pub failed: usize,
    /// Mean of all that ended.
    pub mean_seconds: Option<f64>,
    /// The longest.
    pub worst: Option<CallTiming>,
}

/// Mean and worst of the calls that are kept.
pub fn own_stats(own: &CallHistory) -> OwnStats {
    let count = own.done.len();
    let sum: f64 = own.done.iter().map(|t| t.took_us as f64 / 1e6).sum();
    OwnStats {
        failed: own.done.iter().filter(|t| !t.ok).count(),
        mean_seconds: (count > 0).then(|| sum / count as f64),
        worst: own.done.iter().max_by_key(|t| t.took_us).copied(),
    }
}

/// The report.
pub fn pleg_json(moment: &NodeView) -> PlegReport {
    let view = KubeletView::new(moment);
    let pleg = &view.pleg;
    let said = |said: &Option<(Time, Message)>| {
        said.as_ref().map(|(at, text)| LogLineJson { at: JsonTime(*at), text: text.text() })
    };
    let total = |(count, mean_seconds)| TotalJson { count, mean_seconds };
    PlegReport {
        head: DocumentHead::new("PlegReport", moment),
        around: node_context(moment),
        verdict: pleg.verdict(moment.now),
        verdict_text: sentence(moment, pleg),
        last_seen: json_time(pleg.last_seen),
        last_seen_age_seconds: pleg.last_seen_age.map(seconds),
        threshold_seconds: seconds(pleg.threshold),
        scraped_at: json_time(pleg.scraped_at),
        stale: pleg.stale,
        kubelet_restarted: json_time(pleg.restarted),
        loop_blocked: said(&moment.snapshot.loop_blocked),
        pleg_trouble: said(&moment.snapshot.pleg_trouble),
        relists_total: pleg.total.map(total),
        own_calls: own(&pleg.own, moment.now),
        windows: pleg.windows.iter().map(window).collect(),
        operations: by_slowness(&pleg.operations).into_iter().map(operation).collect(),
        relists: relists(&view.relists),
        feeds: view.channels.iter().map(feed).collect(),
        workers: view.workers.iter().map(workers).collect(),
        pod_starts: view.starts.map(starts),
        settings: view.settings.iter().map(setting).collect(),
    }
}

fn relists(r: &RelistSummary) -> RelistsJson {
    RelistsJson {
        span_seconds: r.span.map(seconds),
        count: r.count,
        per_second: r.rate,
        mean_seconds: r.mean,
        worst_mean_seconds: r.worst.map(|(mean, _)| mean),
        worst_at: json_time(r.worst.map(|(_, at)| at)),
        beyond_10s: r.beyond,
        discarded: r.discarded,
    }
}

fn feed(f: &LoopChannel) -> ChannelJson {
    ChannelJson { channel: f.name, what: f.what, state: word(f.health), known: f.known.clone() }
}

fn workers(w: &Workers) -> WorkersJson {
    WorkersJson { lifecycle: w.lifecycle.clone(), config: w.config.clone(), pods: w.pods }
}

fn starts(s: PodStartLatency) -> StartsJson {
    StartsJson { count: s.count, mean_seconds: s.mean, p50: quantile(s.p50), p99: quantile(s.p99) }
}

fn setting(s: &SettingLine) -> SettingJson {
    let remark = Some(s.remark.clone()).filter(|r| !r.is_empty());
    SettingJson { name: s.name, value: s.value.clone(), default: s.default, changed: s.changed, remark }
}

fn own(own: &CallHistory, now: Time) -> OwnJson {
    let stats = own_stats(own);
    let age = |at: Option<Time>| at.map(|at| seconds(now - at));
    OwnJson {
        call: call_name(Call::CriList),
        calls: own.done.len(),
        failed: stats.failed,
        first: json_time(own.done.front().map(|t| t.at)),
        last: own.done.back().copied().map(timing),
        worst: stats.worst.map(timing),
        mean_seconds: stats.mean_seconds,
        in_flight_since: json_time(own.in_flight),
        in_flight_seconds: age(own.in_flight),
        unanswered_since: json_time(own.unanswered_since),
        unanswered_seconds: age(own.unanswered_since),
    }
}

fn timing(t: CallTiming) -> TimingJson {
    TimingJson { at: JsonTime(t.at), took_seconds: t.took_us as f64 / 1e6, ok: t.ok }
}

fn seconds(span: TimeDelta) -> f64 {
    span.max(TimeDelta::zero()).num_milliseconds() as f64 / 1000.0
}

fn quantile(value: Option<(f64, bool)>) -> Option<QuantileJson> {
    value.map(|(seconds, at_least)| QuantileJson { seconds, interpolated: true, at_least })
}

fn window(w: &RelistWindow) -> WindowJson {
    WindowJson {
        from: JsonTime(w.from),
        to: JsonTime(w.to),
        relists: w.relists,
        per_second: rate(w),
        mean_seconds: w.mean,
        p50: quantile(w.p50),
        p90: quantile(w.p90),
        p99: quantile(w.p99),
        beyond_10s: w.beyond,
        interval_mean_seconds: w.interval,
        discarded: w.discarded,
    }
}

fn operation(o: &OperationWindow) -> OperationJson {
    OperationJson {
        name: known(&o.name),
        calls: o.calls,
        per_second: o.rate,
        mean_seconds: o.mean,
        p50: quantile(o.p50),
        p99: quantile(o.p99),
        errors: o.errors,
        total_calls: o.total_calls,
        total_errors: o.total_errors,
    }
}
