//! Owns where one container stands on its own small pipeline: image, create, start, run.
//! It must not look at the pod's other containers.

use chrono::TimeDelta;

use super::evidence::{Evidence, earliest};
use super::stage::{Stage, StageState};
use crate::model::{PodFacts, bare_id, never_ran, real};
use crate::objects::{ContainerSpec, ContainerState, ContainerStatus};
use crate::observation::{Container, ContainerPhase, Source, Time};
use crate::text::Text;

/// Why a container is in the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerKind {
    /// Runs to its end before the app containers.
    Init,
    /// An init container that keeps running (KEP-753).
    Sidecar,
    /// The pod's purpose.
    App,
    /// Added for debugging.
    Ephemeral,
}

impl ContainerKind {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ContainerKind::Init => "init",
            ContainerKind::Sidecar => "sidecar",
            ContainerKind::App => "app",
            ContainerKind::Ephemeral => "ephemeral",
        }
    }
}

/// One container on its pipeline. `stage` is image, create, start, probes or running.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerPlace {
    /// Name.
    pub name: Text,
    /// Kind.
    pub kind: ContainerKind,
    /// Image as the spec has it.
    pub image: Text,
    /// Where it stands.
    pub stage: Stage,
    /// The state of that stage.
    pub state: StageState,
    /// Since when it is so.
    pub since: Option<Time>,
    /// Its state in a word: the API's, or the runtime's where the API is behind.
    pub word: Text,
    /// What its state says: the waiting or termination message, or the event that tells more.
    pub message: Text,
    /// Restarts, as the API counts them, else the runtime's attempt.
    pub restarts: u32,
    /// Ready, as the API says.
    pub ready: bool,
    /// It ran at least once, or is running.
    pub ran: bool,
    /// Start of the first run that is still known.
    pub first_started: Option<Time>,
    /// Start of the run under way.
    pub running_since: Option<Time>,
    /// Exit code and reason of the last end.
    pub last_exit: Option<(i32, Text, Option<Time>)>,
    /// Earliest next start, and whether that is worked out from the restarts rather than said in the waiting message.
    pub retry_at: Option<(Time, bool)>,
    /// What the sources say, each for itself.
    pub evidence: Vec<Evidence>,
    /// First times at which image, creation and start were done.
    pub(super) image_done: Option<Time>,
    pub(super) create_done: Option<Time>,
    pub(super) has_probe: bool,
}

