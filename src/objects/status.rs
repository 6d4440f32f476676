//! The status of a pod: phase, conditions, and the states of its containers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::limits::{CONDITIONS, CONTAINERS, EPHEMERAL_CONTAINERS};
use super::{Bounded, BoundedEntry, Condition, OmittedSummary, Time, is_default, nullable};
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
        /// When the kubelet first computed a status: proof that the kubelet has the pod.
        start_time: Option<Time>,
        /// `Guaranteed`, `Burstable` or `BestEffort`.
        qos_class: Text,
        /// Pod conditions.
        conditions: Bounded<Condition, CONDITIONS>,
        /// Statuses of init containers and sidecars, in spec order.
        init_container_statuses: Bounded<ContainerStatus, CONTAINERS>,
        /// Statuses of app containers.
        container_statuses: Bounded<ContainerStatus, CONTAINERS>,
        /// Statuses of ephemeral containers.
        ephemeral_container_statuses: Bounded<ContainerStatus, EPHEMERAL_CONTAINERS>,
        /// Pod address.
        pod_ip: Text = "podIP",
        /// State of an in-place resize before 1.33, which has conditions: `Proposed`, `InProgress`, `Deferred`, `Infeasible`.
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

    /// True for `Succeeded` or `Failed`: no container runs again under this UID.
    pub fn is_terminal(&self) -> bool {
        self.phase == "Succeeded" || self.phase == "Failed"
    }

    /// True if a container runs, kept or left out.
    pub fn is_any_running(&self) -> bool {
        let rest = [
            self.init_container_statuses.rest(),
            self.container_statuses.rest(),
            self.ephemeral_container_statuses.rest(),
        ];
        self.all_containers().any(|c| c.state.running.is_some()) || rest.into_iter().any(|rest| rest.running > 0)
    }

    /// Every container status that is kept: init, app, ephemeral.
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
        /// Passed its readiness probe; for a regular init container: exited with code 0.
        ready: bool,
        /// Passed its startup probe (None before it ran).
        started: Option<bool>,
        /// Number of restarts.
        restart_count: u32,
        /// The current state.
        state: ContainerState,
        /// The state before the last restart.
        last_state: ContainerState,
    }
}

impl ContainerStatus {
    /// The word for the STATUS column of kubectl, and true for a failure; None while it runs or was never started
    /// (printPod in pkg/printers/internalversion/printers.go).
    pub fn kubectl_word(&self) -> Option<(Text, bool)> {
        if let Some(waiting) = self.state.waiting.as_ref().filter(|w| !w.reason.is_empty()) {
            return Some((waiting.reason.clone(), false));
        }
        let t = self.state.terminated.as_ref()?;
        let word = match (&t.reason, t.signal) {
            (reason, _) if !reason.is_empty() => reason.clone(),
            (_, 0) => format!("ExitCode:{}", t.exit_code).into(),
            (_, signal) => format!("Signal:{signal}").into(),
        };
        Some((word, t.exit_code != 0))
    }

    /// True if it counts in the READY column of kubectl.
    pub fn counts_as_ready(&self) -> bool {
        self.ready && self.state.running.is_some() && self.kubectl_word().is_none()
    }

    /// Exit time of the previous run.
    pub fn last_end(&self) -> Option<Time> {
        self.last_state.terminated.as_ref().and_then(|t| t.finished_at)
    }
}

slim! {
    /// Summary of the container statuses that are left out.
    OtherStatuses {
        /// Number of containers.
        count: u64,
        /// Number of running ones.
        running: u64,
        /// Number of running and ready ones.
        ready: u64,
        /// Number that have neither completed nor started; for init containers.
        unfinished: u64,
        /// Sum of restarts.
        restarts: u32,
        /// The last exit before a restart.
        last_end: Option<Time>,
        /// The STATUS word of the first one that has one.
        word: Text,
        /// The STATUS word of the first one that failed.
        error: Text,
    }
}

impl OmittedSummary for OtherStatuses {
    fn count(&self) -> u64 {
        self.count
    }
}

impl BoundedEntry for ContainerStatus {
    type Summary = OtherStatuses;
    fn fold(self, rest: &mut OtherStatuses) {
        let add = |to: &mut u64, is: bool| *to = to.saturating_add(u64::from(is));
        let completed = self.state.terminated.as_ref().is_some_and(|t| t.exit_code == 0);
        add(&mut rest.count, true);
        add(&mut rest.running, self.state.running.is_some());
        add(&mut rest.ready, self.counts_as_ready());
        add(&mut rest.unfinished, !completed && self.started != Some(true));
        rest.restarts = rest.restarts.saturating_add(self.restart_count);
        rest.last_end = rest.last_end.max(self.last_end());
        if let Some((word, failed)) = self.kubectl_word() {
            if failed && rest.error.is_empty() {
                rest.error = word.clone();
            }
            if rest.word.is_empty() {
                rest.word = word;
            }
        }
    }
}

slim! {
    /// Exactly one of the three is set in a status that the kubelet wrote; none in an empty one.
    ContainerState {
        /// Not running yet, or between restarts.
        waiting: Option<Waiting>,
        /// Running.
        running: Option<Running>,
        /// Terminated.
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
        /// Id of the terminated container, which distinguishes two exits.
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
        /// Start; 1970 if the task never started.
        started_at: Option<Time>,
        /// Exit.
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
