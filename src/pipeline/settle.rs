//! Owns where a container's state puts it: which stage, since when, in whose words.
//! It must not look at the pod's other containers.

use super::container::{ContainerKind, ContainerPosition};
use super::stage::{Stage, StageState};
use crate::model::{PodFacts, bare_id, never_ran, nonzero_time};
use crate::objects::{ContainerState, ContainerStatus};
use crate::observation::{Container, ContainerPhase, Time};
use crate::text::Text;
use crate::time::TimeDelta;

/// Waiting reasons by the stage they belong to (facts of pkg/kubelet/images and pkg/kubelet/kuberuntime).
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

/// Puts the container where the newest word on it says it stands.
pub(super) fn settle(
    place: &mut ContainerPosition,
    facts: &PodFacts,
    status: Option<&ContainerStatus>,
    state: &ContainerState,
    cri: Option<&Container>,
) {
    let name = place.name.clone();
    let state_since = facts.state_since.get(&name).copied();
    // The runtime's newer word: the API shows a container as waiting for one relist and one status write longer.
    let known_end = |c: &Container| {
        let ended = [&state.terminated].into_iter().flatten();
        let last = status.and_then(|s| s.last_state.terminated.as_ref());
        ended.chain(last).any(|t| bare_id(&t.container_id) == c.id.as_str())
    };
    match cri.filter(|c| !known_end(c)) {
        Some(c) if c.phase == ContainerPhase::Running => return run(place, facts, status, running_evidence(c)),
        Some(c) if c.phase == ContainerPhase::Exited && c.exit_code.is_some() => {
            let exit = c.exit_code.unwrap_or_default();
            return end(place, exit, &c.reason, &c.message, nonzero_time(c.finished_at));
        }
        Some(c) if c.phase == ContainerPhase::Exited && *state == ContainerState::default() => {
            // Only the list is known: a container that was started again before is taken for one that fails.
            place.stage = Stage::Running;
            place.state = if c.attempt > 0 { StageState::Failed } else { StageState::Unknown };
            place.message = "exited; the runtime was not asked how".into();
            return;
        }
        _ => {}
    }
    if let Some(running) = &state.running {
        return run(place, facts, status, running.started_at);
    }
    if let Some(t) = &state.terminated {
        return end(place, t.exit_code, &t.reason, &t.message, nonzero_time(t.finished_at));
    }
    let waiting = state.waiting.clone().unwrap_or_default();
    place.message = waiting.message.text();
    if let Some(stage) = stage_of_reason(&waiting.reason) {
        (place.stage, place.state) = (stage, StageState::Failed);
        place.since = match stage {
            Stage::Image => facts
                .events_of(&name)
                .filter(|e| e.reason == "Pulling" || e.reason == "Failed")
                .filter_map(|e| e.first())
                .min()
                .or(state_since),
            Stage::Create => place.image_done.or(state_since),
            _ => place.create_done.or(state_since),
        };
        if place.message.is_empty() {
            place.message =
                facts.events_of(&name).find(|e| e.is_warning()).map(|e| e.message.text()).unwrap_or_default();
        }
        return;
    }
    if waiting.reason == "CrashLoopBackOff" {
        let last = status.and_then(|s| s.last_state.terminated.as_ref());
        let finished = last.and_then(|t| nonzero_time(t.finished_at));
        place.retry_at = finished.zip(back_off(&waiting.message)).map(|(at, delay)| (at + delay, false));
        let never = last.is_some_and(|t| never_ran(&t.reason)) || !place.ran;
        (place.stage, place.state) = (if never { Stage::Start } else { Stage::Running }, StageState::Failed);
        place.since = first_failure(facts, &name).or(state_since);
        if let Some(t) = last {
            place.message = describe_end(t.exit_code, &t.reason, &t.message, Some(&waiting.message));
        }
        return;
    }
    if place.ran {
        // Between an end and the next start: RestartingAllContainers, or a status that is one write behind.
        (place.stage, place.state) = (Stage::Running, StageState::Active);
        place.since = state_since;
        return;
    }
    not_yet(place, facts, cri);
}

/// A container that has not run and shows no error: events and the runtime say how far it is.
fn not_yet(place: &mut ContainerPosition, facts: &PodFacts, cri: Option<&Container>) {
    let name = place.name.clone();
    let last = |reason: &str| facts.events_of(&name).filter(|e| e.reason == reason).filter_map(|e| e.last()).max();
    let (pulling, pulled, created) = (last("Pulling"), last("Pulled"), last("Created"));
    let in_runtime = cri.filter(|c| c.phase == ContainerPhase::Created);
    (place.stage, place.state, place.since) = match (in_runtime, created, pulled, pulling) {
        (Some(c), ..) => (Stage::Start, StageState::Active, c.created_at),
        (_, Some(at), ..) => (Stage::Start, StageState::Active, Some(at)),
        (_, _, Some(at), pulling) if pulling.is_none_or(|p| p <= at) => (Stage::Create, StageState::Active, Some(at)),
        (.., Some(at)) => (Stage::Image, StageState::Active, Some(at)),
        _ => (Stage::Image, StageState::Waiting, None),
    };
    if place.stage == Stage::Image
        && place.state == StageState::Active
        && let Some(event) = facts.events_of(&name).find(|e| e.reason == "Pulling")
    {
        place.message = event.message.text();
    }
}

