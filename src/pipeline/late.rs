//! Owns the stages of the containers: init, image, create, start, probes, ready, running.
//! It must not read the runtime or events: the containers are placed already.

use super::container::{ContainerKind, ContainerPosition};
use super::early::{api, begin, passed, sandbox_ever};
use super::evidence::Evidence;
use super::stage::{Stage, StageProgress, StageState};
use super::steps::Steps;
use crate::observation::{Source, Time};

pub(super) fn init(s: &Steps, before: &[StageProgress]) -> StageProgress {
    let mut step = begin(Stage::Init, before);
    if s.pod.is_none() && sandbox_ever(s) {
        step.state = StageState::Unknown;
        return step;
    }
    if s.inits().next().is_none() {
        if passed(before) || s.pod.is_some() {
            step.state = StageState::Skipped;
        }
        return step;
    }
    let condition = s.pod.and_then(|p| p.status.condition("Initialized"));
    if let Some(c) = condition {
        let text =
            if c.is_true() { "Initialized True".into() } else { format!("Initialized {}: {}", c.status, c.message) };
        step.evidence.push(Evidence::new(api(s), c.last_transition_time, text));
    }
    if !begins_anew(s) && (condition.is_some_and(|c| c.is_true()) || s.apps().any(|c| c.ran)) {
        step.state = StageState::Done;
        let first = s.apps().filter_map(|c| c.image_done).min();
        step.until = condition.filter(|c| c.is_true()).and_then(|c| c.last_transition_time).or(first);
        return step;
    }
    if let Some(container) = blocking_init(s) {
        // A sidecar whose startup probe fails runs, and is still within what the probe allows.
        let failed = container.state == StageState::Failed && container.stage != Stage::Probes;
        if step.state == StageState::Active && failed {
            step.state = StageState::Failed;
        }
        step.evidence.extend(container.evidence.iter().map(|e| named(container, e)));
    }
    step
}

/// A pod whose sandbox was made anew runs its init containers again, whatever its condition still says.
fn begins_anew(s: &Steps) -> bool {
    let Some(sandbox) = s.facts.sandbox().filter(|sandbox| sandbox.ready && sandbox.attempt > 0) else { return false };
    let inside = |c: &ContainerPosition| s.facts.containers_of(&c.name).any(|r| r.sandbox == sandbox.id);
    blocking_init(s).is_some() && !s.apps().any(inside)
}

/// The init container or sidecar that the others wait for.
pub(super) fn blocking_init<'s>(s: &'s Steps) -> Option<&'s ContainerPosition> {
    s.inits().find(|c| match c.kind {
        ContainerKind::Sidecar => !(c.stage == Stage::Running && c.state == StageState::Active),
        _ => !(c.stage == Stage::Running && c.state == StageState::Done),
    })
}

pub(super) fn bring_up(s: &Steps, stage: Stage, before: &[StageProgress]) -> StageProgress {
    let mut step = begin(stage, before);
    let mut known = s.apps().peekable();
    if known.peek().is_none() {
        return step;
    }
    let here: Vec<_> = s.apps().filter(|c| c.stage == stage).collect();
    let behind = s.apps().any(|c| c.stage < stage);
    let done = |c: &ContainerPosition| match stage {
        Stage::Image => c.image_done,
        Stage::Create => c.create_done,
        _ => c.first_started,
    };
    if here.is_empty() && !behind {
        step.state = StageState::Done;
        step.until = s.apps().map(done).max().flatten();
        if step.since.is_none() {
            step.since = before.iter().rev().find_map(|s| s.until);
        }
        step.evidence.extend(s.apps().filter_map(|c| passed_by(s, c, stage)));
        return step;
    }
    for container in &here {
        step.evidence.extend(container.evidence.iter().map(|e| named(container, e)));
    }
    if step.state == StageState::Waiting {
        return step;
    }
    if here.iter().any(|c| c.state == StageState::Failed) {
        step.state = StageState::Failed;
        let failed = here.iter().filter(|c| c.state == StageState::Failed).filter_map(|c| c.since);
        step.since = step.since.or(failed.min());
    } else if behind {
        step.state = StageState::Waiting;
    }
    step
}

