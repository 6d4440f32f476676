//! Owns the names of the sources, their one state machine, and what is said when one fails.
//! It must not retry, connect or decide anything.

use serde::{Deserialize, Serialize};

use super::Time;
use crate::text::Message;

/// One way of looking at the node.
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
    /// API server: pods that no scheduler has placed yet.
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
    /// The machine: systemd's units, boot time, what lies on disk of pods.
    Machine,
    /// What containers wrote: the last lines of those that ended badly.
    ContainerLog,
    /// Any other log that was given: a network agent's, a storage driver's.
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

    /// What is asked for, in the words of an error: the request, where the source is a page.
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

/// What a source is doing; drawn the same way in the header, in JSON and in `doctor`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum SourceState {
    /// Not used, and why.
    Off {
        /// Why.
        why: Message,
    },
    /// First attempt under way.
    Connecting,
    /// Answers.
    Live {
        /// Since when without a break.
        since: Time,
    },
    /// Answers, and more than is kept: objects were left out.
    Degraded {
        /// Since when it answers without a break.
        since: Time,
        /// What was left out, and what to do.
        error: SourceError,
    },
    /// Failed; will be tried again.
    Retrying {
        /// When the next try is due, if that is planned.
        at: Option<Time>,
        /// What went wrong.
        error: SourceError,
    },
    /// Refused for lack of a permission.
    Forbidden {
        /// What was refused and what would grant it.
        error: SourceError,
    },
    /// A recording or an import ends here; nothing more will come.
    Ended,
}

/// One failure of one source: what was tried, what kind of failure it was, and what to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceError {
    /// What was tried, and the answer.
    pub tried: Message,
    /// The kind of failure.
    pub kind: ErrorKind,
    /// What to do about it; empty when there is nothing to do but wait.
    #[serde(default, skip_serializing_if = "Message::is_empty")]
    pub fix: Message,
}

/// Kinds of failure that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// Nothing answers there.
    Unreachable,
    /// Something answers, too late.
    Timeout,
    /// 401 or 403, or a permission of the file system.
    Denied,
    /// The answer could not be understood.
    Malformed,
    /// More came than is read or kept.
    TooLarge,
    /// Anything else.
    #[serde(other)]
    Other,
}

/// Calls that are timed from begin to end, so that one in flight shows its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// ListPodSandbox and ListContainers: what a relist pays.
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
