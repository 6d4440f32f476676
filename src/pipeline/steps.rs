//! Owns the order in which stages are decided, and which of them is where the pod stands.
//! It must not look at events or the runtime itself: `early`, `late` and `terminating` read the sources.

use std::collections::{BTreeMap, HashMap};

use super::container::{ContainerKind, ContainerPosition, place_container};
use super::place::PipelinePosition;
use super::stage::{Stage, StageProgress, StageState};
use super::status::{KubectlStatus, kubectl_status};
use super::{behind, early, late, next, reason, terminating};
use crate::model::PodFacts;
use crate::objects::{ContainerSpec, ContainerStatus, Pod};
use crate::observation::{ContainerPhase, Source, Time};
use crate::text::Text;

/// What the stages are decided from.
pub(super) struct Steps<'a> {
    pub facts: &'a PodFacts,
    /// Spec and status, where any source has them.
    pub pod: Option<&'a Pod>,
    /// Every container, in spec order: init and sidecars, app, ephemeral.
    pub containers: Vec<ContainerPosition>,
    minor: u32,
}

impl<'a> Steps<'a> {
    pub fn new(facts: &'a PodFacts, minor: u32) -> Self {
        let pod = facts.object().map(|pod| &**pod);
        Self { facts, pod, containers: containers(facts, pod), minor }
    }

    pub fn place(self) -> PipelinePosition {
        let mut steps = vec![early::scheduling(&self)];
        steps.push(early::admission(&self, &steps));
        steps.push(early::volumes(&self, &steps));
        steps.push(early::sandbox(&self, &steps));
        steps.push(late::init(&self, &steps));
        for stage in [Stage::Image, Stage::Create, Stage::Start] {
            steps.push(late::bring_up(&self, stage, &steps));
        }
        steps.push(late::probes(&self, &steps));
        steps.push(late::ready(&self, &steps));
        steps.push(late::running(&self, &steps));
        steps.push(terminating::terminating(&self));
        let current = self.current(&steps);
        let (stage, state, since) = (current.stage, current.state, current.since);
        let (status, status_from) = self.status();
        PipelinePosition {
            reason: reason::reason(&self, stage, state),
            next: next::next(&self, stage),
            containers: self.containers,
            stages: steps,
            stage,
            state,
            since,
            status,
            status_from,
        }
    }

    /// The app containers.
    pub fn apps(&self) -> impl Iterator<Item = &ContainerPosition> {
        self.containers.iter().filter(|c| c.kind == ContainerKind::App)
    }

    /// Init containers and sidecars.
    pub fn inits(&self) -> impl Iterator<Item = &ContainerPosition> {
        self.containers.iter().filter(|c| matches!(c.kind, ContainerKind::Init | ContainerKind::Sidecar))
    }

    /// Something of the pod has run, or was at least created.
    pub fn ever_created(&self) -> bool {
        self.containers.iter().any(|c| c.ran)
            || !self.facts.containers.is_empty()
            || self.pod.is_some_and(|p| p.status.all_containers().any(|c| !c.container_id.is_empty()))
    }

    /// `status.phase`, empty when no source has the pod object.
    pub fn phase(&self) -> &str {
        self.pod.map_or("", |p| p.status.phase.as_str())
    }

    /// The API server has no such pod any more, and the runtime still has something of it. A static pod may lack its
    /// mirror without being asked to stop.
    pub fn is_orphan(&self) -> bool {
        self.pod.is_none() && self.facts.complete.api && !self.facts.is_static()
    }

    /// Refused by the kubelet before anything of it ran.
    pub fn rejected(&self) -> bool {
        let says_so = self.pod.is_some_and(says_rejected);
        self.phase() == "Failed"
            && !self.ever_created()
            && (says_so || self.facts.log.as_ref().is_some_and(|l| l.denied.is_some()))
    }

    /// Where the pod stands: the earliest stage that is not passed. A container that ran and failed is told in
    /// `running`, although probes and readiness are then not passed either.
    fn current<'s>(&self, steps: &'s [StageProgress]) -> &'s StageProgress {
        let get = |stage: Stage| steps.iter().find(|s| s.stage == stage).unwrap_or(&steps[0]);
        let running = get(Stage::Running);
        if self.pod.is_some_and(|p| p.metadata.deletion_timestamp.is_some()) || self.is_orphan() {
            return get(Stage::Terminating);
        }
        let open =
            |s: &&StageProgress| matches!(s.state, StageState::Failed | StageState::Active | StageState::Waiting);
        let first = steps.iter().filter(|s| s.stage < Stage::Running).find(open);
        match (self.phase(), first) {
            ("Failed", _) if self.rejected() => get(Stage::Admission),
            ("Failed", Some(step)) if step.stage == Stage::Init && step.state == StageState::Failed => step,
            ("Succeeded" | "Failed", _) => running,
            (_, Some(step)) if step.stage >= Stage::Probes && running.state == StageState::Failed => running,
            (_, Some(step)) => step,
            (_, None) => running,
        }
    }

    fn status(&self) -> (KubectlStatus, Source) {
        if let Some(pod) = self.pod {
            return match behind::caught_up(self.facts) {
                Some(pod) => (kubectl_status(&pod, self.minor), Source::Cri),
                None => (kubectl_status(pod, self.minor), self.facts.object_source()),
            };
        }
        (self.runtime_status(), Source::Cri)
    }

    /// Words in kubectl's manner for a pod of which only the runtime knows.
    fn runtime_status(&self) -> KubectlStatus {
        let phase = |c: &ContainerPosition| self.facts.container(&c.name).map(|c| c.phase);
        let counts = || self.containers.iter().filter(|c| c.kind != ContainerKind::Init);
        let ready = counts().filter(|c| phase(c) == Some(ContainerPhase::Running)).count();
        let down = self.containers.iter().filter(|c| c.running_since.is_none()).filter_map(|c| c.last_exit.as_ref());
        // What failed is the pod's word, as kubectl's is, whatever ended well before it.
        let ended = down.max_by_key(|(code, _, at)| (*code != 0, *at));
        let word: Text = match ended {
            _ if self.containers.is_empty() => "ContainerCreating".into(),
            _ if ready > 0 => "Running".into(),
            Some((_, reason, _)) if !reason.is_empty() => reason.clone(),
            Some((code, ..)) => format!("ExitCode:{code}").into(),
            None => "Exited".into(),
        };
        KubectlStatus {
            word,
            ready,
            total: counts().count(),
            restarts: self.containers.iter().map(|c| c.restarts).sum(),
            last_restart: None,
        }
    }
}

