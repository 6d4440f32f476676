//! A pod and its spec, as far as the kubelet's sync depends on it. Env, args and commands are not decoded.

use serde::{Deserialize, Serialize};

use super::limits::{CONTAINERS, EPHEMERAL_CONTAINERS, GATES, PORTS, VOLUMES};
use super::{
    Bounded, BoundedEntry, ContainerPort, LeftOut, Meta, Needs, OmittedCount, OmittedSummary, PodStatus, Probe,
    Resources, is_default, nullable,
};
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

impl Pod {
    /// The lists of which entries are left out.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let (spec, status) = (&self.spec, &self.status);
        let all = [
            self.metadata.finalizers.left_out("finalizers"),
            self.metadata.owner_references.left_out("owner references"),
            spec.scheduling_gates.left_out("scheduling gates"),
            spec.readiness_gates.left_out("readiness gates"),
            spec.init_containers.left_out("init containers"),
            spec.containers.left_out("containers"),
            spec.ephemeral_containers.left_out("ephemeral containers"),
            spec.volumes.left_out("volumes"),
            status.conditions.left_out("conditions"),
            status.init_container_statuses.left_out("statuses of init containers"),
            status.container_statuses.left_out("statuses of containers"),
            status.ephemeral_container_statuses.left_out("statuses of ephemeral containers"),
        ];
        all.into_iter().flatten().collect()
    }
}

slim! {
    /// `pod.spec`.
    PodSpec {
        /// Empty until the scheduler has bound the pod.
        node_name: Text,
        /// Init containers and sidecars, in start order.
        init_containers: Bounded<ContainerSpec, CONTAINERS>,
        /// App containers.
        containers: Bounded<ContainerSpec, CONTAINERS>,
        /// Ephemeral (debug) containers.
        ephemeral_containers: Bounded<ContainerSpec, EPHEMERAL_CONTAINERS>,
        /// `Always`, `OnFailure` or `Never`.
        restart_policy: Text,
        /// The pod uses the node's network namespace.
        host_network: bool,
        /// Names of the scheduling gates.
        scheduling_gates: Bounded<SchedulingGate, GATES>,
        /// Conditions that must be True for readiness, besides the containers.
        readiness_gates: Bounded<ReadinessGate, GATES>,
        /// Devices that the pod requests by claims (dynamic resource allocation).
        resource_claims: Bounded<PodResourceClaim, GATES>,
        /// The pod's volumes.
        volumes: Bounded<Volume, VOLUMES>,
        /// Grace period of a deletion, seconds.
        termination_grace_period_seconds: Option<i64>,
        /// The runtime class.
        runtime_class_name: Text,
        /// Name of the scheduler.
        scheduler_name: Text,
        /// Resources of the whole pod, if set.
        resources: Needs,
        /// Additional resources for its runtime class.
        overhead: Resources,
        /// Priority: pods with a higher one are evicted later; critical pods have 2000000000 or more.
        priority: Option<i32>,
        /// The priority class.
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
    /// One entry of `spec.resourceClaims`.
    PodResourceClaim {
        /// Name within the pod.
        name: Text,
        /// The claim; empty for one that is created from a template.
        resource_claim_name: Text,
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
    /// One entry of `spec.volumes`: its name and its claim.
    Volume {
        /// Volume name.
        name: Text,
        /// The claim; empty for volumes of another kind.
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
        /// `Always` makes an init container a sidecar.
        restart_policy: Text,
        /// Startup probe.
        startup_probe: Option<Probe>,
        /// Readiness probe.
        readiness_probe: Option<Probe>,
        /// Liveness probe.
        liveness_probe: Option<Probe>,
        /// Requests and limits.
        resources: Needs,
        /// Named ports, which probes can refer to.
        ports: Bounded<ContainerPort, PORTS>,
    }
}

impl BoundedEntry for SchedulingGate {
    type Summary = OmittedCount;
    fn fold(self, rest: &mut OmittedCount) {
        rest.add();
    }
}

impl BoundedEntry for PodResourceClaim {
    type Summary = OmittedCount;
    fn fold(self, rest: &mut OmittedCount) {
        rest.add();
    }
}

impl BoundedEntry for ReadinessGate {
    type Summary = OmittedCount;
    fn fold(self, rest: &mut OmittedCount) {
        rest.add();
    }
}

impl BoundedEntry for Volume {
    type Summary = OmittedCount;
    fn fold(self, rest: &mut OmittedCount) {
        rest.add();
    }
    fn is_essential(&self) -> bool {
        !self.persistent_volume_claim.claim_name.is_empty()
    }
}

slim! {
    /// Summary of the containers of a spec that are left out.
    OtherContainers {
        /// Number of containers.
        count: u64,
        /// Number of sidecars among them; for init containers.
        sidecars: u64,
        /// Sum of all requests.
        all: Needs,
        /// Sum of the requests of sidecars.
        of_sidecars: Needs,
        /// Highest sum of requests during the start of one of them; for init containers.
        largest: Needs,
    }
}

impl OmittedSummary for OtherContainers {
    fn count(&self) -> u64 {
        self.count
    }
}

impl BoundedEntry for ContainerSpec {
    type Summary = OtherContainers;
    fn fold(self, rest: &mut OtherContainers) {
        let is_sidecar = self.is_sidecar();
        let add = |to: &mut Needs| {
            to.requests.add(&self.resources.requests);
            to.limits.add(&self.resources.limits);
        };
        rest.count = rest.count.saturating_add(1);
        rest.sidecars = rest.sidecars.saturating_add(u64::from(is_sidecar));
        add(&mut rest.all);
        let mut now = rest.of_sidecars.clone();
        add(&mut now);
        rest.largest.requests.raise(&now.requests);
        rest.largest.limits.raise(&now.limits);
        if is_sidecar {
            rest.of_sidecars = now;
        }
    }
}

impl ContainerSpec {
    /// True for a sidecar: an init container that runs next to the app containers (KEP-753).
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy == "Always"
    }
}
