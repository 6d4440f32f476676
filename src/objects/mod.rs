//! Owns the slim Kubernetes types: the only fields of pods, nodes and events that the program ever decodes.
//! It must not decode what is not shown: no env, no args, no labels, no secrets, no annotation but the kubelet's own four.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize};

use crate::text::Text;

/// A point in time as the API prints it (1 s resolution for most fields).
pub type Time = DateTime<Utc>;

/// Accepts `null` where a value or a list is meant: Go encodes empty slices so.
fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(d: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

macro_rules! slim {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident : $ty:ty $(= $rename:literal)?),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $(
                $(#[$fdoc])*
                #[serde(deserialize_with = "nullable", skip_serializing_if = "is_default" $(, rename = $rename)?)]
                pub $field: $ty,
            )*
        }
    };
}

mod quantity;
mod resources;

pub use quantity::Quantity;
pub use resources::{Needs, Resource, Resources};

slim! {
    /// `metadata` of any object.
    Meta {
        /// `metadata.name`.
        name: Text,
        /// `metadata.namespace`; empty for cluster-scoped objects.
        namespace: Text,
        /// `metadata.uid`; of a mirror pod this is not the UID that the runtime knows.
        uid: Text,
        /// `metadata.creationTimestamp`.
        creation_timestamp: Option<Time>,
        /// The deadline of a graceful deletion: request time plus grace.
        deletion_timestamp: Option<Time>,
        /// Grace in seconds of the deletion under way.
        deletion_grace_period_seconds: Option<i64>,
        /// What still holds the object once its containers are gone.
        finalizers: Vec<Text>,
        /// Owners, the controller among them.
        owner_references: Vec<Owner>,
        /// The kubelet's own annotations; no other is decoded.
        annotations: KubeletAnnotations,
    }
}

slim! {
    /// One entry of `metadata.ownerReferences`.
    Owner {
        /// Kind, such as `ReplicaSet`.
        kind: Text,
        /// Name of the owner.
        name: Text,
        /// True for the managing controller.
        controller: bool,
    }
}

slim! {
    /// Annotations of the kubelet's config sources (`pkg/kubelet/types/pod_update.go`).
    KubeletAnnotations {
        /// On a mirror pod: the UID of the static pod it mirrors.
        mirror: Text = "kubernetes.io/config.mirror",
        /// On a static pod: its own UID.
        hash: Text = "kubernetes.io/config.hash",
        /// `api`, `file` or `http`.
        source: Text = "kubernetes.io/config.source",
        /// When this kubelet process first saw the pod (RFC 3339 with nanoseconds).
        seen: Text = "kubernetes.io/config.seen",
    }
}

slim! {
    /// A pod, from the API server or from the kubelet's `/pods`.
    Pod {
        /// `metadata`.
        metadata: Meta,
        /// `spec`.
        spec: PodSpec,
        /// `status`.
        status: PodStatus,
    }
}

slim! {
    /// `pod.spec`.
    PodSpec {
        /// Empty until the scheduler has bound the pod.
        node_name: Text,
        /// Init containers and sidecars, in start order.
        init_containers: Vec<ContainerSpec>,
        /// App containers.
        containers: Vec<ContainerSpec>,
        /// Ephemeral (debug) containers.
        ephemeral_containers: Vec<ContainerSpec>,
        /// `Always`, `OnFailure` or `Never`.
        restart_policy: Text,
        /// The pod uses the node's network namespace.
        host_network: bool,
        /// Names of the gates that keep the scheduler away.
        scheduling_gates: Vec<SchedulingGate>,
        /// Conditions that must be True besides the containers' readiness.
        readiness_gates: Vec<ReadinessGate>,
        /// The pod's volumes.
        volumes: Vec<Volume>,
        /// Grace on deletion, seconds.
        termination_grace_period_seconds: Option<i64>,
        /// The runtime class.
        runtime_class_name: Text,
        /// Who binds it to a node.
        scheduler_name: Text,
        /// What the pod as a whole asks for, where it is set.
        resources: Needs,
        /// What its runtime class takes on top.
        overhead: Resources,
        /// The higher, the later it is evicted; what is critical has 2000000000 or more.
        priority: Option<i32>,
        /// The class its priority comes from.
        priority_class_name: Text,
    }
}

slim! {
    /// One entry of `spec.schedulingGates`.
    SchedulingGate {
        /// Gate name.
        name: Text,
    }
}

slim! {
    /// One entry of `spec.readinessGates`.
    ReadinessGate {
        /// Condition type.
        condition_type: Text,
    }
}

slim! {
    /// One entry of `spec.volumes`: its name, and the claim it stands for.
    Volume {
        /// Volume name.
        name: Text,
        /// The claim; of a volume of another kind it is empty.
        persistent_volume_claim: ClaimSource,
    }
}

slim! {
    /// `volume.persistentVolumeClaim`.
    ClaimSource {
        /// Name of the claim.
        claim_name: Text,
    }
}

