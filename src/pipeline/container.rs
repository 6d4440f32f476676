//! The position of one container in its own stages.

use super::evidence::Evidence;
use super::stage::{Stage, StageState};
use crate::observation::Time;
use crate::text::Text;

/// The role of a container in its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerKind {
    /// Runs to completion before the app containers start.
    Init,
    /// An init container that keeps running (KEP-753).
    Sidecar,
    /// One of `spec.containers`.
    App,
    /// An ephemeral container, added for debugging.
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

/// The position of one container in its own stages: image, create, start, probes or running.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerPosition {
    /// Name.
    pub name: Text,
    /// Kind.
    pub kind: ContainerKind,
    /// The image as in the spec, else as the runtime reports it.
    pub image: Text,
    /// The current stage.
    pub stage: Stage,
    /// The state of that stage.
    pub state: StageState,
    /// Since when the container is in this state.
    pub since: Option<Time>,
    /// The state in a word: the API's, or the runtime's if that is newer.
    pub word: Text,
    /// The waiting or termination message, or an event with more detail.
    pub message: Text,
    /// The API's restart count, or the runtime's attempt if that is higher.
    pub restarts: u32,
    /// The `ready` of the container status.
    pub ready: bool,
    /// The container is running or has run.
    pub ran: bool,
    /// Start of the first known run.
    pub first_started: Option<Time>,
    /// Start of the current run.
    pub running_since: Option<Time>,
    /// Exit code, reason and time of the last exit.
    pub last_exit: Option<(i32, Text, Option<Time>)>,
    /// Earliest next start, and whether it is estimated from the restart count; otherwise it is from the kubelet's
    /// back-off message. None while the kubelet does not respond.
    pub retry_at: Option<(Time, bool)>,
    /// What each source reports.
    pub evidence: Vec<Evidence>,
    /// When the image was first present.
    pub(super) image_done: Option<Time>,
    /// When the container was first created.
    pub(super) create_done: Option<Time>,
    /// The spec has a startup or readiness probe.
    pub(super) has_probe: bool,
}