fn run(place: &mut ContainerPosition, facts: &PodFacts, status: Option<&ContainerStatus>, since: Option<Time>) {
    place.running_since = place.running_since.or(since);
    place.since = place.running_since;
    let started = status.and_then(|s| s.started).unwrap_or(!place.has_probe);
    let waits = match place.kind {
        ContainerKind::App => !(started && place.ready),
        ContainerKind::Sidecar => !started,
        ContainerKind::Init | ContainerKind::Ephemeral => false,
    };
    if !waits || !place.has_probe {
        (place.stage, place.state) = (Stage::Running, StageState::Active);
        return;
    }
    let failing = facts.events_of(&place.name).find(|e| {
        let probe = e.message.starts_with("Readiness probe") || e.message.starts_with("Startup probe");
        e.reason == "Unhealthy"
            && probe
            && e.last().zip(place.running_since).is_none_or(|(at, since)| at >= whole(since))
    });
    place.stage = Stage::Probes;
    place.state = if failing.is_some() { StageState::Failed } else { StageState::Active };
    place.message = match failing {
        Some(event) => event.message.text(),
        None if !started => "the startup probe has not passed yet".into(),
        None => "the readiness probe has not passed yet".into(),
    };
}

fn end(place: &mut ContainerPosition, exit_code: i32, reason: &Text, message: &Text, finished: Option<Time>) {
    place.running_since = None;
    place.since = finished;
    place.message = describe_end(exit_code, reason, message, None);
    (place.stage, place.state) = match (never_ran(reason), exit_code, place.kind) {
        (true, ..) => (Stage::Start, StageState::Failed),
        (_, 0, _) => (Stage::Running, StageState::Done),
        _ => (Stage::Running, StageState::Failed),
    };
}

fn running_evidence(container: &Container) -> Option<Time> {
    nonzero_time(container.started_at).or(container.created_at)
}

/// API times have whole seconds.
fn whole(time: Time) -> Time {
    Time::from_timestamp(time.timestamp(), 0).unwrap_or(time)
}

/// The end of the first of the unbroken row of failed runs that the sources still know.
fn first_failure(facts: &PodFacts, container: &str) -> Option<Time> {
    facts.exits_of(container).filter_map(|e| e.finished).min()
}

/// An end in words: `exit 137 (OOMKilled)`, with the message and what the kubelet says of the next start.
fn describe_end(exit_code: i32, reason: &str, message: &Text, waiting: Option<&Text>) -> Text {
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

/// The delay in `back-off 1m20s restarting failed container=…`, a Go duration.
fn back_off(message: &str) -> Option<TimeDelta> {
    let duration = message.strip_prefix("back-off ")?.split(' ').next()?;
    let (mut seconds, mut number) = (0.0, String::new());
    for c in duration.chars() {
        match c {
            '0'..='9' | '.' => number.push(c),
            _ => {
                let value: f64 = std::mem::take(&mut number).parse().ok()?;
                seconds += value
                    * match c {
                        'h' => 3600.0,
                        'm' => 60.0,
                        's' => 1.0,
                        _ => return None,
                    };
            }
        }
    }
    (seconds > 0.0 && seconds < 1e6 && number.is_empty()).then(|| TimeDelta::milliseconds((seconds * 1000.0) as i64))
}

/// The same for one container in a line of the log, which quotes one such message for each container that waits.
pub(super) fn back_off_of(error: &str, container: &str) -> Option<TimeDelta> {
    let (before, _) = error.split_once(&format!(" restarting failed container={container} "))?;
    back_off(before.get(before.rfind("back-off ")?..)?)
}

/// When a container that ended at `end` may start again: at once the first time, then after a delay that doubles with
/// every restart (pkg/kubelet/kubelet.go, MaxCrashLoopBackOff). The API shows the end and not yet the back-off.
pub(super) fn estimated_retry(end: Time, restarts: u32) -> Option<Time> {
    let delay = 10i64.checked_shl(restarts.checked_sub(1)?.min(16))?;
    Some(end + TimeDelta::seconds(delay.min(300)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_of_restarts() {
        let end = Time::from_timestamp(1000, 0).unwrap();
        let after = |restarts| estimated_retry(end, restarts).map(|at| (at - end).num_seconds());
        assert_eq!([0, 1, 2, 4, 6, 99].map(after), [None, Some(10), Some(20), Some(80), Some(300), Some(300)]);
    }

    #[test]
    fn back_off_of_the_waiting_message() {
        let of = |m: &str| back_off(m).map(|d| d.num_seconds());
        assert_eq!(of("back-off 10s restarting failed container=a pod=b_c(d)"), Some(10));
        assert_eq!(of("back-off 1m20s restarting failed container=a"), Some(80));
        assert_eq!(of("back-off 5m0s restarting"), Some(300));
        assert_eq!(of("back-off soon restarting"), None);
        assert_eq!(of("Back-off pulling image"), None);
    }

    #[test]
    fn back_off_of_one_container_in_the_log() {
        let error = r#"[failed to "StartContainer" for "a" with CrashLoopBackOff: "back-off 10s restarting failed container=a pod=p_n(u)", failed to "StartContainer" for "b" with CrashLoopBackOff: "back-off 2m40s restarting failed container=b pod=p_n(u)"]"#;
        let of = |container: &str| back_off_of(error, container).map(|d| d.num_seconds());
        assert_eq!((of("a"), of("b"), of("c")), (Some(10), Some(160), None));
    }
}
