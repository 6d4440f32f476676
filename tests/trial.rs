//! Answers that a trial on a real node found wrong, each on the recorded data of its scenario with the right value.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use kpodtrace::diagnose::{Diagnosis, DiagnosisCache};
use kpodtrace::model::Model;
use kpodtrace::objects::Pod;
use kpodtrace::observation::{Fact, LogLevel, LogRecord, Observation, Sequencer, Source, Time};
use kpodtrace::time::TimeDelta;
use kpodtrace::view::NodeView;
use serde_json::json;

/// The view at `end` of what remains of a capture.
fn view(observations: impl Iterator<Item = Observation>, end: Time) -> NodeView {
    let mut model = Model::default();
    observations.for_each(|o| model.apply(o));
    NodeView::new(model.snapshot(), &mut DiagnosisCache::default(), end)
}

fn of<'a>(view: &'a NodeView, name: &str) -> &'a Diagnosis {
    let placed = view.pods.iter().find(|p| p.facts.name == name).unwrap();
    view.diagnosis(&placed.facts.key).unwrap()
}

fn causes(diagnosis: &Diagnosis) -> Vec<&str> {
    diagnosis.findings.iter().map(|f| f.cause.as_str()).collect()
}

fn in_stage(view: &NodeView, name: &str) -> String {
    view.rows().iter().find(|row| row.name == name).unwrap().in_stage.clone()
}

/// The node's own credential reads no events: what the kubelet's log reports of a probe, at level I, decides.
#[test]
fn a_kill_after_a_probe_is_named_without_events() {
    for (scenario, pods) in [
        ("crashloop-liveness", &["liveness", "liveness-http", "liveness-tcp", "liveness-grpc", "liveness-timeout"][..]),
        ("startup-slow", &["startup-fails"][..]),
    ] {
        let import = common::imported(&common::capture(scenario));
        let without = || import.observations.iter().filter(|o| o.stamp.source != Source::ApiEvents).cloned();
        let mut judged = 0;
        for before in (0..30).step_by(5) {
            let at = import.end - TimeDelta::seconds(before);
            let view = view(without().filter(|o| o.stamp.wall <= at), at);
            for placed in view.pods.iter().filter(|p| pods.contains(&p.facts.name.as_str())) {
                if placed.position.status.restarts > 0 {
                    let top = view.diagnosis(&placed.facts.key).unwrap().top().unwrap();
                    assert!(
                        top.cause.starts_with("probe."),
                        "{scenario} {} -{before}s: {}",
                        placed.facts.name,
                        top.cause
                    );
                    judged += 1;
                }
            }
        }
        assert!(judged >= pods.len(), "{scenario}: {judged}");
    }
}

/// The kubelet reports each broken manifest every 20 s; the node stays Ready and no pod exists.
#[test]
fn a_broken_manifest_is_a_fault_of_the_node_until_it_is_repaired() {
    let import = common::imported(&common::capture("static-ok"));
    let node = |at| {
        let view = view(import.observations.iter().cloned(), at);
        let findings = &view.node_diagnosis().findings;
        findings.iter().map(|f| (f.cause.to_string(), f.title.to_string())).collect::<Vec<_>>()
    };
    let now = node(import.end);
    assert_eq!(now[0].0, "static.invalid-manifest", "{now:?}");
    assert!(now[0].1.contains("/etc/kubernetes/manifests/lab-static"), "{now:?}");
    let later = node(import.end + TimeDelta::seconds(46));
    assert!(later.iter().all(|(cause, _)| cause != "static.invalid-manifest"), "{later:?}");
}

#[test]
fn a_manifest_directory_that_cannot_be_read_is_a_fault_of_the_node() {
    let line = |err: &str| {
        let healthy = common::imported(&common::capture("healthy-web"));
        let record = LogRecord::new(healthy.end, LogLevel::Error, "Unable to read config path");
        let record = record.with("err", err).with("path", "/etc/kubernetes/manifests");
        let mut sequencer = Sequencer::new(Source::KubeletLog);
        let mut stamp = sequencer.stamp(u64::MAX, record.at);
        (stamp.epoch, stamp.seq) = (u32::MAX, 1_000_000);
        let observation = Observation { stamp, fact: Fact::LogRecord(Box::new(record)) };
        let view = view(healthy.observations.into_iter().chain([observation]), healthy.end);
        view.node_diagnosis().top().unwrap().cause.to_string()
    };
    assert_eq!(line("open /etc/kubernetes/manifests: permission denied"), "static.invalid-manifest");
    assert_ne!(line("path does not exist, ignoring"), "static.invalid-manifest");
}

/// The lines of an outage stay in the log of a pod that has started since.
#[test]
fn a_cni_outage_that_is_over_is_not_the_cause_of_a_crash() {
    let import = common::imported(&common::capture("crashloop-exit1"));
    let uid = |name: &str| {
        let mut model = common::model_at(&import.observations, import.end);
        model.snapshot().pods.values().find(|p| p.name == name).unwrap().key.clone()
    };
    let error = "network is not ready: container runtime network not ready: NetworkReady=false \
                 reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized";
    let record = LogRecord::new(import.end - TimeDelta::seconds(60), LogLevel::Error, "Error syncing pod, skipping");
    let record = record.with("err", error).of_pod("s-crashloop-exit1/exit1", uid("exit1"));
    let mut sequencer = Sequencer::new(Source::KubeletLog);
    let mut stamp = sequencer.stamp(u64::MAX, import.end);
    (stamp.epoch, stamp.seq) = (u32::MAX, 1_000_000);
    let observation = Observation { stamp, fact: Fact::LogRecord(Box::new(record)) };
    let view = view(import.observations.iter().cloned().chain([observation]), import.end);
    assert_eq!(causes(of(&view, "exit1")), ["run.app-error"]);
    assert_eq!(of(&view, "exit1").top().unwrap().title, "app exited with code 1");
}