/// What shows that a container has passed a stage: the first event about it, else the runtime's own time.
fn passed_by(s: &Steps, c: &ContainerPosition, stage: Stage) -> Option<Evidence> {
    let (reason, at) = match stage {
        Stage::Image => ("Pulled", None),
        Stage::Create => ("Created", c.create_done),
        _ => ("Started", c.first_started),
    };
    let event = s.facts.events_of(&c.name).filter(|e| e.reason == reason).min_by_key(|e| e.first());
    let event = event.map(|e| Evidence::new(Source::ApiEvents, e.first(), format!("{}: {}", e.reason, e.message)));
    let own = || at.map(|at| Evidence::new(Source::Cri, Some(at), reason.to_lowercase()));
    Some(named(c, &event.or_else(own)?))
}

pub(super) fn probes(s: &Steps, before: &[StageProgress]) -> StageProgress {
    let mut step = begin(Stage::Probes, before);
    let probed = || s.containers.iter().filter(|c| c.has_probe && c.kind == ContainerKind::App);
    if probed().next().is_none() {
        step.state = match s.pod {
            None if sandbox_ever(s) => StageState::Unknown,
            None => step.state,
            Some(_) => StageState::Skipped,
        };
        return step;
    }
    let ready = s.pod.and_then(|p| p.status.condition("ContainersReady"));
    if let Some(c) = ready {
        step.evidence.push(Evidence::new(
            api(s),
            c.last_transition_time,
            format!("ContainersReady {} {}", c.status, c.message),
        ));
    }
    if ended(s) {
        step.state = was_ready(s);
        return step;
    }
    let waits: Vec<_> = probed().filter(|c| c.stage == Stage::Probes).collect();
    for container in waits.iter().filter(|c| !c.message.is_empty()) {
        step.evidence.push(Evidence::new(
            Source::ApiEvents,
            None,
            format!("{}: {}", container.name, container.message),
        ));
    }
    if step.state != StageState::Active {
        return step;
    }
    if waits.iter().any(|c| c.state == StageState::Failed) {
        step.state = StageState::Failed;
    } else if waits.is_empty() {
        let crashed = probed().any(|c| c.stage == Stage::Running && c.state != StageState::Active);
        step.state = if crashed { StageState::Waiting } else { StageState::Done };
        step.until = ready.filter(|c| c.is_true()).and_then(|c| c.last_transition_time);
    }
    if !waits.is_empty() {
        step.since = waits.iter().filter_map(|c| c.running_since).max().or(step.since);
    }
    step
}

pub(super) fn ready(s: &Steps, before: &[StageProgress]) -> StageProgress {
    let mut step = begin(Stage::Ready, before);
    let Some(pod) = s.pod else {
        if sandbox_ever(s) {
            step.state = StageState::Unknown;
        }
        return step;
    };
    let condition = pod.status.condition("Ready");
    if let Some(c) = condition {
        let text = format!("Ready {} {} {}", c.status, c.reason, c.message);
        step.evidence.push(Evidence::new(api(s), c.last_transition_time, text.trim_end()));
    }
    if condition.is_some_and(|c| c.is_true()) {
        step.state = StageState::Done;
        step.until = condition.and_then(|c| c.last_transition_time);
    } else if ended(s) {
        step.state = was_ready(s);
        step.until = s.facts.first_ready;
    } else if step.state == StageState::Active && running_failed(s) {
        step.state = StageState::Waiting;
    } else if step.state == StageState::Active && open_gates(s).is_empty() && pod.status.is_true("ContainersReady") {
        // The containers are ready all along: it was the pod that was marked, and not before the condition changed.
        step.since = step.since.max(condition.and_then(|c| c.last_transition_time));
    } else if step.state == StageState::Active && !open_gates(s).is_empty() {
        step.state = StageState::Waiting;
        step.since = pod.status.condition("ContainersReady").and_then(|c| c.last_transition_time).or(step.since);
    }
    step
}

