//! Whole diagnoses: what a node shows, and which cause comes first. A rule is tested by its own examples.

use crate::time::TimeDelta;
use serde_json::{Value, json};

use super::{Diagnoser, DiagnosisCache, HEALTHY, UNKNOWN};
use crate::observation::{Fact, LogLevel, LogRecord, Source, Time};
use crate::pipeline::tests::fixture::Node;
use crate::runbook::{Confidence, Runbook};

fn pod(status: Value) -> Fact {
    let mut pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"nodeName": "w",
        "restartPolicy": "Always", "containers": [{"name": "app", "readinessProbe": {}}], "initContainers": [{"name": "init"}]}});
    pod["status"] = status;
    Fact::Pod(serde_json::from_value(pod).unwrap())
}

fn causes(node: &mut Node) -> Vec<String> {
    let (snapshot, now) = (node.snapshot(), node.at);
    let mut rounds = DiagnosisCache::default();
    let placed = rounds.placer.locate_all(&snapshot, now);
    let found = rounds.make(&placed, &snapshot, now);
    found.pods["u"].findings.iter().map(|f| f.cause.to_string()).collect()
}

fn event(uid: &str, reason: &str, message: &str, at: Time) -> Fact {
    let event = json!({"metadata": {"name": uid, "uid": uid}, "reason": reason, "message": message, "type": "Warning",
        "count": 8, "firstTimestamp": at, "lastTimestamp": at, "involvedObject": {"kind": "Pod", "namespace": "n", "name": "p",
        "uid": "u", "fieldPath": "spec.containers{app}"}});
    Fact::Event(serde_json::from_value(event).unwrap())
}

