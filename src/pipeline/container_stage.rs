//! The stage of one container, from the newest report of its state.

use super::back_off::parse_back_off;
use super::container::{ContainerKind, ContainerPosition};
use super::stage::{Stage, StageState};
use crate::model::{PodFacts, bare_id, never_ran, nonzero_time};
use crate::objects::{ContainerState, ContainerStatus};
use crate::observation::{Container, ContainerPhase, Time};
use crate::text::Text;

/// The stage that a waiting reason belongs to (pkg/kubelet/images, pkg/kubelet/kuberuntime).
pub fn stage_of_reason(reason: &str) -> Option<Stage> {
    Some(match reason {
        "ErrImagePull"
        | "ImagePullBackOff"
        | "ErrImageNeverPull"
        | "InvalidImageName"
        | "ImageInspectError"
        | "RegistryUnavailable"
        | "SignatureValidationFailed"
        | "ErrImageNotMatch" => Stage::Image,
        "CreateContainerConfigError" | "CreateContainerError" | "PreCreateHookError" => Stage::Create,
        "RunContainerError" | "PreStartHookError" | "PostStartHookError" => Stage::Start,
        _ => return None,
    })
}

/// Sets stage, state, time and message of the container by the newest report of its state.
pub(super) fn resolve_stage(
    position: &mut ContainerPosition,
    facts: &PodFacts,
    status: Option<&ContainerStatus>,
    state: &ContainerState,
    cri: Option<&Container>,
) {
    let name = position.name.clone();
    let state_since = facts.state_since.get(&name).copied();
    // The runtime is ahead of the API by one relist and one status write.
    let is_in_status = |c: &Container| {
        let ended = [&state.terminated].into_iter().flatten();
        let last = status.and_then(|s| s.last_state.terminated.as_ref());
        ended.chain(last).any(|t| bare_id(&t.container_id) == c.id.as_str())
    };
    match cri.filter(|c| !is_in_status(c)) {
        Some(c) if c.phase == ContainerPhase::Running => return set_running(position, facts, status, run_start(c)),
        Some(c) if c.phase == ContainerPhase::Exited && c.exit_code.is_some() => {
            let exit = c.exit_code.unwrap_or_default();
            return set_exited(position, exit, &c.reason, &c.message, nonzero_time(c.finished_at));
        }
        Some(c) if c.phase == ContainerPhase::Exited && *state == ContainerState::default() => {
            // The container list has no exit code. A container with restarts is assumed to fail.
            position.stage = Stage::Running;
            position.state = if c.attempt > 0 { StageState::Failed } else { StageState::Unknown };
            position.message = "exited, exit code unknown".into();
            return;
        }
        _ => {}
    }
    if let Some(running) = &state.running {
        return set_running(position, facts, status, running.started_at);
    }
    if let Some(t) = &state.terminated {
        return set_exited(position, t.exit_code, &t.reason, &t.message, nonzero_time(t.finished_at));
    }
    let waiting = state.waiting.clone().unwrap_or_default();
    position.message = waiting.message.text();
    if let Some(stage) = stage_of_reason(&waiting.reason) {
        (position.stage, position.state) = (stage, StageState::Failed);
        position.since = match stage {
            Stage::Image => facts
                .events_of(&name)
                .filter(|e| e.reason == "Pulling" || e.reason == "Failed")
                .filter_map(|e| e.first())
                .min()
                .or(state_since),
            Stage::Create => position.image_done.or(state_since),
            _ => position.create_done.or(state_since),
        };
        if position.message.is_empty() {
            position.message =
                facts.events_of(&name).find(|e| e.is_warning()).map(|e| e.message.text()).unwrap_or_default();
        }
        return;
    }
    if waiting.reason == "CrashLoopBackOff" {
        let last = status.and_then(|s| s.last_state.terminated.as_ref());
        let finished = last.and_then(|t| nonzero_time(t.finished_at));
        position.retry_at = finished.zip(parse_back_off(&waiting.message)).map(|(at, delay)| (at + delay, false));
        let has_not_run = last.is_some_and(|t| never_ran(&t.reason)) || !position.ran;
        (position.stage, position.state) =
            (if has_not_run { Stage::Start } else { Stage::Running }, StageState::Failed);
        position.since = first_exit(facts, &name).or(state_since);
        if let Some(t) = last {
            position.message = describe_exit(t.exit_code, &t.reason, &t.message, Some(&waiting.message));
        }
        return;
    }
    if position.ran {
        // Between an exit and the next start: RestartingAllContainers, or a status that is one write behind.
        (position.stage, position.state) = (Stage::Running, StageState::Active);
        position.since = state_since;
        return;
    }
    set_before_first_run(position, facts, cri);
}

