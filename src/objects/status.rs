//! Owns how a pod is said to be: phase, conditions, containers with their states.
//! It must not judge what it says.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Condition, Time, is_default, nullable};
use crate::text::{Message, Text};

slim! {
    /// `pod.status`.
    PodStatus {
        /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
        phase: Text,
        /// Pod-level reason, such as `Evicted` or `OutOfcpu`.
        reason: Text,
        /// Pod-level message.
        message: Message,
        /// When the kubelet first computed a status: proof that it has the pod.
        start_time: Option<Time>,
        /// `Guaranteed`, `Burstable` or `BestEffort`.
        qos_class: Text,
        /// Pod conditions.
        conditions: Vec<Condition>,
        /// Statuses of init containers and sidecars, in spec order.
        init_container_statuses: Vec<ContainerStatus>,
        /// Statuses of app containers.
        container_statuses: Vec<ContainerStatus>,
        /// Statuses of ephemeral containers.
        ephemeral_container_statuses: Vec<ContainerStatus>,
        /// Pod address.
        pod_ip: Text = "podIP",
        /// In-place resize before 1.33 told it by a condition: `Proposed`, `InProgress`, `Deferred`, `Infeasible`.
        resize: Text,
    }
}

impl PodStatus {
    /// The condition of that type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == kind)
    }

    /// True when the condition of that type has status `True`.
    pub fn is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(Condition::is_true)
    }

    /// `Succeeded` or `Failed`: nothing will run again under this UID.
    pub fn is_terminal(&self) -> bool {
        self.phase == "Succeeded" || self.phase == "Failed"
    }

    /// Every container status: init, app, ephemeral.
    pub fn all_containers(&self) -> impl Iterator<Item = &ContainerStatus> {
        self.init_container_statuses.iter().chain(&self.container_statuses).chain(&self.ephemeral_container_statuses)
    }
}

slim! {
    /// One entry of the container status lists.
    ContainerStatus {
        /// Container name.
        name: Text,
        /// Image as resolved.
        image: Text,
        /// `containerd://…`; empty before the container was first created.
        #[serde(rename = "containerID")]
        container_id: Text,
        /// Passed its readiness probe; for a regular init container: ended with 0.
        ready: bool,
        /// Passed its startup probe (None before it ran).
        started: Option<bool>,
        /// Restarts so far.
        restart_count: u32,
        /// The state now.
        state: ContainerState,
        /// The state before the last restart.
        last_state: ContainerState,
    }
}

slim! {
    /// Exactly one of the three is set in a status that the kubelet wrote; none in an empty one.
    ContainerState {
        /// Not running yet, or between restarts.
        waiting: Option<Waiting>,
        /// Running.
        running: Option<Running>,
        /// Ended.
        terminated: Option<Terminated>,
    }
}

slim! {
    /// `state.waiting`.
    Waiting {
        /// Reason, usually one word.
        reason: Text,
        /// Message.
        message: Message,
    }
}

slim! {
    /// `state.running`.
    Running {
        /// When the container started.
        started_at: Option<Time>,
    }
}

slim! {
    /// `state.terminated`.
    Terminated {
        /// Id of the container that ended: what tells two ends apart.
        #[serde(rename = "containerID")]
        container_id: Text,
        /// Exit code.
        exit_code: i32,
        /// Signal number where the runtime reports one; 0 otherwise.
        signal: i32,
        /// `Completed`, `Error`, `OOMKilled`, `StartError`, …
        reason: Text,
        /// Message, from the termination message file or the runtime.
        message: Message,
        /// Start; 1970 when the task never started.
        started_at: Option<Time>,
        /// End.
        finished_at: Option<Time>,
    }
}

impl fmt::Display for ContainerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.waiting, &self.running, &self.terminated) {
            (_, Some(_), _) => f.write_str("running"),
            (_, _, Some(t)) if t.reason.is_empty() => write!(f, "exited {}", t.exit_code),
            (_, _, Some(t)) => write!(f, "{} (exit {})", t.reason, t.exit_code),
            (Some(w), ..) => f.write_str(if w.reason.is_empty() { "waiting" } else { &w.reason }),
            _ => f.write_str("unknown"),
        }
    }
}
