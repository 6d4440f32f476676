//! Signals about the node: conditions, events, taints, metrics, systemd units, and kpodtrace's own measurements.

use std::collections::HashMap;

use super::lines::loop_reasons;
use super::stale::{is_loop_over, is_runtime_back};
use crate::model::{Alarm, Snapshot};
use crate::objects::Node;
use crate::observation::{Call, ErrorKind, Source, Time};
use crate::runbook::{Signal, SignalKind};
use crate::text::Text;
use crate::thresholds::{CALL_WAITING, CONDITION_CURRENT, NODE_EVENT_CURRENT};

pub(super) fn extract(snapshot: &Snapshot, now: Time, out: &mut Vec<Signal>) {
    if let Some(node) = &snapshot.node {
        conditions(node, now, out);
    }
    let lease = snapshot.lease.as_ref().and_then(|lease| lease.spec.renew_time);
    let seen = snapshot.sources.get(&Source::ApiLease).is_some_and(|lease| lease.is_live());
    if let Some(at) = lease.filter(|_| seen) {
        let age = (now - at).num_seconds();
        out.push(Signal::new(SignalKind::Watched, Source::ApiLease, "lease-age", "").code(age).at(Some(at)));
    }
    let health = snapshot.sources.get(&Source::KubeletHealth);
    if health.is_some_and(|health| health.is_live() && health.unanswered_since().is_none()) {
        out.push(Signal::new(SignalKind::Watched, Source::KubeletHealth, "kubelet-answers", ""));
    }
    refusals(snapshot, now, out);
    first_call(snapshot, now, out);
    let mut same: HashMap<(&Text, &Text), usize> = HashMap::new();
    for event in &snapshot.node_events {
        if event.last().is_none_or(|at| (now - at).num_seconds() > NODE_EVENT_CURRENT.num_seconds()) {
            continue;
        }
        if is_runtime_back(&event.message, event.last(), snapshot) {
            continue;
        }
        // A kubelet that restarts repeatedly writes a new event each time.
        match same.get(&(&event.reason, &*event.message)).and_then(|i| out.get_mut(*i)) {
            Some(signal) => signal.count = signal.count.saturating_add(event.times()),
            None => {
                same.insert((&event.reason, &*event.message), out.len());
                let signal =
                    Signal::new(SignalKind::NodeEvent, Source::ApiEvents, event.reason.clone(), event.message.clone());
                out.push(signal.times(event.times()).at(event.last()));
            }
        }
    }
    if let Some((at, error)) = snapshot.loop_blocked.as_ref().filter(|(at, _)| !is_loop_over(*at, now)) {
        for reason in loop_reasons(error).filter(|reason| !is_runtime_back(reason, Some(*at), snapshot)) {
            out.push(Signal::new(SignalKind::Loop, Source::KubeletLog, "", reason).at(Some(*at)));
        }
    }
    for alarm in snapshot.alarms(now) {
        let lasted = (now - alarm.since()).num_seconds();
        let (source, word) = match &alarm {
            Alarm::Unanswered { call: Call::CriList, .. } => (Source::Cri, "runtime-unanswered"),
            Alarm::Unanswered { source, call: Call::Healthz, .. } => (*source, "kubelet-unanswered"),
            Alarm::Unanswered { .. } => continue,
            Alarm::PlegStale { .. } => (Source::KubeletMetrics, "pleg-silent"),
            Alarm::PullStalled { .. } => (Source::Pulls, "pull-stalled"),
        };
        out.push(Signal::new(SignalKind::Watched, source, word, "").code(lasted).at(Some(alarm.since())));
    }
    runtime(snapshot, out);
    for unit in snapshot.machine.units.values() {
        let what = if unit.name.contains("kubelet") { "kubelet" } else { "runtime" };
        if unit.active != "active" && unit.active != "reloading" {
            let text = format!("{} is {} ({})", unit.name, unit.active, unit.sub);
            out.push(Signal::new(SignalKind::Watched, Source::Machine, format!("{what}-inactive"), text));
        }
        if let Some(restarts) = unit.restarts.filter(|n| *n > 0) {
            let text = format!("{} was restarted {restarts} times by systemd", unit.name);
            let signal = Signal::new(SignalKind::Watched, Source::Machine, format!("{what}-restarts"), text);
            out.push(signal.code(i64::from(restarts)));
        }
    }
    metrics(snapshot, now, out);
}

/// Endpoints of the kubelet and of the runtime at which nothing listens: their processes do not run, or have just started.
fn refusals(snapshot: &Snapshot, now: Time, out: &mut Vec<Signal>) {
    for (source, word) in [(Source::KubeletHealth, "kubelet-refuses"), (Source::Cri, "runtime-refuses")] {
        let Some(facts) = snapshot.sources.get(&source) else { continue };
        let Some(error) = facts.refusal() else { continue };
        // With `healthzPort` 0 or another one, a port that never responded proves nothing while the other port does.
        let responded = facts.last_answer.is_some();
        let other = snapshot.sources.get(&Source::KubeletMetrics);
        let proven = responded || error.kind == ErrorKind::NotRunning;
        if source == Source::KubeletHealth && !proven && other.is_none_or(|facts| facts.refusal().is_none()) {
            continue;
        }
        // A socket that never responded may be another one than the runtime's.
        let word = if source == Source::Cri && !responded { "runtime-never-responded" } else { word };
        let since = facts.unanswered_since().unwrap_or(facts.since);
        let lasted = (now - since).num_seconds();
        out.push(Signal::new(SignalKind::Watched, source, word, (*error.tried).clone()).code(lasted).at(Some(since)));
    }
}