/// A container that has not run and has no error: events and the runtime show its progress.
fn set_before_first_run(position: &mut ContainerPosition, facts: &PodFacts, cri: Option<&Container>) {
    let name = position.name.clone();
    let last = |reason: &str| facts.events_of(&name).filter(|e| e.reason == reason).filter_map(|e| e.last()).max();
    let (pulling, pulled, created) = (last("Pulling"), last("Pulled"), last("Created"));
    let in_runtime = cri.filter(|c| c.phase == ContainerPhase::Created);
    (position.stage, position.state, position.since) = match (in_runtime, created, pulled, pulling) {
        (Some(c), ..) => (Stage::Start, StageState::Active, c.created_at),
        (_, Some(at), ..) => (Stage::Start, StageState::Active, Some(at)),
        (_, _, Some(at), pulling) if pulling.is_none_or(|p| p <= at) => (Stage::Create, StageState::Active, Some(at)),
        (.., Some(at)) => (Stage::Image, StageState::Active, Some(at)),
        _ => (Stage::Image, StageState::Waiting, None),
    };
    if position.stage == Stage::Image
        && position.state == StageState::Active
        && let Some(event) = facts.events_of(&name).find(|e| e.reason == "Pulling")
    {
        position.message = event.message.text();
    }
}

fn set_running(
    position: &mut ContainerPosition,
    facts: &PodFacts,
    status: Option<&ContainerStatus>,
    since: Option<Time>,
) {
    position.running_since = position.running_since.or(since);
    position.since = position.running_since;
    let started = status.and_then(|s| s.started).unwrap_or(!position.has_probe);
    let waits = match position.kind {
        ContainerKind::App => !(started && position.ready),
        ContainerKind::Sidecar => !started,
        ContainerKind::Init | ContainerKind::Ephemeral => false,
    };
    if !waits || !position.has_probe {
        (position.stage, position.state) = (Stage::Running, StageState::Active);
        return;
    }
    // The readiness probe starts when the startup probe has succeeded. Until the startup probe has used up its allowance, when
    // the kubelet kills the container, its failures are part of the start.
    let probe = if started { "Readiness probe" } else { "Startup probe" };
    let failing = facts.events_of(&position.name).find(|e| {
        e.reason == "Unhealthy"
            && e.message.starts_with(probe)
            && e.last().zip(position.running_since).is_none_or(|(at, since)| at >= whole_seconds(since))
    });
    position.stage = Stage::Probes;
    position.state = if failing.is_some() && started { StageState::Failed } else { StageState::Active };
    position.message = match failing {
        Some(event) => event.message.text(),
        None if !started => "startup probe has not passed yet".into(),
        None => "readiness probe has not passed yet".into(),
    };
}

fn set_exited(position: &mut ContainerPosition, exit_code: i32, reason: &Text, message: &Text, finished: Option<Time>) {
    position.running_since = None;
    position.since = finished;
    position.message = describe_exit(exit_code, reason, message, None);
    (position.stage, position.state) = match (never_ran(reason), exit_code, position.kind) {
        (true, ..) => (Stage::Start, StageState::Failed),
        (_, 0, _) => (Stage::Running, StageState::Done),
        _ => (Stage::Running, StageState::Failed),
    };
}

fn run_start(container: &Container) -> Option<Time> {
    nonzero_time(container.started_at).or(container.created_at)
}

/// API times have whole seconds.
fn whole_seconds(time: Time) -> Time {
    Time::from_timestamp(time.timestamp(), 0).unwrap_or(time)
}

/// The first known exit of the container.
fn first_exit(facts: &PodFacts, container: &str) -> Option<Time> {
    facts.exits_of(container).filter_map(|e| e.finished).min()
}

/// An exit in words: `exit 137 (OOMKilled)`, with the termination message and the back-off.
fn describe_exit(exit_code: i32, reason: &str, message: &Text, waiting: Option<&Text>) -> Text {
    let mut out = format!("exit {exit_code}");
    if !reason.is_empty() {
        out.push_str(&format!(" ({reason})"));
    }
    if !message.is_empty() {
        out.push_str(&format!(": {}", message.one_line()));
    }
    if let Some(delay) = waiting.and_then(|w| w.split(" restarting").next().filter(|w| w.starts_with("back-off"))) {
        out.push_str(&format!("; {delay}"));
    }
    out.into()
}
