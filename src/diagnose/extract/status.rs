//! Signals in a pod's object: status, conditions, waiting reasons, gates, and properties that rules match.

use super::Subject;
use crate::diagnose::area;
use crate::diagnose::scheduler;
use crate::model::never_ran;
use crate::objects::{ContainerStatus, Pod};
use crate::observation::{Source, Time};
use crate::pipeline::{ContainerKind, Stage};
use crate::runbook::{Signal, SignalKind};

pub(super) fn extract(s: &Subject, out: &mut Vec<Signal>) {
    let place = &s.placed.position;
    let waited = place.since.map_or(0, |since| (s.now - since).num_seconds().max(0));
    let word = format!("{}={}", place.stage.name(), place.state.name());
    out.push(
        Signal::new(SignalKind::Position, place.status_from, word, place.reason.clone()).code(waited).at(place.since),
    );
    for c in &place.containers {
        let word = format!("container-{}={}", c.stage.name(), c.state.name());
        let lasted = c.since.map_or(0, |since| (s.now - since).num_seconds().max(0));
        out.push(
            Signal::new(SignalKind::Position, place.status_from, word, c.message.clone())
                .of(&c.name)
                .code(lasted)
                .at(c.since),
        );
    }
    if s.facts.is_static() {
        out.push(property(place.status_from, "static", ""));
    }
    let Some(pod) = s.facts.object() else { return };
    let source = s.facts.object_source();
    conditions(s, pod, source, out);
    traits(pod, source, s.now, out);
    let status = &pod.status;
    if status.reason == "NodeLost" {
        out.push(
            Signal::new(SignalKind::Status, source, status.reason.clone(), status.message.clone()).at(place.since),
        );
    }
    if status.phase == "Failed" && !status.reason.is_empty() {
        let signal = |kind| Signal::new(kind, source, status.reason.clone(), status.message.clone()).at(place.since);
        out.push(signal(SignalKind::Status));
        let ran = status.all_containers().any(|c| c.state.terminated.is_some() || c.last_state.terminated.is_some());
        // Old kubelets drop the container statuses of an evicted pod: the message shows whether it ran.
        let refused = status.message.starts_with("Pod was rejected") || status.message.contains("node had condition");
        let evicted = status.reason == "Evicted";
        if refused || (!evicted && (!ran || place.stage == Stage::Admission)) {
            out.push(signal(SignalKind::Rejected));
        }
    }
    if place.stage == Stage::Scheduling {
        unscheduled(s, pod, source, out);
    }
    // An init container that runs blocks the others.
    let waits = place.containers.iter().filter(|c| c.kind == ContainerKind::Init && c.running_since.is_some());
    for c in waits.filter(|_| place.stage == Stage::Init) {
        out.push(property(source, "init-running", "").of(&c.name).at(c.running_since));
    }
    for gate in &pod.spec.scheduling_gates {
        out.push(Signal::new(SignalKind::Gate, source, "", gate.name.clone()));
    }
    for status in status.all_containers() {
        waiting(s, status, source, out);
    }
}

/// What may explain that no scheduler has tried the pod.
fn unscheduled(s: &Subject, pod: &Pod, source: Source, out: &mut Vec<Signal>) {
    for claim in &pod.spec.resource_claims {
        let name = if claim.resource_claim_name.is_empty() { &claim.name } else { &claim.resource_claim_name };
        out.push(property(source, "resource-claim", name));
    }
    let last = s.snapshot.scheduled.last(s.snapshot, &pod.spec.scheduler_name);
    if let Some(at) = last.filter(|at| pod.metadata.creation_timestamp.is_some_and(|created| *at > created)) {
        out.push(property(source, "scheduler-active", "the scheduler has placed a newer pod").at(Some(at)));
    }
}

