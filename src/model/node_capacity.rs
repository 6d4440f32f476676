//! Owns what each known node has left for another pod, reckoned as the scheduler does: allocatable less the requests of the
//! pods that are bound to it and not over. It must not say whether a pod fits: taints, affinity and volumes count too.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::Snapshot;
use super::requests::requests;
use crate::objects::{Quantity, Resource, Resources};
use crate::text::Text;

/// What one node has left.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeCapacity {
    /// Its name.
    pub node: Text,
    /// What it offers to pods.
    pub allocatable: Resources,
    /// What of that is not promised to a pod; of a resource that pods ask for and the node does not list, less than nothing.
    pub left: Resources,
    /// It takes no pods but those that tolerate it: cordoned, or with a taint NoSchedule or NoExecute.
    pub closed: bool,
}

/// The rooms of all nodes, reckoned once a snapshot, when somebody asks.
#[derive(Clone, Debug, Default)]
pub struct NodeCapacities(OnceLock<Vec<NodeCapacity>>);

impl Snapshot {
    /// What every known node has left, as far as its pods are known.
    pub fn node_capacities(&self) -> &[NodeCapacity] {
        self.node_capacities.0.get_or_init(|| reckon(self))
    }
}

fn reckon(snapshot: &Snapshot) -> Vec<NodeCapacity> {
    let mut promised: BTreeMap<Text, Resources> = BTreeMap::new();
    let one = Quantity::whole(1);
    for pod in snapshot.pods.values().filter_map(|facts| facts.object()) {
        if !pod.spec.node_name.is_empty() && !pod.status.is_terminal() {
            let of_node = promised.entry(pod.spec.node_name.clone()).or_default();
            of_node.add(&requests(&pod.spec));
            of_node.set(Resource::Pods, of_node.get(&Resource::Pods).unwrap_or_default() + one);
        }
    }
    let room = |node: &std::sync::Arc<crate::objects::Node>| {
        let allocatable = node.status.allocatable.clone();
        let mut left = allocatable.clone();
        for (resource, quantity) in promised.get(&node.metadata.name).into_iter().flat_map(Resources::iter) {
            left.set(resource.clone(), left.get(resource).unwrap_or_default() - quantity);
        }
        let keeps_out = |effect: &str| matches!(effect, "NoSchedule" | "NoExecute");
        let closed = node.spec.unschedulable || node.spec.taints.iter().any(|t| keeps_out(&t.effect));
        NodeCapacity { node: node.metadata.name.clone(), allocatable, left, closed }
    };
    snapshot.nodes.iter().map(room).collect()
}
