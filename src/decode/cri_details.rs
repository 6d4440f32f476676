//! What only the status calls of CRI return of a sandbox or a container, and how it is merged into a list's entry.

use crate::observation::{Container, ContainerPhase, Sandbox, Time};
use crate::text::{Message, Text};

/// Fields that only `ContainerStatus` returns.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerDetails {
    /// Container id.
    pub id: Text,
    /// State at the time of the call.
    pub phase: ContainerPhase,
    /// Start.
    pub started_at: Option<Time>,
    /// Exit.
    pub finished_at: Option<Time>,
    /// Exit code; valid only for an exited container.
    pub exit_code: i32,
    /// Reason word.
    pub reason: Text,
    /// The runtime's message.
    pub message: Message,
    /// Image as the user wrote it, or the image id where the runtime does not return that.
    pub image: Text,
}

impl ContainerDetails {
    /// Merges the details into a list's entry. If the entry has a later state, only the start time and a missing image are
    /// taken.
    pub fn merge_into(&self, container: &mut Container) {
        let rank = |phase| match phase {
            ContainerPhase::Created => Some(0),
            ContainerPhase::Running => Some(1),
            ContainerPhase::Exited => Some(2),
            ContainerPhase::Unknown => None,
        };
        container.started_at = self.started_at.or(container.started_at);
        if container.image.is_empty() {
            container.image = self.image.clone();
        }
        let is_stale = match (rank(self.phase), rank(container.phase)) {
            (Some(details), Some(listed)) => details < listed,
            _ => self.phase != container.phase,
        };
        if is_stale {
            return;
        }
        container.phase = self.phase;
        container.finished_at = self.finished_at;
        container.exit_code = (self.phase == ContainerPhase::Exited).then_some(self.exit_code);
        container.reason = self.reason.clone();
        container.message = self.message.clone();
    }
}

/// Fields that only `PodSandboxStatus` returns.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxDetails {
    /// Sandbox id.
    pub id: Text,
    /// State SANDBOX_READY at the time of the call.
    pub ready: bool,
    /// Pod address; empty for host-network pods.
    pub ip: Text,
}

impl SandboxDetails {
    /// Merges the details into a list's entry. A sandbox that is not ready never becomes ready again.
    pub fn merge_into(&self, sandbox: &mut Sandbox) {
        sandbox.ready &= self.ready;
        sandbox.ip = self.ip.clone();
    }
}
