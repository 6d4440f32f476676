//! What a diagnosis costs: a node with 1,000 pods from nothing, and one changed pod of them.
//!
//! `cargo bench --bench diagnose`. The pods are those of the demo recording at its end under new names, until there are
//! enough: once nine pods that are well for one that fails, once as they come, most of them failing. The runbook's patterns
//! are compiled before, once for the life of a process, and timed apart.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kpodtrace::diagnose::Rounds;
use kpodtrace::model::{Model, PodFacts, Snapshot};
use kpodtrace::objects::Pod;
use kpodtrace::observation::{Fact, Observation, Sequencer, Source, Time};
use kpodtrace::pipeline::LocatedPod;
use kpodtrace::session::RecordedSession;
use kpodtrace::view::NodeView;
use serde_json::json;

const PODS: usize = 1000;
const RUNS: usize = 15;

fn main() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo/incident.kpt");
    let begin = Instant::now();
    let mut session = RecordedSession::open(&path).unwrap();
    println!("recording opened, placed and diagnosed: {:?}", begin.elapsed());
    let moment = session.moment();
    let all: Vec<&Arc<PodFacts>> = moment.snapshot.pods.values().collect();
    let is_well = |facts: &&Arc<PodFacts>| moment.diagnosis(&facts.key).is_some_and(|d| d.is_quiet());
    let (well, failing): (Vec<_>, Vec<_>) = all.iter().copied().partition(is_well);
    let mixed = |i: usize| if i.is_multiple_of(10) { failing[i / 10 % failing.len()] } else { well[i % well.len()] };

    let (snapshot, placed) = node(&moment, mixed);
    told(&placed, &snapshot, moment.now);
    from_nothing(&placed, &snapshot, moment.now);
    let (snapshot, placed) = node(&moment, |i| all[i % all.len()]);
    told(&placed, &snapshot, moment.now);
    from_nothing(&placed, &snapshot, moment.now);
    let mut rounds = Rounds::default();
    rounds.make(&placed, &snapshot, moment.now);
    report("the same, nothing changed", 50_000, || {
        let begin = Instant::now();
        rounds.make(&placed, &snapshot, moment.now);
        begin.elapsed()
    });
    hostile(&moment);
    // Each pod in its turn, so that cheap and dear ones count alike.
    let doctor = kpodtrace::diagnose::Doctor {
        book: kpodtrace::runbook::Runbook::builtin(),
        snapshot: &snapshot,
        now: moment.now,
    };
    let mut each: Vec<Duration> = Vec::new();
    for pod in &placed {
        let begin = Instant::now();
        std::hint::black_box(doctor.pod(pod));
        each.push(begin.elapsed());
    }
    each.sort();
    let (median, p99, worst) = (each[PODS / 2], each[PODS * 99 / 100], each[PODS - 1]);
    println!("one changed pod: median {median:?}, p99 {p99:?}, worst {worst:?} (bar 200µs)");
}

/// One pod with more than is kept of everything: 2,500 containers that crash, finalizers, gates, conditions.
fn hostile(moment: &NodeView) {
    let list = |count: usize, one: &dyn Fn(usize) -> serde_json::Value| (0..count).map(one).collect::<Vec<_>>();
    let then = "2026-11-30T12:00:00Z";
    let container = |i: usize| json!({"name": format!("c{i}"), "image": format!("r/a:{i}"), "readinessProbe": {}});
    let status = |i: usize| {
        json!({"name": format!("c{i}"), "restartCount": 5, "containerID": format!("x://{i}"),
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": format!("back-off {i}s restarting failed container")}},
        "lastState": {"terminated": {"exitCode": i % 200 + 1, "reason": "Error", "message": format!("message {i}"),
            "startedAt": then, "finishedAt": then}}})
    };
    let pod = json!({"metadata": {"name": "h", "namespace": "h", "uid": "h", "creationTimestamp": then,
            "finalizers": list(110_000, &|i| json!(format!("x.y/{i}")))},
        "spec": {"nodeName": "w", "restartPolicy": "Always", "containers": list(2500, &container),
            "initContainers": list(2500, &|i| json!({"name": format!("i{i}")})),
            "schedulingGates": list(70_000, &|i| json!({"name": format!("x.y/{i}")}))},
        "status": {"phase": "Running", "containerStatuses": list(2500, &status),
            "conditions": list(10_000, &|i| json!({"type": format!("x{i}"), "status": "True"}))}});
    let text = pod.to_string();
    report("one hostile pod decoded", 100_000, || {
        let begin = Instant::now();
        std::hint::black_box(serde_json::from_str::<Pod>(&text).unwrap());
        begin.elapsed()
    });
    let mut model = Model::default();
    let stamp = Sequencer::new(Source::ApiPods).stamp(0, moment.now);
    model.apply(Observation { stamp, fact: Fact::Pod(serde_json::from_str(&text).unwrap()) });
    let snapshot = model.snapshot();
    report("one hostile pod placed and diagnosed", 100_000, || {
        let begin = Instant::now();
        std::hint::black_box(NodeView::new(snapshot.clone(), &mut Rounds::default(), moment.now));
        begin.elapsed()
    });
}

/// A node of 1,000 pods.
fn node<'a>(moment: &NodeView, of: impl Fn(usize) -> &'a Arc<PodFacts>) -> (Snapshot, Vec<LocatedPod>) {
    let pods: BTreeMap<_, _> = (0..PODS)
        .map(|i| {
            let mut facts = (**of(i)).clone();
            facts.key = format!("{}-{i}", facts.key).into();
            (facts.key.clone(), Arc::new(facts))
        })
        .collect();
    let snapshot = Snapshot { pods: Arc::new(pods), ..(*moment.snapshot).clone() };
    let placed = Rounds::default().placer.locate_all(&snapshot, moment.now);
    (snapshot, placed)
}

/// What is found there; patterns that are needed are compiled by it.
fn told(placed: &[LocatedPod], snapshot: &Snapshot, now: Time) {
    let findings = Rounds::default().make(placed, snapshot, now);
    let told = findings.pods.values().filter(|d| !d.is_quiet()).count();
    println!("{} pods, {told} of them with a finding that is not none.*", placed.len());
}

fn from_nothing(placed: &[LocatedPod], snapshot: &Snapshot, now: Time) {
    report("a node of 1,000 pods from nothing", 50_000, || {
        let mut rounds = Rounds::default();
        let begin = Instant::now();
        rounds.make(placed, snapshot, now);
        begin.elapsed()
    });
}

fn report(what: &str, bar_us: u64, mut run: impl FnMut() -> Duration) {
    let mut all: Vec<Duration> = (0..RUNS).map(|_| run()).collect();
    all.sort();
    println!(
        "{what}: min {:?}, median {:?}, max {:?} (bar {:?})",
        all[0],
        all[RUNS / 2],
        all[RUNS - 1],
        Duration::from_micros(bar_us)
    );
}
