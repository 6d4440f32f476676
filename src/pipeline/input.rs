//! The input of every stage: what the sources report about one pod, and the questions that several stages ask about it.

use super::container::{ContainerKind, ContainerPosition};
use super::container_stage::stage_of_reason;
use super::containers::{container_positions, is_reported_rejected};
use super::evidence::last_event;
use super::stage::{Stage, StageState};
use crate::model::PodFacts;
use crate::objects::Pod;
use crate::observation::Source;

/// Reasons of events about a sandbox that could not be created.
pub(super) const SANDBOX_FAILURES: [&str; 3] =
    ["FailedCreatePodSandBox", "NetworkNotReady", "FailedPrepareDynamicResources"];
/// Reasons of events about a volume that could not be attached or mounted.
pub(super) const VOLUME_FAILURES: [&str; 3] = ["FailedMount", "FailedAttachVolume", "FailedMapVolume"];

/// What is known of one pod.
pub(super) struct PodInput<'a> {
    pub facts: &'a PodFacts,
    /// The pod object, if any source has it.
    pub pod: Option<&'a Pod>,
    /// Every container in spec order: init containers and sidecars, app containers, ephemeral containers.
    pub containers: Vec<ContainerPosition>,
    /// Minor version of the API server, which decides some of kubectl's status words.
    pub api_minor: u32,
}

impl<'a> PodInput<'a> {
    pub fn new(facts: &'a PodFacts, api_minor: u32) -> Self {
        let pod = facts.object().map(|pod| &**pod);
        Self { facts, pod, containers: container_positions(facts, pod), api_minor }
    }

    /// The app containers.
    pub fn apps(&self) -> impl Iterator<Item = &ContainerPosition> {
        self.containers.iter().filter(|c| c.kind == ContainerKind::App)
    }

    /// Init containers and sidecars.
    pub fn inits(&self) -> impl Iterator<Item = &ContainerPosition> {
        self.containers.iter().filter(|c| matches!(c.kind, ContainerKind::Init | ContainerKind::Sidecar))
    }

    /// The source of the pod object.
    pub fn object_source(&self) -> Source {
        self.facts.object_source()
    }

    /// `status.phase`; empty if no source has the pod object.
    pub fn phase(&self) -> &str {
        self.pod.map_or("", |p| p.status.phase.as_str())
    }

    /// The pod has succeeded or failed: none of its containers will run again.
    pub fn is_terminal(&self) -> bool {
        self.pod.is_some_and(|p| p.status.is_terminal())
    }

    /// The runtime still has the pod, and the API server has it no longer. A static pod may lack its mirror pod without being
    /// deleted.
    pub fn is_orphan(&self) -> bool {
        self.pod.is_none() && self.facts.complete.api && self.facts.complete.node && !self.facts.is_static()
    }

    /// A container of the pod was created at some time.
    pub fn was_container_created(&self) -> bool {
        self.containers.iter().any(|c| c.ran)
            || !self.facts.containers.is_empty()
            || self.pod.is_some_and(|p| p.status.all_containers().any(|c| !c.container_id.is_empty()))
    }

    /// The kubelet rejected the pod at admission.
    pub fn is_rejected(&self) -> bool {
        let is_reported = self.pod.is_some_and(is_reported_rejected);
        self.phase() == "Failed"
            && !self.was_container_created()
            && (is_reported || self.facts.log.as_ref().is_some_and(|l| l.denied.is_some()))
    }

    /// A sandbox exists or has existed.
    pub fn had_sandbox(&self) -> bool {
        !self.facts.sandboxes.is_empty()
            || self.was_container_created()
            || self.pod.is_some_and(|p| {
                p.status.is_true("PodReadyToStartContainers") || !p.status.pod_ip.is_empty() && !p.spec.host_network
            })
            || self.has_started_containers()
    }

    /// The kubelet has started to pull or create containers, which it does after the sandbox. It writes no status while it
    /// pulls, so the pod IP may be missing for a long time (SyncPod in pkg/kubelet/kuberuntime).
    fn has_started_containers(&self) -> bool {
        let event = last_event(self.facts, &["Pulling", "Pulled", "Created"], &SANDBOX_FAILURES).is_some();
        let statuses = self.pod.into_iter().flat_map(|p| p.status.all_containers());
        let mut waiting = statuses.filter_map(|c| c.state.waiting.as_ref());
        event || waiting.any(|w| stage_of_reason(&w.reason).is_some())
    }

    /// The init container or sidecar that the other containers wait for.
    pub fn blocking_init(&self) -> Option<&ContainerPosition> {
        self.inits().find(|c| match c.kind {
            ContainerKind::Sidecar => !(c.stage == Stage::Running && c.state == StageState::Active),
            _ => !(c.stage == Stage::Running && c.state == StageState::Done),
        })
    }

    /// Readiness gates whose condition is not True.
    pub fn open_gates(&self) -> Vec<&str> {
        let Some(pod) = self.pod else { return Vec::new() };
        let gates = pod.spec.readiness_gates.iter().map(|g| g.condition_type.as_str());
        gates.filter(|gate| !pod.status.is_true(gate)).collect()
    }
}
