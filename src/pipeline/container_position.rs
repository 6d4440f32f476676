//! Derives the position of one container from its spec, its status and the runtime.

use super::back_off::{back_off_in_error, estimated_restart};
use super::container::{ContainerKind, ContainerPosition};
use super::container_stage::resolve_stage;
use super::evidence::{Evidence, earliest};
use super::stage::{Stage, StageState};
use crate::model::{PodFacts, never_ran, nonzero_time};
use crate::objects::{ContainerSpec, ContainerState, ContainerStatus};
use crate::observation::{Container, ContainerPhase, Source, Time};
use crate::text::Text;
use crate::time::TimeDelta;

/// The position of one container. `status` is from the API server or the kubelet; `policy` is the pod's restart policy.
pub(super) fn container_position(
    facts: &PodFacts,
    spec: &ContainerSpec,
    status: Option<&ContainerStatus>,
    kind: ContainerKind,
    policy: &str,
) -> ContainerPosition {
    let policy = if spec.restart_policy.is_empty() { policy } else { &spec.restart_policy };
    let name = spec.name.as_str();
    let cri = facts.container(name);
    let no_state = ContainerState::default();
    let (state, last_state) = status.map_or((&no_state, &no_state), |s| (&s.state, &s.last_state));
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
    // The runtime's newest run may not be in the status yet.
    let restarts = status.map_or(0, |s| s.restart_count).max(cri.map_or(0, |c| c.attempt));
    let last_exit = ends()
        .map(|t| (t.exit_code, t.reason.clone(), nonzero_time(t.finished_at)))
        .chain(exits.last().map(|e| (e.exit_code, e.reason.clone(), e.finished)))
        .max_by_key(|(_, _, at)| *at);
    let mut position = ContainerPosition {
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
        word: state_word(state, cri.map(|c| &**c)),
        message: Text::default(),
        restarts,
        ready: status.is_some_and(|s| s.ready),
        ran,
        first_started,
        running_since,
        last_exit,
        retry_at: None,
        evidence: container_evidence(facts, status, cri.map(|c| &**c)),
        image_done: image_done.or(first_started),
        create_done: create_done.or(first_started),
        has_probe: spec.startup_probe.is_some() || spec.readiness_probe.is_some(),
    };
    resolve_stage(&mut position, facts, status, state, cri.map(|c| &**c));
    // Exit code 0 with restartPolicy Always: a restart is pending.
    let always = kind != ContainerKind::Init && policy == "Always";
    if always && position.stage == Stage::Running && position.state == StageState::Done {
        position.state = StageState::Failed;
    }
    let is_restarted = position.state == StageState::Failed && matches!(policy, "Always" | "OnFailure");
    if is_restarted && position.retry_at.is_none() && position.running_since.is_none() && position.stage >= Stage::Start
    {
        position.retry_at = position.since.and_then(|end| match back_off_in_log(facts, name, end) {
            Some(delay) => Some((end + delay, false)),
            None => estimated_restart(end, position.restarts).map(|at| (at, true)),
        });
    }
    position
}

/// The back-off that the kubelet has logged since the container exited at `end`. The API shows it one sync later, and a
/// restarted kubelet starts at the first delay although the restart count continues.
fn back_off_in_log(facts: &PodFacts, container: &str, end: Time) -> Option<TimeDelta> {
    let (at, error) = facts.log.as_ref()?.sync_error.as_ref()?;
    if *at < end { None } else { back_off_in_error(error, container) }
}

fn state_word(state: &ContainerState, cri: Option<&Container>) -> Text {
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

fn container_evidence(facts: &PodFacts, status: Option<&ContainerStatus>, cri: Option<&Container>) -> Vec<Evidence> {
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
