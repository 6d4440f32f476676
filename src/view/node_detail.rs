//! Owns what is shown of the node as a whole: conditions, resources, the orders of dying, thresholds, lease, certificates.
//! It must not judge: what bites is marked by how near a bound it is, and a bound that is not known is said to be so.

use super::cpu_use::{CpuUse, by_cpu};
use super::eviction::{Victim, by_eviction, by_kernel};
use super::eviction_thresholds::{Disk, EvictionThreshold, disks, thresholds, vitals};
use super::format::ago;
use super::resources::{ResourceLine, resources};
use super::{LeaseLine, NodeView};
use crate::objects::Condition;
use crate::observation::{Certificate, MemoryInfo, Pressure, RuntimeCondition, Source, Time};
use crate::pipeline::human_duration;
use crate::text::Text;
use crate::time::TimeDelta;

/// How long the cluster waits for a sign of life before it calls the node NotReady, seconds: `--node-monitor-grace-period`
/// of the controller manager, whose default was 40 before 1.32.
pub const NODE_GRACE_S: i64 = 50;
const OLD_NODE_GRACE_S: i64 = 40;
/// How long pods tolerate a node that is not ready unless they say otherwise, seconds (`DefaultTolerationSeconds`).
pub const TOLERATED_S: i64 = 300;
/// A certificate is renewed when 70 to 90 percent of its time have passed (client-go's certificate manager).
const RENEWED_BY: f64 = 0.9;

/// The node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeDetail {
    /// Conditions, those that are not as they should be first.
    pub conditions: Vec<ConditionLine>,
    /// Taints, `key:effect`.
    pub taints: Vec<String>,
    /// The lease.
    pub lease: Option<LeaseOutlook>,
    /// What the node has, and what is asked for.
    pub resources: Vec<ResourceLine>,
    /// Eviction thresholds, the nearest first.
    pub thresholds: Vec<EvictionThreshold>,
    /// File systems.
    pub disks: Vec<Disk>,
    /// Memory of the machine.
    pub memory: Option<MemoryInfo>,
    /// Share of all processors that is busy.
    pub cpu: Option<f64>,
    /// Pressure by `cpu`, `io`, `memory`.
    pub pressure: Vec<(Text, Pressure)>,
    /// Order of eviction.
    pub eviction: Vec<Victim>,
    /// Order of the kernel's kills.
    pub kernel: Vec<Victim>,
    /// Pods by the processors that they use, as far as that is known.
    pub busy: Vec<CpuUse>,
    /// Processes killed for lack of memory since boot.
    pub oom_kills: Option<u64>,
    /// When the machine booted.
    pub boot: Option<Time>,
    /// Kills for lack of memory that the kernel's log tells, newest first.
    pub kills: Vec<OomKill>,
    /// The runtime's own conditions.
    pub runtime: Vec<RuntimeCondition>,
    /// Certificates of the kubelet, the first to end first.
    pub certificates: Vec<CertificateLine>,
    /// When the machine was last looked at; None when nobody does, or not lately.
    pub sampled_at: Option<Time>,
    /// Why nothing is known of the machine itself: its memory, file systems, pressure, kills; empty while something is.
    pub unavailable: String,
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionLine {
    /// As the node has it.
    pub condition: Condition,
    /// As it should be.
    pub well: bool,
    /// For how long it has been so.
    pub age: Option<TimeDelta>,
    /// How long ago it was last written.
    pub heartbeat_age: Option<TimeDelta>,
}

/// The lease, and what follows when it is not renewed.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaseOutlook {
    /// The lease.
    pub lease: LeaseLine,
    /// When the cluster calls the node NotReady unless a renewal comes, with the default settings.
    pub not_ready_at: Time,
    /// When pods that tolerate that no longer than by default are evicted.
    pub evicted_at: Time,
    /// The node is called Unknown already.
    pub is_unknown: bool,
}

/// A kill for lack of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct OomKill {
    /// When.
    pub at: Time,
    /// `namespace/name`, or its UID; empty when the line names none.
    pub pod: Text,
    /// The line.
    pub text: Text,
}

/// A certificate.
#[derive(Clone, Debug, PartialEq)]
pub struct CertificateLine {
    /// The certificate.
    pub certificate: Certificate,
    /// Time left; negative once it has ended.
    pub left: TimeDelta,
    /// It should have been renewed by now.
    pub late: bool,
}

