//! A node and its lease. Labels and addresses are not decoded.

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
        /// Resources of the node.
        capacity: Resources,
        /// Resources available to pods.
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
    /// A coordination.k8s.io/v1 lease: the heartbeat of the kubelet, in the namespace `kube-node-lease` under the name of the node.
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
        /// The holder: the name of the node.
        holder_identity: Text,
        /// Validity of a renewal, seconds: 40 by default (`nodeLeaseDurationSeconds`), renewed every quarter of that.
        lease_duration_seconds: Option<i64>,
        /// Last renewal on the kubelet's clock, in microseconds.
        renew_time: Option<Time>,
    }
}

impl Node {
    /// The lists of which entries are left out.
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
    /// When it expires unless it is renewed.
    pub fn ends(&self) -> Option<Time> {
        let lasts = crate::time::TimeDelta::seconds(self.spec.lease_duration_seconds?);
        Some(self.spec.renew_time? + lasts)
    }
}
