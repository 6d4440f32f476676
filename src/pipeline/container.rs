//! Owns where one container stands on its own small pipeline: image, create, start, run.
//! It must not look at the pod's other containers.

use super::evidence::{Evidence, earliest};
use super::settle::{back_off_of, estimated_retry, settle};
use super::stage::{Stage, StageState};
use crate::model::{PodFacts, never_ran, nonzero_time};
use crate::objects::{ContainerSpec, ContainerState, ContainerStatus};
use crate::observation::{Container, ContainerPhase, Source, Time};
use crate::text::Text;
use crate::time::TimeDelta;

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
pub struct ContainerPosition {
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
    /// Restarts, as the API counts them, or the runtime's attempt where that is further.
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
    /// Earliest next start, and whether that is worked out from the restarts rather than said in the waiting message;
    /// absent also while the kubelet does not answer.
    pub retry_at: Option<(Time, bool)>,
    /// What the sources say, each for itself.
    pub evidence: Vec<Evidence>,
    /// First times at which image, creation and start were done.
    pub(super) image_done: Option<Time>,
    pub(super) create_done: Option<Time>,
    pub(super) has_probe: bool,
}

/// Places one container. `status` is the API's or the kubelet's word on it.
pub fn place_container(
    facts: &PodFacts,
    spec: &ContainerSpec,
    status: Option<&ContainerStatus>,
    kind: ContainerKind,
    policy: &str,
) -> ContainerPosition {
    let policy = if spec.restart_policy.is_empty() { policy } else { &spec.restart_policy };
    let name = spec.name.as_str();
    let cri = facts.container(name);
    let nothing = ContainerState::default();
    let (state, last_state) = status.map_or((&nothing, &nothing), |s| (&s.state, &s.last_state));
    let exits: Vec<_> = facts.exits_of(name).collect();
    let cri_ran = cri.is_some_and(|c| {
        let ended = c.phase == ContainerPhase::Exited && !never_ran(&c.reason);
        nonzero_time(c.started_at).is_some() || c.phase == ContainerPhase::Running || ended
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
        .chain(ends().filter(|t| !never_ran(&t.reason)).filter_map(|t| nonzero_time(t.started_at)))
        .chain(state.running.iter().filter_map(|r| r.started_at))
        .chain(facts.containers_of(name).filter_map(|c| nonzero_time(c.started_at)))
        .chain(facts.events_of(name).filter(|e| e.reason == "Started").filter_map(|e| e.first()))
        .collect();
    let first_started = earliest(started.into_iter());
    let running_cri = cri.filter(|c| c.phase == ContainerPhase::Running);
    let running_since = running_cri
        .and_then(|c| nonzero_time(c.started_at))
        .or_else(|| state.running.as_ref().and_then(|r| r.started_at))
        .or_else(|| running_cri.and_then(|c| c.created_at));
    let first_event = |reason| facts.events_of(name).filter(|e| e.reason == reason).filter_map(|e| e.first()).min();
    let created = facts.containers_of(name).filter_map(|c| c.created_at).min();
    let create_done = earliest([created, first_event("Created")].into_iter().flatten());
    let image_done = first_event("Pulled").or(create_done);
    // The runtime's newest run may be one that no status tells yet.
    let restarts = status.map_or(0, |s| s.restart_count).max(cri.map_or(0, |c| c.attempt));
    let last_exit = ends()
        .map(|t| (t.exit_code, t.reason.clone(), nonzero_time(t.finished_at)))
        .chain(exits.last().map(|e| (e.exit_code, e.reason.clone(), e.finished)))
        .max_by_key(|(_, _, at)| *at);
    let mut place = ContainerPosition {
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
        place.retry_at = place.since.and_then(|end| match logged_back_off(facts, name, end) {
            Some(delay) => Some((end + delay, false)),
            None => estimated_retry(end, place.restarts).map(|at| (at, true)),
        });
    }
    place
}

/// The delay that the kubelet's log has told since that end. The API shows it a sync later, and a kubelet that was
/// started again counts from the beginning while the restarts go on.
fn logged_back_off(facts: &PodFacts, container: &str, end: Time) -> Option<TimeDelta> {
    let (at, error) = facts.log.as_ref()?.sync_error.as_ref()?;
    if *at < end { None } else { back_off_of(error, container) }
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
        let source = facts.object_source();
        let state = &status.state;
        let at = match (&state.running, &state.terminated) {
            (Some(r), _) => r.started_at,
            (_, Some(t)) => nonzero_time(t.finished_at),
            _ => facts.state_since.get(&status.name).copied(),
        };
        out.push(Evidence::new(source, at, state.to_string()));
    }
    if let Some(c) = cri {
        let (at, text) = match c.phase {
            ContainerPhase::Created => (c.created_at, "created".to_owned()),
            ContainerPhase::Running => (nonzero_time(c.started_at).or(c.created_at), "running".to_owned()),
            ContainerPhase::Exited => (
                nonzero_time(c.finished_at),
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
