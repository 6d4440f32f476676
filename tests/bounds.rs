//! Objects far above any usual size are located, diagnosed, printed and drawn in bounded time, and what is left out is
//! counted.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};
use kpodtrace::diagnose::DiagnosisCache;
use kpodtrace::model::Model;
use kpodtrace::objects::limits::EVENTS_OF_ONE;
use kpodtrace::objects::{Event, Meta, Node, ObjectReference, Pod};
use kpodtrace::observation::{Fact, Observation, Sequencer, Source, SourceState, Time};
use kpodtrace::report::{explain_text, node_text, notes, pods_json, pods_table, shown};
use kpodtrace::text::Text;
use kpodtrace::tui::{App, Options, Theme};
use kpodtrace::view::{Filter, NodeView, Sort, events, explain_all};
use ratatui::buffer::Buffer;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// CPU time limit. Linear work takes at most two seconds without optimisation, quadratic work takes minutes.
const CPU_LIMIT: Duration = Duration::from_secs(20);

fn now() -> Time {
    "2026-11-30T12:10:00Z".parse().unwrap()
}

const THEN: &str = "2026-11-30T12:00:00Z";

fn pod(name: &str, spec: Value, status: Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "t", "uid": name, "creationTimestamp": THEN}, "spec": spec, "status": status})
}

fn event(i: usize, kind: &str, about: &str) -> Event {
    let at = Time::from_timestamp(1_795_000_000 + i as i64 / 10, 0);
    let involved_object = ObjectReference {
        kind: kind.into(),
        namespace: "t".into(),
        name: about.into(),
        uid: about.into(),
        field_path: "spec.containers{c}".into(),
    };
    let uid = Text::from(format!("e{i}"));
    Event {
        metadata: Meta { name: uid.clone(), namespace: "t".into(), uid, ..Meta::default() },
        involved_object,
        reason: "Failed".into(),
        message: format!("Error: secret \"s{i}\" not found").into(),
        kind: "Warning".into(),
        first_timestamp: at,
        last_timestamp: at,
        ..Event::default()
    }
}

/// Decoded as from the API server.
fn decoded<T: DeserializeOwned>(json: &Value) -> T {
    serde_json::from_str(&json.to_string()).unwrap()
}

/// A model of objects of the API server.
fn model(pods: Vec<Pod>, nodes: Vec<Node>, all: Vec<Event>) -> Model {
    let mut model = Model::default();
    let mut list = |source, facts: Vec<Fact>| {
        let mut sequencer = Sequencer::new(source);
        let live = Fact::SourceState(SourceState::Live { since: now() });
        for fact in [live, Fact::EpochBegin].into_iter().chain(facts).chain([Fact::EpochEnd]) {
            let is_begin = matches!(fact, Fact::EpochBegin);
            let stamp = if is_begin { sequencer.next_epoch(0, now()) } else { sequencer.stamp(0, now()) };
            model.apply(Observation { stamp, fact });
        }
    };
    list(Source::ApiPods, pods.into_iter().map(|p| Fact::Pod(Box::new(p))).collect());
    list(Source::ApiNode, nodes.into_iter().map(|n| Fact::Node(Box::new(n))).collect());
    list(Source::ApiEvents, all.into_iter().map(|e| Fact::Event(Box::new(e))).collect());
    model
}

fn moment(mut model: Model) -> NodeView {
    NodeView::new(model.snapshot(), &mut DiagnosisCache::default(), now())
}

