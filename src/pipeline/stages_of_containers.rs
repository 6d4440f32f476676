//! The stages of the containers: init, image, create, start, probes, ready, running.

use super::container::{ContainerKind, ContainerPosition};
use super::evidence::Evidence;
use super::input::PodInput;
use super::stage::{Stage, StageProgress, StageState, all_passed, last_completion};
use crate::objects::Event;
use crate::observation::{Source, Time};

/// Until init containers have completed and sidecars have started.
pub(super) fn init(input: &PodInput, earlier: &[StageProgress]) -> StageProgress {
    let mut progress = StageProgress::after(earlier, Stage::Init);
    if input.pod.is_none() && input.had_sandbox() {
        progress.state = StageState::Unknown;
        return progress;
    }
    if input.inits().next().is_none() {
        if all_passed(earlier) || input.pod.is_some() {
            progress.state = StageState::Skipped;
        }
        return progress;
    }
    let condition = input.pod.and_then(|p| p.status.condition("Initialized"));
    if let Some(c) = condition {
        let text =
            if c.is_true() { "Initialized True".into() } else { format!("Initialized {}: {}", c.status, c.message) };
        progress.evidence.push(Evidence::new(input.object_source(), c.last_transition_time, text));
    }
    if !restarts_in_new_sandbox(input) && (condition.is_some_and(|c| c.is_true()) || input.apps().any(|c| c.ran)) {
        progress.state = StageState::Done;
        let first = input.apps().filter_map(|c| c.image_done).min();
        progress.until = condition.filter(|c| c.is_true()).and_then(|c| c.last_transition_time).or(first);
        return progress;
    }
    if let Some(container) = input.blocking_init() {
        // A sidecar whose startup probe fails is running, and its failure threshold is not reached.
        let failed = container.state == StageState::Failed && container.stage != Stage::Probes;
        if progress.state == StageState::Active && failed {
            progress.state = StageState::Failed;
        }
        progress.evidence.extend(container.evidence.iter().map(|e| named(container, e)));
    }
    progress
}

/// The sandbox was recreated, so the init containers run again, even if the Initialized condition is still True.
fn restarts_in_new_sandbox(input: &PodInput) -> bool {
    let Some(sandbox) = input.facts.sandbox().filter(|sandbox| sandbox.ready && sandbox.attempt > 0) else {
        return false;
    };
    let inside = |c: &ContainerPosition| input.facts.containers_of(&c.name).any(|r| r.sandbox == sandbox.id);
    input.blocking_init().is_some() && !input.apps().any(inside)
}

/// Image, create or start: until the last app container has passed it.
pub(super) fn bring_up(input: &PodInput, stage: Stage, earlier: &[StageProgress]) -> StageProgress {
    let mut progress = StageProgress::after(earlier, stage);
    if input.apps().next().is_none() {
        return progress;
    }
    let here: Vec<_> = input.apps().filter(|c| c.stage == stage).collect();
    let is_any_earlier = input.apps().any(|c| c.stage < stage);
    let done = |c: &ContainerPosition| match stage {
        Stage::Image => c.image_done,
        Stage::Create => c.create_done,
        _ => c.first_started,
    };
    if here.is_empty() && !is_any_earlier {
        progress.state = StageState::Done;
        progress.until = input.apps().map(done).max().flatten();
        if progress.since.is_none() {
            progress.since = last_completion(earlier);
        }
        progress.evidence.extend(input.apps().filter_map(|c| evidence_of_passing(input, c, stage)));
        return progress;
    }
    for container in &here {
        progress.evidence.extend(container.evidence.iter().map(|e| named(container, e)));
    }
    if progress.state == StageState::Waiting {
        return progress;
    }
    if here.iter().any(|c| c.state == StageState::Failed) {
        progress.state = StageState::Failed;
        let failed = here.iter().filter(|c| c.state == StageState::Failed).filter_map(|c| c.since);
        progress.since = progress.since.or(failed.min());
    } else if is_any_earlier {
        progress.state = StageState::Waiting;
    }
    progress
}

