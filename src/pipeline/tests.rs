//! Positions of whole pods from what a node reports.

use crate::time::TimeDelta;
use serde_json::{Value, json};

pub(crate) mod fixture;

use super::{PipelinePosition, Stage, StageState};
use crate::observation::{Fact, LogLevel, LogRecord, Source, Time};
use fixture::Node;

fn pod(status: Value) -> Fact {
    let mut pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"},
        "spec": {"nodeName": "w", "restartPolicy": "Always", "containers": [{"name": "app"}]}});
    pod["status"] = status;
    Fact::Pod(serde_json::from_value(pod).unwrap())
}

fn sandbox(at: Time) -> Fact {
    let json = json!({"id": "s", "pod": "p", "name": "p", "namespace": "n", "uid": "u", "attempt": 0, "ready": true,
        "created_at": at});
    Fact::Sandbox(serde_json::from_value(json).unwrap())
}

fn container(name: &str, attempt: u32, ended: Time, code: i32) -> Fact {
    let reason = if code == 0 { "Completed" } else { "Error" };
    let json = json!({"id": format!("{name}{attempt}"), "sandbox": "s", "name": name, "pod": "p", "namespace": "n",
        "uid": "u", "attempt": attempt, "phase": "exited", "created_at": ended, "started_at": ended,
        "finished_at": ended, "exit_code": code, "reason": reason});
    Fact::Container(serde_json::from_value(json).unwrap())
}

fn position(node: &mut Node) -> PipelinePosition {
    (*node.located().position).clone()
}

#[test]
fn a_rejected_pod_has_not_run_although_a_restarted_kubelet_reports_a_termination() {
    let mut node = Node::new();
    let terminated = json!({"exitCode": 137, "reason": "ContainerStatusUnknown", "startedAt": null, "finishedAt": null,
        "message": "The container could not be located when the pod was terminated"});
    let status = json!({"phase": "Failed", "reason": "OutOfcpu", "startTime": "2026-09-21T13:00:00Z",
        "message": "Pod was rejected: Node didn't have enough resource: cpu",
        "containerStatuses": [{"name": "app", "state": {"terminated": terminated}}]});
    node.list(Source::ApiPods, vec![pod(status)]);
    node.list(Source::Cri, Vec::new());
    let position = position(&mut node);
    assert_eq!(position.status.word, "ContainerStatusUnknown", "as in kubectl");
    assert_eq!((position.stage, position.state), (Stage::Admission, StageState::Failed));
    let passed = position.stages.iter().filter(|s| s.stage > Stage::Admission && s.state == StageState::Done);
    assert_eq!(passed.count(), 0);
}

#[test]
fn exited_containers_are_not_running_if_only_the_runtime_reports_the_pod() {
    let observed = |containers: &[(&str, u32, i64, i32)]| {
        let mut node = Node::new();
        let at = node.at;
        let ended = |s: i64| at - TimeDelta::seconds(s);
        let containers =
            containers.iter().map(|(name, attempt, ago, code)| container(name, *attempt, ended(*ago), *code));
        node.list(Source::Cri, [sandbox(ended(90))].into_iter().chain(containers).collect());
        let position = position(&mut node);
        (position.status.word.to_string(), position.stage, position.state)
    };
    let running = Stage::Running;
    assert_eq!(observed(&[("job", 0, 5, 0)]), ("~Completed".into(), running, StageState::Done));
    assert_eq!(
        observed(&[("app", 4, 5, 0)]),
        ("~Completed".into(), running, StageState::Failed),
        "it has restarted before"
    );
    assert_eq!(observed(&[("bad", 2, 5, 7), ("ok", 0, 30, 0)]), ("~Error".into(), running, StageState::Failed));
    assert_eq!(observed(&[("a", 2, 5, 7), ("z", 0, 30, 0)]), ("~Error".into(), running, StageState::Failed));
}