/// Waiting reasons by the stage they belong to (facts of pkg/kubelet/images and pkg/kubelet/kuberuntime).
fn stage_of_reason(reason: &str) -> Option<Stage> {
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

/// Places one container. `status` is the API's or the kubelet's word on it.
pub fn place_container(
    facts: &PodFacts,
    spec: &ContainerSpec,
    status: Option<&ContainerStatus>,
    kind: ContainerKind,
    policy: &str,
) -> ContainerPlace {
    let policy = if spec.restart_policy.is_empty() { policy } else { &spec.restart_policy };
    let name = spec.name.as_str();
    let cri = facts.container(name);
    let nothing = ContainerState::default();
    let (state, last_state) = status.map_or((&nothing, &nothing), |s| (&s.state, &s.last_state));
    let exits: Vec<_> = facts.exits.iter().filter(|e| e.container == spec.name).collect();
    let cri_ran = cri.is_some_and(|c| {
        let ended = c.phase == ContainerPhase::Exited && !never_ran(&c.reason);
        real(c.started_at).is_some() || c.phase == ContainerPhase::Running || ended
    });
    let ends = || [&state.terminated, &last_state.terminated].into_iter().flatten();
    let ran = state.running.is_some()
        || ends().any(|t| !never_ran(&t.reason))
        || exits.iter().any(|e| !e.never_ran())
        || cri_ran;
    let started: Vec<Time> = exits
        .iter()
        .filter(|e| !e.never_ran())
        .filter_map(|e| e.started)
        .chain(ends().filter(|t| !never_ran(&t.reason)).filter_map(|t| real(t.started_at)))
        .chain(state.running.iter().filter_map(|r| r.started_at))
        .chain(facts.containers.iter().filter(|c| c.name == spec.name).filter_map(|c| real(c.started_at)))
        .chain(facts.events_of(name).filter(|e| e.reason == "Started").filter_map(|e| e.first()))
        .collect();
    let first_started = earliest(started.into_iter());
    let running_cri = cri.filter(|c| c.phase == ContainerPhase::Running);
    let running_since = running_cri
        .and_then(|c| real(c.started_at))
        .or_else(|| state.running.as_ref().and_then(|r| r.started_at))
        .or_else(|| running_cri.and_then(|c| c.created_at));
    let first_event = |reason| facts.events_of(name).filter(|e| e.reason == reason).filter_map(|e| e.first()).min();
    let created = facts.containers.iter().filter(|c| c.name == spec.name).filter_map(|c| c.created_at).min();
    let create_done = earliest([created, first_event("Created")].into_iter().flatten());
    let image_done = first_event("Pulled").or(create_done);
    let restarts = status.map(|s| s.restart_count).or(cri.map(|c| c.attempt)).unwrap_or(0);
    let last_exit = ends()
        .map(|t| (t.exit_code, t.reason.clone(), real(t.finished_at)))
        .chain(exits.last().map(|e| (e.exit_code, e.reason.clone(), e.finished)))
        .max_by_key(|(_, _, at)| *at);
    let mut place = ContainerPlace {
        name: spec.name.clone(),
        kind,
        image: if spec.image.is_empty() {
            cri.map(|c| c.image.clone()).unwrap_or_default()
        } else {
            spec.image.clone()
        },
        stage: Stage::Image,
        state: StageState::Waiting,
        since: None,
        word: word(state, cri.map(|c| &**c)),
        message: Text::default(),
        restarts,
        ready: status.is_some_and(|s| s.ready),
        ran,
        first_started,
        running_since,
        last_exit,
        retry_at: None,
        evidence: evidence(facts, status, cri.map(|c| &**c)),
        image_done: image_done.or(first_started),
        create_done: create_done.or(first_started),
        has_probe: spec.startup_probe.is_some() || spec.readiness_probe.is_some(),
    };
    settle(&mut place, facts, status, state, cri.map(|c| &**c));
    // Ended well, and started again all the same: a restart is pending.
    let always = kind != ContainerKind::Init && policy == "Always";
    if always && place.stage == Stage::Running && place.state == StageState::Done {
        place.state = StageState::Failed;
    }
    let comes_again = place.state == StageState::Failed && matches!(policy, "Always" | "OnFailure");
    if comes_again && place.retry_at.is_none() && place.running_since.is_none() && place.stage >= Stage::Start {
        place.retry_at = place.since.and_then(|end| estimated_retry(end, place.restarts)).map(|at| (at, true));
    }
    place
}

/// When a container that ended at `end` may start again: at once the first time, then after a delay that doubles with
/// every restart (pkg/kubelet/kubelet.go, MaxCrashLoopBackOff). The API shows the end and not yet the back-off.
fn estimated_retry(end: Time, restarts: u32) -> Option<Time> {
    let delay = 10i64.checked_shl(restarts.checked_sub(1)?.min(16))?;
    end.checked_add_signed(TimeDelta::seconds(delay.min(300)))
}

fn settle(
    place: &mut ContainerPlace,
    facts: &PodFacts,
    status: Option<&ContainerStatus>,
    state: &ContainerState,
    cri: Option<&Container>,
) {
    let name = place.name.clone();
    let word_since = facts.word_since.iter().find(|(c, _)| *c == name).map(|(_, since)| *since);
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
            return end(place, exit, &c.reason, &c.message, real(c.finished_at));
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
        return end(place, t.exit_code, &t.reason, &t.message, real(t.finished_at));
    }
    let waiting = state.waiting.clone().unwrap_or_default();
    place.message = waiting.message.clone();
    if let Some(stage) = stage_of_reason(&waiting.reason) {
        (place.stage, place.state) = (stage, StageState::Failed);
        place.since = match stage {
            Stage::Image => facts
                .events_of(&name)
                .filter(|e| e.reason == "Pulling" || e.reason == "Failed")
                .filter_map(|e| e.first())
                .min()
                .or(word_since),
            Stage::Create => place.image_done.or(word_since),
            _ => place.create_done.or(word_since),
        };
        if place.message.is_empty() {
            place.message =
                facts.events_of(&name).find(|e| e.is_warning()).map(|e| e.message.clone()).unwrap_or_default();
        }
        return;
    }
    if waiting.reason == "CrashLoopBackOff" {
        let last = status.and_then(|s| s.last_state.terminated.as_ref());
        let finished = last.and_then(|t| real(t.finished_at));
        place.retry_at = finished.zip(back_off(&waiting.message)).map(|(at, delay)| (at + delay, false));
        let never = last.is_some_and(|t| never_ran(&t.reason)) || !place.ran;
        (place.stage, place.state) = (if never { Stage::Start } else { Stage::Running }, StageState::Failed);
        place.since = first_failure(facts, &name).or(word_since);
        if let Some(t) = last {
            place.message = describe_end(t.exit_code, &t.reason, &t.message, Some(&waiting.message));
        }
        return;
    }
    if place.ran {
        // Between an end and the next start: RestartingAllContainers, or a status that is one write behind.
        (place.stage, place.state) = (Stage::Running, StageState::Active);
        place.since = word_since;
        return;
    }
    not_yet(place, facts, cri);
}

