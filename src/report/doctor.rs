//! `doctor`: every source, its discovery, its state, what is missing without it, and the fix.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::json::{DocumentHead, JsonTime, NodeJson, NodeSummary, SourceJson, known, node_summary};
use crate::model::OrphanedPodDir;
use crate::observation::{PodDir, Source, SourceState, Unit};
use crate::pipeline::human_duration;
use crate::text::Text;
use crate::view::{NodeHeader, NodeView, SourceLine, bytes, plural};

/// How one thing that sources need was looked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiscoveryResult {
    /// What was looked for, such as `container runtime`.
    pub what: &'static str,
    /// What was found; null when nothing was.
    pub found: Option<Text>,
    /// What was tried, in order.
    pub tried: Vec<DiscoveryAttempt>,
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiscoveryAttempt {
    /// Where.
    pub place: Text,
    /// The answer.
    pub answer: Text,
    /// Chosen by discovery.
    pub taken: bool,
}

/// The data that is missing without a source.
pub fn missing_without(source: Source) -> &'static str {
    match source {
        Source::ApiPods => "pods of the API server: STATUS, conditions, reasons, deletion",
        Source::ApiNode => "the node's conditions and versions",
        Source::ApiLease => "lease renewal (how the cluster knows that the node is alive)",
        Source::ApiEvents => "events (without them reasons come from statuses and the kubelet log only)",
        Source::ApiUnbound => "pods that are not scheduled yet",
        Source::Cri => "current sandboxes and containers, and our own measurement of PLEG's CRI calls",
        Source::Pulls => "progress of image pulls",
        Source::KubeletPods => "the kubelet's own pod list, which matters when the API server is down",
        Source::KubeletMetrics => "PLEG relist latency and runtime operations, measured by the kubelet",
        Source::KubeletConfig => "the kubelet's settings, such as its longest restart delay",
        Source::KubeletHealth => "health of the kubelet process (healthz)",
        Source::KubeletLog => "failures without an event: volume timeouts, sandbox teardown",
        Source::RuntimeLog => "the runtime's own errors",
        Source::KernelLog => "OOM kills and other kernel-reported faults",
        Source::Machine => "systemd units of the kubelet and runtime, and the directories of pods on disk",
        Source::ContainerLog => "last log lines of exited containers",
        Source::OtherLog => "logs of network agents and storage drivers",
        Source::Spans => "exact times within a pod's sync",
    }
}

/// What the sources allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoctorVerdict {
    /// The pods from the API server or the kubelet, and the runtime's containers.
    Complete,
    /// The same, but the kubelet does not respond: nothing happens on the node.
    KubeletUnresponsive,
    /// One of them is missing.
    Incomplete,
}

/// What the sources allow.
pub fn doctor_verdict(moment: &NodeView) -> DoctorVerdict {
    let live = |source| moment.snapshot.sources.get(&source).is_some_and(|s| s.is_live());
    match live(Source::Cri) && (live(Source::ApiPods) || live(Source::KubeletPods)) {
        false => DoctorVerdict::Incomplete,
        true if moment.snapshot.is_kubelet_unresponsive(moment.now) => DoctorVerdict::KubeletUnresponsive,
        true => DoctorVerdict::Complete,
    }
}

/// The report as text.
pub fn doctor_text(moment: &NodeView, looked: &[DiscoveryResult]) -> String {
    let mut out = String::new();
    let header = moment.header();
    let node = if header.node.is_empty() { "this node" } else { header.node.as_str() };
    let verdict = match doctor_verdict(moment) {
        DoctorVerdict::Complete => "diagnosis complete - all required sources are available",
        DoctorVerdict::KubeletUnresponsive => "diagnosis complete, but the kubelet does not respond",
        DoctorVerdict::Incomplete => "diagnosis incomplete - some required sources are missing",
    };
    _ = writeln!(out, "{node}: {verdict}\n\nSOURCES");
    for line in &header.sources {
        out.push_str(&source_text(moment, line));
    }
    about_node(moment, &header, &mut out);
    machine(moment, &mut out);
    out.push_str("\nDISCOVERY\n");
    for looked in looked {
        let found = looked.found.as_ref().map_or("not found".into(), |f| f.one_line());
        _ = writeln!(out, "{}: {found}", looked.what);
        for tried in &looked.tried {
            let mark = if tried.taken { "*" } else { " " };
            _ = writeln!(out, "    {mark} {}: {}", tried.place.one_line(), tried.answer.one_line());
        }
    }
    out
}

/// What is known of the node beside its conditions.
fn about_node(moment: &NodeView, header: &NodeHeader, out: &mut String) {
    let mut lines = Vec::new();
    if let Some(lease) = &header.lease {
        let lasts = lease.lasts.map(|s| format!(" (duration {s}s)")).unwrap_or_default();
        lines.push(format!("{}{lasts}", lease.text));
    }
    let snapshot = &moment.snapshot;
    if !snapshot.images.is_empty() {
        lines.push(plural(snapshot.images.len(), "image"));
    }
    for fs in snapshot.image_fs.iter().flat_map(|fs| &fs.images) {
        let used = fs.used_bytes.map(|used| format!(" {}", bytes(used))).unwrap_or_default();
        let inodes = fs.inodes_used.map(|n| format!(", {n} inodes")).unwrap_or_default();
        lines.push(format!("images take{used}{inodes} in {}", fs.mountpoint.one_line()));
    }
    if !lines.is_empty() {
        _ = writeln!(out, "\nTHE NODE\n{}", lines.join("\n"));
    }
}

