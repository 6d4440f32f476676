//! Owns what all objects have: metadata with the kubelet's own annotations, and conditions.
//! It must not decode a label, nor an annotation of anybody else.

use serde::{Deserialize, Serialize};

use super::{Time, is_default, nullable};
use crate::text::{Message, Text};

slim! {
    /// `metadata` of any object.
    Meta {
        /// `metadata.name`.
        name: Text,
        /// `metadata.namespace`; empty for cluster-scoped objects.
        namespace: Text,
        /// `metadata.uid`; of a mirror pod this is not the UID that the runtime knows.
        uid: Text,
        /// `metadata.creationTimestamp`.
        creation_timestamp: Option<Time>,
        /// The deadline of a graceful deletion: request time plus grace.
        deletion_timestamp: Option<Time>,
        /// Grace in seconds of the deletion under way.
        deletion_grace_period_seconds: Option<i64>,
        /// What still holds the object once its containers are gone.
        finalizers: Vec<Text>,
        /// Owners, the controller among them.
        owner_references: Vec<Owner>,
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

impl Condition {
    /// True when the status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }
}
