//! The channels that feed the kubelet's sync loop, each with what is known of it.

use std::sync::Arc;

use super::format::{age, milliseconds, plural, since};
use super::{NodeView, PlegVerdict, PlegView};
use crate::objects::Event;
use crate::observation::Source;
use crate::pipeline::human_duration;
use crate::thresholds::{LOOP_BLOCKED, RECENT_PROBE_FAILURES};

/// State of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelHealth {
    /// It delivers.
    Healthy,
    /// It is slow, or something was lost.
    Slow,
    /// It is blocked.
    Failing,
    /// No data.
    Unknown,
}

impl ChannelHealth {
    /// The name on the screen and in text.
    pub fn name(self) -> &'static str {
        match self {
            ChannelHealth::Healthy => "ok",
            ChannelHealth::Slow => "slow",
            ChannelHealth::Failing => "failing",
            ChannelHealth::Unknown => "unknown",
        }
    }
}

/// One channel of `syncLoopIteration` (pkg/kubelet/kubelet.go).
#[derive(Clone, Debug, PartialEq)]
pub struct LoopChannel {
    /// Name of the channel in the code.
    pub name: &'static str,
    /// What it delivers.
    pub what: &'static str,
    /// What is known of it.
    pub known: String,
    /// Its state.
    pub health: ChannelHealth,
}

impl LoopChannel {
    fn new(name: &'static str, what: &'static str, (known, health): (String, ChannelHealth)) -> Self {
        Self { name, what, known, health }
    }
}

pub(super) fn channels(view: &NodeView, pleg: &PlegView) -> Vec<LoopChannel> {
    let no_data = || ("no data".to_owned(), ChannelHealth::Unknown);
    vec![
        LoopChannel::new("configCh", "pods added, changed, deleted", config(view)),
        LoopChannel::new("plegCh", "containers that started or exited", relisting(pleg)),
        LoopChannel::new("syncCh", "every second: pods whose next sync is due", syncs(view)),
        LoopChannel::new("probe managers", "results of liveness, readiness, startup", probes(view)),
        LoopChannel::new("containerManager", "devices whose health changed", no_data()),
        LoopChannel::new("housekeepingCh", "every 2s: clean up after deleted pods", housekeeping(view)),
    ]
}

fn syncs(view: &NodeView) -> (String, ChannelHealth) {
    let Some((at, error)) = view.snapshot.loop_blocked.as_ref() else {
        let known = "no data: not exposed by the kubelet; no \"skipping pod synchronization\" in the log";
        return (known.into(), ChannelHealth::Unknown);
    };
    let ago = since(view.now, *at);
    let (state, health) = if ago.num_seconds() <= LOOP_BLOCKED.num_seconds() {
        ("the loop is blocked, no pod is synced", ChannelHealth::Failing)
    } else {
        ("the loop was last blocked", ChannelHealth::Healthy)
    };
    (format!("{state}, {} ago: {}", human_duration(ago), error.one_line()), health)
}

fn config(view: &NodeView) -> (String, ChannelHealth) {
    let statics = view.pods.iter().filter(|p| p.facts.is_static()).count();
    let of_api = view.pods.len() - statics;
    let is_unseen = |p: &&crate::pipeline::LocatedPod| {
        p.facts.complete.kubelet && p.facts.api.is_some() && p.facts.kubelet.is_none()
    };
    let unseen = view.pods.iter().filter(is_unseen).count();
    let live = view.snapshot.sources.get(&Source::ApiPods).is_some_and(|facts| facts.is_live());
    let mut known = format!("{} from the API server, {statics} static", plural(of_api, "pod"));
    if unseen > 0 {
        known += &format!("; {unseen} of them not in the kubelet's own list");
    }
    if !live {
        known += "; our own watch of the API server is not live, the kubelet's may be affected too";
    }
    (known, if live { ChannelHealth::Healthy } else { ChannelHealth::Slow })
}

fn relisting(pleg: &PlegView) -> (String, ChannelHealth) {
    let health = match pleg.verdict {
        PlegVerdict::Ok => ChannelHealth::Healthy,
        PlegVerdict::Slow => ChannelHealth::Slow,
        PlegVerdict::Unknown | PlegVerdict::Stale => ChannelHealth::Unknown,
        PlegVerdict::Silent | PlegVerdict::Hanging | PlegVerdict::Down => ChannelHealth::Failing,
    };
    let mut known = pleg.verdict.name().to_owned();
    if let Some(last) = pleg.windows.last() {
        let mean = last.mean.map_or_else(|| "no relist finished".into(), |mean| format!("mean {}", milliseconds(mean)));
        known += &format!(", {mean} in the last window");
    }
    if pleg.relists.discarded > 0 {
        known += &format!(", {} discarded", plural(pleg.relists.discarded, "event"));
    }
    (known, health)
}

fn probes(view: &NodeView) -> (String, ChannelHealth) {
    let failing = |kind: &str| {
        let is_recent = |e: &Arc<Event>| e.last().is_some_and(|at| view.now - at <= RECENT_PROBE_FAILURES);
        let is_failure = |e: &Arc<Event>| e.reason == "Unhealthy" && e.message.starts_with(kind) && is_recent(e);
        view.pods.iter().filter(|p| p.facts.events.iter().any(is_failure)).count()
    };
    let (live, ready, startup) = (failing("Liveness"), failing("Readiness"), failing("Startup"));
    let span = human_duration(RECENT_PROBE_FAILURES);
    let known = match (live + ready + startup, view.pods.iter().any(|p| p.facts.complete.events)) {
        (0, true) => format!("no probe failures reported in the last {span}"),
        (0, false) => "no data: no source of events".into(),
        _ => format!(
            "pods with probe failures in the last {span}: liveness {live}, readiness {ready}, startup {startup}"
        ),
    };
    (known, if live + startup > 0 { ChannelHealth::Slow } else { ChannelHealth::Unknown })
}

fn housekeeping(view: &NodeView) -> (String, ChannelHealth) {
    let slow = view.snapshot.lines.iter().filter(|l| l.text.contains("Housekeeping took longer"));
    let left_over = view.snapshot.orphaned.len();
    match slow.max_by_key(|l| l.at) {
        Some(line) => (format!("{} ago: {}", age(view.now, line.at), line.text.one_line()), ChannelHealth::Slow),
        None if left_over == 0 => ("no errors in the kubelet log".into(), ChannelHealth::Unknown),
        None => {
            let directories = if left_over == 1 { "1 directory" } else { &format!("{left_over} directories") };
            (format!("{directories} of deleted pods"), ChannelHealth::Unknown)
        }
    }
}
