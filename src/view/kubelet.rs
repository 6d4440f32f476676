//! Owns what is shown of the kubelet: what feeds its sync loop, its pod workers, how fast pods start, its settings.
//! It must not claim what nobody tells: a feed of which nothing is known says so.

use super::format::{ago, milliseconds};
use super::settings::{SettingLine, settings};
use super::{NodeView, PlegView};
use crate::model::{OperationWindow, PodStartLatency};
use crate::observation::{Source, Time};
use crate::pipeline::human_duration;
use crate::text::Text;
use crate::time::TimeDelta;

/// A relist, or a call, that takes so long is marked, seconds: a relist is due every second.
pub const SLOW_S: f64 = 1.0;

/// How a feed does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelHealth {
    /// It feeds.
    Healthy,
    /// It is slow, or something was lost.
    Slow,
    /// It stands still.
    Failing,
    /// Nothing is known of it.
    Unknown,
}

/// One channel of `syncLoopIteration` (pkg/kubelet/kubelet.go).
#[derive(Clone, Debug, PartialEq)]
pub struct LoopChannel {
    /// Name of the channel in the code.
    pub name: &'static str,
    /// What comes through it.
    pub what: &'static str,
    /// What is known of it.
    pub known: String,
    /// How it does.
    pub health: ChannelHealth,
}

/// Pods in one state of their workers.
#[derive(Clone, Debug, PartialEq)]
pub struct Workers {
    /// `sync`, `terminating`, `terminated`.
    pub lifecycle: Text,
    /// `desired`, `orphan`, `runtime_only`.
    pub config: Text,
    /// How many.
    pub pods: u64,
}

/// The kubelet.
#[derive(Clone, Debug, PartialEq)]
pub struct KubeletView {
    /// When the process started.
    pub started: Option<Time>,
    /// Last answer of `/healthz`: when, whether it was ok, and the text.
    pub health: Option<(Time, bool, Text)>,
    /// What feeds the loop.
    pub channels: Vec<LoopChannel>,
    /// PLEG.
    pub pleg: PlegView,
    /// What relists did over the last 15 minutes.
    pub relists: RelistSummary,
    /// Runtime operations that were called in the last window, slowest first.
    pub operations: Vec<OperationWindow>,
    /// States of pod workers.
    pub workers: Vec<Workers>,
    /// How long pods took to start.
    pub starts: Option<PodStartLatency>,
    /// Settings.
    pub settings: Vec<SettingLine>,
}

/// Relists over all windows that are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RelistSummary {
    /// How long the windows reach back.
    pub span: Option<TimeDelta>,
    /// Relists.
    pub count: u64,
    /// Relists a second.
    pub rate: Option<f64>,
    /// Mean duration, seconds.
    pub mean: Option<f64>,
    /// The longest mean of one window, and when that ended.
    pub worst: Option<(f64, Time)>,
    /// Relists longer than the highest bucket, 10 s.
    pub beyond: u64,
    /// Events that were thrown away.
    pub discarded: u64,
}

impl RelistSummary {
    fn of(pleg: &PlegView) -> Self {
        let windows = &pleg.windows;
        let count: u64 = windows.iter().map(|w| w.relists).sum();
        let took: f64 = windows.iter().filter_map(|w| Some(w.mean? * w.relists as f64)).sum();
        let covered: i64 = windows.iter().map(|w| (w.to - w.from).num_milliseconds()).sum();
        let span = windows.first().zip(windows.last()).map(|(first, last)| last.to - first.from);
        let worst = windows.iter().filter_map(|w| Some((w.mean?, w.to))).max_by(|a, b| a.0.total_cmp(&b.0));
        Self {
            span,
            count,
            rate: (covered > 0).then(|| count as f64 * 1000.0 / covered as f64),
            mean: (count > 0).then(|| took / count as f64),
            worst,
            beyond: windows.iter().map(|w| w.beyond).sum(),
            discarded: windows.iter().map(|w| w.discarded).sum(),
        }
    }
}

impl KubeletView {
    /// The kubelet at the moment.
    pub fn new(moment: &NodeView) -> Self {
        let pleg = moment.pleg();
        let kubelet = &moment.snapshot.kubelet;
        let relists = RelistSummary::of(&pleg);
        let mut operations: Vec<_> = pleg.operations.iter().filter(|o| o.calls > 0 || o.errors > 0).cloned().collect();
        operations.sort_by(|a, b| b.mean.unwrap_or(0.0).total_cmp(&a.mean.unwrap_or(0.0)));
        Self {
            started: kubelet.started_at(),
            health: kubelet.health.as_ref().map(|(at, ok, text)| (*at, *ok, text.text())),
            channels: channels(moment, &pleg, &relists),
            relists,
            operations,
            workers: workers(moment),
            starts: kubelet.pod_start_latency(),
            settings: settings(moment),
            pleg,
        }
    }
}

fn workers(moment: &NodeView) -> Vec<Workers> {
    let state = |(key, pods): (&Text, &u64)| {
        let (lifecycle, config) = key.split_once('/')?;
        Some(Workers { lifecycle: lifecycle.into(), config: config.into(), pods: *pods })
    };
    moment.snapshot.kubelet.pod_workers().filter_map(state).filter(|w| w.pods > 0 || w.config == "desired").collect()
}