fn conditions(s: &Subject, pod: &Pod, source: Source, out: &mut Vec<Signal>) {
    for c in &pod.status.conditions {
        let word = match c.reason.is_empty() {
            true => format!("{}={}", c.kind, c.status),
            false => format!("{}={}/{}", c.kind, c.status, c.reason),
        };
        let at: Option<Time> = c.last_transition_time;
        out.push(Signal::new(SignalKind::Condition, source, word, c.message.clone()).at(at));
        if c.kind == "PodScheduled" && !c.is_true() && s.placed.position.stage == Stage::Scheduling {
            super::events::schedule(&scheduler::split_schedule(&c.message), source, at, 1, out);
        }
        if c.kind == "PodResizePending" {
            let word = match c.reason.as_str() {
                "Deferred" => "deferred",
                "Infeasible" => "infeasible",
                _ => "error",
            };
            out.push(Signal::new(SignalKind::Resize, source, word, c.message.clone()).at(at));
        }
        if c.kind == "PodResizeInProgress" && c.reason == "Error" {
            out.push(Signal::new(SignalKind::Resize, source, "error", c.message.clone()).at(at));
        }
    }
    let resize = match pod.status.resize.as_str() {
        "Deferred" => "deferred",
        "Infeasible" => "infeasible",
        _ => return,
    };
    out.push(Signal::new(SignalKind::Resize, source, resize, pod.status.resize.clone()));
}

fn traits(pod: &Pod, source: Source, now: Time, out: &mut Vec<Signal>) {
    let spec = &pod.spec;
    if let Some(deadline) = pod.metadata.deletion_timestamp {
        let left = (deadline - now).num_seconds();
        out.push(property(source, "grace-left", "").code(left).at(Some(deadline)));
    }
    let mut put = |word: &str, text: &str| out.push(property(source, word, text));
    put("restart-policy", &spec.restart_policy);
    if spec.containers.iter().chain(&spec.init_containers).any(|c| c.readiness_probe.is_some()) {
        put("readiness-probe", "");
    }
    put("phase", &pod.status.phase);
    put("qos", &pod.status.qos_class);
    if spec.host_network {
        put("host-network", "");
    }
    if pod.metadata.deletion_timestamp.is_some() {
        put("terminating", "");
    }
    if spec.node_name.is_empty() {
        put("unbound", "");
    }
    if !spec.runtime_class_name.is_empty() {
        put("runtime-class", &spec.runtime_class_name);
    }
    if !matches!(spec.scheduler_name.as_str(), "" | "default-scheduler") {
        put("scheduler", &spec.scheduler_name);
    }
    pod.metadata.finalizers.iter().for_each(|f| put("finalizer", f));
    for gate in &spec.readiness_gates {
        if !pod.status.is_true(&gate.condition_type) {
            let state = pod.status.condition(&gate.condition_type);
            let state = state.map(|c| format!(" {} {} {}", c.status, c.reason, c.message)).unwrap_or_default();
            put("readiness-gate", format!("{}{state}", gate.condition_type).trim_end());
        }
    }
    if let Some(owner) = pod.metadata.owner_references.iter().find(|o| o.controller) {
        put("owner", &format!("{}/{}", owner.kind, owner.name));
    }
}

fn property(source: Source, word: &str, text: &str) -> Signal {
    Signal::new(SignalKind::Trait, source, word, text)
}

fn waiting(s: &Subject, status: &ContainerStatus, source: Source, out: &mut Vec<Signal>) {
    let since = s.facts.state_since.get(&status.name).copied();
    // Over: the runtime shows the container running.
    let runs = s.container(&status.name).is_some_and(|c| c.running_since.is_some());
    if let Some(w) = status.state.waiting.as_ref().filter(|w| !w.reason.is_empty() && !runs) {
        let signal = |kind| Signal::new(kind, source, w.reason.clone(), w.message.clone()).of(&status.name).at(since);
        out.push(signal(SignalKind::Waiting));
        if let Some(kind) = area::of_reason(&w.reason, &w.message) {
            out.push(signal(kind));
        }
    }
    // The runtime's reason for not starting it stays here while the back-off is shown.
    let ends = [&status.state.terminated, &status.last_state.terminated];
    if let Some(t) = ends.into_iter().flatten().find(|t| never_ran(&t.reason)).filter(|_| !runs) {
        let signal = Signal::new(SignalKind::Start, source, t.reason.clone(), t.message.clone());
        out.push(signal.of(&status.name).at(t.finished_at).code(i64::from(t.exit_code)));
    }
}
