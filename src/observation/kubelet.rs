//! What the kubelet reports about itself: metrics, settings, health and spans.
//! Differences between two scrapes belong to the model.

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
