//! The stages of the kubelet's sync pipeline, and the position of a pod and its containers in them.
//!
//! Top-down: `locator` keeps the positions of all pods, `locate` decides the position of one from its `input`, stage by
//! stage; `reason`, `next` and `pod_status` add to it. A container's own stages are `containers`, `container_position`,
//! `container_stage`. `on_disk` covers pods that only the disk shows.

mod back_off;
mod catch_up;
mod container;
mod container_position;
mod container_stage;
mod containers;
mod evidence;
mod input;
mod locate;
mod locator;
mod next;
mod on_disk;
mod pod_status;
mod position;
mod reason;
mod stage;
mod stages_of_containers;
mod stages_to_sandbox;
mod status;
mod terminating;
#[cfg(test)]
pub(crate) mod tests;

pub use container::{ContainerKind, ContainerPosition};
pub use container_stage::stage_of_reason;
pub use evidence::Evidence;
pub use locator::{LocatedPod, PodLocator};
pub use next::{Next, NextKind};
pub use position::PipelinePosition;
pub use stage::{Stage, StageProgress, StageState};
pub use status::{Readiness, human_duration, kubectl_status};