/// The same model read from the keyframe of a recording.
fn recorded(model: &Model) -> Model {
    let mut model: Model = serde_json::from_str(&serde_json::to_string(model).unwrap()).unwrap();
    model.reindex();
    model
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: u64 = fields[11..13].iter().map(|t| t.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// The output of all commands and of the screen for the first pod; fails above the time limit.
fn render(what: &str, model: Model) -> (NodeView, String) {
    let begin = cpu_time();
    let moment = moment(model);
    let rows = shown(&moment, &Filter::default(), Sort::default());
    let mut out = pods_table(&moment, &rows, kpodtrace::report::TableDetail::Wide, None);
    out += &serde_json::to_string(&pods_json(&moment, &rows)).unwrap();
    out += &explain_text(&explain_all(&moment), moment.now, None);
    out += &node_text(&moment);
    out += &notes(&moment).join("\n");
    assert!(!events(&moment).is_empty() || moment.snapshot.other_events.is_empty());
    let mut app = App::new(Theme::new(false, true), &Options::default());
    app.show(moment.clone(), "");
    out += &text(&app.draw(160, 50));
    for code in [KeyCode::Enter, KeyCode::Char('2'), KeyCode::Char('3'), KeyCode::Char('4'), KeyCode::Char('5')] {
        app.event(&Input::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        out += &text(&app.draw(160, 50));
    }
    let took = cpu_time() - begin;
    assert!(took < CPU_LIMIT, "{what} took {took:?}");
    (moment, out)
}

fn text(buffer: &Buffer) -> String {
    let cells = usize::from(buffer.area.width);
    let lines = buffer.content.chunks(cells).map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_pod_with_110_000_finalizers() {
    let finalizers: Vec<String> = (0..110_000).map(|i| format!("x.y/{i}")).collect();
    let mut deleted = pod("q", json!({"nodeName": "w", "containers": [{"name": "c"}]}), json!({"phase": "Running"}));
    deleted["metadata"]["deletionTimestamp"] = json!(THEN);
    deleted["metadata"]["finalizers"] = json!(finalizers);
    let (moment, out) = render("110,000 finalizers", recorded(&model(vec![decoded(&deleted)], Vec::new(), Vec::new())));
    assert_eq!(moment.rows()[0].status, "Terminating");
    assert_eq!(moment.rows()[0].cause, "term.finalizer");
    assert!(out.contains("x.y/63 and 109,936 more"), "{out}");
    assert!(out.contains("109,936 of 110,000 finalizers left out"), "{out}");
}

#[test]
fn a_pod_with_70_000_scheduling_gates() {
    let gates: Vec<Value> = (0..70_000).map(|i| json!({"name": format!("x.y/{i}")})).collect();
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"});
    let spec = json!({"schedulingGates": gates, "containers": [{"name": "c"}]});
    let gated = pod("g", spec, json!({"phase": "Pending", "conditions": [condition]}));
    let (moment, out) = render("70,000 gates", recorded(&model(vec![decoded(&gated)], Vec::new(), Vec::new())));
    assert_eq!(moment.rows()[0].status, "SchedulingGated");
    assert!(out.contains("69,936 of 70,000 scheduling gates left out"), "{out}");
}

#[test]
fn pods_with_2_500_containers() {
    const PODS: usize = 10;
    let container = |i: usize| {
        json!({"name": format!("c{i:05}"), "image": format!("r/a:{i}"), "readinessProbe": {},
        "resources": {"requests": {"cpu": "1m"}}})
    };
    let ended = json!({"exitCode": 1, "reason": "Error", "startedAt": THEN, "finishedAt": THEN});
    let status = |i: usize| {
        json!({"name": format!("c{i:05}"), "image": "a", "ready": false, "restartCount": 5,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting"}},
        "lastState": {"terminated": ended}})
    };
    let spec =
        json!({"nodeName": "w", "restartPolicy": "Always", "containers": (0..2500).map(container).collect::<Vec<_>>()});
    let status = json!({"phase": "Running", "containerStatuses": (0..2500).map(status).collect::<Vec<_>>()});
    let one: Pod = decoded(&pod("big", spec, status));
    let named = |name: Text| Pod { metadata: Meta { uid: name.clone(), name, ..one.metadata.clone() }, ..one.clone() };
    let pods: Vec<Pod> = (0..PODS).map(|i| named(format!("big{i}").into())).collect();
    let node = json!({"metadata": {"name": "w", "uid": "w"}, "status": {"allocatable": {"cpu": "4"}, "capacity": {"cpu": "4"}}});
    let (moment, out) = render("pods of 2,500 containers", model(pods, vec![decoded(&node)], Vec::new()));
    let row = &moment.rows()[0];
    assert_eq!((row.status.as_str(), row.ready.as_str(), row.restarts_so_far), ("CrashLoopBackOff", "0/2500", 12_500));
    assert!(out.contains("2,244 of 2,500 containers left out"), "{out}");
    let requests = kpodtrace::model::requests::requests(&moment.pods[0].facts.object().unwrap().spec);
    assert_eq!(serde_json::to_value(&requests).unwrap(), json!({"cpu": "2500m"}), "containers that are left out count");
}

#[test]
fn kubectl_columns_count_containers_that_are_left_out() {
    let status = |i: usize| match i {
        0..400 => {
            json!({"name": format!("c{i:05}"), "ready": true, "started": true, "restartCount": 1, "state": {"running": {}}})
        }
        _ => {
            json!({"name": format!("c{i:05}"), "ready": false, "restartCount": 1, "state": {"waiting": {"reason": "ErrImagePull"}}})
        }
    };
    let names = |n: usize| (0..n).map(|i| json!({"name": format!("c{i:05}")})).collect::<Vec<_>>();
    let statuses = (0..500).map(status).collect::<Vec<_>>();
    let apps = pod(
        "a",
        json!({"nodeName": "w", "containers": names(500)}),
        json!({"phase": "Pending", "containerStatuses": statuses}),
    );
    let inits = pod(
        "i",
        json!({"nodeName": "w", "containers": [{"name": "app"}], "initContainers": names(500)}),
        json!({"phase": "Pending", "initContainerStatuses": (0..500).map(|i| json!({"name": format!("c{i:05}"),
            "state": if i < 300 { json!({"terminated": {"exitCode": 0}}) } else { json!({"waiting": {"reason": "PodInitializing"}}) }})).collect::<Vec<_>>()}),
    );
    let pods = vec![decoded(&apps), decoded(&inits)];
    let moment = moment(recorded(&model(pods, Vec::new(), Vec::new())));
    let of = |name: &str| {
        let row = moment.rows().iter().find(|row| row.name == *name).unwrap();
        (row.status.to_string(), row.ready.clone(), row.restarts_so_far)
    };
    assert_eq!(of("a"), ("ErrImagePull".into(), "400/500".into(), 500));
    assert_eq!(of("i"), ("Init:300/500".into(), "0/1".into(), 0));
}

#[test]
fn a_kubernetes_condition_is_kept_after_many_others() {
    let mut conditions: Vec<Value> = (0..1000).map(|i| json!({"type": format!("x.y/{i}"), "status": "True"})).collect();
    conditions.push(json!({"type": "Ready", "status": "False", "message": "the one that counts"}));
    let pod = pod("p", json!({"nodeName": "w", "containers": [{"name": "c"}]}), json!({"conditions": conditions}));
    let moment = moment(recorded(&model(vec![decoded(&pod)], Vec::new(), Vec::new())));
    let status = &moment.pods[0].facts.object().unwrap().status;
    assert_eq!(status.condition("Ready").unwrap().message, "the one that counts");
    assert_eq!((status.conditions.len(), status.conditions.total()), (64, 1001));
}

#[test]
fn a_node_with_100_000_taints_and_images() {
    let taints: Vec<Value> = (0..100_000).map(|i| json!({"key": format!("k{i}"), "effect": "NoSchedule"})).collect();
    let images: Vec<Value> = (0..100_000).map(|i| json!({"names": [format!("i{i}")], "sizeBytes": 1})).collect();
    let conditions =
        json!([{"type": "Ready", "status": "True", "lastHeartbeatTime": THEN, "lastTransitionTime": THEN}]);
    let node = json!({"metadata": {"name": "w", "uid": "w"}, "spec": {"taints": taints},
        "status": {"conditions": conditions, "images": images}});
    let (_, out) = render("100,000 taints", recorded(&model(Vec::new(), vec![decoded(&node)], Vec::new())));
    assert!(out.contains("99,936 of 100,000 taints left out"), "{out}");
}

#[test]
fn many_events_about_one_pod() {
    const EVENTS: usize = 150_000;
    let waiting = json!({"reason": "CreateContainerConfigError", "message": "secret \"s\" not found"});
    let status = json!({"phase": "Pending", "startTime": THEN, "containerStatuses": [{"name": "c", "state": {"waiting": waiting}}]});
    let p = pod("p", json!({"nodeName": "w", "containers": [{"name": "c"}]}), status);
    let all = (0..EVENTS).map(|i| event(i, "Pod", "p")).collect();
    let (moment, out) = render("150,000 events about a pod", model(vec![decoded(&p)], Vec::new(), all));
    assert_eq!(moment.rows()[0].cause, "create.secret-not-found");
    let events = &moment.pods[0].facts.events;
    assert_eq!(
        events.first().unwrap().metadata.name.as_str(),
        format!("e{}", EVENTS - 1),
        "the newest events are kept"
    );
    assert_eq!(events.len(), EVENTS_OF_ONE);
    assert!(out.contains("149744 older events dropped"), "{out}");
}

#[test]
fn many_events_about_a_node_and_about_unknown_objects() {
    let node =
        json!({"metadata": {"name": "w", "uid": "w"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let all = (0..100_000).map(|i| event(i, if i % 2 == 0 { "Node" } else { "Pod" }, "w")).collect();
    let (_, out) = render("100,000 events about a node", model(Vec::new(), vec![decoded(&node)], all));
    assert!(out.contains("older events dropped"), "{out}");
}
