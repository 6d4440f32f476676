//! Owns what `doctor` prints: every source, what was tried to find it, how it does, what is missing without it, the fix.
//! It must not look for anything itself.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::json::{DocumentHead, JsonTime, NodeContext, NodeJson, SourceJson, known, node_context};
use crate::model::OrphanedPodDir;
use crate::observation::{PodDir, Source, SourceState, Unit};
use crate::pipeline::human_duration;
use crate::text::Text;
use crate::view::{NodeHeader, NodeView, SourceLine, bytes};

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
    /// This is the one that was taken.
    pub taken: bool,
}

/// What cannot be said without a source.
pub fn missing_without(source: Source) -> &'static str {
    match source {
        Source::ApiPods => "pods as the API server has them: STATUS, conditions, reasons, deletion",
        Source::ApiNode => "the node's conditions and versions",
        Source::ApiLease => "whether the kubelet still renews its lease, by which the cluster takes the node for alive",
        Source::ApiEvents => "events: reasons then come from statuses and the kubelet's log alone",
        Source::ApiUnbound => "pods that no scheduler has placed yet: they are on no node",
        Source::Cri => "sandboxes and containers as they are now, and our own measure of what PLEG pays",
        Source::Pulls => "the progress of image pulls",
        Source::KubeletPods => "the kubelet's own view of its pods, which matters when the API server is away",
        Source::KubeletMetrics => "PLEG relist latency and runtime operations as the kubelet measures them",
        Source::KubeletConfig => "the kubelet's settings, such as its longest restart delay",
        Source::KubeletHealth => "whether the kubelet process answers at all",
        Source::KubeletLog => "failures that make no event: volume timeouts, sandbox teardown",
        Source::RuntimeLog => "the runtime's own errors",
        Source::KernelLog => "kills for memory and other faults that the kernel tells",
        Source::Machine => "systemd's word on kubelet and runtime, and what lies on disk of pods",
        Source::ContainerLog => "what containers wrote before they ended",
        Source::OtherLog => "logs of network agents and storage drivers",
        Source::Spans => "exact times inside a pod's sync",
    }
}

/// A diagnosis needs the pods from somewhere and the runtime's word on them.
pub fn is_enough(moment: &NodeView) -> bool {
    let live = |source| moment.snapshot.sources.get(&source).is_some_and(|s| s.is_live());
    live(Source::Cri) && (live(Source::ApiPods) || live(Source::KubeletPods))
}

/// The report as text.
pub fn doctor_text(moment: &NodeView, looked: &[DiscoveryResult]) -> String {
    let mut out = String::new();
    let header = moment.header();
    let node = if header.node.is_empty() { "this node" } else { header.node.as_str() };
    let verdict =
        if is_enough(moment) { "a diagnosis has what it needs" } else { "a diagnosis lacks something it needs" };
    _ = writeln!(out, "{node}: {verdict}\n\nSOURCES");
    for line in &header.sources {
        out.push_str(&source_text(moment, line));
    }
    about_node(moment, &header, &mut out);
    machine(moment, &mut out);
    out.push_str("\nWHAT WAS LOOKED FOR\n");
    for looked in looked {
        let found = looked.found.as_ref().map_or("nothing found".into(), |f| f.one_line());
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
        let lasts = lease.lasts.map(|s| format!(" (each renewal lasts {s}s)")).unwrap_or_default();
        lines.push(format!("{}{lasts}", lease.text));
    }
    let snapshot = &moment.snapshot;
    if !snapshot.images.is_empty() {
        lines.push(format!("{} images", snapshot.images.len()));
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
    if facts.is_whole() {
        return out;
    }
    if !facts.is_live() {
        _ = writeln!(out, "      without it: {}", missing_without(line.source));
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
    /// The sources whose state is another than before; that a try failed again is no news.
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
            _ = write!(out, ", {restarts} restarts");
        }
        if let Some(exit) = &unit.exit {
            let how = if exit.killed { "signal" } else { "code" };
            _ = write!(out, ", last end: {how} {} ({})", exit.status, unit.result);
        }
        out.push('\n');
    }
    for (uid, orphan) in orphaned.iter() {
        let pod = if orphan.dir.pod.is_empty() { uid } else { &orphan.dir.pod };
        let volumes = orphan.dir.volumes.len();
        _ = writeln!(
            out,
            "left over: directory of pod {pod} with {volumes} volumes, which no list of pods has; seen for {}",
            ago(orphan.first)
        );
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
    let NodeContext { node, sources, .. } = node_context(moment);
    let not_live = moment.snapshot.sources.iter().filter(|(_, facts)| !facts.is_live());
    DoctorReport {
        head: DocumentHead::new("DoctorReport", moment),
        enough: is_enough(moment),
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
