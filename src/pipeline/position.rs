//! The position of a pod in the pipeline.

use super::container::ContainerPosition;
use super::next::Next;
use super::stage::{Stage, StageProgress, StageState};
use super::status::KubectlStatus;
use crate::observation::{Source, Time};
use crate::text::Text;

/// The position of a pod in the pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelinePosition {
    /// Every stage, in pipeline order.
    pub stages: Vec<StageProgress>,
    /// The current stage.
    pub stage: Stage,
    /// Its state.
    pub state: StageState,
    /// Since when the pod is in this stage; in `running` after a failure, since the first known exit.
    pub since: Option<Time>,
    /// The pod may be in this stage for longer: `since` is the earliest known time.
    pub since_at_latest: bool,
    /// What fails, or what the pod waits for, in the words of the source; empty if nothing.
    pub reason: Text,
    /// The containers.
    pub containers: Vec<ContainerPosition>,
    /// The status columns of kubectl.
    pub status: KubectlStatus,
    /// The source of the status: API server, kubelet, runtime, or `machine` if only the disk shows the pod.
    pub status_from: Source,
    /// The next expected action, and when.
    pub next: Option<Next>,
}

impl PipelinePosition {
    /// Only exited containers are left of the pod, which the kubelet has not removed yet. kubectl does not list it either.
    pub fn is_left_over(&self) -> bool {
        self.stage == Stage::Terminating && self.state == StageState::Done
    }

    /// The position while the kubelet does not respond: without times of restarts, pulls and kills, which only the kubelet
    /// does.
    #[must_use]
    pub(super) fn without_kubelet(mut self) -> Self {
        self.next = self.next.map(|next| Next { at: None, estimated: false, ..next });
        self.containers.iter_mut().for_each(|c| c.retry_at = None);
        self
    }

    /// The progress in one stage.
    pub fn progress(&self, stage: Stage) -> Option<&StageProgress> {
        self.stages.iter().find(|s| s.stage == stage)
    }
}
