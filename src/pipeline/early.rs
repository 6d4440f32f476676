//! Owns the stages up to the sandbox: scheduling, admission, volumes, sandbox.
//! It must not look at single containers, only at whether anything was ever created.

use super::disk;
use super::evidence::{Evidence, earliest, last_event};
use super::settle::stage_of_reason;
use super::stage::{Stage, StageProgress, StageState};
use super::steps::Steps;
use crate::model::nonzero_time;
use crate::observation::Source;

const SANDBOX_FAILURES: [&str; 3] = ["FailedCreatePodSandBox", "NetworkNotReady", "FailedPrepareDynamicResources"];
const VOLUME_FAILURES: [&str; 3] = ["FailedMount", "FailedAttachVolume", "FailedMapVolume"];

pub(super) fn scheduling(s: &Steps) -> StageProgress {
    let mut step = StageProgress::new(Stage::Scheduling, StageState::Waiting);
    step.since = s.pod.and_then(|p| p.metadata.creation_timestamp);
    if s.facts.is_static() {
        step.state = StageState::Skipped;
        return step;
    }
    let condition = s.pod.and_then(|p| p.status.condition("PodScheduled"));
    if let Some(c) = condition {
        let text =
            if c.is_true() { "PodScheduled True".into() } else { format!("PodScheduled {} {}", c.status, c.reason) };
        step.evidence.push(Evidence::new(api(s), c.last_transition_time, text));
    }
    let event = s.facts.event(&["Scheduled"]);
    step.evidence.extend(event.map(|e| Evidence::event(e)));
    let bound = s.pod.is_some_and(|p| !p.spec.node_name.is_empty())
        || condition.is_some_and(|c| c.is_true())
        || s.facts.kubelet.is_some()
        || !s.facts.sandboxes.is_empty();
    if bound {
        step.state = StageState::Done;
        step.until = event.and_then(|e| e.last()).or(condition.and_then(|c| c.last_transition_time));
        return step;
    }
    if condition.is_some_and(|c| c.reason == "Unschedulable" || c.reason == "SchedulerError") {
        step.state = StageState::Failed;
    }
    step.evidence.extend(s.facts.event(&["FailedScheduling"]).map(|e| Evidence::event(e)));
    step
}

pub(super) fn admission(s: &Steps, before: &[StageProgress]) -> StageProgress {
    let mut step = begin(Stage::Admission, before);
    let start = s.pod.and_then(|p| p.status.start_time);
    let log = s.facts.log.as_deref();
    let created = s.pod.and_then(|p| p.metadata.creation_timestamp);
    let seen = s.facts.sandboxes.iter().filter_map(|x| x.seen).min();
    if let Some((at, source)) = log.and_then(|l| l.seen.as_ref()) {
        step.evidence.push(Evidence::new(Source::KubeletLog, Some(*at), format!("SyncLoop ADD source={source}")));
    }
    if let Some(seen) = seen {
        step.evidence.push(Evidence::new(
            Source::Cri,
            Some(seen),
            "the sandbox carries when the kubelet first saw the pod",
        ));
    }
    if let Some(start) = start {
        step.evidence.push(Evidence::new(api(s), Some(start), "startTime is set"));
    }
    let dir = s.facts.dir.as_deref().and_then(disk::admitted);
    let born = dir.as_ref().and_then(|d| d.at);
    let in_dir = dir.is_some();
    step.evidence.extend(dir);
    step.since = step.since.or(created).or(seen);
    if s.rejected() {
        step.state = StageState::Failed;
        step.evidence.extend(
            log.and_then(|l| l.denied.as_ref()).map(|(at, reason, message)| {
                Evidence::new(Source::KubeletLog, Some(*at), format!("{reason}: {message}"))
            }),
        );
    } else if start.is_some() || sandbox_ever(s) || in_dir {
        step.state = StageState::Done;
        step.until = start.or(seen).or(born);
        // Both have whole seconds in the API: the kubelet's own time is finer where it is known.
        if let (Some(seen), Some(until)) = (seen, step.until)
            && (until - seen).num_seconds().abs() <= 1
        {
            step.until = Some(seen);
        }
    }
    step
}

