//! Owns a pod's place: its steps, the stage where it stands, why, and what comes next.
//! It must not decide a single stage: each is decided in `steps`.

use super::container::ContainerPosition;
use super::disk;
use super::stage::{Stage, StageProgress, StageState};
use super::status::KubectlStatus;
use super::steps::Steps;
use crate::model::PodFacts;
use crate::observation::{Source, Time};
use crate::text::Text;

/// What is expected next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextKind {
    /// The next start of a crashing container, not before.
    Restart,
    /// The next try to pull the image, estimated.
    Pull,
    /// The end of the grace period, when the runtime sends KILL.
    GraceEnds,
    /// The end of what the startup probe allows, when the container is killed.
    StartupDeadline,
}

impl NextKind {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            NextKind::Restart => "restart-not-before",
            NextKind::Pull => "pull-retry",
            NextKind::GraceEnds => "grace-ends",
            NextKind::StartupDeadline => "startup-deadline",
        }
    }
}

/// What comes next, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// What.
    pub kind: NextKind,
    /// When; absent while the kubelet, whose work it is, does not answer.
    pub at: Option<Time>,
    /// The time is worked out from what the sources show, not said by one.
    pub estimated: bool,
}

/// Where a pod stands.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelinePosition {
    /// Every stage, in order.
    pub stages: Vec<StageProgress>,
    /// The stage where the pod stands.
    pub stage: Stage,
    /// Its state.
    pub state: StageState,
    /// Since when the pod stands there: the begin of the stage; in `running` after a failure, the first end.
    pub since: Option<Time>,
    /// What the sources say is the matter, or is being waited for; empty when nothing is.
    pub reason: Text,
    /// The containers.
    pub containers: Vec<ContainerPosition>,
    /// The words of kubectl.
    pub status: KubectlStatus,
    /// Whose status that is: the API server's, the kubelet's, made from what the runtime shows, or nobody's (`machine`).
    pub status_from: Source,
    /// What comes next.
    pub next: Option<Next>,
}

impl PipelinePosition {
    /// Nothing is left of the pod but records that the kubelet has not collected yet: kubectl does not list it either.
    pub fn is_left_over(&self) -> bool {
        self.stage == Stage::Terminating && self.state == StageState::Done
    }

    /// The same while the kubelet does not answer: restarts, pulls and kills are its work, and a time would promise what
    /// does not come.
    #[must_use]
    pub(super) fn without_kubelet(mut self) -> Self {
        self.next = self.next.map(|next| Next { at: None, estimated: false, ..next });
        self.containers.iter_mut().for_each(|c| c.retry_at = None);
        self
    }

    /// That stage's step.
    pub fn step(&self, stage: Stage) -> Option<&StageProgress> {
        self.stages.iter().find(|s| s.stage == stage)
    }
}

/// Places a pod. `minor` is the API server's minor version, which decides some of kubectl's words.
pub fn place(facts: &PodFacts, minor: u32) -> PipelinePosition {
    if facts.is_only_on_disk() {
        return disk::place(facts);
    }
    Steps::new(facts, minor).place()
}
