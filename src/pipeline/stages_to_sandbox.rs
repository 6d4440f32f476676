//! The stages up to the sandbox: scheduling, admission, volumes, sandbox.

use super::evidence::{Evidence, earliest, last_event};
use super::input::{PodInput, SANDBOX_FAILURES, VOLUME_FAILURES};
use super::stage::{Stage, StageProgress, StageState, all_passed};
use crate::model::nonzero_time;
use crate::observation::Source;

/// Until the scheduler has bound the pod.
pub(super) fn scheduling(input: &PodInput) -> StageProgress {
    let mut progress = StageProgress::new(Stage::Scheduling, StageState::Waiting);
    progress.since = input.pod.and_then(|p| p.metadata.creation_timestamp);
    if input.facts.is_static() {
        progress.state = StageState::Skipped;
        return progress;
    }
    let condition = input.pod.and_then(|p| p.status.condition("PodScheduled"));
    if let Some(c) = condition {
        let text =
            if c.is_true() { "PodScheduled True".into() } else { format!("PodScheduled {} {}", c.status, c.reason) };
        progress.evidence.push(Evidence::new(input.object_source(), c.last_transition_time, text));
    }
    let event = input.facts.event(&["Scheduled"]);
    progress.evidence.extend(event.map(|e| Evidence::event(e)));
    let bound = input.pod.is_some_and(|p| !p.spec.node_name.is_empty())
        || condition.is_some_and(|c| c.is_true())
        || input.facts.kubelet.is_some()
        || !input.facts.sandboxes.is_empty();
    if bound {
        progress.state = StageState::Done;
        progress.until = event.and_then(|e| e.last()).or(condition.and_then(|c| c.last_transition_time));
        return progress;
    }
    if condition.is_some_and(|c| c.reason == "Unschedulable" || c.reason == "SchedulerError") {
        progress.state = StageState::Failed;
    }
    progress.evidence.extend(input.facts.event(&["FailedScheduling"]).map(|e| Evidence::event(e)));
    progress
}

/// Until the kubelet has admitted the pod.
pub(super) fn admission(input: &PodInput, earlier: &[StageProgress]) -> StageProgress {
    let mut progress = StageProgress::after(earlier, Stage::Admission);
    let start = input.pod.and_then(|p| p.status.start_time);
    let log = input.facts.log.as_deref();
    let created = input.pod.and_then(|p| p.metadata.creation_timestamp);
    let seen = input.facts.sandboxes.iter().filter_map(|x| x.seen).min();
    if let Some((at, source)) = log.and_then(|l| l.seen.as_ref()) {
        progress.evidence.push(Evidence::new(Source::KubeletLog, Some(*at), format!("SyncLoop ADD source={source}")));
    }
    if let Some(seen) = seen {
        progress.evidence.push(Evidence::new(
            Source::Cri,
            Some(seen),
            "first seen by the kubelet (sandbox annotation)",
        ));
    }
    if let Some(start) = start {
        progress.evidence.push(Evidence::new(input.object_source(), Some(start), "startTime set"));
    }
    let dir = input.facts.dir.as_deref().and_then(Evidence::of_pod_dir);
    let dir_created = dir.as_ref().and_then(|d| d.at);
    let has_dir = dir.is_some();
    progress.evidence.extend(dir);
    progress.since = progress.since.or(created).or(seen);
    if input.is_rejected() {
        progress.state = StageState::Failed;
        progress.evidence.extend(
            log.and_then(|l| l.denied.as_ref()).map(|(at, reason, message)| {
                Evidence::new(Source::KubeletLog, Some(*at), format!("{reason}: {message}"))
            }),
        );
    } else if start.is_some() || input.had_sandbox() || has_dir {
        progress.state = StageState::Done;
        progress.until = start.or(seen).or(dir_created);
        // API times have whole seconds; the kubelet's time in the sandbox annotation is finer.
        if let (Some(seen), Some(until)) = (seen, progress.until)
            && (until - seen).num_seconds().abs() <= 1
        {
            progress.until = Some(seen);
        }
    }
    progress
}

/// Until all volumes are attached and mounted.
pub(super) fn volumes(input: &PodInput, earlier: &[StageProgress]) -> StageProgress {
    let mut progress = StageProgress::after(earlier, Stage::Volumes);
    if input.pod.is_some_and(|p| p.spec.volumes.is_empty()) && all_passed(earlier) {
        progress.state = StageState::Skipped;
        return progress;
    }
    progress.evidence.extend(input.facts.dir.as_deref().and_then(Evidence::of_volume_dirs));
    if was_sandbox_attempted(input) {
        progress.state = StageState::Done;
        let attempt = first_sandbox_attempt(input);
        progress.until = attempt.as_ref().and_then(|e| e.at);
        progress.evidence.extend(attempt);
        return progress;
    }
    if progress.state != StageState::Active {
        return progress;
    }
    // The kubelet checks the network before the volumes, so it has not tried to mount them yet.
    if last_event(input.facts, &["NetworkNotReady"], &VOLUME_FAILURES).is_some() {
        progress.state = StageState::Unknown;
        return progress;
    }
    let event = input.facts.event(&VOLUME_FAILURES);
    let error =
        input.facts.log.as_ref().and_then(|l| l.sync_error.as_ref()).filter(|(_, e)| e.contains("unmounted volumes="));
    if event.is_some() || error.is_some() {
        progress.state = StageState::Failed;
    }
    progress.evidence.extend(event.map(|e| Evidence::event(e)));
    progress.evidence.extend(error.map(|(at, e)| Evidence::new(Source::KubeletLog, Some(*at), e.clone())));
    progress
}

