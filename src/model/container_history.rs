//! What one source has reported about the containers of a pod over time: exits, and since when each is in its state. It is
//! dropped when the source no longer lists the pod.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::objects::limits::RUNTIME_CONTAINERS;
use crate::objects::{ContainerState, ContainerStatus, Pod, Terminated};
use crate::observation::{Container, ContainerPhase, Time};
use crate::text::Text;

/// Exits kept per pod and source.
const EXITS_KEPT: usize = 64;

/// One exit of one container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exit {
    /// Container name.
    pub container: Text,
    /// Container id without the runtime's prefix; unique.
    pub id: Text,
    /// Start; None if it has never started.
    pub started: Option<Time>,
    /// Exit time.
    pub finished: Option<Time>,
    /// Exit code.
    pub exit_code: i32,
    /// Reason.
    pub reason: Text,
}

impl Exit {
    /// The task was never started (containerd's StartError; its start time is 1970).
    pub fn never_ran(&self) -> bool {
        never_ran(&self.reason)
    }
}

/// Termination reasons of a container that has never run (containerd: StartError; cri-dockerd: ContainerCannotRun).
pub fn never_ran(reason: &str) -> bool {
    matches!(reason, "StartError" | "ContainerCannotRun")
}

/// The history of the containers of one pod in one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContainerHistory {
    /// Exits, by container id.
    exits: BTreeMap<Text, Exit>,
    /// The state of each container, and since when the source reports it.
    #[serde(rename = "words")]
    states: BTreeMap<Text, (Text, Time)>,
    /// When the source first reported the pod Ready.
    pub first_ready: Option<Time>,
}

impl ContainerHistory {
    /// Adds a pod as the API server or the kubelet reports it at `at`.
    pub(super) fn add_pod(&mut self, pod: &Pod, at: Time) {
        let mut names = BTreeSet::new();
        for status in pod.status.all_containers() {
            self.add_status(status, at);
            names.insert(&status.name);
        }
        if self.states.len() > RUNTIME_CONTAINERS {
            self.states.retain(|name, _| names.contains(name));
        }
        if let Some(ready) = pod.status.condition("Ready").filter(|c| c.is_true()) {
            self.first_ready.get_or_insert(ready.last_transition_time.unwrap_or(at));
        }
    }

    fn add_status(&mut self, status: &ContainerStatus, at: Time) {
        let state: Text = state_word(&status.state).into();
        if self.states.get(&status.name).is_none_or(|(old, _)| *old != state) {
            self.states.insert(status.name.clone(), (state, at));
        }
        for termination in [&status.state.terminated, &status.last_state.terminated].into_iter().flatten() {
            self.add_termination(&status.name, termination);
        }
    }

    fn add_termination(&mut self, container: &Text, termination: &Terminated) {
        let id = bare_id(&termination.container_id);
        // Without an id and a time the kubelet only reports that it does not find the container.
        if id.is_empty()
            && nonzero_time(termination.started_at).is_none()
            && nonzero_time(termination.finished_at).is_none()
        {
            return;
        }
        // A termination that the kubelet has assumed has no container id: use its time instead.
        let id = if id.is_empty() { format!("{container}@{:?}", termination.finished_at) } else { id.to_owned() };
        self.add_exit(Exit {
            container: container.clone(),
            id: id.into(),
            started: nonzero_time(termination.started_at),
            finished: nonzero_time(termination.finished_at),
            exit_code: termination.exit_code,
            reason: termination.reason.clone(),
        });
    }

    /// Adds a container as the runtime reports it.
    pub(super) fn add_container(&mut self, container: &Container) {
        if container.phase == ContainerPhase::Exited
            && let Some(exit_code) = container.exit_code
        {
            self.add_exit(Exit {
                container: container.name.clone(),
                id: container.id.clone(),
                started: nonzero_time(container.started_at),
                finished: nonzero_time(container.finished_at),
                exit_code,
                reason: container.reason.clone(),
            });
        }
    }

    fn add_exit(&mut self, exit: Exit) {
        self.exits.insert(exit.id.clone(), exit);
        if self.exits.len() > EXITS_KEPT
            && let Some(oldest) = self.exits.values().min_by_key(|e| e.finished).map(|e| e.id.clone())
        {
            self.exits.remove(&oldest);
        }
    }

    /// Since when the source reports the current state of the container.
    pub fn state_since(&self, container: &str) -> Option<Time> {
        self.states.get(container).map(|(_, since)| *since)
    }

    /// The exits that the source has reported.
    pub fn exits(&self) -> impl Iterator<Item = &Exit> {
        self.exits.values()
    }
}

/// The exits that all sources have reported, oldest first; those of the runtime take precedence, as its times are finer.
pub fn merged_exits(
    api: Option<&ContainerHistory>,
    kubelet: Option<&ContainerHistory>,
    cri: Option<&ContainerHistory>,
) -> Vec<Exit> {
    let mut by_id = BTreeMap::new();
    for exit in [api, kubelet, cri].into_iter().flatten().flat_map(ContainerHistory::exits) {
        by_id.insert(exit.id.clone(), exit.clone());
    }
    let mut exits: Vec<Exit> = by_id.into_values().collect();
    exits.sort_by(|a, b| (a.finished, &a.id).cmp(&(b.finished, &b.id)));
    exits
}

/// The id without its scheme, such as `containerd://`.
pub fn bare_id(id: &str) -> &str {
    id.split_once("://").map_or(id, |(_, bare)| bare)
}

/// None for Go's zero time and for 1970, the start time of a task that has never started.
pub fn nonzero_time(time: Option<Time>) -> Option<Time> {
    time.filter(|t| t.timestamp() > 0)
}

fn state_word(state: &ContainerState) -> &str {
    match (&state.waiting, &state.running, &state.terminated) {
        (Some(w), ..) => &w.reason,
        (_, Some(_), _) => "running",
        (_, _, Some(t)) => &t.reason,
        _ => "",
    }
}