/// Readiness gates whose condition is not True.
pub(super) fn open_gates<'s>(s: &'s Steps) -> Vec<&'s str> {
    let Some(pod) = s.pod else { return Vec::new() };
    let gates = pod.spec.readiness_gates.iter().map(|g| g.condition_type.as_str());
    gates.filter(|gate| !pod.status.is_true(gate)).collect()
}

pub(super) fn running(s: &Steps, before: &[StageProgress]) -> StageProgress {
    let mut step = begin(Stage::Running, before);
    let ends = || s.facts.exits.iter().filter_map(|e| e.finished);
    match s.phase() {
        "Succeeded" => {
            step.state = StageState::Done;
            step.since = first_start(s);
            step.until = ends().max();
            step.evidence.push(Evidence::new(api(s), step.until, "phase Succeeded"));
        }
        "Failed" if !s.rejected() => {
            step.state = StageState::Failed;
            let ended = s.containers.iter().filter_map(|c| c.last_exit.as_ref().and_then(|(_, _, at)| *at));
            step.since = ended.max().or(s.facts.newest_object().map(|(_, held)| held.changed));
            step.evidence.extend(exits(s));
            let status = s.pod.map(|p| format!("{} {}", p.status.reason, p.status.message)).unwrap_or_default();
            step.evidence.push(Evidence::new(api(s), step.since, format!("phase Failed {status}").trim_end()));
        }
        _ if running_failed(s) => {
            step.state = StageState::Failed;
            let failing = s.containers.iter().filter(|c| is_failing(c));
            step.since = failing.filter_map(|c| first_end(s, c).or(c.since)).min();
            step.evidence.extend(exits(s));
        }
        "" if s.pod.is_none() && s.apps().any(|c| c.running_since.is_some()) => {
            step.state = StageState::Active;
            step.since = first_start(s);
        }
        // Of a pod that only the runtime knows.
        "" if s.pod.is_none() && s.apps().next().is_some() && s.apps().all(ended_well) => {
            step.state = StageState::Done;
            step.since = first_start(s);
            step.until = ends().max();
        }
        _ => {}
    }
    step
}

fn ended_well(c: &ContainerPosition) -> bool {
    c.stage == Stage::Running && c.state == StageState::Done
}

/// A container of the running group has run and is down.
fn running_failed(s: &Steps) -> bool {
    s.containers.iter().any(is_failing)
}

fn is_failing(c: &ContainerPosition) -> bool {
    let counts = matches!(c.kind, ContainerKind::App | ContainerKind::Sidecar);
    counts && c.stage == Stage::Running && c.state == StageState::Failed
}

fn first_end(s: &Steps, c: &ContainerPosition) -> Option<Time> {
    s.facts.exits_of(&c.name).filter_map(|e| e.finished).min()
}

fn first_start(s: &Steps) -> Option<Time> {
    s.apps().filter_map(|c| c.first_started).min()
}

fn exits(s: &Steps) -> Vec<Evidence> {
    let failing = s.containers.iter().filter(|c| is_failing(c) || s.phase() == "Failed");
    failing.flat_map(|c| c.evidence.iter().map(|e| named(c, e))).collect()
}

/// Of a pod that has ended: whether it was ever ready, where a source saw it while it ran.
fn was_ready(s: &Steps) -> StageState {
    match s.facts.first_ready {
        Some(_) => StageState::Done,
        None if s.ever_created() => StageState::Unknown,
        None => StageState::Waiting,
    }
}

/// Nothing of the pod will run again.
fn ended(s: &Steps) -> bool {
    s.pod.is_some_and(|p| p.status.is_terminal())
}

fn named(container: &ContainerPosition, evidence: &Evidence) -> Evidence {
    Evidence { text: format!("{}: {}", container.name, evidence.text).into(), ..evidence.clone() }
}