/// Until the sandbox is ready with an address.
pub(super) fn sandbox(input: &PodInput, earlier: &[StageProgress]) -> StageProgress {
    let mut progress = StageProgress::after(earlier, Stage::Sandbox);
    let newest = input.facts.sandbox();
    if let Some(sandbox) = newest {
        let state = if sandbox.ready { "READY" } else { "NOTREADY" };
        let ip = if sandbox.ip.is_empty() { String::new() } else { format!(", {}", sandbox.ip) };
        let text = format!("sandbox {state}, attempt {}{ip}", sandbox.attempt);
        progress.evidence.push(Evidence::new(Source::Cri, sandbox.created_at, text));
    }
    let condition = input.pod.and_then(|p| p.status.condition("PodReadyToStartContainers"));
    if let Some(c) = condition {
        let text = format!("PodReadyToStartContainers {}", c.status);
        progress.evidence.push(Evidence::new(input.object_source(), c.last_transition_time, text));
    }
    let failed = last_event(input.facts, &SANDBOX_FAILURES, &["Started", "Created", "Pulling", "Pulled"])
        .filter(|e| newest.is_none_or(|n| !n.ready && e.last() > n.created_at));
    let in_log = input
        .facts
        .log
        .as_ref()
        .and_then(|l| l.sandbox_failed.as_ref())
        .filter(|(at, _)| newest.is_none_or(|n| !n.ready && Some(*at) > n.created_at));
    if has_lost_sandbox(input) {
        progress.since = input.facts.exits.iter().filter_map(|e| e.finished).max().or(progress.since);
        progress.state = if failed.is_some() || in_log.is_some() { StageState::Failed } else { StageState::Active };
    } else if input.had_sandbox() {
        progress.state = StageState::Done;
        let span = input
            .facts
            .spans
            .as_ref()
            .and_then(|x| x.run_sandbox)
            .filter(|(.., failed)| !failed)
            .map(|(_, end, _)| end);
        let created = input.facts.sandboxes.last().and_then(|x| x.created_at);
        if let Some((start, end, _)) = input.facts.spans.as_ref().and_then(|x| x.run_sandbox) {
            let took = (end - start).num_milliseconds().max(0);
            progress.evidence.push(Evidence::new(Source::Spans, Some(end), format!("RunPodSandbox took {took} ms")));
        }
        let span = span.filter(|end| created.is_none_or(|created| (*end - created).num_seconds().abs() < 60));
        progress.until = span.or(created).or(condition.filter(|c| c.is_true()).and_then(|c| c.last_transition_time));
        return progress;
    } else if failed.is_some() || in_log.is_some() {
        progress.state = StageState::Failed;
    } else if !all_passed(earlier) {
        progress.state = StageState::Waiting;
    }
    progress.evidence.extend(failed.map(|e| Evidence::event(e)));
    progress.evidence.extend(in_log.map(|(at, e)| Evidence::new(Source::KubeletLog, Some(*at), e.clone())));
    progress
}

/// The runtime has no ready sandbox for a pod that should run. The kubelet creates a new one.
fn has_lost_sandbox(input: &PodInput) -> bool {
    let should_run = input.pod.is_some_and(|p| {
        p.metadata.deletion_timestamp.is_none() && !p.status.is_terminal() && p.spec.restart_policy == "Always"
    });
    should_run && input.facts.complete.cri && input.facts.sandbox().is_some_and(|x| !x.ready)
}

/// The kubelet has tried to create a sandbox, which it does after the volumes.
fn was_sandbox_attempted(input: &PodInput) -> bool {
    let log = input.facts.log.as_ref().is_some_and(|l| l.sandbox_attempt.is_some() || l.sandbox_failed.is_some());
    let span = input.facts.spans.as_ref().is_some_and(|x| x.run_sandbox.is_some());
    input.had_sandbox() || log || span || input.facts.event(&["FailedCreatePodSandBox"]).is_some()
}

/// The earliest evidence of an attempt to create a sandbox.
fn first_sandbox_attempt(input: &PodInput) -> Option<Evidence> {
    let log = input.facts.log.as_ref().and_then(|l| l.first_sandbox_attempt);
    let log = log.map(|at| Evidence::new(Source::KubeletLog, Some(at), "Creating PodSandbox for pod"));
    let span = input.facts.spans.as_ref().and_then(|x| x.run_sandbox);
    let span = span.map(|(at, ..)| Evidence::new(Source::Spans, Some(at), "RunPodSandbox started"));
    let failed = input.facts.events.iter().filter(|e| e.reason == "FailedCreatePodSandBox").filter_map(|e| e.first());
    let failed = failed.map(|at| Evidence::new(Source::ApiEvents, Some(at), "FailedCreatePodSandBox"));
    let created = input.facts.sandboxes.iter().filter_map(|x| x.created_at);
    let created = created.map(|at| Evidence::new(Source::Cri, Some(at), "sandbox created"));
    let started = input.containers.iter().filter_map(|c| c.first_started);
    let started = started.map(|at| Evidence::new(input.object_source(), Some(at), "container started"));
    let all = log.into_iter().chain(span).chain(failed).chain(created).chain(started);
    let all: Vec<Evidence> = all.filter(|e| nonzero_time(e.at).is_some()).collect();
    let first = earliest(all.iter().filter_map(|e| e.at));
    all.into_iter().find(|e| e.at == first)
}