slim! {
    /// One container of the spec.
    ContainerSpec {
        /// Container name, unique over all three lists.
        name: Text,
        /// Image as written in the spec.
        image: Text,
        /// On an init container `Always` makes it a sidecar.
        restart_policy: Text,
        /// Startup probe.
        startup_probe: Option<Probe>,
        /// Readiness probe.
        readiness_probe: Option<Probe>,
        /// Liveness probe.
        liveness_probe: Option<Probe>,
        /// What it asks for.
        resources: Needs,
    }
}

impl ContainerSpec {
    /// True for an init container that keeps running beside the app containers (KEP-753).
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy == "Always"
    }
}

slim! {
    /// Timing of a probe; what it runs is not decoded. The API server fills the defaults in.
    Probe {
        /// Seconds after the start before the first probe.
        initial_delay_seconds: i64,
        /// Seconds between probes.
        period_seconds: i64,
        /// Failures in a row before the probe counts as failed.
        failure_threshold: i64,
    }
}

slim! {
    /// `pod.status`.
    PodStatus {
        /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
        phase: Text,
        /// Pod-level reason, such as `Evicted` or `OutOfcpu`.
        reason: Text,
        /// Pod-level message.
        message: Text,
        /// When the kubelet first computed a status: proof that it has the pod.
        start_time: Option<Time>,
        /// `Guaranteed`, `Burstable` or `BestEffort`.
        qos_class: Text,
        /// Pod conditions.
        conditions: Vec<Condition>,
        /// Statuses of init containers and sidecars, in spec order.
        init_container_statuses: Vec<ContainerStatus>,
        /// Statuses of app containers.
        container_statuses: Vec<ContainerStatus>,
        /// Statuses of ephemeral containers.
        ephemeral_container_statuses: Vec<ContainerStatus>,
        /// Pod address.
        pod_ip: Text = "podIP",
        /// In-place resize before 1.33 told it by a condition: `Proposed`, `InProgress`, `Deferred`, `Infeasible`.
        resize: Text,
    }
}

impl PodStatus {
    /// The condition of that type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == kind)
    }

    /// True when the condition of that type has status `True`.
    pub fn is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(Condition::is_true)
    }

    /// `Succeeded` or `Failed`: nothing will run again under this UID.
    pub fn is_terminal(&self) -> bool {
        self.phase == "Succeeded" || self.phase == "Failed"
    }

    /// Every container status: init, app, ephemeral.
    pub fn all_containers(&self) -> impl Iterator<Item = &ContainerStatus> {
        self.init_container_statuses.iter().chain(&self.container_statuses).chain(&self.ephemeral_container_statuses)
    }
}

slim! {
    /// A condition of a pod or a node.
    Condition {
        /// Type, such as `Ready`.
        kind: Text = "type",
        /// `True`, `False` or `Unknown`.
        status: Text,
        /// Reason word.
        reason: Text,
        /// Message.
        message: Text,
        /// Last change of `status`.
        last_transition_time: Option<Time>,
        /// Last time a node condition was written.
        last_heartbeat_time: Option<Time>,
    }
}

impl Condition {
    /// True when the status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }
}

slim! {
    /// One entry of the container status lists.
    ContainerStatus {
        /// Container name.
        name: Text,
        /// Image as resolved.
        image: Text,
        /// `containerd://…`; empty before the container was first created.
        #[serde(rename = "containerID")]
        container_id: Text,
        /// Passed its readiness probe; for a regular init container: ended with 0.
        ready: bool,
        /// Passed its startup probe (None before it ran).
        started: Option<bool>,
        /// Restarts so far.
        restart_count: u32,
        /// The state now.
        state: ContainerState,
        /// The state before the last restart.
        last_state: ContainerState,
    }
}

slim! {
    /// Exactly one of the three is set in a status that the kubelet wrote; none in an empty one.
    ContainerState {
        /// Not running yet, or between restarts.
        waiting: Option<Waiting>,
        /// Running.
        running: Option<Running>,
        /// Ended.
        terminated: Option<Terminated>,
    }
}

slim! {
    /// `state.waiting`.
    Waiting {
        /// Reason, usually one word.
        reason: Text,
        /// Message.
        message: Text,
    }
}

slim! {
    /// `state.running`.
    Running {
        /// When the container started.
        started_at: Option<Time>,
    }
}

slim! {
    /// `state.terminated`.
    Terminated {
        /// Id of the container that ended: what tells two ends apart.
        #[serde(rename = "containerID")]
        container_id: Text,
        /// Exit code.
        exit_code: i32,
        /// Signal number where the runtime reports one; 0 otherwise.
        signal: i32,
        /// `Completed`, `Error`, `OOMKilled`, `StartError`, …
        reason: Text,
        /// Message, from the termination message file or the runtime.
        message: Text,
        /// Start; 1970 when the task never started.
        started_at: Option<Time>,
        /// End.
        finished_at: Option<Time>,
    }
}

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
        taints: Vec<Taint>,
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

