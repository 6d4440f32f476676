//! Owns a node as the API server has it, and its lease.
//! It must not decode labels or addresses.

use serde::{Deserialize, Serialize};

use super::limits::{CONDITIONS, TAINTS};
use super::{Bounded, BoundedEntry, Condition, LeftOut, Meta, OmittedCount, Resources, Time, is_default, nullable};
use crate::text::Text;

slim! {
    /// A node.
    Node {
        /// `metadata`.
        metadata: Meta,
        /// `spec`.
        spec: NodeSpec,
        /// `status`.
        status: NodeStatus,
    }
}

slim! {
    /// `node.spec`.
    NodeSpec {
        /// Cordoned.
        unschedulable: bool,
        /// Taints.
        taints: Bounded<Taint, TAINTS>,
    }
}

slim! {
    /// A taint.
    Taint {
        /// Key.
        key: Text,
        /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
        effect: Text,
    }
}

impl BoundedEntry for Taint {
    type Summary = OmittedCount;
    fn fold(self, rest: &mut OmittedCount) {
        rest.add();
    }
    fn is_essential(&self) -> bool {
        self.key.starts_with("node.kubernetes.io/") || self.key.starts_with("node-role.kubernetes.io/")
    }
}

slim! {
    /// `node.status`.
    NodeStatus {
        /// Node conditions.
        conditions: Bounded<Condition, CONDITIONS>,
        /// What the node has.
        capacity: Resources,
        /// What of it is for pods.
        allocatable: Resources,
        /// Versions.
        node_info: NodeInfo,
    }
}

slim! {
    /// `node.status.nodeInfo`.
    NodeInfo {
        /// Kubelet version.
        kubelet_version: Text,
        /// Runtime name and version, `containerd://2.1.9`.
        container_runtime_version: Text,
        /// Kernel version.
        kernel_version: Text,
        /// OS image.
        os_image: Text,
    }
}

slim! {
    /// A coordination.k8s.io/v1 lease: the kubelet's sign of life, in the namespace `kube-node-lease` under the node's name.
    Lease {
        /// `metadata`.
        metadata: Meta,
        /// `spec`.
        spec: LeaseSpec,
    }
}

slim! {
    /// `lease.spec`.
    LeaseSpec {
        /// Who holds it: the node's name.
        holder_identity: Text,
        /// How long a renewal lasts, seconds: 40 (`nodeLeaseDurationSeconds`), renewed every quarter of that.
        lease_duration_seconds: Option<i64>,
        /// Last renewal, by the kubelet's clock (microseconds).
        renew_time: Option<Time>,
    }
}

impl Node {
    /// What it has more of than is kept.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let all = [
            self.metadata.finalizers.left_out("finalizers"),
            self.spec.taints.left_out("taints"),
            self.status.conditions.left_out("conditions"),
        ];
        all.into_iter().flatten().collect()
    }
}

impl Lease {
    /// When it ends unless it is renewed.
    pub fn ends(&self) -> Option<Time> {
        let lasts = crate::time::TimeDelta::seconds(self.spec.lease_duration_seconds?);
        Some(self.spec.renew_time? + lasts)
    }
}
