//! The arithmetic of a shortage: what an unscheduled pod requests, compared with the node that has most left. Not computed if
//! the scheduler counts more nodes than are known here.

use crate::model::requests::requests;
use crate::model::{NodeCapacity, Snapshot};
use crate::objects::{Quantity, Resource};
use crate::pipeline::{LocatedPod, Stage};

use super::scheduler::split_schedule;

/// For each resource that no schedulable node has enough of, the variable of the runbook and its sentence.
pub(super) fn shortages(placed: &LocatedPod, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let Some(pod) = placed.facts.object().filter(|_| placed.position.stage == Stage::Scheduling) else {
        return Vec::new();
    };
    let event = placed.facts.event(&["FailedScheduling"]).map(|e| split_schedule(&e.message));
    let condition = pod.status.condition("PodScheduled").map(|c| split_schedule(&c.message));
    let nodes = event.and_then(|s| s.nodes).or(condition.and_then(|s| s.nodes));
    // The scheduler counts the nodes that are known here: none is hidden.
    if nodes.is_none() || nodes != i64::try_from(snapshot.nodes.len()).ok() {
        return Vec::new();
    }
    let mut asked = requests(&pod.spec);
    asked.set(Resource::Pods, Quantity::whole(1));
    let rooms = snapshot.node_capacities();
    asked.iter().filter_map(|(resource, asks)| Some((place(resource), sentence(resource, asks, rooms)?))).collect()
}

fn place(resource: &Resource) -> &'static str {
    match resource {
        Resource::Cpu => "short_cpu",
        Resource::Memory => "short_memory",
        Resource::EphemeralStorage => "short_storage",
        Resource::Pods => "short_pods",
        Resource::Other(_) => "short_extended",
    }
}

fn sentence(resource: &Resource, asks: Quantity, rooms: &[NodeCapacity]) -> Option<String> {
    let open: Vec<&NodeCapacity> = rooms.iter().filter(|room| !room.unschedulable).collect();
    let left = |room: &NodeCapacity| room.free.get(resource).unwrap_or_default();
    let freest = open.iter().max_by_key(|room| left(room))?;
    if left(freest) >= asks {
        return None;
    }
    let name = resource.name();
    let all = freest.allocatable.get(resource).unwrap_or_default();
    let which = match (open.len(), rooms.len()) {
        (1, 1) => format!("node {} has", freest.node),
        (open, all) if open == all => format!("of {all} nodes, {} has most left:", freest.node),
        (open, _) => format!("of {open} nodes without a taint, {} has most left:", freest.node),
    };
    let left = left(freest).max(Quantity::ZERO);
    Some(format!("The pod requests {asks} {name}; {which} {left} of {all}."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::observation::{Fact, Source};
    use crate::pipeline::tests::fixture::Node;

    fn pod(name: &str, node: &str, cpu: &str) -> Fact {
        let status = match node {
            "" => {
                json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                "message": "0/3 nodes are available: 1 node(s) had untolerated taint {a: }, 2 Insufficient cpu."}]})
            }
            _ => json!({"phase": "Running"}),
        };
        let pod = json!({"metadata": {"name": name, "namespace": "n", "uid": name}, "status": status, "spec": {"nodeName": node,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}});
        Fact::Pod(serde_json::from_value(pod).unwrap())
    }

    fn node(name: &str, cpu: &str, taints: serde_json::Value) -> Fact {
        let node = json!({"metadata": {"name": name, "uid": name}, "spec": {"taints": taints},
            "status": {"allocatable": {"cpu": cpu, "pods": "110"}}});
        Fact::Node(serde_json::from_value(node).unwrap())
    }

    fn texts(nodes: Vec<Fact>, pods: Vec<Fact>) -> Vec<(&'static str, String)> {
        let mut known = Node::new();
        known.list(Source::ApiNode, nodes);
        known.list(Source::ApiPods, pods);
        let snapshot = known.snapshot();
        let placed = crate::pipeline::PodLocator::default().locate_all(&snapshot, known.at);
        shortages(placed.iter().find(|p| p.facts.name == "big").unwrap(), &snapshot)
    }

    #[test]
    fn the_request_is_compared_with_the_schedulable_node_that_has_most_left() {
        let three = || {
            let tainted = json!([{"key": "a", "effect": "NoSchedule"}]);
            vec![node("w1", "4", json!([])), node("w2", "8", json!([])), node("m", "64", tainted)]
        };
        let pods = || vec![pod("big", "", "4"), pod("a", "w1", "500m"), pod("b", "w2", "6800m")];
        let want = "The pod requests 4 cpu; of 2 nodes without a taint, w1 has most left: 3500m of 4.";
        assert_eq!(texts(three(), pods()), [("short_cpu", want.to_owned())]);
        assert_eq!(texts(three()[..2].to_vec(), pods()), [], "a third node is not known here");
        assert_eq!(texts(three(), vec![pod("big", "", "3"), pod("a", "w1", "500m")]), [], "it is not cpu");
    }
}
