//! From the facts of each source to typed signals with their times. Signals of the past are dropped; nothing is weighed here.

mod absent;
mod events;
mod exits;
mod image;
mod lines;
mod node;
mod recovery;
mod stale;
mod status;

pub(super) use absent::standing;
pub(super) use lines::{pulls, quiet};

use std::collections::BTreeMap;

use crate::model::{PodFacts, Snapshot};
use crate::objects::{ContainerStatus, Event};
use crate::observation::{Source, Time};
use crate::pipeline::{ContainerKind, ContainerPosition, LocatedPod, Stage, StageState};
use crate::runbook::{Signal, SignalKind};
use crate::thresholds::{BACK_OFF_RESET, LIVENESS_FAILURES, STAGE_STUCK};

/// The pod under diagnosis.
pub(super) struct Subject<'a> {
    pub facts: &'a PodFacts,
    pub placed: &'a LocatedPod,
    pub snapshot: &'a Snapshot,
    pub now: Time,
    places: BTreeMap<&'a str, &'a ContainerPosition>,
    statuses: BTreeMap<&'a str, &'a ContainerStatus>,
}

impl<'a> Subject<'a> {
    pub fn new(placed: &'a LocatedPod, snapshot: &'a Snapshot, now: Time) -> Self {
        let (mut places, mut statuses) = (BTreeMap::new(), BTreeMap::new());
        for place in &placed.position.containers {
            places.entry(place.name.as_str()).or_insert(place);
        }
        for status in placed.facts.object().into_iter().flat_map(|pod| pod.status.all_containers()) {
            statuses.entry(status.name.as_str()).or_insert(status);
        }
        Self { facts: &placed.facts, placed, snapshot, now, places, statuses }
    }
}

/// The current signals of a pod.
pub(super) fn of_pod(placed: &LocatedPod, snapshot: &Snapshot, now: Time) -> Vec<Signal> {
    let subject = Subject::new(placed, snapshot, now);
    let mut out = Vec::new();
    status::extract(&subject, &mut out);
    exits::extract(&subject, &mut out);
    events::extract(&subject, &mut out);
    lines::of_pod(&subject, &mut out);
    if subject.terminating() {
        node::of_terminating(&subject, &mut out);
    }
    // An ephemeral container that does not start is not a fault of a healthy pod.
    let debugs = |name: &str| subject.container(name).is_some_and(|c| c.kind == ContainerKind::Ephemeral);
    let well = placed.position.stage == Stage::Running && placed.position.state == StageState::Active;
    out.retain(|signal| subject.is_current(signal) && !(well && debugs(&signal.container)));
    out
}

/// The signals of the node. With `whole`, lines about single pods too: only logs are known.
pub(super) fn of_node(snapshot: &Snapshot, now: Time, whole: bool) -> Vec<Signal> {
    let mut out = Vec::new();
    node::extract(snapshot, now, &mut out);
    lines::of_node(snapshot, now, whole, &mut out);
    out
}

/// The signals of logs and events about a pod that no source has as an object.
pub(super) fn of_name(snapshot: &Snapshot, namespace: &str, name: &str, now: Time) -> Vec<Signal> {
    let mut out = Vec::new();
    lines::of_name(snapshot, namespace, name, &mut out);
    absent::extract(snapshot, namespace, name, now, &mut out);
    events::of_owner(snapshot, namespace, name, &mut out);
    out
}

/// The stage whose failure a kind is about.
pub(super) fn stage_of(kind: SignalKind) -> Option<Stage> {
    Some(match kind {
        SignalKind::Schedule | SignalKind::Gate | SignalKind::Claim => Stage::Scheduling,
        SignalKind::Rejected | SignalKind::Static => Stage::Admission,
        SignalKind::Mount | SignalKind::Attach => Stage::Volumes,
        SignalKind::Pause | SignalKind::Network | SignalKind::Sandbox => Stage::Sandbox,
        SignalKind::Pull => Stage::Image,
        SignalKind::Config | SignalKind::Create => Stage::Create,
        SignalKind::Start => Stage::Start,
        SignalKind::Probe => Stage::Probes,
        SignalKind::Kill | SignalKind::Teardown | SignalKind::Unmount => Stage::Terminating,
        _ => return None,
    })
}

/// The same for one signal. The kubelet reports a network that is not ready for every pod that it syncs, but only a pod without a
/// sandbox waits for it.
fn stage_of_signal(signal: &Signal) -> Option<Stage> {
    let is_network = |text: &str| text.contains("network is not ready") || text.contains("NetworkReady=false");
    match signal.kind {
        SignalKind::Loop if is_network(&signal.text) => Some(Stage::Sandbox),
        kind => stage_of(kind),
    }
}

