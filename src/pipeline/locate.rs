//! The position of a pod: every stage in pipeline order, the current one, its status, its reason, and what is next.

use super::input::PodInput;
use super::next::next;
use super::pod_status::pod_status;
use super::position::PipelinePosition;
use super::reason::reason;
use super::stage::{Stage, StageProgress, StageState};
use super::{on_disk, stages_of_containers, stages_to_sandbox, terminating};
use crate::model::PodFacts;

/// The position of a pod. `api_minor` is the minor version of the API server, which decides some of kubectl's status words.
pub fn locate(facts: &PodFacts, api_minor: u32) -> PipelinePosition {
    if facts.is_only_on_disk() {
        return on_disk::locate(facts);
    }
    let input = PodInput::new(facts, api_minor);
    let stages = stages(&input);
    let current = current(&input, &stages);
    let (stage, state, since) = (current.stage, current.state, current.since);
    let is_failing = (stage, state) == (Stage::Running, StageState::Failed) && !input.is_terminal();
    let since_at_latest = is_failing && stages_of_containers::is_start_bound(&input);
    let (status, status_from) = pod_status(&input);
    PipelinePosition {
        reason: reason(&input, stage, state),
        next: next(&input, stage),
        containers: input.containers,
        stages,
        stage,
        state,
        since,
        since_at_latest,
        status,
        status_from,
    }
}

/// Every stage, in order. Each depends on the ones before it.
fn stages(input: &PodInput) -> Vec<StageProgress> {
    let mut stages = vec![stages_to_sandbox::scheduling(input)];
    stages.push(stages_to_sandbox::admission(input, &stages));
    stages.push(stages_to_sandbox::volumes(input, &stages));
    stages.push(stages_to_sandbox::sandbox(input, &stages));
    stages.push(stages_of_containers::init(input, &stages));
    for stage in [Stage::Image, Stage::Create, Stage::Start] {
        stages.push(stages_of_containers::bring_up(input, stage, &stages));
    }
    stages.push(stages_of_containers::probes(input, &stages));
    stages.push(stages_of_containers::ready(input, &stages));
    stages.push(stages_of_containers::running(input, &stages));
    stages.push(terminating::terminating(input));
    stages
}

/// The stage where the pod is: the earliest one that is not passed. A container that has run and failed is shown in
/// `running`, although probes and readiness are not passed either.
fn current<'s>(input: &PodInput, stages: &'s [StageProgress]) -> &'s StageProgress {
    let get = |stage: Stage| stages.iter().find(|s| s.stage == stage).unwrap_or(&stages[0]);
    let running = get(Stage::Running);
    if input.pod.is_some_and(|p| p.metadata.deletion_timestamp.is_some()) || input.is_orphan() {
        return get(Stage::Terminating);
    }
    let is_open = |s: &&StageProgress| matches!(s.state, StageState::Failed | StageState::Active | StageState::Waiting);
    let first_open = stages.iter().filter(|s| s.stage < Stage::Running).find(is_open);
    match (input.phase(), first_open) {
        ("Failed", _) if input.is_rejected() => get(Stage::Admission),
        ("Failed", Some(stage)) if stage.stage == Stage::Init && stage.state == StageState::Failed => stage,
        ("Succeeded" | "Failed", _) => running,
        (_, Some(stage)) if stage.stage >= Stage::Probes && running.state == StageState::Failed => running,
        (_, Some(stage)) => stage,
        (_, None) => running,
    }
}