impl NodeDetail {
    /// The node at the moment.
    pub fn new(moment: &NodeView) -> Self {
        let (snapshot, now) = (&moment.snapshot, moment.now);
        let seen = vitals(moment);
        Self {
            conditions: conditions(moment),
            taints: snapshot
                .node
                .iter()
                .flat_map(|n| &n.spec.taints)
                .map(|t| format!("{}:{}", t.key.one_line(), t.effect.one_line()))
                .collect(),
            lease: LeaseOutlook::of(moment),
            resources: resources(moment),
            thresholds: thresholds(moment),
            disks: disks(moment),
            memory: seen.and_then(|(_, v)| v.memory),
            cpu: snapshot.machine.cpu.filter(|_| seen.is_some()),
            pressure: seen.into_iter().flat_map(|(_, v)| v.pressure.iter()).map(|(k, p)| (k.clone(), *p)).collect(),
            eviction: by_eviction(moment),
            kernel: by_kernel(moment),
            busy: if seen.is_some() { by_cpu(moment) } else { Vec::new() },
            oom_kills: seen.and_then(|(_, v)| v.oom_kills),
            boot: snapshot.machine.boot,
            kills: kills(moment),
            runtime: snapshot.runtime.iter().flat_map(|r| r.conditions.clone()).collect(),
            certificates: certificates(moment, now),
            sampled_at: seen.map(|(at, _)| at),
            unavailable: if seen.is_none() { unavailable(moment) } else { String::new() },
        }
    }

    /// What pods use is known of some of them.
    pub fn knows_use(&self) -> bool {
        self.kernel.iter().any(|v| v.used.is_some())
    }
}

/// Why nobody tells how the machine is now.
fn unavailable(moment: &NodeView) -> String {
    const LACKS: &str = "memory, disks, pressure, pods' use";
    let header = moment.header();
    let source = header.sources.iter().find(|s| s.source == Source::Machine && !s.live);
    match (&moment.snapshot.machine.vitals, source) {
        (Some((at, _)), _) => format!("the machine was last looked at {} ago", human_duration(ago(moment.now, *at))),
        (None, Some(source)) => format!("nobody looked at the machine ({LACKS}): {}", source.text),
        (None, None) => format!("nobody looked at the machine ({LACKS})"),
    }
}

fn conditions(moment: &NodeView) -> Vec<ConditionLine> {
    let now = moment.now;
    let line = |c: &Condition| ConditionLine {
        condition: c.clone(),
        well: (c.kind == "Ready") == c.is_true() && c.status != "Unknown",
        age: c.last_transition_time.map(|at| ago(now, at)),
        heartbeat_age: c.last_heartbeat_time.map(|at| ago(now, at)),
    };
    let mut all: Vec<_> = moment.snapshot.node.iter().flat_map(|n| &n.status.conditions).map(line).collect();
    all.sort_by_key(|c| (c.well, c.condition.kind != "Ready"));
    all
}

impl LeaseOutlook {
    fn of(moment: &NodeView) -> Option<Self> {
        let lease = moment.header().lease?;
        let ready = moment.snapshot.node.as_ref().and_then(|n| n.status.conditions.iter().find(|c| c.kind == "Ready"));
        let unknown = ready.filter(|c| c.status == "Unknown");
        let grace = if is_old(&moment.header().kubelet) { OLD_NODE_GRACE_S } else { NODE_GRACE_S };
        let told = unknown.and_then(|c| c.last_transition_time);
        let not_ready_at = told.unwrap_or(lease.renewed + TimeDelta::seconds(grace));
        let evicted_at = not_ready_at + TimeDelta::seconds(TOLERATED_S);
        Some(Self { lease, not_ready_at, evicted_at, is_unknown: unknown.is_some() })
    }
}

/// A kubelet before 1.32, and most likely a controller manager of that time.
fn is_old(version: &str) -> bool {
    let minor = version.trim_start_matches('v').split('.').nth(1).and_then(|m| m.parse::<u32>().ok());
    minor.is_some_and(|minor| minor < 32)
}

fn kills(moment: &NodeView) -> Vec<OomKill> {
    let snapshot = &moment.snapshot;
    let of_pods = snapshot.pod_lines.iter().flat_map(|(pod, lines)| lines.iter().map(move |line| (pod.clone(), line)));
    let all = snapshot.lines.iter().map(|line| (Text::default(), line)).chain(of_pods);
    let is_kill = |text: &str| text.contains("ut of memory: Kill") || text.contains("oom-kill:");
    let mut kills: Vec<OomKill> = all
        .filter(|(_, line)| line.source == Source::KernelLog && is_kill(&line.text))
        .map(|(pod, line)| OomKill { at: line.at, pod: name_of(moment, pod), text: line.text.text() })
        .collect();
    kills.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.text.cmp(&b.text)));
    kills
}

/// The kernel knows a pod by its UID.
fn name_of(moment: &NodeView, pod: Text) -> Text {
    match moment.snapshot.pods.get(&pod) {
        Some(facts) => format!("{}/{}", facts.namespace, facts.name).into(),
        None => pod,
    }
}

fn certificates(moment: &NodeView, now: Time) -> Vec<CertificateLine> {
    let line = |certificate: &Certificate| {
        let (all, passed) = (certificate.ends - certificate.begins, now - certificate.begins);
        let share = passed.num_seconds() as f64 / (all.num_seconds().max(1)) as f64;
        CertificateLine { certificate: certificate.clone(), left: certificate.ends - now, late: share > RENEWED_BY }
    };
    let mut all: Vec<_> = moment.snapshot.certificates.iter().map(|(_, held)| line(&held.value)).collect();
    all.sort_by_key(|c| c.certificate.ends);
    all
}
