//! Owns the two orders in which pods would die for lack of memory: by the kubelet's eviction, and by the kernel.
//! It must not mix them: the kubelet never looks at the class of service, the kernel at nothing but it and the use.

use super::NodeView;
use super::resources::{resident, whole};
use crate::model::requests;
use crate::objects::{ContainerSpec, Pod, Quantity, Resource};
use crate::pipeline::LocatedPod;
use crate::text::Text;

/// `SystemCriticalPriority` (pkg/apis/scheduling).
const CRITICAL: i32 = 2_000_000_000;
/// `oom_score_adj` of what is Guaranteed, and the rest of pkg/kubelet/qos/policy.go.
const GUARANTEED_ADJ: i64 = -997;
const BEST_EFFORT_ADJ: i64 = 1000;

/// One pod in both orders.
#[derive(Clone, Debug, PartialEq)]
pub struct Victim {
    /// UID.
    pub key: Text,
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// `Guaranteed`, `Burstable`, `BestEffort`.
    pub class: Text,
    /// Priority; 0 where none is set.
    pub priority: i32,
    /// Effective request of memory.
    pub request: Quantity,
    /// Working set; None where no source says it.
    pub used: Option<Quantity>,
    /// It uses more than it asked for; None when that is not known.
    pub over: Option<bool>,
    /// The kubelet never evicts it: static, or of critical priority.
    pub critical: bool,
    /// The highest `oom_score_adj` of its containers.
    pub adj: i64,
    /// What the kernel would reckon were the pod one process: the same, and its thousandths of the node's memory; None
    /// where its use is not known.
    pub score: Option<i64>,
}

impl Victim {
    /// How much more it uses than it asked for.
    pub fn excess(&self) -> Option<Quantity> {
        self.used.map(|used| used - self.request)
    }

    fn of(placed: &LocatedPod, pod: &Pod, moment: &NodeView, memory: Quantity) -> Self {
        let facts = &placed.facts;
        let request = requests::requests(&pod.spec).get(&Resource::Memory).unwrap_or_default();
        let used = moment.snapshot.usage.get(&facts.key).map(|held| whole(held.value.memory));
        let priority = pod.spec.priority.unwrap_or(0);
        let critical = facts.is_static() || priority >= CRITICAL;
        let adj = adj(pod, critical, memory);
        Self {
            key: facts.key.clone(),
            namespace: facts.namespace.clone(),
            name: facts.name.clone(),
            class: pod.status.qos_class.clone(),
            priority,
            request,
            used,
            over: match used {
                Some(used) => Some(used > request),
                // Whatever it uses is more than nothing.
                None => request.is_zero().then_some(true),
            },
            critical,
            adj,
            score: used.and_then(|used| Some(adj + (used.share_of(memory)? * 1000.0) as i64)),
        }
    }
}

/// Pods as the kubelet would evict them under memory pressure, the first one first; those it never evicts are not in it.
/// Above the request first, then lower priority, then the larger excess (pkg/kubelet/eviction/helpers.go).
pub fn by_eviction(moment: &NodeView) -> Vec<Victim> {
    let mut all: Vec<Victim> = victims(moment).into_iter().filter(|v| !v.critical).collect();
    let over = |v: &Victim| v.over.map_or(1, |over| if over { 0 } else { 2 });
    all.sort_by(|a, b| {
        (over(a), a.priority, b.excess()).cmp(&(over(b), b.priority, a.excess())).then_with(|| named(a).cmp(&named(b)))
    });
    all
}

/// Pods as the kernel would kill them when the whole machine is out of memory, the first one first.
pub fn by_kernel(moment: &NodeView) -> Vec<Victim> {
    let mut all = victims(moment);
    all.sort_by(|a, b| {
        let score = |v: &Victim| (v.score.unwrap_or(v.adj), v.used);
        score(b).cmp(&score(a)).then_with(|| named(a).cmp(&named(b)))
    });
    all
}

fn named(victim: &Victim) -> (&Text, &Text) {
    (&victim.namespace, &victim.name)
}

fn victims(moment: &NodeView) -> Vec<Victim> {
    let node = moment.snapshot.node.as_ref();
    let memory = node.and_then(|n| n.status.capacity.get(&Resource::Memory)).unwrap_or_default();
    resident(moment).map(|(placed, pod)| Victim::of(placed, pod, moment, memory)).collect()
}

/// The highest of its containers': that one is killed first. Of a burstable one the more it asks for, the lower.
fn adj(pod: &Pod, critical: bool, memory: Quantity) -> i64 {
    match pod.status.qos_class.as_str() {
        _ if critical && pod.spec.priority_class_name == "system-node-critical" => GUARANTEED_ADJ,
        "Guaranteed" => GUARANTEED_ADJ,
        "BestEffort" => BEST_EFFORT_ADJ,
        _ => {
            let rest = rest_of_pod(pod);
            let regular = pod.spec.containers.iter().map(|c| burstable(c, rest, memory)).max();
            regular.unwrap_or(BEST_EFFORT_ADJ - 1)
        }
    }
}

/// What of a request that is set for the whole pod no container asks for is divided among those that run on.
fn rest_of_pod(pod: &Pod) -> Quantity {
    let spec = &pod.spec;
    let Some(whole) = spec.resources.requests.get(&Resource::Memory) else { return Quantity::ZERO };
    let running = || spec.containers.iter().chain(spec.init_containers.iter().filter(|c| c.is_sidecar()));
    let asked = running().filter_map(|c| c.resources.requests.get(&Resource::Memory)).sum::<Quantity>();
    let count = i64::try_from(running().count().max(1)).unwrap_or(1);
    Quantity::whole(((whole - asked).ceil() / count).max(0))
}

fn burstable(container: &ContainerSpec, rest: Quantity, memory: Quantity) -> i64 {
    let request = container.resources.requests.get(&Resource::Memory).unwrap_or_default() + rest;
    let (request, memory) = (i128::from(request.ceil()), i128::from(memory.ceil()));
    let share = if memory > 0 { 1000 * request / memory } else { 0 };
    i64::try_from(1000 - share).unwrap_or(0).clamp(1000 + GUARANTEED_ADJ, BEST_EFFORT_ADJ - 1)
}
