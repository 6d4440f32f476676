//! Owns what the pod object would say by now, where its source is away and the runtime shows that its containers went on.
//! It must not be asked while the API server answers: then its word is kubectl's, however late.

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::model::{PodFacts, bare_id, nonzero_time};
use crate::objects::{ContainerState, ContainerStatus, Pod, Running, Terminated};
use crate::observation::{Container, ContainerPhase, Time};
use crate::text::Text;

/// The pod object with the runtime's newer containers in it; None when it is not behind.
pub(super) fn caught_up(facts: &PodFacts) -> Option<Pod> {
    if facts.complete.api || !facts.complete.cri {
        return None;
    }
    let (_, held) = facts.newest_object()?;
    let mut pod = (*held.value).clone();
    let mut changed = false;
    let (spec, status) = (&pod.spec, &mut pod.status);
    let specs = spec.containers.iter().chain(&spec.init_containers);
    let specs = specs.filter(|c| c.readiness_probe.is_some() || c.startup_probe.is_some());
    let probed: HashSet<&Text> = specs.map(|c| &c.name).collect();
    for status in status.init_container_statuses.iter_mut().chain(&mut status.container_statuses) {
        let Some(container) = facts.container(&status.name).filter(|c| is_later(c, status, held.changed)) else {
            continue;
        };
        let probed = probed.contains(&status.name);
        changed |= go_on(status, container, facts, probed);
    }
    changed.then_some(pod)
}

/// The runtime's container is the run of which the status tells, or a later one. Times alone do not say so: what the
/// kubelet's `/pods` shows may be older than its first answer (a status as the API server last echoed it), and restarts
/// are counted in the container's own attempt.
fn is_later(c: &Container, status: &ContainerStatus, said: Time) -> bool {
    match c.attempt.cmp(&status.restart_count) {
        Ordering::Greater => true,
        Ordering::Less => false,
        Ordering::Equal => {
            matches!(bare_id(&status.container_id), id if id.is_empty() || id == c.id.as_str())
                || newest(c) > Some(said)
        }
    }
}

/// The last thing that happened to a container.
fn newest(c: &Container) -> Option<Time> {
    [c.created_at, nonzero_time(c.started_at), nonzero_time(c.finished_at)].into_iter().max().flatten()
}

/// Writes the runtime's word into a status, as the kubelet would. False when it says the same already.
fn go_on(status: &mut ContainerStatus, c: &Container, facts: &PodFacts, probed: bool) -> bool {
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
    let told = status.state.terminated.as_ref().or(status.last_state.terminated.as_ref());
    if same_run && status.state.running.is_some() == state.running.is_some()
        || told.is_some_and(|t| bare_id(&t.container_id) == c.id.as_str())
    {
        return false;
    }
    if !same_run {
        let mut before = facts.exits_of(&status.name).rev().filter(|e| e.id != c.id);
        status.last_state.terminated = before.next().map(|e| Terminated {
            container_id: e.id.clone(),
            exit_code: e.exit_code,
            reason: e.reason.clone(),
            started_at: e.started,
            finished_at: e.finished,
            ..Default::default()
        });
        status.restart_count = status.restart_count.max(c.attempt);
    }
    // Of what was not there when the source went away, only what has no probe can be told to be ready.
    let runs = state.running.is_some();
    status.ready = runs && (same_run && status.ready || !probed);
    status.started = Some(runs && (same_run && status.started == Some(true) || !probed));
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
    fn the_runtimes_later_word_stands_in_only_while_the_api_server_is_away() {
        let mut node = node();
        node.at += TimeDelta::seconds(30);
        let at = node.at;
        node.say(Source::Cri, container("two", 5, at, Some(1)));
        let said = |node: &mut Node| {
            let placed = node.placed();
            let status = &placed.position.status;
            (status.word.to_string(), status.ready_text(), status.restarts, placed.position.status_from)
        };
        assert_eq!(said(&mut node), ("Running".into(), "1/1".into(), 4, Source::ApiPods), "kubectl's own word");
        node.lose(Source::ApiPods);
        assert_eq!(said(&mut node), ("Error".into(), "0/1".into(), 5, Source::Cri));
        node.list(Source::ApiPods, vec![pod("two", 5, false, r#"{"waiting":{"reason":"CrashLoopBackOff"}}"#)]);
        assert_eq!(said(&mut node), ("CrashLoopBackOff".into(), "0/1".into(), 5, Source::ApiPods));
    }

    #[test]
    fn the_kubelets_later_word_is_taken_while_the_api_server_is_away() {
        let mut node = node();
        node.at += TimeDelta::seconds(30);
        let waiting = r#"{"waiting":{"reason":"CrashLoopBackOff"}}"#;
        node.list(Source::KubeletPods, vec![pod("two", 5, false, waiting)]);
        assert_eq!(node.placed().position.status_from, Source::ApiPods);
        node.lose(Source::ApiPods);
        let place = node.placed().position;
        assert_eq!((place.status.word.as_str(), place.status.restarts), ("CrashLoopBackOff", 5));
        assert_eq!(place.status_from, Source::KubeletPods);
    }

    /// As a node looks whose API server was away before anybody looked.
    #[test]
    fn a_status_that_the_kubelet_shows_late_is_not_news() {
        let mut node = Node::new();
        let at = node.at;
        node.list(Source::Cri, vec![container("one", 4, at, Some(1))]);
        node.at += TimeDelta::seconds(30);
        node.list(Source::KubeletPods, vec![pod("one", 4, true, r#"{"running":{}}"#)]);
        let place = node.placed().position;
        assert_eq!((place.status.word.as_str(), place.status.ready_text()), ("Error", "0/1".into()));
        assert_eq!(place.status_from, Source::Cri);
        node.list(Source::KubeletPods, vec![pod("two", 5, true, r#"{"running":{}}"#)]);
        let place = node.placed().position;
        assert_eq!((place.status.word.as_str(), place.status_from), ("Running", Source::KubeletPods), "a later run");
    }
}
