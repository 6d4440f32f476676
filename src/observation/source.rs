//! The sources: their names, states and errors.

use serde::{Deserialize, Serialize};

use super::Time;
use crate::text::Message;

/// A source of observations of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// API server: pods bound to this node.
    ApiPods,
    /// API server: the node object.
    ApiNode,
    /// API server: the node's lease, which its kubelet renews.
    ApiLease,
    /// API server: events.
    ApiEvents,
    /// API server: pods that are not bound to a node.
    ApiUnbound,
    /// Container runtime: sandboxes and containers over CRI.
    Cri,
    /// Container runtime: active content ingests, which are image pulls.
    Pulls,
    /// Kubelet: `/pods`.
    KubeletPods,
    /// Kubelet: `/metrics`.
    KubeletMetrics,
    /// Kubelet: `/configz`.
    KubeletConfig,
    /// Kubelet: `/healthz` on 10248.
    KubeletHealth,
    /// Kubelet log.
    KubeletLog,
    /// Runtime log.
    RuntimeLog,
    /// Kubelet spans over OTLP.
    Spans,
    /// Kernel log: kills for memory, faults, hung tasks.
    KernelLog,
    /// The machine: systemd units, boot time, directories of pods.
    Machine,
    /// Output of containers: the last lines of failed ones.
    ContainerLog,
    /// Any other log file that was given, of a network agent or a storage driver.
    OtherLog,
}

impl Source {
    /// Every source, in the order of the header.
    pub const ALL: [Source; 18] = [
        Source::ApiPods,
        Source::ApiNode,
        Source::ApiLease,
        Source::ApiEvents,
        Source::ApiUnbound,
        Source::Cri,
        Source::Pulls,
        Source::KubeletPods,
        Source::KubeletMetrics,
        Source::KubeletConfig,
        Source::KubeletHealth,
        Source::KubeletLog,
        Source::RuntimeLog,
        Source::Spans,
        Source::KernelLog,
        Source::Machine,
        Source::ContainerLog,
        Source::OtherLog,
    ];

    /// The name in JSON and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            Source::ApiPods => "api-pods",
            Source::ApiNode => "api-node",
            Source::ApiLease => "api-lease",
            Source::ApiEvents => "api-events",
            Source::ApiUnbound => "api-unbound",
            Source::Cri => "cri",
            Source::Pulls => "pulls",
            Source::KubeletPods => "kubelet-pods",
            Source::KubeletMetrics => "kubelet-metrics",
            Source::KubeletConfig => "kubelet-config",
            Source::KubeletHealth => "kubelet-health",
            Source::KubeletLog => "kubelet-log",
            Source::RuntimeLog => "runtime-log",
            Source::Spans => "spans",
            Source::KernelLog => "kernel-log",
            Source::Machine => "machine",
            Source::ContainerLog => "container-log",
            Source::OtherLog => "other-log",
        }
    }

    /// The request for an error message; the name of a source without one.
    pub fn request(self) -> &'static str {
        match self {
            Source::KubeletPods => "GET /pods",
            Source::KubeletMetrics => "GET /metrics",
            Source::KubeletConfig => "GET /configz",
            Source::KubeletHealth => "GET /healthz",
            other => other.name(),
        }
    }
}

/// State of a source, with the same words in the header, in JSON and in `doctor`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum SourceState {
    /// Not used, and why.
    Off {
        /// Why.
        why: Message,
    },
    /// The first attempt is in progress.
    Connecting,
    /// Responds.
    Live {
        /// Since when without interruption.
        since: Time,
    },
    /// Responds with more than the budget: objects were left out.
    Degraded {
        /// Since when without interruption.
        since: Time,
        /// What was left out, and what to do.
        error: SourceError,
    },
    /// Failed; is retried.
    Retrying {
        /// Time of the next attempt, if known.
        at: Option<Time>,
        /// The failure.
        error: SourceError,
    },
    /// Refused: a permission is missing.
    Forbidden {
        /// What was refused, and how to grant it.
        error: SourceError,
    },
    /// The end of a recording or an import: no further observations.
    Ended,
}

/// One failure of one source: what was tried, what kind of failure it was, and what to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceError {
    /// The attempt, and its result.
    pub tried: Message,
    /// The kind of failure.
    pub kind: ErrorKind,
    /// What to do about it; empty if the user can only wait.
    #[serde(default, skip_serializing_if = "Message::is_empty")]
    pub fix: Message,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The API server has no node of the name that is used.
    NoSuchNode,
    /// Nothing responds at the address.
    Unreachable,
    /// The process table shows that the process of the address does not run.
    NotRunning,
    /// No response in time.
    Timeout,
    /// 401 or 403, or a permission of the file system.
    Denied,
    /// The response could not be decoded.
    Malformed,
    /// The response is above a size limit.
    TooLarge,
    /// Anything else.
    #[serde(other)]
    Other,
}

/// Calls that are timed from start to end, so that the age of one in flight is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// ListPodSandbox and ListContainers, the calls of a relist.
    CriList,
    /// A scrape of `/metrics`.
    Metrics,
    /// `/pods`.
    KubeletPods,
    /// `/configz`.
    Configz,
    /// `/healthz`.
    Healthz,
    /// `systemctl show`.
    Systemctl,
}
