//! Owns which panes there are, in the order of their number keys.
//! It must not draw them: one file per pane does.

pub mod events;
pub mod kubelet;
pub mod log;
pub mod node;
pub mod pod;
pub mod pods;
pub mod runbook;

/// A pane of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pane {
    /// The table of pods.
    #[default]
    Pods,
    /// One pod.
    Pod,
    /// What feeds the kubelet's sync loop.
    Kubelet,
    /// The node's conditions and resources.
    Node,
    /// All events about the node and its pods.
    Events,
    /// The runbook: its entries, or one of them.
    Runbook,
}

impl Pane {
    /// All, by number key.
    pub const ALL: [Pane; 6] = [Pane::Pods, Pane::Pod, Pane::Kubelet, Pane::Node, Pane::Events, Pane::Runbook];

    /// As its tab and the palette name it.
    pub fn name(self) -> &'static str {
        match self {
            Pane::Pods => "Pods",
            Pane::Pod => "Pod",
            Pane::Kubelet => "Kubelet",
            Pane::Node => "Node",
            Pane::Events => "Events",
            Pane::Runbook => "Runbook",
        }
    }

    /// The pane `step` tabs to the right, round the end.
    #[must_use]
    pub fn beside(self, step: isize) -> Self {
        let count = Self::ALL.len() as isize;
        let at = Self::ALL.iter().position(|p| *p == self).unwrap_or(0) as isize;
        Self::ALL[(at + step).rem_euclid(count) as usize]
    }
}