slim! {
    /// `node.status`.
    NodeStatus {
        /// Node conditions.
        conditions: Vec<Condition>,
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

impl Lease {
    /// When it ends unless it is renewed.
    pub fn ends(&self) -> Option<Time> {
        let lasts = chrono::TimeDelta::try_seconds(self.spec.lease_duration_seconds?)?;
        self.spec.renew_time?.checked_add_signed(lasts)
    }
}

slim! {
    /// A core/v1 event.
    Event {
        /// `metadata`.
        metadata: Meta,
        /// What it is about.
        involved_object: ObjectReference,
        /// Reason word.
        reason: Text,
        /// Message.
        message: Text,
        /// `Normal` or `Warning`.
        kind: Text = "type",
        /// Old-style source.
        source: EventSource,
        /// New-style source.
        reporting_component: Text,
        /// First time.
        first_timestamp: Option<Time>,
        /// Last time.
        last_timestamp: Option<Time>,
        /// Time of a new-style event.
        event_time: Option<Time>,
        /// Number of occurrences of an old-style event.
        count: u32,
        /// Number of occurrences of a new-style event.
        series: Option<EventSeries>,
    }
}

impl Event {
    /// When it last happened.
    pub fn last(&self) -> Option<Time> {
        let series = self.series.as_ref().and_then(|s| s.last_observed_time);
        [series, self.last_timestamp, self.event_time, self.metadata.creation_timestamp].into_iter().flatten().max()
    }

    /// When it first happened.
    pub fn first(&self) -> Option<Time> {
        self.first_timestamp.or(self.event_time).or(self.metadata.creation_timestamp)
    }

    /// How often it happened; never 0.
    pub fn times(&self) -> u32 {
        self.series.as_ref().map_or(self.count, |s| s.count).max(1)
    }

    /// True for `Warning`.
    pub fn is_warning(&self) -> bool {
        self.kind == "Warning"
    }

    /// Component that reported it.
    pub fn reporter(&self) -> &Text {
        if self.source.component.is_empty() { &self.reporting_component } else { &self.source.component }
    }
}

slim! {
    /// `event.series`.
    EventSeries {
        /// Occurrences.
        count: u32,
        /// Last occurrence.
        last_observed_time: Option<Time>,
    }
}

slim! {
    /// `event.source`.
    EventSource {
        /// Component.
        component: Text,
    }
}

slim! {
    /// `event.involvedObject`.
    ObjectReference {
        /// Kind.
        kind: Text,
        /// Namespace.
        namespace: Text,
        /// Name.
        name: Text,
        /// UID; the node's name for events that the kubelet writes about its node.
        uid: Text,
        /// `spec.containers{NAME}`: the only reliable place for a container's name since 1.35.
        field_path: Text,
    }
}

impl ObjectReference {
    /// The container named by the field path.
    pub fn container(&self) -> Option<&str> {
        self.field_path.as_str().split_once('{')?.1.strip_suffix('}')
    }
}

impl fmt::Display for ContainerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.waiting, &self.running, &self.terminated) {
            (_, Some(_), _) => f.write_str("running"),
            (_, _, Some(t)) if t.reason.is_empty() => write!(f, "exited {}", t.exit_code),
            (_, _, Some(t)) => write!(f, "{} (exit {})", t.reason, t.exit_code),
            (Some(w), ..) => f.write_str(if w.reason.is_empty() { "waiting" } else { &w.reason }),
            _ => f.write_str("unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_unknown_fields_and_secrets() {
        let json = r#"{"metadata":{"name":"a","uid":"u","finalizers":null,"annotations":{"kubernetes.io/config.source":"api","token":"hunter2"}},
            "spec":{"containers":[{"name":"c","image":"i","env":[{"name":"P","value":"hunter2"}],"args":["hunter2"]}],"initContainers":null},
            "status":{"podIP":"10.0.0.1","containerStatuses":[{"name":"c","containerID":"containerd://1","state":{"waiting":{"reason":"X\u001b[31m"}}}]}}"#;
        let pod: Pod = serde_json::from_str(json).unwrap();
        assert_eq!(pod.metadata.annotations.source, "api");
        assert_eq!(pod.status.container_statuses[0].container_id, "containerd://1");
        assert_eq!(pod.status.container_statuses[0].state.to_string(), "X");
        let back = serde_json::to_string(&pod).unwrap();
        assert!(!back.contains("hunter2"), "{back}");
        assert_eq!(serde_json::from_str::<Pod>(&back).unwrap(), pod);
    }

    #[test]
    fn container_of_an_event() {
        let at = |p: &str| ObjectReference { field_path: p.into(), ..Default::default() };
        assert_eq!(at("spec.initContainers{wait-for-db}").container(), Some("wait-for-db"));
        assert_eq!(at("").container(), None);
    }
}