/// A container that has not run and shows no error: events and the runtime say how far it is.
fn not_yet(place: &mut ContainerPlace, facts: &PodFacts, cri: Option<&Container>) {
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
        place.message = event.message.clone();
    }
}

fn run(place: &mut ContainerPlace, facts: &PodFacts, status: Option<&ContainerStatus>, since: Option<Time>) {
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
        Some(event) => event.message.clone(),
        None if !started => "the startup probe has not passed yet".into(),
        None => "the readiness probe has not passed yet".into(),
    };
}

fn end(place: &mut ContainerPlace, exit_code: i32, reason: &Text, message: &Text, finished: Option<Time>) {
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
    real(container.started_at).or(container.created_at)
}

/// API times have whole seconds.
fn whole(time: Time) -> Time {
    Time::from_timestamp(time.timestamp(), 0).unwrap_or(time)
}

/// The end of the first of the unbroken row of failed runs that the sources still know.
fn first_failure(facts: &PodFacts, container: &str) -> Option<Time> {
    facts.exits.iter().filter(|e| e.container == container).filter_map(|e| e.finished).min()
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
pub(super) fn back_off(message: &str) -> Option<TimeDelta> {
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

fn word(state: &ContainerState, cri: Option<&Container>) -> Text {
    let waiting = state.running.is_none() && state.terminated.is_none();
    match cri {
        Some(c) if waiting && c.phase == ContainerPhase::Running => "running".into(),
        Some(c) if *state == ContainerState::default() => match c.phase {
            ContainerPhase::Created => "created".into(),
            ContainerPhase::Running => "running".into(),
            ContainerPhase::Exited => "exited".into(),
            ContainerPhase::Unknown => "unknown".into(),
        },
        _ => state.to_string().into(),
    }
}

fn evidence(facts: &PodFacts, status: Option<&ContainerStatus>, cri: Option<&Container>) -> Vec<Evidence> {
    let mut out = Vec::new();
    if let Some(status) = status {
        let source = if facts.api.is_some() { Source::ApiPods } else { Source::KubeletPods };
        let state = &status.state;
        let at = match (&state.running, &state.terminated) {
            (Some(r), _) => r.started_at,
            (_, Some(t)) => real(t.finished_at),
            _ => facts.word_since.iter().find(|(c, _)| *c == status.name).map(|(_, since)| *since),
        };
        out.push(Evidence::new(source, at, state.to_string()));
    }
    if let Some(c) = cri {
        let (at, text) = match c.phase {
            ContainerPhase::Created => (c.created_at, "created".to_owned()),
            ContainerPhase::Running => (real(c.started_at).or(c.created_at), "running".to_owned()),
            ContainerPhase::Exited => (
                real(c.finished_at),
                match c.exit_code {
                    Some(code) => format!("exited {code} {}", c.reason),
                    None => "exited".to_owned(),
                },
            ),
            ContainerPhase::Unknown => (None, "unknown".to_owned()),
        };
        out.push(Evidence::new(Source::Cri, at, format!("{} (attempt {})", text.trim_end(), c.attempt)));
    }
    out
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
}
