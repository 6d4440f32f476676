//! Metadata and conditions of objects. Of annotations only the kubelet's own are decoded, and no labels.

use serde::{Deserialize, Serialize};

use super::limits::{FINALIZERS, OWNERS};
use super::{Bounded, BoundedEntry, OmittedCount, Time, is_default, nullable};
use crate::text::{Message, Text};

slim! {
    /// `metadata` of any object.
    Meta {
        /// `metadata.name`.
        name: Text,
        /// `metadata.namespace`; empty for cluster-scoped objects.
        namespace: Text,
        /// `metadata.uid`; for a mirror pod not the UID in the runtime.
        uid: Text,
        /// `metadata.creationTimestamp`.
        creation_timestamp: Option<Time>,
        /// The deadline of a graceful deletion: request time plus grace.
        deletion_timestamp: Option<Time>,
        /// Grace period of the deletion in progress, seconds.
        deletion_grace_period_seconds: Option<i64>,
        /// Finalizers, which keep the object after its containers are gone.
        finalizers: Bounded<Text, FINALIZERS>,
        /// Owners, the controller among them.
        owner_references: Bounded<Owner, OWNERS>,
        /// The kubelet's own annotations; no other is decoded.
        annotations: KubeletAnnotations,
    }
}

slim! {
    /// One entry of `metadata.ownerReferences`.
    Owner {
        /// Kind, such as `ReplicaSet`.
        kind: Text,
        /// Name of the owner.
        name: Text,
        /// True for the managing controller.
        controller: bool,
    }
}

slim! {
    /// Annotations of the kubelet's config sources (`pkg/kubelet/types/pod_update.go`).
    KubeletAnnotations {
        /// On a mirror pod: the UID of the static pod it mirrors.
        mirror: Text = "kubernetes.io/config.mirror",
        /// On a static pod: its own UID.
        hash: Text = "kubernetes.io/config.hash",
        /// `api`, `file` or `http`.
        source: Text = "kubernetes.io/config.source",
        /// When this kubelet process first saw the pod (RFC 3339 with nanoseconds).
        seen: Text = "kubernetes.io/config.seen",
    }
}

slim! {
    /// A condition of a pod or a node.
    Condition {
        /// Type, such as `Ready`.
        kind: Text = "type",
        /// `True`, `False` or `Unknown`.
        status: Text,
        /// Reason word.
        reason: Text,
        /// Message.
        message: Message,
        /// Last change of `status`.
        last_transition_time: Option<Time>,
        /// Last time a node condition was written.
        last_heartbeat_time: Option<Time>,
    }
}

/// Conditions of pods and nodes that Kubernetes itself sets (`k8s.io/api/core/v1`).
const OWN_CONDITIONS: [&str; 13] = [
    "Ready",
    "PodScheduled",
    "Initialized",
    "ContainersReady",
    "PodReadyToStartContainers",
    "DisruptionTarget",
    "PodResizePending",
    "PodResizeInProgress",
    "AllContainersRestarting",
    "MemoryPressure",
    "DiskPressure",
    "PIDPressure",
    "NetworkUnavailable",
];

impl BoundedEntry for Owner {
    type Summary = OmittedCount;
    fn fold(self, rest: &mut OmittedCount) {
        rest.add();
    }
    fn is_essential(&self) -> bool {
        self.controller
    }
}

impl BoundedEntry for Condition {
    type Summary = OmittedCount;
    fn fold(self, rest: &mut OmittedCount) {
        rest.add();
    }
    fn is_essential(&self) -> bool {
        OWN_CONDITIONS.contains(&self.kind.as_str())
    }
}

impl Condition {
    /// True when the status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }
}
