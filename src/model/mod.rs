//! Owns the fold: what is known of the node after a sequence of observations, whatever the order of the sources.
//! It must not do I/O, ask for the time, or draw a conclusion that needs more than one pod at once.

mod alarms;
mod apply;
mod container_history;
mod event_limit;
mod events;
mod histogram;
mod initial_list;
mod join;
mod kubelet;
mod lines;
mod logs;
mod node_capacity;
mod object_store;
mod pod;
mod pods_on_disk;
pub mod requests;
mod sources;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use alarms::{Alarm, CALL_STALLED_S, PULL_STALLED_S};
pub use container_history::{ContainerHistory, Exit, bare_id, never_ran, nonzero_time};
pub use event_limit::EVENTS_KEPT;
pub use histogram::{HistogramDelta, Quantile};
pub use initial_list::InitialList;
pub use kubelet::{KubeletFacts, OperationWindow, PodStartLatency, RELIST_THRESHOLD_S, RelistWindow};
pub use lines::{Line, Lines};
pub use logs::{Logs, PodLog, PodSpans};
pub use node_capacity::{NodeCapacities, NodeCapacity};
pub use object_store::{ObjectStore, StoredObject};
pub use pod::{CompleteSources, PodFacts, runtime_uid};
pub use pods_on_disk::OrphanedPodDir;
pub use sources::{CallHistory, CallTiming, SourceFacts};

use crate::objects::{Event, Lease, Node, Pod};
use crate::observation::{
    Certificate, Container, CpuTicks, Image, ImageFs, PodDir, PodUsage, Pull, RuntimeStatus, Sandbox, Source,
    StaticPod, Time, Unit, Vitals,
};
use crate::text::{Message, Text};

/// Everything known, and what was derived on the way. Serialised it is the keyframe of a recording, which is read for
/// good: a field that is added, here or in what it holds, has a default.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Model {
    sources: BTreeMap<Source, Arc<SourceFacts>>,
    api_pods: ObjectStore<Pod>,
    unbound_pods: ObjectStore<Pod>,
    kubelet_pods: ObjectStore<Pod>,
    events: ObjectStore<Event>,
    nodes: ObjectStore<Node>,
    leases: ObjectStore<Lease>,
    sandboxes: ObjectStore<Sandbox>,
    containers: ObjectStore<Container>,
    pulls: ObjectStore<Pull>,
    images: Arc<ObjectStore<Image>>,
    image_fs: Option<Arc<ImageFs>>,
    pod_dirs: ObjectStore<PodDir>,
    static_pods: ObjectStore<StaticPod>,
    certificates: Arc<ObjectStore<Certificate>>,
    usage: Arc<ObjectStore<PodUsage>>,
    api_trails: BTreeMap<Text, ContainerHistory>,
    unbound_trails: BTreeMap<Text, ContainerHistory>,
    kubelet_trails: BTreeMap<Text, ContainerHistory>,
    cri_trails: BTreeMap<Text, ContainerHistory>,
    logs: Logs,
    kubelet: Arc<KubeletFacts>,
    runtime: Option<Arc<RuntimeStatus>>,
    machine: Arc<MachineFacts>,
    /// Wall time of the newest observation.
    newest: Option<Time>,
    /// The node's name as whoever observes it knows it.
    #[serde(skip)]
    named: Text,
    #[serde(skip)]
    index: Index,
}

/// What the machine itself says of the node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineFacts {
    /// systemd's word on kubelet and runtime, by unit.
    pub units: BTreeMap<Text, Unit>,
    /// When the machine booted.
    pub boot: Option<Time>,
    /// The last look at the machine as a whole, and when it was.
    pub vitals: Option<(Time, Box<Vitals>)>,
    /// Share of all processors that was busy between the last two looks.
    pub cpu: Option<f64>,
}

impl MachineFacts {
    fn vitals(&mut self, vitals: Box<Vitals>, at: Time) {
        let before = self.vitals.as_ref().and_then(|(_, old)| old.cpu);
        self.cpu = before.zip(vitals.cpu).and_then(|(old, new)| busy(old, new));
        self.vitals = Some((at, vitals));
    }
}