fn channels(moment: &NodeView, pleg: &PlegView, relists: &RelistSummary) -> Vec<LoopChannel> {
    vec![
        config(moment),
        relisting(moment, pleg, relists),
        LoopChannel {
            name: "syncCh",
            what: "every second: pods whose next sync is due",
            ..blocked(moment).unwrap_or_else(|| {
                channel("no source counts it; the loop has not said that it skips", ChannelHealth::Unknown)
            })
        },
        probes(moment),
        LoopChannel {
            name: "containerManager",
            what: "devices whose health changed",
            ..channel("no source tells of it", ChannelHealth::Unknown)
        },
        housekeeping(moment),
    ]
}

fn channel(known: impl Into<String>, health: ChannelHealth) -> LoopChannel {
    LoopChannel { name: "", what: "", known: known.into(), health }
}

/// The loop said that it skips, and has not been seen to go on.
fn blocked(moment: &NodeView) -> Option<LoopChannel> {
    let (at, why) = moment.snapshot.loop_blocked.as_ref()?;
    let since = ago(moment.now, *at);
    // It says so again at least every five seconds.
    let now = since < TimeDelta::seconds(15);
    let said = if now { "the loop is blocked, nothing is processed" } else { "the loop last skipped" };
    let known = format!("{said}, {} ago: {}", human_duration(since), why.one_line());
    Some(channel(known, if now { ChannelHealth::Failing } else { ChannelHealth::Healthy }))
}

fn config(moment: &NodeView) -> LoopChannel {
    let api = moment.snapshot.sources.get(&Source::ApiPods);
    let statics = moment.pods.iter().filter(|p| p.facts.is_static()).count();
    let of_api = moment.pods.len() - statics;
    let live = api.is_some_and(|facts| facts.is_live());
    let lag =
        moment.pods.iter().filter(|p| p.facts.complete.kubelet && p.facts.api.is_some() && p.facts.kubelet.is_none());
    let mut known = format!("{of_api} pods of the API server, {statics} static");
    let unseen = lag.count();
    if unseen > 0 {
        known += &format!("; {unseen} of them are not in the kubelet's own list");
    }
    if !live {
        known += "; our own watch of the API server is not live, the kubelet's may not be either";
    }
    let health = if live { ChannelHealth::Healthy } else { ChannelHealth::Slow };
    LoopChannel { name: "configCh", what: "pods added, changed, deleted", ..channel(known, health) }
}

fn relisting(moment: &NodeView, pleg: &PlegView, relists: &RelistSummary) -> LoopChannel {
    let verdict = pleg.verdict(moment.now);
    let health = match verdict {
        "ok" => ChannelHealth::Healthy,
        "slow" => ChannelHealth::Slow,
        "unknown" | "stale" => ChannelHealth::Unknown,
        _ => ChannelHealth::Failing,
    };
    let mut known = verdict.to_owned();
    if let Some(last) = pleg.windows.last() {
        let mean = last.mean.map_or_else(|| "none ended".into(), |mean| format!("mean {}", milliseconds(mean)));
        known += &format!(", {mean} in the last window");
    }
    if relists.discarded > 0 {
        known += &format!(", {} events discarded", relists.discarded);
    }
    LoopChannel { name: "plegCh", what: "containers that started or ended", ..channel(known, health) }
}

fn probes(moment: &NodeView) -> LoopChannel {
    let of = |kind: &str| {
        let about =
            move |e: &&std::sync::Arc<crate::objects::Event>| e.reason == "Unhealthy" && e.message.starts_with(kind);
        let recent = TimeDelta::minutes(5);
        let now = moment.now;
        let late = move |e: &std::sync::Arc<crate::objects::Event>| e.last().is_some_and(|at| now - at <= recent);
        moment.pods.iter().filter(|p| p.facts.events.iter().filter(about).any(late)).count()
    };
    let (live, ready, startup) = (of("Liveness"), of("Readiness"), of("Startup"));
    let known = match (live + ready + startup, moment.pods.iter().any(|p| p.facts.complete.events)) {
        (0, true) => "no probe has failed for 5m, or none was told".into(),
        (0, false) => "no source of events tells of failures".into(),
        _ => format!("pods with failures in 5m: liveness {live}, readiness {ready}, startup {startup}"),
    };
    let health = if live + startup > 0 { ChannelHealth::Slow } else { ChannelHealth::Unknown };
    LoopChannel { name: "probe managers", what: "results of liveness, readiness, startup", ..channel(known, health) }
}

fn housekeeping(moment: &NodeView) -> LoopChannel {
    let slow = moment.snapshot.lines.iter().filter(|l| l.text.contains("Housekeeping took longer"));
    let what = "every 2s: clean up after pods that are gone";
    let feed = match slow.max_by_key(|l| l.at) {
        Some(line) => {
            let known = format!("{} ago: {}", human_duration(ago(moment.now, line.at)), line.text.one_line());
            channel(known, ChannelHealth::Slow)
        }
        None if moment.snapshot.orphaned.is_empty() => channel("the log has no complaint", ChannelHealth::Unknown),
        None => channel(
            format!("{} directories of pods that are gone", moment.snapshot.orphaned.len()),
            ChannelHealth::Unknown,
        ),
    };
    LoopChannel { name: "housekeepingCh", what, ..feed }
}
