//! Owns what the kubelet says of itself: metrics, settings, health, log lines and spans.
//! It must not compare two scrapes: differences are the model's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Time;
use crate::text::{Message, Text};

/// One cumulative bucket: observations of at most `le` seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket(
    /// Upper bound in seconds. `+Inf` is not stored: it is the histogram's `count`.
    pub f64,
    /// Observations up to the bound.
    pub u64,
);

/// A Prometheus histogram at one scrape.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Finite buckets by ascending bound.
    pub buckets: Vec<Bucket>,
    /// Sum of all observations, seconds.
    pub sum: f64,
    /// Number of observations: the `+Inf` bucket.
    pub count: u64,
}

/// Totals of one kind of runtime operation (`kubelet_runtime_operations_*`), recorded when a call returns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationTotals {
    /// Latency.
    pub duration: Histogram,
    /// Calls that failed.
    #[serde(default)]
    pub errors: u64,
}

/// What is kept of one page of kubelet metrics. An absent family is absent here, which is not zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scrape {
    /// `process_start_time_seconds`: a later one is a kubelet restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_start: Option<f64>,
    /// `kubernetes_build_info{git_version}`.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub version: Text,
    /// `kubelet_pleg_relist_duration_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relist: Option<Histogram>,
    /// `kubelet_pleg_relist_interval_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Histogram>,
    /// `kubelet_pleg_last_seen_seconds`: begin of the last relist, Unix seconds; written only when the health check asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<f64>,
    /// `kubelet_pleg_discard_events`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarded: Option<u64>,
    /// `kubelet_runtime_operations_*` by `operation_type`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operations: BTreeMap<Text, OperationTotals>,
    /// `kubelet_working_pods` by `lifecycle/config`, as in `sync/desired`, static pods and others together; written by
    /// the housekeeping every two seconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub working: BTreeMap<Text, u64>,
    /// `kubelet_pod_start_sli_duration_seconds`: from creation to running, without image pulls and init containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_sli: Option<Histogram>,
}

/// Settings of `/configz` that are shown or that set a clock. Durations in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KubeletConfig {
    /// `crashLoopBackOff.maxContainerRestartPeriod`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_container_restart_period: Option<f64>,
    /// `serializeImagePulls`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serialize_image_pulls: Option<bool>,
    /// `maxPods`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pods: Option<u32>,
    /// `syncFrequency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_frequency: Option<f64>,
    /// `featureGates.EventedPLEG`: changes the relist period to 300 s and the threshold to 10 min.
    #[serde(default)]
    pub evented_pleg: bool,
    /// Settings worth knowing by their name, as text; of one that is a map each entry by `name.key`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<Text, Text>,
}

/// An answer of `/healthz`, which stays `ok` while PLEG is unhealthy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// HTTP 200.
    pub ok: bool,
    /// The body.
    pub text: Message,
}

/// One line of a log, as far as it was understood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// The time the line itself carries.
    pub at: Time,
    /// It is an error or a warning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub severe: bool,
    /// Pod as `namespace/name`, where the line names one.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub pod: Text,
    /// Pod UID, where the line names one.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub uid: Text,
    /// What it says.
    pub what: LogKind,
}

/// Log lines that mean something to the pipeline (kubelet messages of 1.34 to 1.36, matched on the message alone).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum LogKind {
    /// `SyncLoop ADD`: the kubelet has the pod.
    PodSeen {
        /// `api`, `file` or `http`.
        source: Text,
    },
    /// `SyncLoop DELETE`.
    PodDelete,
    /// `SyncLoop REMOVE`.
    PodRemove,
    /// `Pod admission denied`.
    AdmissionDenied {
        /// Reason word.
        reason: Text,
        /// Message.
        message: Message,
    },
    /// `Creating PodSandbox for pod` (level 4): an attempt begins. `No sandbox for pod can be found` is no such proof:
    /// the kubelet writes it whenever it makes a status for a pod without one.
    SandboxCreating,
    /// `Failed to create sandbox for pod`.
    SandboxFailed {
        /// The runtime's error.
        error: Message,
    },
    /// `Error syncing pod, skipping`.
    SyncError {
        /// The full chain of reasons.
        error: Message,
    },
    /// `Observed pod startup duration`.
    Startup {
        /// podStartE2EDuration, seconds.
        e2e_s: f64,
        /// podStartSLOduration, seconds: without image pulls and init containers.
        slo_s: f64,
    },
    /// `Killing container with a grace period`.
    Killing {
        /// Container.
        container: Text,
        /// Grace, seconds.
        grace_s: i64,
    },
    /// `Generic (PLEG): container finished`.
    ContainerFinished {
        /// Container id.
        container: Text,
        /// Exit code.
        exit_code: i32,
    },
    /// `SyncLoop (PLEG): event for pod`: a relist found that a container or a sandbox has changed.
    PlegEvent {
        /// `ContainerStarted`, `ContainerDied`, `ContainerRemoved`, …
        event: Text,
        /// Container or sandbox id; the two are not told apart.
        id: Text,
    },
    /// `Skipping pod synchronization`: the loop is blocked.
    LoopBlocked {
        /// Why.
        error: Message,
    },
    /// `GenericPLEG: Unable to retrieve pods`, or an event channel that is full.
    PlegTrouble {
        /// The message.
        error: Message,
    },
    /// Any other line that is an error or a warning.
    Other {
        /// The message with its error.
        message: Message,
    },
    /// A line that a container wrote.
    Output {
        /// Container.
        container: Text,
        /// The line.
        line: Message,
    },
}

impl LogKind {
    /// What an error, a warning or a container's own line says; nothing for what only marks progress.
    pub fn text(&self) -> Option<Text> {
        Some(match self {
            LogKind::AdmissionDenied { reason, message } => format!("Pod admission denied: {reason}: {message}").into(),
            LogKind::SandboxFailed { error } => format!("Failed to create sandbox for pod: {error}").into(),
            LogKind::SyncError { error } => format!("Error syncing pod, skipping: {error}").into(),
            LogKind::LoopBlocked { error } => format!("Skipping pod synchronization: {error}").into(),
            LogKind::PlegTrouble { error } => error.text(),
            LogKind::Other { message } => message.text(),
            LogKind::Output { line, .. } => line.text(),
            LogKind::PodSeen { .. }
            | LogKind::PodDelete
            | LogKind::PodRemove
            | LogKind::SandboxCreating
            | LogKind::Startup { .. }
            | LogKind::Killing { .. }
            | LogKind::ContainerFinished { .. }
            | LogKind::PlegEvent { .. } => return None,
        })
    }

    /// The container that wrote the line.
    pub fn container(&self) -> Option<&Text> {
        match self {
            LogKind::Output { container, .. } => Some(container),
            _ => None,
        }
    }
}

/// A finished span of the kubelet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// `syncPod`, `runtime.v1.RuntimeService/RunPodSandbox`, …
    pub name: Text,
    /// Trace id.
    pub trace: Text,
    /// Span id.
    pub id: Text,
    /// Parent span id; empty for a root.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub parent: Text,
    /// Begin.
    pub begin: Time,
    /// End.
    pub end: Time,
    /// `k8s.pod.uid`, on syncPod spans.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub uid: Text,
    /// The call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}