/// The kubelet's word for a pod that it did not admit.
fn says_rejected(pod: &Pod) -> bool {
    pod.status.message.starts_with("Pod was rejected")
}

fn containers(facts: &PodFacts, pod: Option<&Pod>) -> Vec<ContainerPosition> {
    let Some(pod) = pod else { return from_runtime(facts) };
    let policy = &pod.spec.restart_policy;
    // A kubelet that is started again makes up an end for every container that it does not find, also for those of a pod
    // that it had rejected: nothing of that has happened.
    let refused = says_rejected(pod) && facts.containers.is_empty();
    let made_up = |s: &ContainerStatus| {
        s.container_id.is_empty() && s.state.terminated.as_ref().is_some_and(|t| t.reason == "ContainerStatusUnknown")
    };
    let mut statuses: BTreeMap<&Text, &ContainerStatus> = BTreeMap::new();
    for status in pod.status.all_containers().filter(|s| !(refused && made_up(s))) {
        statuses.entry(&status.name).or_insert(status);
    }
    let status = |name: &Text| statuses.get(name).copied();
    let mut out = Vec::new();
    // One without a status may have one that is left out.
    let mut add = |spec: &ContainerSpec, kind, policy, partial: bool| {
        let status = status(&spec.name);
        let mut place = place_container(facts, spec, status, kind, policy);
        if partial && status.is_none() && facts.container(&spec.name).is_none() {
            (place.state, place.message) = (StageState::Unknown, "its status is not among those that are kept".into());
        }
        out.push(place);
    };
    let status = &pod.status;
    for spec in &pod.spec.init_containers {
        let kind = if spec.is_sidecar() { ContainerKind::Sidecar } else { ContainerKind::Init };
        add(spec, kind, policy, status.init_container_statuses.rest().count > 0);
    }
    for spec in &pod.spec.containers {
        add(spec, ContainerKind::App, policy, status.container_statuses.rest().count > 0);
    }
    for spec in &pod.spec.ephemeral_containers {
        add(spec, ContainerKind::Ephemeral, "Never", status.ephemeral_container_statuses.rest().count > 0);
    }
    out
}

/// Without the pod object only the order of things tells init containers from app containers.
fn from_runtime(facts: &PodFacts) -> Vec<ContainerPosition> {
    let mut names: Vec<&Text> = facts.containers.iter().map(|c| &c.name).collect();
    names.sort();
    names.dedup();
    let spec = |name: &Text| ContainerSpec { name: name.clone(), ..Default::default() };
    let newest = newest_of_sandboxes(facts);
    let kind = |name: &Text| if made_way(facts, name, &newest) { ContainerKind::Init } else { ContainerKind::App };
    let mut places: Vec<_> =
        names.into_iter().map(|name| place_container(facts, &spec(name), None, kind(name), "")).collect();
    // Nothing says whether what ended well is started again; what was started again before is taken for what is.
    if places.iter().all(|c| c.running_since.is_none())
        && let Some(last) = places.iter_mut().max_by_key(|c| c.since)
        && (last.stage, last.state) == (Stage::Running, StageState::Done)
        && last.restarts > 0
    {
        last.state = StageState::Failed;
    }
    places
}

/// It ended well, another was made after that, and it was not made again: an init container, or an app container that was
/// done before the image of the next had come.
fn made_way(facts: &PodFacts, name: &str, newest: &NewestOfSandboxes) -> bool {
    let Some(c) = facts.container(name).filter(|c| c.exit_code == Some(0)) else { return false };
    let mut of_others = newest.get(&c.sandbox).into_iter().flatten().filter(|(other, _)| ***other != *name);
    let next = of_others.next().map(|(_, created)| *created);
    c.finished_at.is_some_and(|ended| next.is_some_and(|next| next >= ended))
}

/// By sandbox, the container created last and the one created last of another name.
type NewestOfSandboxes<'a> = HashMap<&'a Text, Vec<(&'a Text, Time)>>;

fn newest_of_sandboxes(facts: &PodFacts) -> NewestOfSandboxes<'_> {
    let mut all = NewestOfSandboxes::new();
    // Newest first.
    for (c, created) in facts.containers.iter().filter_map(|c| Some((c, c.created_at?))) {
        let own = all.entry(&c.sandbox).or_default();
        if own.len() < 2 && own.iter().all(|(name, _)| **name != c.name) {
            own.push((&c.name, created));
        }
    }
    all
}