pub(super) fn volumes(s: &Steps, before: &[StageProgress]) -> StageProgress {
    let mut step = begin(Stage::Volumes, before);
    if s.pod.is_some_and(|p| p.spec.volumes.is_empty()) && passed(before) {
        step.state = StageState::Skipped;
        return step;
    }
    step.evidence.extend(s.facts.dir.as_deref().and_then(disk::volumes));
    if sandbox_attempted(s) {
        step.state = StageState::Done;
        let attempt = first_attempt(s);
        step.until = attempt.as_ref().and_then(|e| e.at);
        step.evidence.extend(attempt);
        return step;
    }
    if step.state != StageState::Active {
        return step;
    }
    // The network gate lies before the volumes: nobody has tried them yet.
    if last_event(s.facts, &["NetworkNotReady"], &VOLUME_FAILURES).is_some() {
        step.state = StageState::Unknown;
        return step;
    }
    let event = s.facts.event(&VOLUME_FAILURES);
    let error =
        s.facts.log.as_ref().and_then(|l| l.sync_error.as_ref()).filter(|(_, e)| e.contains("unmounted volumes="));
    if event.is_some() || error.is_some() {
        step.state = StageState::Failed;
    }
    step.evidence.extend(event.map(|e| Evidence::event(e)));
    step.evidence.extend(error.map(|(at, e)| Evidence::new(Source::KubeletLog, Some(*at), e.clone())));
    step
}

pub(super) fn sandbox(s: &Steps, before: &[StageProgress]) -> StageProgress {
    let mut step = begin(Stage::Sandbox, before);
    let newest = s.facts.sandbox();
    if let Some(sandbox) = newest {
        let state = if sandbox.ready { "READY" } else { "NOTREADY" };
        let ip = if sandbox.ip.is_empty() { String::new() } else { format!(", {}", sandbox.ip) };
        let text = format!("sandbox {state}, attempt {}{ip}", sandbox.attempt);
        step.evidence.push(Evidence::new(Source::Cri, sandbox.created_at, text));
    }
    let condition = s.pod.and_then(|p| p.status.condition("PodReadyToStartContainers"));
    if let Some(c) = condition {
        let text = format!("PodReadyToStartContainers {}", c.status);
        step.evidence.push(Evidence::new(api(s), c.last_transition_time, text));
    }
    let failed = last_event(s.facts, &SANDBOX_FAILURES, &["Started", "Created", "Pulling", "Pulled"])
        .filter(|e| newest.is_none_or(|n| !n.ready && e.last() > n.created_at));
    let in_log = s
        .facts
        .log
        .as_ref()
        .and_then(|l| l.sandbox_failed.as_ref())
        .filter(|(at, _)| newest.is_none_or(|n| !n.ready && Some(*at) > n.created_at));
    if lost(s) {
        step.since = s.facts.exits.iter().filter_map(|e| e.finished).max().or(step.since);
        step.state = if failed.is_some() || in_log.is_some() { StageState::Failed } else { StageState::Active };
    } else if sandbox_ever(s) {
        step.state = StageState::Done;
        let span =
            s.facts.spans.as_ref().and_then(|x| x.run_sandbox).filter(|(.., failed)| !failed).map(|(_, end, _)| end);
        let made = s.facts.sandboxes.last().and_then(|x| x.created_at);
        if let Some((begin, end, _)) = s.facts.spans.as_ref().and_then(|x| x.run_sandbox) {
            let took = (end - begin).num_milliseconds().max(0);
            step.evidence.push(Evidence::new(Source::Spans, Some(end), format!("RunPodSandbox took {took} ms")));
        }
        let span = span.filter(|end| made.is_none_or(|made| (*end - made).num_seconds().abs() < 60));
        step.until = span.or(made).or(condition.filter(|c| c.is_true()).and_then(|c| c.last_transition_time));
        return step;
    } else if failed.is_some() || in_log.is_some() {
        step.state = StageState::Failed;
    } else if !passed(before) {
        step.state = StageState::Waiting;
    }
    step.evidence.extend(failed.map(|e| Evidence::event(e)));
    step.evidence.extend(in_log.map(|(at, e)| Evidence::new(Source::KubeletLog, Some(*at), e.clone())));
    step
}