#[test]
fn the_status_of_a_pod_that_only_the_runtime_reports_is_marked_and_its_readiness_unknown() {
    let mut node = Node::new();
    let at = node.at;
    let ended = |s: i64| at - TimeDelta::seconds(s);
    let status = |node: &mut Node| {
        let status = position(node).status;
        (status.word.to_string(), status.ready_text())
    };
    node.list(Source::Cri, vec![sandbox(ended(90))]);
    assert_eq!(status(&mut node), ("~ContainerCreating".into(), "?".into()));
    // An init container that runs looks like an app container.
    let running = json!({"id": "first0", "sandbox": "s", "name": "first", "pod": "p", "namespace": "n", "uid": "u",
        "attempt": 0, "phase": "running", "created_at": ended(20), "started_at": ended(20)});
    node.report(Source::Cri, Fact::Container(serde_json::from_value(running).unwrap()));
    assert_eq!(status(&mut node), ("~1 of 1 running".into(), "?".into()));
    node.report(Source::Cri, container("side", 0, ended(10), 0));
    assert_eq!(status(&mut node), ("~1 of 2 running".into(), "?".into()));
    let mut stopped = Node::new();
    let Fact::Sandbox(mut only) = sandbox(ended(90)) else { panic!() };
    only.ready = false;
    stopped.list(Source::Cri, vec![Fact::Sandbox(only)]);
    assert_eq!(status(&mut stopped), ("~Stopped".into(), "?".into()));
    let mut deleted = Node::new();
    deleted.list(Source::Cri, vec![sandbox(ended(90))]);
    deleted.list(Source::ApiPods, vec![]);
    assert_eq!(status(&mut deleted), ("~Terminating".into(), "?".into()), "deleted from the API server");
}

#[test]
fn a_pod_with_a_new_sandbox_starts_with_its_init_containers() {
    let mut node = Node::new();
    let at = node.at;
    let lost = json!({"exitCode": 255, "reason": "Unknown", "containerID": "containerd://app0", "startedAt": at, "finishedAt": at});
    let pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"nodeName": "w",
        "restartPolicy": "Always", "containers": [{"name": "app"}],
        "initContainers": [{"name": "side", "restartPolicy": "Always", "startupProbe": {}}]},
        "status": {"phase": "Running", "conditions": [{"type": "Initialized", "status": "True"}],
        "initContainerStatuses": [{"name": "side", "started": false, "restartCount": 1, "containerID": "containerd://side1",
            "state": {"running": {"startedAt": at}}}],
        "containerStatuses": [{"name": "app", "containerID": "containerd://app0", "state": {"terminated": lost}}]}});
    node.list(Source::ApiPods, vec![Fact::Pod(serde_json::from_value(pod).unwrap())]);
    let sandbox = json!({"id": "s2", "pod": "p", "name": "p", "namespace": "n", "uid": "u", "attempt": 1, "ready": true,
        "created_at": at});
    let side = json!({"id": "side1", "sandbox": "s2", "name": "side", "pod": "p", "namespace": "n", "uid": "u",
        "attempt": 1, "phase": "running", "created_at": at, "started_at": at});
    let facts = vec![
        Fact::Sandbox(serde_json::from_value(sandbox).unwrap()),
        container("app", 0, at, 255),
        Fact::Container(serde_json::from_value(side).unwrap()),
    ];
    node.list(Source::Cri, facts);
    let position = position(&mut node);
    assert_eq!((position.stage, position.state), (Stage::Init, StageState::Active));
    assert!(
        position.next.is_none_or(|n| n.kind != super::NextKind::Restart),
        "the app container waits for the sidecar"
    );
}

