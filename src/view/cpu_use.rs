//! Owns the order of pods by the processors that they use, against what they asked for.
//! It must not take a pod whose use is not known for an idle one.

use super::NodeView;
use super::resources::resident;
use crate::model::requests;
use crate::objects::{Quantity, Resource};
use crate::text::Text;

/// A pod, and what it uses of processors.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuUse {
    /// UID.
    pub key: Text,
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// Processors between the last two looks.
    pub used: Quantity,
    /// Effective request.
    pub request: Quantity,
    /// Effective limit; None where nothing limits a container.
    pub limit: Option<Quantity>,
    /// What it uses, as a share of the node's.
    pub share: Option<f64>,
}

impl CpuUse {
    /// It uses more than it asked for: when processors are short, it is slowed down.
    pub fn is_over(&self) -> bool {
        self.used > self.request
    }
}

/// Pods by the processors they use, the most first; those of which that is not known are not in it.
pub fn by_cpu(moment: &NodeView) -> Vec<CpuUse> {
    let node = moment.snapshot.node.as_ref();
    let capacity = node.and_then(|n| n.status.capacity.get(&Resource::Cpu));
    let mut all: Vec<CpuUse> = resident(moment)
        .filter_map(|(placed, pod)| {
            let facts = &placed.facts;
            let milli = moment.snapshot.usage.get(&facts.key)?.value.cpu?;
            let used = Quantity::milli(i64::from(milli));
            let limited = !requests::is_unbounded(&pod.spec, &Resource::Cpu);
            Some(CpuUse {
                key: facts.key.clone(),
                namespace: facts.namespace.clone(),
                name: facts.name.clone(),
                used,
                request: requests::requests(&pod.spec).get(&Resource::Cpu).unwrap_or_default(),
                limit: requests::limits(&pod.spec).get(&Resource::Cpu).filter(|_| limited),
                share: capacity.and_then(|all| used.share_of(all)),
            })
        })
        .collect();
    all.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name))));
    all
}