impl Subject<'_> {
    fn container(&self, name: &str) -> Option<&ContainerPosition> {
        self.places.get(name).copied()
    }

    /// The status of a container, in the word of who has the pod object.
    pub fn status(&self, container: &str) -> Option<&ContainerStatus> {
        self.statuses.get(container).copied()
    }

    fn terminating(&self) -> bool {
        self.placed.position.stage == Stage::Terminating
    }

    /// False for what the pod has left behind it: a failed mount of a pod whose volumes are mounted explains nothing.
    pub fn is_current(&self, signal: &Signal) -> bool {
        // CRI, conditions and statuses show the present state; events and lines may be out of date.
        let told = matches!(
            signal.source,
            Source::ApiEvents | Source::KubeletLog | Source::RuntimeLog | Source::KernelLog | Source::OtherLog
        );
        let Some(stage) = stage_of_signal(signal).filter(|_| told) else { return true };
        let place = &self.placed.position;
        if self.terminating() && stage != Stage::Terminating {
            return false;
        }
        match stage {
            Stage::Terminating => {
                let unsettled = matches!(place.state, StageState::Failed) || place.stage < Stage::Running;
                self.terminating() || (unsettled && signal.kind != SignalKind::Unmount)
            }
            Stage::Image | Stage::Create | Stage::Start | Stage::Probes => self.concerns_container(signal, stage),
            _ if place.stage == stage => true,
            _ => place.progress(stage).is_some_and(|s| !matches!(s.state, StageState::Done | StageState::Skipped)),
        }
    }

    fn concerns_container(&self, signal: &Signal, stage: Stage) -> bool {
        let open = |c: &ContainerPosition| match stage {
            Stage::Image => c.stage == Stage::Image,
            Stage::Create => matches!(c.stage, Stage::Image | Stage::Create),
            Stage::Start => c.running_since.is_none() && c.stage >= Stage::Create && c.state == StageState::Failed,
            // Probes speak of the run under way, or of the one that they ended; a Ready container may fail its liveness probe.
            _ => {
                let kills = signal.word == "liveness" && signal.count >= LIVENESS_FAILURES;
                let now = signal.at.is_some_and(|at| (self.now - at).num_seconds() <= STAGE_STUCK.num_seconds());
                // The readiness probe starts when the startup probe has succeeded.
                let starting =
                    signal.word == "readiness" && self.status(&c.name).is_some_and(|s| s.started == Some(false));
                let of_another_run = self.is_of_a_run_before(signal, c) || starting && c.running_since.is_some();
                !of_another_run && (!c.ready || c.stage == Stage::Probes || self.restarted_lately(c) || (kills && now))
            }
        };
        if signal.container.is_empty() {
            return self.placed.position.containers.is_empty() || self.placed.position.containers.iter().any(open);
        }
        self.container(&signal.container).is_none_or(open)
    }

    /// The probe result is about a previous run that exited for another reason: much later, and a new run has started since.
    fn is_of_a_run_before(&self, signal: &Signal, c: &ContainerPosition) -> bool {
        let (Some(at), Some(began)) = (signal.at, c.running_since) else { return false };
        let end = c.last_exit.as_ref().and_then(|(.., end)| *end);
        let after = end.map(|end| (end - at).num_seconds());
        at < began && after.is_none_or(|after| after > STAGE_STUCK.num_seconds())
    }

    /// An event on the restarts of a container that has done its work, or runs and is ready for longer than restarts are remembered.
    fn is_past_back_off(&self, event: &Event) -> bool {
        let name = event.involved_object.container().filter(|_| event.message.starts_with("Back-off restarting"));
        let steady = |c: &ContainerPosition| c.state == StageState::Done || (c.ready && !self.restarted_lately(c));
        name.and_then(|name| self.container(name)).is_some_and(steady)
    }

    /// The kubelet restarts the container after it exits with 0.
    pub fn is_restarted(&self, c: &ContainerPosition) -> bool {
        self.facts.object().is_none_or(|pod| {
            let specs = || pod.spec.init_containers.iter().chain(&pod.spec.containers);
            let own = specs().find(|spec| spec.name == c.name).map(|spec| spec.restart_policy.as_str());
            let policy = own.filter(|own| !own.is_empty()).unwrap_or(&pod.spec.restart_policy);
            !pod.status.is_terminal() && !matches!(policy, "Never" | "OnFailure")
        })
    }

    /// Within what the kubelet remembers of restarts.
    fn restarted_lately(&self, c: &ContainerPosition) -> bool {
        let end = c.last_exit.as_ref().and_then(|(.., at)| *at);
        c.restarts > 0 && end.is_some_and(|at| (self.now - at).num_seconds() < BACK_OFF_RESET.num_seconds())
    }
}