#[test]
fn a_probe_failure_before_a_boot_is_not_about_this_run() {
    let mut node = Node::new();
    let at = node.at;
    let ago = |s: i64| at - TimeDelta::seconds(s);
    let lost = json!({"exitCode": 255, "reason": "Unknown", "startedAt": ago(9000), "finishedAt": ago(100)});
    let status = |state: Value, ready: bool| {
        json!({"phase": "Running", "startTime": ago(9000), "conditions": [{"type": "Initialized", "status": "True"},
            {"type": "ContainersReady", "status": if ready { "True" } else { "False" }, "lastTransitionTime": ago(50)},
            {"type": "Ready", "status": if ready { "True" } else { "False" }, "lastTransitionTime": ago(50)}],
            "containerStatuses": [{"name": "app", "ready": ready, "started": true, "restartCount": 1,
            "containerID": "containerd://2", "state": state, "lastState": {"terminated": lost}}]})
    };
    let running = json!({"running": {"startedAt": ago(60)}});
    let timeout = "Readiness probe failed: Get \"http://10.0.0.5:8080/\": context deadline exceeded";
    node.list(Source::ApiEvents, vec![event("e", "Unhealthy", timeout, ago(5000))]);
    node.list(Source::ApiPods, vec![pod(status(running.clone(), true))]);
    assert_eq!(causes(&mut node), ["run.lost-state"], "what is left to say is why it was started again");
    node.report(
        Source::ApiEvents,
        event("f", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 404", at),
    );
    node.report(Source::ApiPods, pod(status(running, false)));
    assert_eq!(causes(&mut node)[0], "probe.readiness-failing");
}

#[test]
fn a_kubelet_that_does_not_reach_the_api_server_ends_no_container() {
    let mut node = Node::new();
    let at = node.at;
    let ended = json!({"exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at, "containerID": "containerd://1"});
    let status = json!({"phase": "Running", "startTime": at, "containerStatuses": [{"name": "app", "restartCount": 30,
        "containerID": "containerd://1", "state": {"terminated": ended}}],
        "conditions": [{"type": "Initialized", "status": "True"}]});
    node.list(Source::ApiPods, vec![pod(status)]);
    let refused = "Failed to get status for pod: Get \"https://10.0.0.1:6443/api/v1/namespaces/n/pods/p\": dial tcp 10.0.0.1:6443: connect: connection refused";
    let entry = LogRecord::new(at, LogLevel::Error, refused).of_pod("n/p", "u");
    node.report(Source::KubeletLog, Fact::LogRecord(Box::new(entry)));
    assert_eq!(causes(&mut node), ["run.app-completed"]);
}

#[test]
fn the_last_output_of_a_failed_program_is_evidence() {
    let mut node = Node::new();
    let at = node.at;
    let ended =
        json!({"exitCode": 1, "reason": "Error", "startedAt": at, "finishedAt": at, "containerID": "containerd://1"});
    let status = json!({"phase": "Running", "startTime": at, "containerStatuses": [{"name": "app", "restartCount": 3,
        "containerID": "containerd://1", "state": {"terminated": ended}}],
        "conditions": [{"type": "Initialized", "status": "True"}]});
    node.list(Source::ApiPods, vec![pod(status)]);
    for n in [1, 2, 3, 4, 5, 6, 7, 8, 7, 8] {
        let entry = LogRecord::new(at, LogLevel::Info, format!("word {n}")).of_pod("n/p", "u");
        let entry = LogRecord { container: "app".into(), ..entry };
        node.report(Source::ContainerLog, Fact::LogRecord(Box::new(entry)));
    }
    let (snapshot, now) = (node.snapshot(), node.at);
    let mut rounds = DiagnosisCache::default();
    let placed = rounds.placer.locate_all(&snapshot, now);
    let found = rounds.make(&placed, &snapshot, now);
    let evidence = &found.pods["u"].findings[0].evidence;
    let words: Vec<&str> =
        evidence.iter().filter(|e| e.source == Source::ContainerLog).map(|e| e.text.as_str()).collect();
    assert_eq!(words, ["word 4", "word 5", "word 6", "word 7", "word 8"]);
}

fn cause_of_node(kind: &str, status: &str) -> String {
    let mut known = Node::new();
    let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady"});
    let other = json!({"type": kind, "status": status, "reason": "R", "message": "m"});
    let node = json!({"metadata": {"name": "w", "uid": "w"}, "status": {"conditions": [ready, other]}});
    known.list(Source::ApiNode, vec![Fact::Node(serde_json::from_value(node).unwrap())]);
    let doctor = Diagnoser { book: Runbook::builtin(), snapshot: &known.snapshot(), now: known.at };
    doctor.node("w", false).top().unwrap().cause.to_string()
}

#[test]
fn a_condition_that_no_rule_knows_is_unknown() {
    assert_eq!(cause_of_node("FabricBrokenProblem", "True"), UNKNOWN);
    assert_eq!(cause_of_node("FabricBrokenProblem", "False"), HEALTHY);
    assert_eq!(cause_of_node("StorageReady", "True"), HEALTHY, "good when it is true");
}

#[test]
fn a_network_outage_affects_only_pods_without_a_sandbox() {
    let mut node = Node::new();
    let at = node.at;
    let text = "Error syncing pod, skipping: network is not ready: container runtime network not ready: NetworkReady=false \
                reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized";
    let line = LogRecord::new(at, LogLevel::Error, text).of_pod("n/p", "u");
    node.report(Source::KubeletLog, Fact::LogRecord(Box::new(line)));
    let ready = |ready: &str| json!([{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": ready, "lastTransitionTime": at}]);
    let state = |state: Value, is_ready: bool, last: Value| {
        json!({"name": "app", "ready": is_ready, "started": true, "restartCount": 3, "containerID": "containerd://1",
            "state": state, "lastState": last})
    };
    let started = at - TimeDelta::seconds(4000);
    let running = state(json!({"running": {"startedAt": started}}), true, json!({}));
    let ip = json!({"phase": "Running", "podIP": "10.0.0.5", "startTime": started});
    let with = |conditions: Value, container: Value| {
        let mut status = ip.clone();
        (status["conditions"], status["containerStatuses"]) = (conditions, json!([container]));
        pod(status)
    };
    node.list(Source::ApiPods, vec![with(ready("True"), running)]);
    assert_eq!(causes(&mut node), [HEALTHY]);
    let exit = json!({"terminated": {"exitCode": 3, "reason": "Error", "startedAt": started, "finishedAt": at}});
    let crashed = state(json!({"waiting": {"reason": "CrashLoopBackOff"}}), false, exit);
    node.report(Source::ApiPods, with(ready("False"), crashed));
    assert_eq!(causes(&mut node)[0], "run.app-error");
    let mut waiting = Node::new();
    let line = LogRecord::new(at, LogLevel::Error, text).of_pod("n/p", "u");
    waiting.report(Source::KubeletLog, Fact::LogRecord(Box::new(line)));
    let creating = json!({"name": "app", "ready": false, "restartCount": 0, "state": {"waiting": {"reason": "ContainerCreating"}}});
    waiting.list(
        Source::ApiPods,
        vec![pod(json!({"phase": "Pending", "startTime": at, "containerStatuses": [creating]}))],
    );
    assert_eq!(causes(&mut waiting)[0], "sandbox.cni-not-ready", "this one waits for the network");
}

#[test]
fn nothing_that_listens_proves_a_stopped_kubelet_and_runtime_before_the_node_is_marked() {
    let mut node = Node::new();
    let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady"});
    let object = json!({"metadata": {"name": "w", "uid": "w"}, "status": {"conditions": [ready]}});
    node.list(Source::ApiNode, vec![Fact::Node(serde_json::from_value(object).unwrap())]);
    let top = |node: &mut Node| {
        let doctor = Diagnoser { book: Runbook::builtin(), snapshot: &node.snapshot(), now: node.at };
        let diagnosis = doctor.node("w", false);
        let top = diagnosis.top().unwrap();
        (top.cause.to_string(), top.confidence)
    };
    node.disconnect(Source::KubeletHealth);
    assert_eq!(top(&mut node).0, HEALTHY, "the health port may be disabled");
    node.list(Source::KubeletMetrics, vec![]);
    node.list(Source::KubeletHealth, vec![]);
    node.at += TimeDelta::seconds(5);
    node.disconnect(Source::KubeletHealth);
    assert_eq!(top(&mut node), ("node.kubelet-down".into(), Confidence::Likely), "it may be restarting");
    node.at += TimeDelta::seconds(10);
    assert_eq!(top(&mut node), ("node.kubelet-down".into(), Confidence::Certain));
    node.list(Source::KubeletHealth, vec![]);
    assert_eq!(top(&mut node).0, HEALTHY);
    node.disconnect(Source::Cri);
    assert_eq!(top(&mut node), ("runtime.down".into(), Confidence::Likely), "it may use another socket");
    node.list(Source::Cri, vec![]);
    node.disconnect(Source::Cri);
    assert_eq!(top(&mut node), ("runtime.down".into(), Confidence::Certain));
    node.list(Source::Cri, vec![]);
    assert_eq!(top(&mut node).0, HEALTHY);
}

#[test]
fn a_schedulers_log_is_taken_apart_as_its_event_is() {
    let mut node = Node::new();
    let text = "Unable to schedule pod; no fit; waiting: 0/3 nodes are available: 1 node(s) had untolerated taint {a: }, \
                2 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.";
    let line = LogRecord::new(node.at, LogLevel::Error, text).of_pod("n/p", "");
    node.report(Source::OtherLog, Fact::LogRecord(Box::new(line)));
    let doctor = Diagnoser { book: Runbook::builtin(), snapshot: &node.snapshot(), now: node.at };
    let told: Vec<String> = doctor.named("n", "p").findings.iter().map(|f| f.cause.to_string()).collect();
    assert_eq!(told, ["sched.insufficient-cpu", "sched.untolerated-taint"]);
}

#[test]
fn an_init_container_that_is_done_explains_nothing_though_it_ran_again() {
    let mut node = Node::new();
    let at = node.at;
    let ended = |code: i32, reason: &str| json!({"terminated": {"exitCode": code, "reason": reason, "startedAt": at, "finishedAt": at}});
    let status = |name: &str, restarts: u32, state: Value| json!({"name": name, "restartCount": restarts, "containerID": format!("containerd://{name}"), "state": state});
    let pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"nodeName": "w",
        "restartPolicy": "Always", "containers": [{"name": "app"}], "initContainers": [{"name": "ok"}, {"name": "bad"}]},
        "status": {"phase": "Pending", "startTime": at, "conditions": [{"type": "Initialized", "status": "False"}],
        "initContainerStatuses": [status("ok", 2, ended(0, "Completed")), status("bad", 32, ended(7, "Error"))]}});
    node.list(Source::ApiPods, vec![Fact::Pod(serde_json::from_value(pod).unwrap())]);
    let told = causes(&mut node);
    assert!(!told.contains(&"run.app-completed".into()) && !told.is_empty(), "{told:?}");
}