/// `probe-flap` was ready for seconds at a time while its container has run for seven minutes; `exit1` restarts since the pod
/// was created, and only its last exits are known.
#[test]
fn the_age_in_a_stage_is_that_of_the_condition_or_a_lower_bound() {
    let view = common::moment_of(&common::capture("crashloop-long"));
    assert_eq!(in_stage(&view, "probe-flap"), "11s");
    assert_eq!(in_stage(&view, "exit1"), ">7m1s");
    let once = common::moment_of(&common::capture("job-failed"));
    let rows = once.rows();
    let failed = rows.iter().find(|row| row.name.starts_with("bad-")).unwrap();
    assert!(!failed.in_stage.starts_with('>'), "its one exit is known: {}", failed.in_stage);
}

#[test]
fn a_container_that_is_not_restarted_is_not_reported_to_be() {
    let view = common::moment_of(&common::capture("job-failed"));
    assert_eq!(causes(of(&view, "pod-deadline")), ["run.deadline"], "no alarm about exit code 0 beside it");
    let name = view.pods.iter().find(|p| p.facts.name.starts_with("bad-")).unwrap().facts.name.to_string();
    let top = of(&view, &name).top().unwrap();
    assert!(top.explanation.contains("restartPolicy is Never"), "{}", top.explanation);
    assert!(!top.explanation.contains("10, 20, 40"), "{}", top.explanation);
}

#[test]
fn a_startup_probe_within_its_allowance_is_not_failing() {
    let view = common::moment_of(&common::capture("startup-slow"));
    assert_eq!(causes(of(&view, "startup-fails")), ["probe.startup-killed"]);
    let view = common::moment_of(&common::capture("sidecar"));
    assert_eq!(of(&view, "sidecar-notstarted").top().unwrap().cause, "ready.starting");
}

#[test]
fn a_readiness_gate_shows_the_message_of_its_condition() {
    let view = common::moment_of(&common::capture("readiness-gate"));
    let explanation = &of(&view, "gated").top().unwrap().explanation;
    assert!(explanation.contains("False: TargetUnhealthy: target group says unhealthy."), "{explanation}");
}

#[test]
fn an_init_container_that_waits_for_minutes_has_its_log_as_a_step() {
    let import = common::imported(&common::capture("init-chain"));
    let view = view(import.observations.into_iter(), import.end + TimeDelta::minutes(4));
    let top = of(&view, "init-stuck").top().unwrap();
    assert_eq!(top.cause, "none.transient.init-running");
    let command = top.steps[0].command.as_ref().unwrap();
    assert!(command.contains(&format!("logs init-stuck -c {}", top.container)), "{command}");
}

/// A pod whose ResourceClaim is missing is not tried; the scheduler works.
#[test]
fn a_scheduler_that_placed_another_pod_is_not_down() {
    let import = common::imported(&common::capture("dra-missing"));
    let end = import.end + TimeDelta::minutes(5);
    let view_of = |observations: Vec<Observation>| view(observations.into_iter(), end);
    let dra = view_of(import.observations.clone());
    assert_eq!(causes(of(&dra, "dra")), ["sched.resource-claim"]);
    let mut sequencer = Sequencer::new(Source::ApiPods);
    let mut pod = |name: &str, node: &str, created: i64| {
        let at = |s: i64| import.end + TimeDelta::seconds(s);
        let conditions = if node.is_empty() {
            json!([])
        } else {
            json!([{"type": "PodScheduled", "status": "True", "lastTransitionTime": at(created + 1)}])
        };
        let pod = json!({"metadata": {"name": name, "namespace": "n", "uid": name, "creationTimestamp": at(created)},
            "spec": {"nodeName": node, "schedulerName": "default-scheduler", "containers": [{"name": "c"}]},
            "status": {"phase": "Pending", "conditions": conditions}});
        let pod: Pod = serde_json::from_value(pod).unwrap();
        Observation { stamp: sequencer.stamp(1, at(created)), fact: Fact::Pod(Box::new(pod)) }
    };
    let silent = view_of(vec![pod("waits", "", 0)]);
    assert_eq!(causes(of(&silent, "waits")), ["sched.no-scheduler"]);
    let active = view_of(vec![pod("waits", "", 0), pod("placed", "w", 60)]);
    assert_ne!(causes(of(&active, "waits")), ["sched.no-scheduler"]);
}

#[test]
fn a_proven_cause_excludes_others_of_the_same_message() {
    let view = common::moment_of(&common::capture("runtimeclass"));
    assert_eq!(causes(of(&view, "kata")), ["sandbox.runtime-handler"]);
    let view = common::moment_of(&common::capture("createcontainererror"));
    assert_eq!(causes(of(&view, "device")), ["start.bad-path"]);
}

#[test]
fn an_oom_kill_names_the_limit_and_an_eviction_the_volume() {
    let view = common::moment_of(&common::capture("crashloop-oom"));
    assert_eq!(of(&view, "oom").top().unwrap().title, "app OOMKilled: memory limit 32Mi");
    let view = common::moment_of(&common::capture("emptydir-limit"));
    let explanation = &of(&view, "scratch-full").top().unwrap().explanation;
    assert!(explanation.contains("emptyDir volume d exceeded its sizeLimit 5Mi."), "{explanation}");
}
