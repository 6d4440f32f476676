//! Updates the pod object with the runtime's container states while its own source is not available. While the API server
//! responds, its status is shown unchanged, as kubectl does.

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::model::{PodFacts, bare_id, nonzero_time};
use crate::objects::{ContainerState, ContainerStatus, Pod, Running, Terminated};
use crate::observation::{Container, ContainerPhase, Time};
use crate::text::Text;

/// The pod object with the newer container states of the runtime; None if it has none.
pub(super) fn with_runtime_state(facts: &PodFacts) -> Option<Pod> {
    if facts.complete.api || !facts.complete.cri {
        return None;
    }
    let (_, object) = facts.newest_object()?;
    let mut pod = (*object.value).clone();
    let mut changed = false;
    let (spec, status) = (&pod.spec, &mut pod.status);
    let specs = spec.containers.iter().chain(&spec.init_containers);
    let specs = specs.filter(|c| c.readiness_probe.is_some() || c.startup_probe.is_some());
    let probed: HashSet<&Text> = specs.map(|c| &c.name).collect();
    for status in status.init_container_statuses.iter_mut().chain(&mut status.container_statuses) {
        let Some(container) = facts.container(&status.name).filter(|c| is_later(c, status, object.changed)) else {
            continue;
        };
        let probed = probed.contains(&status.name);
        changed |= update_status(status, container, facts, probed);
    }
    changed.then_some(pod)
}

/// The container in the runtime is the run in the status, or a later one. Times alone do not decide: the kubelet's `/pods`
/// may return a status older than its first response (as last returned by the API server), but a container's attempt
/// counts its restarts.
fn is_later(c: &Container, status: &ContainerStatus, reported: Time) -> bool {
    match c.attempt.cmp(&status.restart_count) {
        Ordering::Greater => true,
        Ordering::Less => false,
        Ordering::Equal => {
            matches!(bare_id(&status.container_id), id if id.is_empty() || id == c.id.as_str())
                || last_change(c) > Some(reported)
        }
    }
}

/// When the container last changed its state.
fn last_change(c: &Container) -> Option<Time> {
    [c.created_at, nonzero_time(c.started_at), nonzero_time(c.finished_at)].into_iter().max().flatten()
}

