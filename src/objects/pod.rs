//! Owns a pod as it is asked for: its spec, as far as the kubelet's work depends on it.
//! It must not decode env, args, commands, or what a probe runs.

use serde::{Deserialize, Serialize};

use super::{Meta, Needs, PodStatus, Resources, is_default, nullable};
use crate::text::Text;

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
