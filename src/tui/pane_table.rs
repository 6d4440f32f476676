//! The table of panes. A new pane is one folder in `panes/` and one line here; tabs, number keys, help and palette follow it.

use crate::tui::keys::press::{KeyPress, char_key};

/// Passes the table to a macro. A line: identifier, field of `Panes`, type of the pane, number key, title of its tab,
/// command, text of the help.
macro_rules! pane_table {
    ($callback:ident) => {
        $callback! {
            Pods, pods, pods::PodsPane, '1', "Pods", "pods", "pods: the table of all pods";
            Pod, pod, pod::PodPane, '2', "Pod", "pod", "pod: details of the selected pod";
            Kubelet, kubelet, kubelet::KubeletPane, '3', "Kubelet", "kubelet", "kubelet: sync loop, PLEG, runtime operations";
            Node, node, node::NodePane, '4', "Node", "node", "node: conditions and resources";
            Events, events, events::EventsPane, '5', "Events", "events", "events of the node and its pods";
            Runbook, runbook, runbook::RunbookPane, '6', "Runbook", "runbook", "runbook: all entries";
        }
    };
}

macro_rules! define_ids {
    ($($id:ident, $field:ident, $pane:ty, $key:literal, $title:literal, $command:literal, $help:literal;)*) => {
        /// A pane of the screen.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum PaneId {
            $($id),*
        }

        impl PaneId {
            /// All panes in the order of their tabs.
            pub const ALL: &[PaneId] = &[$(PaneId::$id),*];

            /// Title of the tab.
            pub fn title(self) -> &'static str {
                match self {
                    $(PaneId::$id => $title),*
                }
            }

            /// Number key.
            pub fn keys(self) -> &'static [KeyPress] {
                match self {
                    $(PaneId::$id => const { &[char_key($key)] }),*
                }
            }

            /// Name in the palette and the configuration.
            pub fn command(self) -> &'static str {
                match self {
                    $(PaneId::$id => $command),*
                }
            }

            /// Text of the number key in the help.
            pub fn help(self) -> &'static str {
                match self {
                    $(PaneId::$id => $help),*
                }
            }
        }
    };
}

pane_table!(define_ids);

pub(crate) use pane_table;

impl PaneId {
    /// The pane `step` tabs to the right, cyclically.
    #[must_use]
    pub fn beside(self, step: isize) -> Self {
        let count = Self::ALL.len() as isize;
        let at = Self::ALL.iter().position(|id| *id == self).unwrap_or(0) as isize;
        Self::ALL[(at + step).rem_euclid(count) as usize]
    }
}