/// Evidence that a container has passed a stage: its first event, else the time in the runtime.
fn evidence_of_passing(input: &PodInput, c: &ContainerPosition, stage: Stage) -> Option<Evidence> {
    let (reason, at) = match stage {
        Stage::Image => ("Pulled", None),
        Stage::Create => ("Created", c.create_done),
        _ => ("Started", c.first_started),
    };
    let event = input.facts.events_of(&c.name).filter(|e| e.reason == reason).min_by_key(|e| e.first());
    let event = event.map(|e| Evidence::new(Source::ApiEvents, e.first(), format!("{}: {}", e.reason, e.message)));
    let own = || at.map(|at| Evidence::new(Source::Cri, Some(at), reason.to_lowercase()));
    Some(named(c, &event.or_else(own)?))
}

/// Until the startup and readiness probes of the app containers pass.
pub(super) fn probes(input: &PodInput, earlier: &[StageProgress]) -> StageProgress {
    let mut progress = StageProgress::after(earlier, Stage::Probes);
    let probed = || input.containers.iter().filter(|c| c.has_probe && c.kind == ContainerKind::App);
    if probed().next().is_none() {
        progress.state = match input.pod {
            None if input.had_sandbox() => StageState::Unknown,
            None => progress.state,
            Some(_) => StageState::Skipped,
        };
        return progress;
    }
    let ready = input.pod.and_then(|p| p.status.condition("ContainersReady"));
    if let Some(c) = ready {
        progress.evidence.push(Evidence::new(
            input.object_source(),
            c.last_transition_time,
            format!("ContainersReady {} {}", c.status, c.message),
        ));
    }
    if input.is_terminal() {
        progress.state = terminal_readiness(input);
        return progress;
    }
    let probing: Vec<_> = probed().filter(|c| c.stage == Stage::Probes).collect();
    for container in probing.iter().filter(|c| !c.message.is_empty()) {
        progress.evidence.push(Evidence::new(
            Source::ApiEvents,
            None,
            format!("{}: {}", container.name, container.message),
        ));
    }
    if progress.state != StageState::Active {
        return progress;
    }
    if probing.iter().any(|c| c.state == StageState::Failed) {
        progress.state = StageState::Failed;
    } else if probing.is_empty() {
        let crashed = probed().any(|c| c.stage == Stage::Running && c.state != StageState::Active);
        progress.state = if crashed { StageState::Waiting } else { StageState::Done };
        progress.until = ready.filter(|c| c.is_true()).and_then(|c| c.last_transition_time);
    }
    if !probing.is_empty() {
        // A pod that was ready has lost its readiness when the condition changed.
        let lost = pod_lost_readiness(input);
        progress.since = probing.iter().filter_map(|c| c.running_since).chain(lost).max().or(progress.since);
    }
    progress
}

/// Until the pod is Ready, readiness gates included.
pub(super) fn ready(input: &PodInput, earlier: &[StageProgress]) -> StageProgress {
    let mut progress = StageProgress::after(earlier, Stage::Ready);
    let Some(pod) = input.pod else {
        if input.had_sandbox() {
            progress.state = StageState::Unknown;
        }
        return progress;
    };
    let condition = pod.status.condition("Ready");
    if let Some(c) = condition {
        let text = format!("Ready {} {} {}", c.status, c.reason, c.message);
        progress.evidence.push(Evidence::new(input.object_source(), c.last_transition_time, text.trim_end()));
    }
    if condition.is_some_and(|c| c.is_true()) {
        progress.state = StageState::Done;
        progress.until = condition.and_then(|c| c.last_transition_time);
    } else if input.is_terminal() {
        progress.state = terminal_readiness(input);
        progress.until = input.facts.first_ready;
    } else if progress.state == StageState::Active && has_running_failed(input) {
        progress.state = StageState::Waiting;
    } else if progress.state == StageState::Active
        && input.open_gates().is_empty()
        && pod.status.is_true("ContainersReady")
    {
        // The containers are still ready: the node controller marked the pod not ready when the condition changed.
        progress.since = progress.since.max(condition.and_then(|c| c.last_transition_time));
    } else if progress.state == StageState::Active && !input.open_gates().is_empty() {
        progress.state = StageState::Waiting;
        progress.since =
            pod.status.condition("ContainersReady").and_then(|c| c.last_transition_time).or(progress.since);
    }
    progress
}