/// Counters that go backwards are those of another boot.
fn busy(old: CpuTicks, new: CpuTicks) -> Option<f64> {
    let (busy, all) = (new.busy.checked_sub(old.busy)?, new.all.checked_sub(old.all)?);
    (all > 0).then(|| busy.min(all) as f64 / all as f64)
}

/// What can be had again from the rest.
#[derive(Clone, Debug, Default)]
struct Index {
    refs: HashMap<Text, pod::Refs>,
    by_name: HashMap<Text, BTreeSet<Text>>,
    /// Events by the UID of what they are about, oldest first.
    events_of: HashMap<Text, BTreeSet<(Option<Time>, Text)>>,
    /// Events by when they last happened, oldest first.
    event_ages: BTreeSet<(Option<Time>, Text)>,
    api_key: HashMap<Text, Text>,
    /// Events about what is not a pod; made again when one of them changes.
    elsewhere: Option<Arc<Vec<Arc<Event>>>>,
    /// Events about pods that nothing else is known of; made again when such an event or any pod changes.
    absent: Option<Arc<Vec<Arc<Event>>>>,
    /// Manifests by the `namespace/name` of their pod.
    static_of: HashMap<Text, BTreeSet<Text>>,
    /// Joined pods by `namespace/name`.
    named: HashMap<Text, BTreeSet<Text>>,
    dirty: BTreeSet<Text>,
    orphaned: Arc<BTreeMap<Text, OrphanedPodDir>>,
    pods: Arc<BTreeMap<Text, Arc<PodFacts>>>,
}

/// One moment of the model: cheap to take, immutable.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The node's name as whoever observes it knows it; empty where nobody does.
    pub named: Text,
    /// Every pod of the node, by UID.
    pub pods: Arc<BTreeMap<Text, Arc<PodFacts>>>,
    /// Every source that has said anything.
    pub sources: BTreeMap<Source, Arc<SourceFacts>>,
    /// Those of them whose first list is under way.
    pub initial_lists: BTreeMap<Source, InitialList>,
    /// The node object.
    pub node: Option<Arc<Node>>,
    /// The node's lease.
    pub lease: Option<Arc<Lease>>,
    /// Every node object that is known; more than one in an import.
    pub nodes: Vec<Arc<Node>>,
    /// Events about anything but pods, such as claims, owners and nodes, newest first.
    pub other_events: Arc<Vec<Arc<Event>>>,
    /// Events about pods that no source has as an object, newest first. Where a node is observed there are none: such pods are
    /// other nodes'.
    pub events_of_unknown_pods: Arc<Vec<Arc<Event>>>,
    /// Log lines that name no pod.
    pub lines: Arc<Lines>,
    /// Log lines that name a pod, by `namespace/name` or UID.
    pub pod_lines: Arc<BTreeMap<Text, Arc<Lines>>>,
    /// The kubelet's metrics, settings and health.
    pub kubelet: Arc<KubeletFacts>,
    /// The runtime's version and conditions.
    pub runtime: Option<Arc<RuntimeStatus>>,
    /// systemd's word on kubelet and runtime, the boot, and what the machine has left.
    pub machine: Arc<MachineFacts>,
    /// The kubelet's certificates, by file.
    pub certificates: Arc<ObjectStore<Certificate>>,
    /// What pods use, by UID.
    pub usage: Arc<ObjectStore<PodUsage>>,
    /// The runtime's images, by id.
    pub images: Arc<ObjectStore<Image>>,
    /// What they take, and where.
    pub image_fs: Option<Arc<ImageFs>>,
    /// Directories of the kubelet's for pods that the API server or the kubelet does not list, by UID: on their way out, or
    /// orphaned.
    pub orphaned: Arc<BTreeMap<Text, OrphanedPodDir>>,
    /// Ingests under way, and since when each has stood still.
    pub pulls: Vec<StoredObject<Pull>>,
    /// Events about the node, newest first, [`EVENTS_OF_NODE`](crate::objects::limits::EVENTS_OF_NODE) at most.
    pub node_events: Vec<Arc<Event>>,
    /// When the sync loop last said that it skips its work, and why.
    pub loop_blocked: Option<(Time, Message)>,
    /// When PLEG last complained, and of what.
    pub pleg_trouble: Option<(Time, Message)>,
    /// What each known node has left, once somebody asks.
    pub node_capacities: NodeCapacities,
    /// Wall time of the newest observation.
    pub newest: Option<Time>,
}