#[test]
fn a_pod_marked_by_the_node_controller_is_not_ready_since_then() {
    let mut node = Node::new();
    let condition =
        |kind: &str, status: &str, at: &str| json!({"type": kind, "status": status, "lastTransitionTime": at});
    let started = "2026-09-21T13:00:00Z";
    let status = json!({"phase": "Running", "startTime": started,
        "conditions": [condition("Initialized", "True", started), condition("ContainersReady", "True", started),
            condition("Ready", "False", "2026-09-21T13:50:00Z")],
        "containerStatuses": [{"name": "app", "ready": true, "started": true, "containerID": "containerd://1",
            "state": {"running": {"startedAt": started}}}]});
    node.list(Source::ApiPods, vec![pod(status)]);
    let position = position(&mut node);
    assert_eq!((position.stage, position.state), (Stage::Ready, StageState::Active));
    assert_eq!(position.since.map(|at| at.to_rfc3339()), Some("2026-09-21T13:50:00Z".into()));
}

#[test]
fn the_back_off_of_a_restarted_kubelet_is_read_from_its_log() {
    let mut node = Node::new();
    let ended = node.at;
    let status = json!({"phase": "Running", "startTime": "2026-09-21T13:00:00Z",
        "containerStatuses": [{"name": "app", "restartCount": 13, "containerID": "containerd://app13", "state": {"terminated":
            {"exitCode": 1, "reason": "Error", "containerID": "containerd://app13", "startedAt": ended, "finishedAt": ended}}}]});
    node.list(Source::ApiPods, vec![pod(status)]);
    let next = |node: &mut Node| position(node).next.map(|n| ((n.at.unwrap() - ended).num_seconds(), n.estimated));
    assert_eq!(next(&mut node), Some((300, true)));
    let error = r#"failed to "StartContainer" for "app" with CrashLoopBackOff: "back-off 20s restarting failed container=app pod=p_n(u)""#;
    let entry = LogRecord::new(ended + TimeDelta::milliseconds(400), LogLevel::Error, "Error syncing pod, skipping");
    let entry = entry.with("err", error).of_pod("n/p", "u");
    node.report(Source::KubeletLog, Fact::LogRecord(Box::new(entry)));
    assert_eq!(next(&mut node), Some((20, false)));
}

#[test]
fn the_time_in_a_stage_starts_when_readiness_was_lost_and_is_a_bound_if_exits_are_unknown() {
    let mut node = Node::new();
    let ago = |s: i64| node.at - TimeDelta::seconds(s);
    let condition = |status: &str, s: i64| {
        json!([{"type": "Initialized", "status": "True"},
            {"type": "ContainersReady", "status": status, "lastTransitionTime": ago(s)},
            {"type": "Ready", "status": status, "lastTransitionTime": ago(s)}])
    };
    let pod = |conditions: Value, container: Value| {
        let pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"nodeName": "w",
            "restartPolicy": "Always", "containers": [{"name": "c", "readinessProbe": {}}]},
            "status": {"phase": "Running", "startTime": ago(310), "conditions": conditions, "containerStatuses": [container]}});
        Fact::Pod(serde_json::from_value(pod).unwrap())
    };
    let (lost, started, exited) = (ago(3), ago(304), ago(130));
    let running = json!({"name": "c", "ready": false, "started": true, "restartCount": 0, "containerID": "containerd://1",
        "state": {"running": {"startedAt": started}}});
    let exit = json!({"terminated": {"exitCode": 1, "reason": "Error", "startedAt": exited, "finishedAt": exited, "containerID": "containerd://9"}});
    let crashed = json!({"name": "c", "ready": false, "restartCount": 9, "containerID": "containerd://9",
        "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": exit});
    let (first, second) = (pod(condition("False", 3), running), pod(condition("False", 130), crashed));
    node.list(Source::ApiPods, vec![first]);
    let found = position(&mut node);
    assert_eq!((found.stage, found.since, found.is_lower_bound), (Stage::Probes, Some(lost), false));
    let mut node = Node::new();
    node.list(Source::ApiPods, vec![second]);
    let found = position(&mut node);
    assert_eq!((found.stage, found.since, found.is_lower_bound), (Stage::Running, Some(exited), true));
}
