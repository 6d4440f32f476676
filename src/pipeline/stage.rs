//! The stages, their order, and the progress of a pod in one of them.

use serde::Serialize;

use super::Evidence;
use crate::observation::Time;

/// A stage of the kubelet's pipeline, in the order of its code path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Until the scheduler has bound the pod.
    Scheduling,
    /// Until the kubelet has admitted the pod.
    Admission,
    /// Until all volumes are attached and mounted.
    Volumes,
    /// Until the sandbox is ready with an address.
    Sandbox,
    /// Until init containers have completed and sidecars have started.
    Init,
    /// Until the images of the app containers are present.
    Image,
    /// Until the app containers are created.
    Create,
    /// Until the app containers run.
    Start,
    /// Until the startup and readiness probes pass.
    Probes,
    /// Until the pod is Ready, readiness gates included.
    Ready,
    /// The steady state, which includes crash loops.
    Running,
    /// From the deletion request until the object is gone.
    Terminating,
}

impl Stage {
    /// All stages, in pipeline order.
    pub const ALL: [Stage; 12] = [
        Stage::Scheduling,
        Stage::Admission,
        Stage::Volumes,
        Stage::Sandbox,
        Stage::Init,
        Stage::Image,
        Stage::Create,
        Stage::Start,
        Stage::Probes,
        Stage::Ready,
        Stage::Running,
        Stage::Terminating,
    ];

    /// The name in JSON, on the screen and in the runbook.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Scheduling => "scheduling",
            Stage::Admission => "admission",
            Stage::Volumes => "volumes",
            Stage::Sandbox => "sandbox",
            Stage::Init => "init",
            Stage::Image => "image",
            Stage::Create => "create",
            Stage::Start => "start",
            Stage::Probes => "probes",
            Stage::Ready => "ready",
            Stage::Running => "running",
            Stage::Terminating => "terminating",
        }
    }
}

/// The state of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StageState {
    /// Not started, or waiting for something outside of the stage.
    Waiting,
    /// In progress.
    Active,
    /// Completed.
    Done,
    /// The last attempt failed; most are retried.
    Failed,
    /// The pod does not need this stage.
    Skipped,
    /// No source reports it.
    Unknown,
}

impl StageState {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            StageState::Waiting => "waiting",
            StageState::Active => "active",
            StageState::Done => "done",
            StageState::Failed => "failed",
            StageState::Skipped => "skipped",
            StageState::Unknown => "unknown",
        }
    }
}

/// The progress of one pod in one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageProgress {
    /// The stage.
    pub stage: Stage,
    /// Its state.
    pub state: StageState,
    /// When it started.
    pub since: Option<Time>,
    /// When it completed.
    pub until: Option<Time>,
    /// What the sources report about it.
    pub evidence: Vec<Evidence>,
}

impl StageProgress {
    /// Without times and evidence.
    pub fn new(stage: Stage, state: StageState) -> Self {
        Self { stage, state, since: None, until: None, evidence: Vec::new() }
    }

    /// A stage that is in progress if all earlier stages are passed; it started when the last of them completed.
    pub(super) fn after(earlier: &[Self], stage: Stage) -> Self {
        if !all_passed(earlier) {
            return Self::new(stage, StageState::Waiting);
        }
        Self { since: last_completion(earlier), ..Self::new(stage, StageState::Active) }
    }

    /// Milliseconds from start to completion; never negative, as the clocks of two sources differ.
    pub fn took_ms(&self) -> Option<i64> {
        Some((self.until? - self.since?).num_milliseconds().max(0))
    }
}

/// Every stage is completed, not needed, or unknown.
pub(super) fn all_passed(stages: &[StageProgress]) -> bool {
    stages.iter().all(|s| matches!(s.state, StageState::Done | StageState::Skipped | StageState::Unknown))
}

/// When the last of the stages completed.
pub(super) fn last_completion(stages: &[StageProgress]) -> Option<Time> {
    stages.iter().rev().find_map(|s| s.until)
}
