//! Free capacity of each node as the scheduler computes it: allocatable minus the requests of the pods bound to the node that
//! are not terminal. Taints, affinity and volumes are not considered.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::Snapshot;
use super::requests::requests;
use crate::objects::{Node, Quantity, Resource, Resources};
use crate::text::Text;

/// The capacity of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeCapacity {
    /// Node name.
    pub node: Text,
    /// Allocatable resources.
    pub allocatable: Resources,
    /// Allocatable minus requests; negative for a resource that pods request and the node does not have.
    pub free: Resources,
    /// Cordoned, or with a NoSchedule or NoExecute taint: only pods that tolerate it are scheduled here.
    pub unschedulable: bool,
}

/// The capacities of all nodes, computed once per snapshot, on first use.
#[derive(Clone, Debug, Default)]
pub struct NodeCapacities(OnceLock<Vec<NodeCapacity>>);

impl Snapshot {
    /// The capacity of every known node, as far as its pods are known.
    pub fn node_capacities(&self) -> &[NodeCapacity] {
        self.node_capacities.0.get_or_init(|| compute_capacities(self))
    }
}

fn compute_capacities(snapshot: &Snapshot) -> Vec<NodeCapacity> {
    let mut requested: BTreeMap<Text, Resources> = BTreeMap::new();
    let one = Quantity::whole(1);
    for pod in snapshot.pods.values().filter_map(|facts| facts.object()) {
        if !pod.spec.node_name.is_empty() && !pod.status.is_terminal() {
            let of_node = requested.entry(pod.spec.node_name.clone()).or_default();
            of_node.add(&requests(&pod.spec));
            of_node.set(Resource::Pods, of_node.get(&Resource::Pods).unwrap_or_default() + one);
        }
    }
    let capacity = |node: &Arc<Node>| {
        let allocatable = node.status.allocatable.clone();
        let mut free = allocatable.clone();
        for (resource, quantity) in requested.get(&node.metadata.name).into_iter().flat_map(Resources::iter) {
            free.set(resource.clone(), free.get(resource).unwrap_or_default() - quantity);
        }
        let repels = |effect: &str| matches!(effect, "NoSchedule" | "NoExecute");
        let unschedulable = node.spec.unschedulable || node.spec.taints.iter().any(|t| repels(&t.effect));
        NodeCapacity { node: node.metadata.name.clone(), allocatable, free, unschedulable }
    };
    snapshot.nodes.iter().map(capacity).collect()
}