/// How one source does; of one that does not answer, what is missing without it and the fix.
pub fn source_text(moment: &NodeView, line: &SourceLine) -> String {
    let mut out = String::new();
    let Some(facts) = moment.snapshot.sources.get(&line.source) else { return out };
    let mark = match facts.state {
        SourceState::Live { .. } => "ok  ",
        SourceState::Degraded { .. } => "PART",
        SourceState::Connecting => "wait",
        SourceState::Off { .. } | SourceState::Ended => "off ",
        SourceState::Retrying { .. } | SourceState::Forbidden { .. } => "FAIL",
    };
    _ = writeln!(out, "{mark}  {:<16} {}", line.source.name(), line.text);
    if facts.is_complete() {
        return out;
    }
    if !facts.is_live() {
        _ = writeln!(out, "      missing: {}", missing_without(line.source));
    }
    if let SourceState::Degraded { error, .. } | SourceState::Retrying { error, .. } | SourceState::Forbidden { error } =
        &facts.state
        && !error.fix.is_empty()
    {
        _ = writeln!(out, "      fix: {}", error.fix.one_line());
    }
    out
}

/// Remembers how each source did.
#[derive(Debug, Default)]
pub struct SourceChanges {
    known: BTreeMap<Source, &'static str>,
}

impl SourceChanges {
    /// Sources whose state changed since the last call; another failed retry is not a change.
    pub fn update(&mut self, moment: &NodeView) -> Vec<SourceLine> {
        let mut lines = moment.header().sources;
        lines.retain(|line| self.known.insert(line.source, line.word) != Some(line.word));
        lines
    }
}

/// systemd's word on the units of kubelet and runtime.
fn machine(moment: &NodeView, out: &mut String) {
    let machine = &moment.snapshot.machine;
    let ago = |at: crate::observation::Time| human_duration((moment.now - at).max(crate::time::TimeDelta::zero()));
    let orphaned = &moment.snapshot.orphaned;
    if machine.units.is_empty() && machine.boot.is_none() && orphaned.is_empty() {
        return;
    }
    out.push_str("\nTHE MACHINE\n");
    if let Some(boot) = machine.boot {
        _ = writeln!(out, "booted {} ago", ago(boot));
    }
    for unit in machine.units.values() {
        _ = write!(out, "{}: {} ({})", unit.name, unit.active, unit.sub);
        if let Some(since) = unit.since {
            _ = write!(out, " since {}", ago(since));
        }
        if let Some(restarts) = unit.restarts.filter(|n| *n > 0) {
            _ = write!(out, ", restarts: {restarts}");
        }
        if let Some(exit) = &unit.exit {
            let how = if exit.killed { "signal" } else { "code" };
            _ = write!(out, ", last exit: {how} {} ({})", exit.status, unit.result);
        }
        out.push('\n');
    }
    for (uid, orphan) in orphaned.iter() {
        let pod = if orphan.dir.pod.is_empty() { uid } else { &orphan.dir.pod };
        let volumes = plural(orphan.dir.volumes.len(), "volume");
        _ = writeln!(out, "directory of deleted pod {pod} with {volumes}; seen for {}", ago(orphan.first));
    }
}

/// The report as JSON.
#[derive(Debug, Serialize)]
pub struct DoctorReport<'a> {
    #[serde(flatten)]
    head: DocumentHead,
    enough: bool,
    node: NodeJson,
    sources: Vec<SourceJson>,
    missing: Vec<MissingJson>,
    units: Vec<Unit>,
    booted: Option<JsonTime>,
    orphaned_volume_directories: Vec<OrphanJson>,
    looked_for: &'a [DiscoveryResult],
}

#[derive(Debug, Serialize)]
struct MissingJson {
    source: &'static str,
    without_it: &'static str,
}

#[derive(Debug, Serialize)]
struct OrphanJson {
    uid: Text,
    pod: Option<Text>,
    volumes: Vec<Text>,
    seen_since: JsonTime,
}

/// The report as a document.
pub fn doctor_json<'a>(moment: &NodeView, looked: &'a [DiscoveryResult]) -> DoctorReport<'a> {
    let NodeSummary { node, sources, .. } = node_summary(moment);
    let not_live = moment.snapshot.sources.iter().filter(|(_, facts)| !facts.is_live());
    DoctorReport {
        head: DocumentHead::new("DoctorReport", moment),
        enough: doctor_verdict(moment) == DoctorVerdict::Complete,
        node,
        sources,
        missing: not_live
            .map(|(source, _)| MissingJson { source: source.name(), without_it: missing_without(*source) })
            .collect(),
        units: moment.snapshot.machine.units.values().cloned().collect(),
        booted: moment.snapshot.machine.boot.map(JsonTime),
        orphaned_volume_directories: moment.snapshot.orphaned.iter().map(orphan).collect(),
        looked_for: looked,
    }
}

fn orphan((uid, orphan): (&Text, &OrphanedPodDir)) -> OrphanJson {
    let PodDir { pod, volumes, .. } = &*orphan.dir;
    OrphanJson { uid: uid.clone(), pod: known(pod), volumes: volumes.to_vec(), seen_since: JsonTime(orphan.first) }
}
