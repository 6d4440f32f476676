//! The model: a fold over observations that gives the state of the node, whatever the order of the sources.

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
mod scheduled;
mod sources;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use alarms::Alarm;
pub use container_history::{ContainerHistory, Exit, bare_id, never_ran, nonzero_time};
pub use event_limit::EVENTS_KEPT;
pub use initial_list::InitialList;
pub use kubelet::{KubeletFacts, OperationWindow, PodStartLatency, RelistWindow};
pub use lines::{KeptLine, KeptLines};
pub use logs::{Logs, PodLog};
pub use node_capacity::{NodeCapacities, NodeCapacity};
pub use object_store::{ObjectStore, StoredObject};
pub use pod::{CompleteSources, PodFacts, runtime_uid};
pub use pods_on_disk::OrphanedPodDir;
pub use scheduled::LastScheduled;
pub use sources::{CallHistory, CallTiming, SourceFacts};

use crate::objects::{Event, Lease, Node, Pod};
use crate::observation::{
    Certificate, Container, CpuTicks, Image, ImageFs, NodePaths, PodDir, PodUsage, Pull, RuntimeStatus, Sandbox,
    Source, StaticPod, Time, Unit, Vitals,
};
use crate::text::{Message, Text};

/// Everything that the sources have reported, with what was derived from it. Serialised it is the keyframe of a recording,
/// which all later versions read: a new field, here or in a nested type, needs a default.
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
    #[serde(rename = "api_trails")]
    api_histories: BTreeMap<Text, ContainerHistory>,
    #[serde(rename = "unbound_trails")]
    unbound_histories: BTreeMap<Text, ContainerHistory>,
    #[serde(rename = "kubelet_trails")]
    kubelet_histories: BTreeMap<Text, ContainerHistory>,
    #[serde(rename = "cri_trails")]
    cri_histories: BTreeMap<Text, ContainerHistory>,
    logs: Logs,
    kubelet: Arc<KubeletFacts>,
    runtime: Option<Arc<RuntimeStatus>>,
    machine: Arc<MachineFacts>,
    /// Wall time of the newest observation.
    newest: Option<Time>,
    /// Name of the observed node; empty for an import.
    #[serde(skip)]
    observed_node: Text,
    #[serde(skip)]
    index: Index,
}

/// What the operating system reports about the node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineFacts {
    /// systemd units of kubelet and runtime, by name.
    pub units: BTreeMap<Text, Unit>,
    /// Where the parts of the node are.
    pub paths: NodePaths,
    /// Boot time of the machine.
    pub boot: Option<Time>,
    /// The last sample of memory, disks and pressure, and its time.
    pub vitals: Option<(Time, Box<Vitals>)>,
    /// CPU usage between the last two samples, 0 to 1.
    pub cpu: Option<f64>,
}

impl MachineFacts {
    fn set_vitals(&mut self, vitals: Box<Vitals>, at: Time) {
        let old = self.vitals.as_ref().and_then(|(_, old)| old.cpu);
        self.cpu = old.zip(vitals.cpu).and_then(|(old, new)| busy_share(old, new));
        self.vitals = Some((at, vitals));
    }
}

/// None if the counters went backwards, which is a reboot.
fn busy_share(old: CpuTicks, new: CpuTicks) -> Option<f64> {
    let (busy, all) = (new.busy.checked_sub(old.busy)?, new.all.checked_sub(old.all)?);
    (all > 0).then(|| busy.min(all) as f64 / all as f64)
}