/// A runtime that accepts the connection and has not answered the first call yet.
fn first_call(snapshot: &Snapshot, now: Time, out: &mut Vec<Signal>) {
    let Some(facts) = snapshot.sources.get(&Source::Cri).filter(|facts| facts.last_answer.is_none()) else { return };
    let in_flight = facts.calls.get(&Call::CriList).and_then(|calls| calls.in_flight);
    if let Some(since) = in_flight.filter(|since| now - *since >= CALL_WAITING) {
        let lasted = (now - since).num_seconds();
        out.push(Signal::new(SignalKind::Watched, Source::Cri, "runtime-first-call", "").code(lasted).at(Some(since)));
    }
}

/// What a deletion waits for if the pod's own node does not respond: the node's conditions and taints.
pub(super) fn of_terminating(s: &super::Subject, out: &mut Vec<Signal>) {
    let name = s.facts.object().map(|p| &p.spec.node_name);
    let Some(node) = s.snapshot.nodes.iter().find(|n| Some(&n.metadata.name) == name) else { return };
    let mut all = Vec::new();
    conditions(node, s.now, &mut all);
    out.extend(all.into_iter().filter(|s| matches!(s.kind, SignalKind::NodeCondition | SignalKind::Taint)));
}

fn conditions(node: &Node, now: Time, out: &mut Vec<Signal>) {
    let mut heartbeat = None;
    for c in &node.status.conditions {
        let word = format!("{}={}/{}", c.kind, c.status, c.reason);
        let age = c.last_transition_time.map_or(0, |at| (now - at).num_seconds());
        let signal = Signal::new(SignalKind::NodeCondition, Source::ApiNode, word, c.message.clone());
        out.push(signal.code(age).at(c.last_transition_time));
        heartbeat = heartbeat.max(c.last_heartbeat_time);
        if c.kind == "Ready" && c.status == "False" {
            for reason in loop_reasons(&c.message) {
                out.push(Signal::new(SignalKind::Loop, Source::ApiNode, "", reason).at(c.last_heartbeat_time));
            }
        }
    }
    if let Some(at) = heartbeat {
        let age = (now - at).num_seconds();
        out.push(Signal::new(SignalKind::Watched, Source::ApiNode, "heartbeat-age", "").code(age).at(Some(at)));
    }
    // Other agents write conditions too: if theirs are updated while the kubelet's are not, the node is running.
    let posted = |c: &&crate::objects::Condition| c.reason == "NodeStatusUnknown";
    let others = node.status.conditions.iter().filter(|c| !posted(c)).filter_map(|c| c.last_heartbeat_time).max();
    let age = others.map(|at| (now - at).num_seconds()).filter(|age| *age <= CONDITION_CURRENT.num_seconds());
    if let Some(age) = age.filter(|_| node.status.conditions.iter().any(|c| posted(&c))) {
        let signal = Signal::new(SignalKind::Watched, Source::ApiNode, "other-conditions-fresh", "");
        out.push(signal.code(age).at(others));
    }
    for taint in &node.spec.taints {
        out.push(Signal::new(SignalKind::Taint, Source::ApiNode, taint.key.clone(), taint.effect.clone()));
    }
    if node.spec.unschedulable {
        out.push(Signal::new(SignalKind::Taint, Source::ApiNode, "unschedulable", "cordoned"));
    }
}

fn runtime(snapshot: &Snapshot, out: &mut Vec<Signal>) {
    let Some(status) = &snapshot.runtime else { return };
    for c in status.conditions.iter().filter(|c| !c.ok) {
        let kind = if c.kind.starts_with("Runtime") { "RuntimeReady" } else { "NetworkReady" };
        let text = format!("{kind}=false reason:{} message:{}", c.reason, c.message);
        out.push(Signal::new(SignalKind::Loop, Source::Cri, "", text));
    }
}

fn metrics(snapshot: &Snapshot, now: Time, out: &mut Vec<Signal>) {
    let kubelet = &snapshot.kubelet;
    let at = kubelet.scraped_at();
    let mut put = |word: &str, value: i64, text: String| {
        out.push(Signal::new(SignalKind::Metric, Source::KubeletMetrics, word, text).code(value).at(at));
    };
    if let Some(seen) = kubelet.last_seen() {
        let age = (at.unwrap_or(now) - seen).num_seconds();
        put("pleg-last-seen-age", age, format!("kubelet_pleg_last_seen_seconds is {age} s old"));
        let threshold = kubelet.relist_threshold().num_seconds();
        if age > threshold {
            put("pleg-over-threshold", age, format!("PLEG was last seen {age} s ago; its threshold is {threshold} s"));
        }
    }
}