/// The runtime has no ready sandbox for a pod that should be running: it is being made again.
fn lost(s: &Steps) -> bool {
    let should_run = s.pod.is_some_and(|p| {
        p.metadata.deletion_timestamp.is_none() && !p.status.is_terminal() && p.spec.restart_policy == "Always"
    });
    should_run && s.facts.complete.cri && s.facts.sandbox().is_some_and(|x| !x.ready)
}

/// A sandbox exists or has existed.
pub(super) fn sandbox_ever(s: &Steps) -> bool {
    !s.facts.sandboxes.is_empty()
        || s.ever_created()
        || s.pod.is_some_and(|p| {
            p.status.is_true("PodReadyToStartContainers") || !p.status.pod_ip.is_empty() && !p.spec.host_network
        })
        || containers_tried(s)
}

/// The kubelet has begun with the containers, which it does behind the sandbox: it writes no status while it pulls, so that
/// the address may be missing for long (SyncPod in pkg/kubelet/kuberuntime).
fn containers_tried(s: &Steps) -> bool {
    let event = last_event(s.facts, &["Pulling", "Pulled", "Created"], &SANDBOX_FAILURES).is_some();
    let mut words = s.pod.into_iter().flat_map(|p| p.status.all_containers()).filter_map(|c| c.state.waiting.as_ref());
    event || words.any(|w| stage_of_reason(&w.reason).is_some())
}

fn sandbox_attempted(s: &Steps) -> bool {
    let log = s.facts.log.as_ref().is_some_and(|l| l.sandbox_attempt.is_some() || l.sandbox_failed.is_some());
    let span = s.facts.spans.as_ref().is_some_and(|x| x.run_sandbox.is_some());
    sandbox_ever(s) || log || span || s.facts.event(&["FailedCreatePodSandBox"]).is_some()
}

/// The earliest proof that a sandbox was being made, which comes after the volumes.
fn first_attempt(s: &Steps) -> Option<Evidence> {
    let log = s.facts.log.as_ref().and_then(|l| l.first_sandbox_attempt);
    let log = log.map(|at| Evidence::new(Source::KubeletLog, Some(at), "Creating PodSandbox for pod"));
    let span = s.facts.spans.as_ref().and_then(|x| x.run_sandbox);
    let span = span.map(|(at, ..)| Evidence::new(Source::Spans, Some(at), "RunPodSandbox began"));
    let failed = s.facts.events.iter().filter(|e| e.reason == "FailedCreatePodSandBox").filter_map(|e| e.first());
    let failed = failed.map(|at| Evidence::new(Source::ApiEvents, Some(at), "FailedCreatePodSandBox"));
    let made = s.facts.sandboxes.iter().filter_map(|x| x.created_at);
    let made = made.map(|at| Evidence::new(Source::Cri, Some(at), "the sandbox was created"));
    let started = s.containers.iter().filter_map(|c| c.first_started);
    let started = started.map(|at| Evidence::new(api(s), Some(at), "a container started"));
    let all = log.into_iter().chain(span).chain(failed).chain(made).chain(started);
    let all: Vec<Evidence> = all.filter(|e| nonzero_time(e.at).is_some()).collect();
    let first = earliest(all.iter().filter_map(|e| e.at));
    all.into_iter().find(|e| e.at == first)
}

/// The source of the pod object.
pub(super) fn api(s: &Steps) -> Source {
    s.facts.object_source()
}

/// Every earlier stage is passed, or cannot be told.
pub(super) fn passed(before: &[StageProgress]) -> bool {
    before.iter().all(|s| matches!(s.state, StageState::Done | StageState::Skipped | StageState::Unknown))
}

/// A step that is under way if all earlier ones are passed, and began when the last of them ended.
pub(super) fn begin(stage: Stage, before: &[StageProgress]) -> StageProgress {
    let active = passed(before);
    let mut step = StageProgress::new(stage, if active { StageState::Active } else { StageState::Waiting });
    if active {
        step.since = before.iter().rev().find_map(|s| s.until);
    }
    step
}