/// What can be rebuilt from the other fields.
#[derive(Clone, Debug, Default)]
struct Index {
    /// What is joined into each pod, by key.
    refs: HashMap<Text, pod::Refs>,
    /// Pod objects by `namespace/name`.
    objects_by_name: HashMap<Text, BTreeSet<Text>>,
    /// Events by the UID of their object, oldest first.
    events_of: HashMap<Text, BTreeSet<(Option<Time>, Text)>>,
    /// Events by their last time, oldest first.
    event_ages: BTreeSet<(Option<Time>, Text)>,
    /// Key of the joined pod by the UID of a pod object.
    key_of_object: HashMap<Text, Text>,
    /// Events about other objects than pods; rebuilt when one of them changes.
    other_events: Option<Arc<Vec<Arc<Event>>>>,
    /// Events about pods that no source lists; rebuilt when such an event or any pod changes.
    events_of_unknown_pods: Option<Arc<Vec<Arc<Event>>>>,
    /// Manifests by the `namespace/name` of their pod.
    manifests_by_name: HashMap<Text, BTreeSet<Text>>,
    /// Joined pods by `namespace/name`.
    joined_by_name: HashMap<Text, BTreeSet<Text>>,
    /// Keys of the pods to join again.
    dirty: BTreeSet<Text>,
    orphaned: Arc<BTreeMap<Text, OrphanedPodDir>>,
    pods: Arc<BTreeMap<Text, Arc<PodFacts>>>,
}

/// The state of the model at one time: cheap to create, immutable.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Name of the observed node; empty for an import.
    pub observed_node: Text,
    /// Every pod of the node, by UID.
    pub pods: Arc<BTreeMap<Text, Arc<PodFacts>>>,
    /// Every source that has sent an observation.
    pub sources: BTreeMap<Source, Arc<SourceFacts>>,
    /// The sources whose initial list is not complete.
    pub initial_lists: BTreeMap<Source, InitialList>,
    /// The node object.
    pub node: Option<Arc<Node>>,
    /// The node's lease.
    pub lease: Option<Arc<Lease>>,
    /// Every Node object; more than one only in an import.
    pub nodes: Vec<Arc<Node>>,
    /// Events about anything but pods, such as claims, owners and nodes, newest first.
    pub other_events: Arc<Vec<Arc<Event>>>,
    /// Events about pods that no source lists, newest first. Empty unless this is an import: a live node's events include
    /// those of pods on other nodes.
    pub events_of_unknown_pods: Arc<Vec<Arc<Event>>>,
    /// Log lines that name no pod.
    pub lines: Arc<KeptLines>,
    /// Log lines that name a pod, by `namespace/name` or UID.
    pub pod_lines: Arc<BTreeMap<Text, Arc<KeptLines>>>,
    /// The kubelet's metrics, settings and health.
    pub kubelet: Arc<KubeletFacts>,
    /// The runtime's version and conditions.
    pub runtime: Option<Arc<RuntimeStatus>>,
    /// systemd units of kubelet and runtime, boot time, free resources of the machine.
    pub machine: Arc<MachineFacts>,
    /// The kubelet's certificates, by file.
    pub certificates: Arc<ObjectStore<Certificate>>,
    /// Resource usage of pods, by UID.
    pub usage: Arc<ObjectStore<PodUsage>>,
    /// The runtime's images, by id.
    pub images: Arc<ObjectStore<Image>>,
    /// Disk usage of the images, and their file system.
    pub image_fs: Option<Arc<ImageFs>>,
    /// Pod directories of pods that the API server or the kubelet does not list, by UID: being removed, or orphaned.
    pub orphaned: Arc<BTreeMap<Text, OrphanedPodDir>>,
    /// Image layers that are being pulled, and when each last made progress.
    pub pulls: Vec<StoredObject<Pull>>,
    /// Events about the node, newest first, [`EVENTS_OF_NODE`](crate::objects::limits::EVENTS_OF_NODE) at most.
    pub node_events: Vec<Arc<Event>>,
    /// The last "skipping pod synchronization" in the kubelet log: time and reason.
    pub loop_blocked: Option<(Time, Message)>,
    /// The last PLEG error in the kubelet log: time and text.
    pub pleg_error: Option<(Time, Message)>,
    /// Free capacity of each known node, computed on first use.
    pub node_capacities: NodeCapacities,
    /// When each scheduler last placed a pod, computed on first use.
    pub scheduled: LastScheduled,
    /// Wall time of the newest observation.
    pub newest: Option<Time>,
}
