//! Owns the stages of the kubelet's sync pipeline and where a pod and its containers stand on them.
//! It must not ask for the time, do I/O, or look at two pods at once.

mod behind;
mod container;
mod disk;
mod early;
mod evidence;
mod late;
mod next;
mod place;
mod placer;
mod reason;
mod settle;
mod stage;
mod status;
mod steps;
mod terminating;
#[cfg(test)]
pub(crate) mod tests;

pub use container::{ContainerKind, ContainerPosition};
pub use evidence::{Evidence, last_event};
pub use place::{Next, NextKind, PipelinePosition, place};
pub use placer::{LocatedPod, PodLocator};
pub use settle::stage_of_reason;
pub use stage::{Stage, StageProgress, StageState};
pub use status::{KubectlStatus, human_duration, kubectl_status};