/// Writes the runtime's state into a status, as the kubelet would. False if the status has it already.
fn update_status(status: &mut ContainerStatus, c: &Container, facts: &PodFacts, probed: bool) -> bool {
    let same_run = bare_id(&status.container_id) == c.id.as_str();
    let state = match (c.phase, c.exit_code) {
        (ContainerPhase::Running, _) => {
            let running = Running { started_at: nonzero_time(c.started_at).or(c.created_at) };
            ContainerState { running: Some(running), ..Default::default() }
        }
        (ContainerPhase::Exited, Some(exit_code)) => {
            let terminated = Terminated {
                container_id: c.id.clone(),
                exit_code,
                reason: c.reason.clone(),
                message: c.message.clone(),
                started_at: c.started_at,
                finished_at: c.finished_at,
                ..Default::default()
            };
            ContainerState { terminated: Some(terminated), ..Default::default() }
        }
        _ => return false,
    };
    let last_exit = status.state.terminated.as_ref().or(status.last_state.terminated.as_ref());
    if same_run && status.state.running.is_some() == state.running.is_some()
        || last_exit.is_some_and(|t| bare_id(&t.container_id) == c.id.as_str())
    {
        return false;
    }
    if !same_run {
        let mut earlier = facts.exits_of(&status.name).rev().filter(|e| e.id != c.id);
        status.last_state.terminated = earlier.next().map(|e| Terminated {
            container_id: e.id.clone(),
            exit_code: e.exit_code,
            reason: e.reason.clone(),
            started_at: e.started,
            finished_at: e.finished,
            ..Default::default()
        });
        status.restart_count = status.restart_count.max(c.attempt);
    }
    // The readiness of a new container is known only if it has no probe.
    let is_running = state.running.is_some();
    status.ready = is_running && (same_run && status.ready || !probed);
    status.started = Some(is_running && (same_run && status.started == Some(true) || !probed));
    status.container_id = c.id.clone();
    status.state = state;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Fact, Source};
    use crate::pipeline::tests::fixture::Node;
    use crate::time::TimeDelta;

    fn pod(id: &str, restarts: u32, ready: bool, state: &str) -> Fact {
        let pod = format!(
            r#"{{"metadata":{{"name":"p","namespace":"n","uid":"u"}},
            "spec":{{"nodeName":"w","restartPolicy":"Always","containers":[{{"name":"c"}}]}},
            "status":{{"phase":"Running","startTime":"2026-09-21T14:00:00Z","containerStatuses":[{{"name":"c","ready":{ready},
            "containerID":"containerd://{id}","restartCount":{restarts},"state":{state}}}]}}}}"#
        );
        Fact::Pod(serde_json::from_str(&pod).unwrap())
    }

    fn container(id: &str, attempt: u32, at: Time, exit: Option<i32>) -> Fact {
        let phase = if exit.is_some() { ContainerPhase::Exited } else { ContainerPhase::Running };
        let json = serde_json::json!({"id": id, "sandbox": "s", "name": "c", "pod": "p", "namespace": "n", "uid": "u",
            "attempt": attempt, "phase": phase, "created_at": at, "started_at": at,
            "finished_at": exit.map(|_| at), "exit_code": exit, "reason": exit.map_or("", |_| "Error")});
        Fact::Container(serde_json::from_value(json).unwrap())
    }

    fn node() -> Node {
        let mut node = Node::new();
        let at = node.at;
        node.list(Source::ApiPods, vec![pod("one", 4, true, r#"{"running":{}}"#)]);
        node.list(Source::Cri, vec![container("one", 4, at, None)]);
        node
    }

    #[test]
    fn the_runtimes_state_is_used_only_while_the_api_server_is_unavailable() {
        let mut node = node();
        node.at += TimeDelta::seconds(30);
        let at = node.at;
        node.report(Source::Cri, container("two", 5, at, Some(1)));
        let status = |node: &mut Node| {
            let position = node.located().position;
            let status = &position.status;
            (status.word.to_string(), status.ready_text(), status.restarts, position.status_from)
        };
        assert_eq!(status(&mut node), ("Running".into(), "1/1".into(), 4, Source::ApiPods), "as kubectl shows it");
        node.disconnect(Source::ApiPods);
        assert_eq!(status(&mut node), ("Error".into(), "0/1".into(), 5, Source::Cri));
        node.list(Source::ApiPods, vec![pod("two", 5, false, r#"{"waiting":{"reason":"CrashLoopBackOff"}}"#)]);
        assert_eq!(status(&mut node), ("CrashLoopBackOff".into(), "0/1".into(), 5, Source::ApiPods));
    }

    #[test]
    fn the_kubelets_newer_status_is_used_while_the_api_server_is_unavailable() {
        let mut node = node();
        node.at += TimeDelta::seconds(30);
        let waiting = r#"{"waiting":{"reason":"CrashLoopBackOff"}}"#;
        node.list(Source::KubeletPods, vec![pod("two", 5, false, waiting)]);
        assert_eq!(node.located().position.status_from, Source::ApiPods);
        node.disconnect(Source::ApiPods);
        let position = node.located().position;
        assert_eq!((position.status.word.as_str(), position.status.restarts), ("CrashLoopBackOff", 5));
        assert_eq!(position.status_from, Source::KubeletPods);
    }

    /// The API server was unavailable from the start.
    #[test]
    fn an_old_status_of_the_kubelet_is_not_newer() {
        let mut node = Node::new();
        let at = node.at;
        node.list(Source::Cri, vec![container("one", 4, at, Some(1))]);
        node.at += TimeDelta::seconds(30);
        node.list(Source::KubeletPods, vec![pod("one", 4, true, r#"{"running":{}}"#)]);
        let position = node.located().position;
        assert_eq!((position.status.word.as_str(), position.status.ready_text()), ("Error", "0/1".into()));
        assert_eq!(position.status_from, Source::Cri);
        node.list(Source::KubeletPods, vec![pod("two", 5, true, r#"{"running":{}}"#)]);
        let position = node.located().position;
        assert_eq!(
            (position.status.word.as_str(), position.status_from),
            ("Running", Source::KubeletPods),
            "a later run"
        );
    }
}
