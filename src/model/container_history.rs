//! Owns what one source showed of a pod over time and no longer says: ends of containers, and since when it says what it says.
//! It must not outlive the pod in that source, nor mix two sources.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::objects::limits::RUNTIME_CONTAINERS;
use crate::objects::{ContainerState, ContainerStatus, Pod, Terminated};
use crate::observation::{Container, ContainerPhase, Time};
use crate::text::Text;

/// Ends of containers kept for one pod and source.
const EXITS_KEPT: usize = 64;

/// One end of one container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exit {
    /// Container name.
    pub container: Text,
    /// Container id without the runtime's prefix; unique.
    pub id: Text,
    /// Start; absent when it never started.
    pub started: Option<Time>,
    /// End.
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

/// Reasons with which a container ends that never ran (containerd: StartError; cri-dockerd: ContainerCannotRun).
pub fn never_ran(reason: &str) -> bool {
    matches!(reason, "StartError" | "ContainerCannotRun")
}

/// What one source showed of one pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContainerHistory {
    /// Ends, by container id.
    exits: BTreeMap<Text, Exit>,
    /// Per container, the word of its state now and since when this source says it.
    words: BTreeMap<Text, (Text, Time)>,
    /// First time the source showed Ready True.
    pub first_ready: Option<Time>,
    /// First time the source showed a deletion timestamp.
    pub deletion_seen: Option<Time>,
}

impl ContainerHistory {
    /// Takes in a pod as the API server or the kubelet shows it at `at`.
    pub(super) fn pod(&mut self, pod: &Pod, at: Time) {
        let mut names = BTreeSet::new();
        for status in pod.status.all_containers() {
            self.status(status, at);
            names.insert(&status.name);
        }
        if self.words.len() > RUNTIME_CONTAINERS {
            self.words.retain(|name, _| names.contains(name));
        }
        if let Some(ready) = pod.status.condition("Ready").filter(|c| c.is_true()) {
            self.first_ready.get_or_insert(ready.last_transition_time.unwrap_or(at));
        }
        match pod.metadata.deletion_timestamp {
            Some(_) => _ = self.deletion_seen.get_or_insert(at),
            None => self.deletion_seen = None,
        }
    }

    fn status(&mut self, status: &ContainerStatus, at: Time) {
        let word: Text = state_word(&status.state).into();
        if self.words.get(&status.name).is_none_or(|(old, _)| *old != word) {
            self.words.insert(status.name.clone(), (word, at));
        }
        for end in [&status.state.terminated, &status.last_state.terminated].into_iter().flatten() {
            self.terminated(&status.name, end);
        }
    }

    fn terminated(&mut self, container: &Text, end: &Terminated) {
        let id = bare_id(&end.container_id);
        // Without an id and a time it is no end of anything, but the kubelet's word for a container that it does not find.
        if id.is_empty() && nonzero_time(end.started_at).is_none() && nonzero_time(end.finished_at).is_none() {
            return;
        }
        // A container whose end the kubelet made up has no id: its end time tells it apart.
        let id = if id.is_empty() { format!("{container}@{:?}", end.finished_at) } else { id.to_owned() };
        self.add(Exit {
            container: container.clone(),
            id: id.into(),
            started: nonzero_time(end.started_at),
            finished: nonzero_time(end.finished_at),
            exit_code: end.exit_code,
            reason: end.reason.clone(),
        });
    }

    /// Takes in a container as the runtime shows it.
    pub(super) fn container(&mut self, container: &Container) {
        if container.phase == ContainerPhase::Exited
            && let Some(exit_code) = container.exit_code
        {
            self.add(Exit {
                container: container.name.clone(),
                id: container.id.clone(),
                started: nonzero_time(container.started_at),
                finished: nonzero_time(container.finished_at),
                exit_code,
                reason: container.reason.clone(),
            });
        }
    }

    fn add(&mut self, exit: Exit) {
        self.exits.insert(exit.id.clone(), exit);
        if self.exits.len() > EXITS_KEPT
            && let Some(oldest) = self.exits.values().min_by_key(|e| e.finished).map(|e| e.id.clone())
        {
            self.exits.remove(&oldest);
        }
    }

    /// Since when this source says the container's state word of now.
    pub fn state_since(&self, container: &str) -> Option<Time> {
        self.words.get(container).map(|(_, since)| *since)
    }

    /// The ends this source showed.
    pub fn exits(&self) -> impl Iterator<Item = &Exit> {
        self.exits.values()
    }
}

/// The ends of both sources, oldest first; the runtime's word has the finer times and wins.
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

/// The id behind `containerd://`.
pub fn bare_id(id: &str) -> &str {
    id.split_once("://").map_or(id, |(_, bare)| bare)
}

/// Go's zero time and the 1970 of a task that never started are no times.
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