/// The steady state: running, completed, or a container that has run and failed.
pub(super) fn running(input: &PodInput, earlier: &[StageProgress]) -> StageProgress {
    let mut progress = StageProgress::after(earlier, Stage::Running);
    let exit_times = || input.facts.exits.iter().filter_map(|e| e.finished);
    match input.phase() {
        "Succeeded" => {
            progress.state = StageState::Done;
            progress.since = first_start(input);
            progress.until = exit_times().max();
            progress.evidence.push(Evidence::new(input.object_source(), progress.until, "phase Succeeded"));
        }
        "Failed" if !input.is_rejected() => {
            progress.state = StageState::Failed;
            let exit_times = input.containers.iter().filter_map(|c| c.last_exit.as_ref().and_then(|(_, _, at)| *at));
            progress.since = exit_times.max().or(input.facts.newest_object().map(|(_, object)| object.changed));
            progress.evidence.extend(failure_evidence(input));
            let status = input.pod.map(|p| format!("{} {}", p.status.reason, p.status.message)).unwrap_or_default();
            progress.evidence.push(Evidence::new(
                input.object_source(),
                progress.since,
                format!("phase Failed {status}").trim_end(),
            ));
        }
        _ if has_running_failed(input) => {
            progress.state = StageState::Failed;
            let failing = input.containers.iter().filter(|c| is_failing(c));
            progress.since = failing.filter_map(|c| first_exit(input, c).or(c.since)).min();
            progress.evidence.extend(failure_evidence(input));
        }
        "" if input.pod.is_none() && input.apps().any(|c| c.running_since.is_some()) => {
            progress.state = StageState::Active;
            progress.since = first_start(input);
        }
        // A pod that only the runtime reports.
        "" if input.pod.is_none() && input.apps().next().is_some() && input.apps().all(has_completed) => {
            progress.state = StageState::Done;
            progress.since = first_start(input);
            progress.until = exit_times().max();
        }
        _ => {}
    }
    progress
}

fn has_completed(c: &ContainerPosition) -> bool {
    c.stage == Stage::Running && c.state == StageState::Done
}

/// An app container or sidecar has run and failed.
fn has_running_failed(input: &PodInput) -> bool {
    input.containers.iter().any(is_failing)
}

fn is_failing(c: &ContainerPosition) -> bool {
    let counts = matches!(c.kind, ContainerKind::App | ContainerKind::Sidecar);
    counts && c.stage == Stage::Running && c.state == StageState::Failed
}

/// When `ContainersReady` became False, if it did so after the pod was ready. Before that it is False since the pod's start.
fn pod_lost_readiness(input: &PodInput) -> Option<Time> {
    input.pod?.status.condition("ContainersReady").filter(|c| !c.is_true())?.last_transition_time
}

/// A failing container has exited more often than is known: it has been failing for longer than since its first known exit.
pub(super) fn has_unknown_exits(input: &PodInput) -> bool {
    let known = |c: &ContainerPosition| input.facts.exits_of(&c.name).filter(|e| e.finished.is_some()).count();
    let failing = input.containers.iter().filter(|c| is_failing(c));
    failing.into_iter().any(|c| known(c) < usize::try_from(c.restarts).unwrap_or(usize::MAX))
}

fn first_exit(input: &PodInput, c: &ContainerPosition) -> Option<Time> {
    let exits = input.facts.exits_of(&c.name).filter_map(|e| e.finished);
    let back_offs = input.facts.events_of(&c.name).filter(|e| is_restart_back_off(e)).filter_map(|e| e.first());
    exits.chain(back_offs).min()
}

/// `Back-off restarting failed container`: the container has exited before.
fn is_restart_back_off(event: &Event) -> bool {
    event.reason == "BackOff" && event.message.starts_with("Back-off restarting")
}

fn first_start(input: &PodInput) -> Option<Time> {
    input.apps().filter_map(|c| c.first_started).min()
}

fn failure_evidence(input: &PodInput) -> Vec<Evidence> {
    let failing = input.containers.iter().filter(|c| is_failing(c) || input.phase() == "Failed");
    failing.flat_map(|c| c.evidence.iter().map(|e| named(c, e))).collect()
}

/// The readiness of a terminal pod: done if a source reported it Ready while it ran.
fn terminal_readiness(input: &PodInput) -> StageState {
    match input.facts.first_ready {
        Some(_) => StageState::Done,
        None if input.was_container_created() => StageState::Unknown,
        None => StageState::Waiting,
    }
}

/// The evidence of a container, with its name.
fn named(container: &ContainerPosition, evidence: &Evidence) -> Evidence {
    Evidence { text: format!("{}: {}", container.name, evidence.text).into(), ..evidence.clone() }
}
