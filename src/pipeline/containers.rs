//! The positions of all containers of a pod.

use std::collections::{BTreeMap, HashMap};

use super::container::{ContainerKind, ContainerPosition};
use super::container_position::container_position;
use super::stage::{Stage, StageState};
use crate::model::PodFacts;
use crate::objects::{ContainerSpec, ContainerStatus, Pod};
use crate::observation::Time;
use crate::text::Text;

/// The containers of a pod in spec order: init containers and sidecars, app containers, ephemeral containers.
pub(super) fn container_positions(facts: &PodFacts, pod: Option<&Pod>) -> Vec<ContainerPosition> {
    let Some(pod) = pod else { return from_runtime(facts) };
    let policy = &pod.spec.restart_policy;
    // A restarted kubelet reports a termination for every container that it does not find, also for those of a pod that it
    // has rejected. Such a container has never run.
    let is_rejected = is_reported_rejected(pod) && facts.containers.is_empty();
    let is_not_found = |s: &ContainerStatus| {
        s.container_id.is_empty() && s.state.terminated.as_ref().is_some_and(|t| t.reason == "ContainerStatusUnknown")
    };
    let mut statuses: BTreeMap<&Text, &ContainerStatus> = BTreeMap::new();
    for status in pod.status.all_containers().filter(|s| !(is_rejected && is_not_found(s))) {
        statuses.entry(&status.name).or_insert(status);
    }
    let status = |name: &Text| statuses.get(name).copied();
    let mut out = Vec::new();
    // The status of a container may be among those that were left out.
    let mut add = |spec: &ContainerSpec, kind, policy, partial: bool| {
        let status = status(&spec.name);
        let mut position = container_position(facts, spec, status, kind, policy);
        if partial && status.is_none() && facts.container(&spec.name).is_none() {
            (position.state, position.message) = (StageState::Unknown, "status left out: too many containers".into());
        }
        out.push(position);
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

/// Without the pod object, the order of exits and creations distinguishes init containers from app containers.
fn from_runtime(facts: &PodFacts) -> Vec<ContainerPosition> {
    let mut names: Vec<&Text> = facts.containers.iter().map(|c| &c.name).collect();
    names.sort();
    names.dedup();
    let spec = |name: &Text| ContainerSpec { name: name.clone(), ..Default::default() };
    let newest = newest_by_sandbox(facts);
    let kind = |name: &Text| if has_made_way(facts, name, &newest) { ContainerKind::Init } else { ContainerKind::App };
    let mut positions: Vec<_> =
        names.into_iter().map(|name| container_position(facts, &spec(name), None, kind(name), "")).collect();
    // The restart policy is unknown. A container that exited with 0 is assumed to restart if it has restarted before.
    if positions.iter().all(|c| c.running_since.is_none())
        && let Some(last) = positions.iter_mut().max_by_key(|c| c.since)
        && (last.stage, last.state) == (Stage::Running, StageState::Done)
        && last.restarts > 0
    {
        last.state = StageState::Failed;
    }
    positions
}

/// The container exited with 0, and another one was created after that: an init container, or an app container that
/// completed before the next one was created.
fn has_made_way(facts: &PodFacts, name: &str, newest: &NewestBySandbox) -> bool {
    let Some(c) = facts.container(name).filter(|c| c.exit_code == Some(0)) else { return false };
    let mut of_others = newest.get(&c.sandbox).into_iter().flatten().filter(|(other, _)| ***other != *name);
    let next = of_others.next().map(|(_, created)| *created);
    c.finished_at.is_some_and(|ended| next.is_some_and(|next| next >= ended))
}

/// By sandbox, the newest container and the newest one with another name.
type NewestBySandbox<'a> = HashMap<&'a Text, Vec<(&'a Text, Time)>>;

fn newest_by_sandbox(facts: &PodFacts) -> NewestBySandbox<'_> {
    let mut all = NewestBySandbox::new();
    // Newest first.
    for (c, created) in facts.containers.iter().filter_map(|c| Some((c, c.created_at?))) {
        let own = all.entry(&c.sandbox).or_default();
        if own.len() < 2 && own.iter().all(|(name, _)| **name != c.name) {
            own.push((&c.name, created));
        }
    }
    all
}

/// The kubelet has rejected the pod at admission (`Pod was rejected: ...`, pkg/kubelet/kubelet.go).
pub(super) fn is_reported_rejected(pod: &Pod) -> bool {
    pod.status.message.starts_with("Pod was rejected")
}
