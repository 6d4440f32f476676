//! Owns the names and the order of the stages, and what can be said of one.
//! It must not know how a stage is recognised.

use serde::Serialize;

use super::Evidence;
use crate::observation::Time;

/// A stage of the kubelet's pipeline, in the order of its code path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Until the scheduler has bound the pod.
    Scheduling,
    /// Until the kubelet has accepted it.
    Admission,
    /// Until all volumes are attached and mounted.
    Volumes,
    /// Until the sandbox is ready with an address.
    Sandbox,
    /// Until init containers are done and sidecars are started.
    Init,
    /// Until the images of the app containers are present.
    Image,
    /// Until the app containers are created.
    Create,
    /// Until they run.
    Start,
    /// Until startup and readiness probes pass.
    Probes,
    /// Until the pod is Ready, with its gates.
    Ready,
    /// The steady state; a crash loop is told here.
    Running,
    /// From the request to stop until the object is gone.
    Terminating,
}

impl Stage {
    /// All stages, in order.
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
    /// Not begun, or held by something else.
    Waiting,
    /// Under way.
    Active,
    /// Passed.
    Done,
    /// The last attempt failed; most are tried again.
    Failed,
    /// This pod has no such stage.
    Skipped,
    /// No source can tell.
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

/// One stage of one pod.
#[derive(Clone, Debug, PartialEq)]
pub struct StageProgress {
    /// Which.
    pub stage: Stage,
    /// Its state.
    pub state: StageState,
    /// When it began.
    pub since: Option<Time>,
    /// When it was passed.
    pub until: Option<Time>,
    /// Who says so.
    pub evidence: Vec<Evidence>,
}

impl StageProgress {
    /// A step without times or evidence.
    pub fn new(stage: Stage, state: StageState) -> Self {
        Self { stage, state, since: None, until: None, evidence: Vec::new() }
    }

    /// Milliseconds from begin to end; never negative: clocks of different sources differ.
    pub fn took_ms(&self) -> Option<i64> {
        Some((self.until? - self.since?).num_milliseconds().max(0))
    }
}
