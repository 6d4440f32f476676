//! Owns what the pods of the node ask for, and what is in use, against what the node has for them.
//! It must not count a pod that has ended: nothing is kept free for it.

use super::NodeView;
use super::format::bytes;
use crate::model::requests;
use crate::objects::{Pod, Quantity, Resource, Resources};
use crate::pipeline::LocatedPod;

/// One resource of the node.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceLine {
    /// Which.
    pub resource: Resource,
    /// What the node has in all.
    pub capacity: Quantity,
    /// What of it is for pods.
    pub allocatable: Quantity,
    /// Effective requests of all pods.
    pub requested: Quantity,
    /// Limits of those that have one.
    pub limits: Quantity,
    /// Pods with a container that nothing limits.
    pub unbounded: usize,
    /// What is in use on the whole machine, by whatever, where a source says it.
    pub used: Option<Quantity>,
}

impl ResourceLine {
    /// An amount of it in words.
    pub fn text(&self, amount: Quantity) -> String {
        amount_text(&self.resource, amount)
    }

    /// Worth a line: the node has it, or a pod asks for it.
    fn matters(&self) -> bool {
        !(self.capacity.is_zero() && self.requested.is_zero() && self.limits.is_zero())
    }
}

/// `1500m`, `2`, `3.2GiB`.
pub fn amount_text(resource: &Resource, amount: Quantity) -> String {
    match resource {
        r if r.is_bytes() => bytes(u64::try_from(amount.ceil()).unwrap_or(0)),
        Resource::Cpu if amount.as_milli() % 1000 != 0 => format!("{}m", amount.as_milli()),
        _ => amount.ceil().to_string(),
    }
}

/// Pods that the kubelet keeps room for: on this node, and not ended.
pub(super) fn resident(moment: &NodeView) -> impl Iterator<Item = (&LocatedPod, &Pod)> {
    let node = moment.snapshot.node.as_ref().map(|n| &n.metadata.name);
    moment.pods.iter().filter_map(move |placed| {
        let pod = placed.facts.object()?.as_ref();
        let here =
            placed.facts.is_static() || node.map_or(!pod.spec.node_name.is_empty(), |n| pod.spec.node_name == *n);
        (here && !pod.status.is_terminal()).then_some((placed, pod))
    })
}

/// Every resource that the node has or that a pod asks for; none while the node is not known.
pub fn resources(moment: &NodeView) -> Vec<ResourceLine> {
    let Some(node) = &moment.snapshot.node else { return Vec::new() };
    let (mut requested, mut limits, mut count) = (Resources::default(), Resources::default(), 0);
    let specs: Vec<_> = resident(moment).map(|(_, pod)| &pod.spec).collect();
    for spec in &specs {
        requested.add(&requests::requests(spec));
        limits.add(&requests::limits(spec));
        count += 1;
    }
    requested.set(Resource::Pods, Quantity::whole(count));
    let (capacity, allocatable) = (&node.status.capacity, &node.status.allocatable);
    if capacity.is_empty() && allocatable.is_empty() {
        return Vec::new();
    }
    let mut names: Vec<&Resource> =
        capacity.iter().chain(allocatable.iter()).chain(requested.iter()).map(|(r, _)| r).collect();
    names.sort();
    names.dedup();
    let line = |resource: &Resource| {
        let of = |list: &Resources| list.get(resource).unwrap_or_default();
        let countable = !matches!(resource, Resource::Pods | Resource::Other(_));
        ResourceLine {
            resource: resource.clone(),
            capacity: of(capacity),
            allocatable: of(allocatable),
            requested: of(&requested),
            limits: of(&limits),
            unbounded: specs.iter().filter(|spec| countable && requests::is_unbounded(spec, resource)).count(),
            used: used(moment, resource, of(capacity), count),
        }
    };
    names.into_iter().map(line).filter(ResourceLine::matters).collect()
}

fn used(moment: &NodeView, resource: &Resource, capacity: Quantity, pods: i64) -> Option<Quantity> {
    let vitals = moment.snapshot.machine.vitals.as_ref().map(|(_, vitals)| vitals);
    match resource {
        Resource::Cpu => {
            let share = moment.snapshot.machine.cpu?;
            Some(Quantity::milli((share * capacity.as_milli() as f64).round() as i64))
        }
        Resource::Memory => vitals?.memory.map(|m| whole(m.total.saturating_sub(m.available))),
        Resource::EphemeralStorage => vitals?.filesystems.first().map(|fs| whole(fs.size.saturating_sub(fs.available))),
        Resource::Pods => Some(Quantity::whole(pods)),
        Resource::Other(_) => None,
    }
}

pub(super) fn whole(count: u64) -> Quantity {
    Quantity::whole(i64::try_from(count).unwrap_or(i64::MAX))
}
