//! Pods on disk: the last resort without a pod list, and never in contradiction to one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kpodtrace::diagnose::DiagnosisCache;
use kpodtrace::model::{Model, Snapshot};
use kpodtrace::observation::{
    ContainerDir, Fact, Observation, PodDir, Sandbox, Sequencer, Source, SourceError, SourceState, StaticPod, Time,
};
use kpodtrace::observe::api::{ApiAccess, ListWatch, WatchedResource};
use kpodtrace::observe::discover::{Credential, Env, Root};
use kpodtrace::observe::machine::{MachinePlan, MachineSource};
use kpodtrace::observe::{BackOff, Clock, CriSource, ObservationSink, supervise, tls};
use kpodtrace::pipeline::{LocatedPod, Stage, StageState};
use kpodtrace::view::{NodeView, PodHealth};
use proptest::prelude::*;
use serde_json::json;
use tokio::sync::mpsc;

/// Observations of sources, one second after the other.
struct Said {
    all: Vec<Observation>,
    sources: Vec<(Source, Sequencer)>,
    second: i64,
}

impl Said {
    fn new() -> Self {
        Self { all: Vec::new(), sources: Vec::new(), second: 0 }
    }

    fn say(&mut self, source: Source, fact: Fact) -> &mut Self {
        self.second += 1;
        let (wall, mono) = (time(self.second), self.second as u64 * 1_000_000);
        if !self.sources.iter().any(|(s, _)| *s == source) {
            self.sources.push((source, Sequencer::new(source)));
        }
        let (_, sequencer) = self.sources.iter_mut().find(|(s, _)| *s == source).unwrap();
        let begins = fact == Fact::EpochBegin;
        let stamp = if begins { sequencer.next_epoch(mono, wall) } else { sequencer.stamp(mono, wall) };
        self.all.push(Observation { stamp, fact });
        self
    }

    /// The source comes up and lists.
    fn lists(&mut self, source: Source, facts: Vec<Fact>) -> &mut Self {
        self.say(source, Fact::SourceState(SourceState::Live { since: time(self.second) }));
        self.say(source, Fact::EpochBegin);
        facts.into_iter().for_each(|fact| _ = self.say(source, fact));
        self.say(source, Fact::EpochEnd)
    }

    fn fails(&mut self, source: Source) -> &mut Self {
        let error = serde_json::from_value::<SourceError>(json!({"tried": "t", "kind": "unreachable"})).unwrap();
        self.say(source, Fact::SourceState(SourceState::Retrying { at: None, error }))
    }

    fn snapshot(&self) -> Snapshot {
        fold(&self.all).snapshot()
    }

    fn moment(&self) -> NodeView {
        NodeView::new(self.snapshot(), &mut DiagnosisCache::default(), time(self.second + 100))
    }
}

fn time(second: i64) -> Time {
    Time::from_timestamp(1_790_000_000 + second, 0).unwrap()
}

fn fold(observations: &[Observation]) -> Model {
    let mut model = Model::default();
    observations.iter().for_each(|o| model.apply(o.clone()));
    model
}

fn pod(uid: &str, name: &str) -> Fact {
    Fact::Pod(
        serde_json::from_value(json!({"metadata": {"uid": uid, "name": name, "namespace": "shop",
            "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"nodeName": "n", "containers": [{"name": "app"}], "volumes": [{"name": "data"}]},
            "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}}))
        .unwrap(),
    )
}

fn dir(uid: &str, pod: &str) -> Fact {
    let container = |name: &str, restarts| ContainerDir { name: name.into(), restarts };
    Fact::PodDir(Box::new(PodDir {
        uid: uid.into(),
        pod: pod.into(),
        kubelet: true,
        logs: !pod.is_empty(),
        since: Some(time(-50)),
        containers: if pod.is_empty() { Vec::new() } else { vec![container("app", Some(3)), container("side", None)] }
            .into(),
        volumes: vec!["data".into()].into(),
    }))
}

fn manifest(file: &str, name: &str) -> Fact {
    Fact::StaticPod(Box::new(StaticPod {
        file: file.into(),
        namespace: "shop".into(),
        name: name.into(),
        containers: vec!["c".into()].into(),
    }))
}

fn sandbox(uid: &str, name: &str) -> Fact {
    let sandbox = json!({"id": format!("s-{uid}"), "name": name, "namespace": "shop", "uid": uid, "attempt": 0,
        "ready": true, "created_at": null});
    Fact::Sandbox(Box::new(serde_json::from_value::<Sandbox>(sandbox).unwrap()))
}

fn keys(snapshot: &Snapshot) -> Vec<String> {
    snapshot.pods.keys().map(|key| key.to_string()).collect()
}

fn placed<'m>(moment: &'m NodeView, key: &str) -> &'m LocatedPod {
    moment.pod(key).unwrap_or_else(|| panic!("{key} in {:?}", keys(&moment.snapshot)))
}

#[test]
fn without_a_pod_list_the_pods_on_disk_are_listed_as_unknown() {
    let mut said = Said::new();
    said.fails(Source::ApiPods).lists(
        Source::Machine,
        vec![dir("u1", "shop/web"), dir("u2", ""), manifest("etcd.yaml", "etcd-n"), Fact::StaticManifest("x".into())],
    );
    let moment = said.moment();
    assert_eq!(keys(&moment.snapshot), ["file:etcd.yaml", "u1", "u2"]);
    let web = placed(&moment, "u1");
    assert_eq!((web.facts.namespace.as_str(), web.facts.name.as_str()), ("shop", "web"));
    let place = &web.position;
    assert_eq!((place.status.word.as_str(), place.status_from), ("Unknown", Source::Machine));
    assert_eq!((place.stage, place.state), (Stage::Running, StageState::Unknown));
    assert_eq!((place.status.ready_text(), place.status.restarts), ("?".into(), 3));
    assert!(place.reason.starts_with("only from disk"), "{}", place.reason);
    assert_eq!(place.progress(Stage::Admission).unwrap().state, StageState::Done);
    assert!(place.progress(Stage::Volumes).unwrap().evidence[0].text.contains("volume directories: data"));
    let states = place.stages.iter().map(|step| step.state);
    assert!(states.clone().all(|s| !matches!(s, StageState::Active | StageState::Failed | StageState::Waiting)));
    let nameless = placed(&moment, "u2");
    assert_eq!((nameless.facts.namespace.as_str(), nameless.facts.name.as_str()), ("", "u2"));
    assert_eq!(nameless.position.stage, Stage::Volumes);
    assert!(nameless.position.reason.contains("name unknown"));
    let etcd = placed(&moment, "file:etcd.yaml");
    assert_eq!((etcd.facts.name.as_str(), etcd.facts.is_static()), ("etcd-n", true));
    assert_eq!((etcd.position.stage, etcd.position.state), (Stage::Admission, StageState::Unknown));
    assert!(moment.rows().iter().all(|row| row.health == PodHealth::Unknown && row.age == "<unknown>"));
}

#[test]
fn a_pod_list_overrides_the_disk_and_leftover_directories_are_reported() {
    for lists in [Source::ApiPods, Source::KubeletPods] {
        let mut said = Said::new();
        said.lists(Source::Machine, vec![dir("u1", "shop/web"), dir("u2", "shop/old")]);
        assert_eq!(keys(&said.snapshot()), ["u1", "u2"]);
        said.lists(lists, vec![pod("u1", "web")]);
        let moment = said.moment();
        assert_eq!(keys(&moment.snapshot), ["u1"], "{lists:?}");
        assert_eq!(moment.snapshot.orphaned.keys().collect::<Vec<_>>(), ["u2"]);
        let place = &placed(&moment, "u1").position;
        assert_ne!(place.status_from, Source::Machine);
        assert_eq!(place.progress(Stage::Admission).unwrap().state, StageState::Done, "its directory shows it");
        assert!(place.progress(Stage::Volumes).unwrap().evidence.iter().any(|e| e.source == Source::Machine));
        // A source that stops responding does not restore pods that it reported as deleted.
        said.fails(lists).say(Source::Machine, dir("u3", "shop/new"));
        assert_eq!(keys(&said.snapshot()), ["u1", "u3"]);
        assert_eq!(said.snapshot().orphaned.len(), 1);
        said.say(Source::Machine, Fact::PodDirGone("u2".into()));
        assert!(said.snapshot().orphaned.is_empty());
        said.say(lists, Fact::SourceState(SourceState::Live { since: time(said.second) }));
        assert_eq!(keys(&said.snapshot()), ["u1"]);
    }
}

#[test]
fn a_static_pod_is_one_pod_in_all_sources() {
    let mut said = Said::new();
    said.lists(Source::Machine, vec![manifest("etcd.yaml", "etcd-n")]);
    assert_eq!(keys(&said.snapshot()), ["file:etcd.yaml"]);
    said.say(Source::Machine, dir("u1", "shop/etcd-n"));
    let snapshot = said.snapshot();
    assert_eq!(keys(&snapshot), ["u1"]);
    assert!(snapshot.pods["u1"].is_static());
    // The API server can lack the mirror pod; the runtime has the pod.
    said.lists(Source::ApiPods, vec![]).lists(Source::Cri, vec![sandbox("u1", "etcd-n")]);
    let snapshot = said.snapshot();
    assert_eq!(keys(&snapshot), ["u1"]);
    assert!(snapshot.pods["u1"].manifest.is_some() && !snapshot.pods["u1"].is_only_on_disk());
    said.say(Source::Cri, Fact::SandboxGone("s-u1".into())).say(Source::Machine, Fact::PodDirGone("u1".into()));
    assert_eq!(keys(&said.snapshot()), ["file:etcd.yaml"], "a manifest of which nothing runs");
    said.lists(Source::KubeletPods, vec![]);
    assert_eq!(keys(&said.snapshot()), Vec::<String>::new(), "the kubelet would know it");
    said.say(Source::Machine, Fact::StaticManifestGone("etcd.yaml".into())).fails(Source::KubeletPods);
    assert_eq!(keys(&said.snapshot()), Vec::<String>::new());
}

#[test]
fn log_directories_are_pods_only_while_the_runtime_does_not_respond() {
    let mut said = Said::new();
    let Fact::PodDir(mut logs) = dir("u1", "shop/web") else { panic!() };
    logs.kubelet = false;
    said.lists(Source::Machine, vec![Fact::PodDir(logs)]);
    assert_eq!(keys(&said.snapshot()), ["u1"]);
    said.lists(Source::Cri, vec![]);
    assert!(said.snapshot().pods.is_empty(), "the runtime keeps a sandbox as long as the kubelet keeps its logs");
    assert!(said.snapshot().orphaned.is_empty());
    said.fails(Source::Cri);
    assert_eq!(keys(&said.snapshot()), ["u1"]);
}

/// The observations of the tests above together.
fn everything() -> Vec<Observation> {
    let mut said = Said::new();
    said.lists(Source::Machine, vec![dir("u1", "shop/web"), dir("u2", "shop/old"), manifest("m1", "etcd-n")]);
    said.lists(Source::ApiPods, vec![pod("u1", "web")]).lists(Source::Cri, vec![sandbox("u1", "web")]);
    said.fails(Source::ApiPods).say(Source::Machine, dir("u3", "shop/new"));
    said.say(Source::Machine, manifest("m2", "new")).say(Source::Machine, dir("u4", "shop/etcd-n"));
    said.say(Source::ApiPods, Fact::Unreadable { count: 1 });
    said.lists(Source::KubeletPods, vec![pod("u1", "web"), pod("u5", "etcd-n")]).fails(Source::KubeletPods);
    said.say(Source::Machine, Fact::PodDirGone("u4".into())).say(Source::Machine, dir("u6", ""));
    said.lists(
        Source::Machine,
        vec![dir("u1", "shop/web"), dir("u3", "shop/new"), dir("u6", ""), manifest("m2", "other")],
    );
    said.fails(Source::Cri).say(Source::Cri, Fact::SandboxGone("s-u1".into()));
    said.all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn the_order_of_the_sources_does_not_matter(
        picks in prop::collection::vec(any::<u8>(), 1..80), upto in 1usize..60, often in 1usize..9,
    ) {
        let mut said = everything();
        said.truncate(upto);
        let mut straight = fold(&said);
        let mut queues: Vec<Vec<Observation>> = Vec::new();
        for source in Source::ALL {
            queues.push(said.iter().filter(|o| o.stamp.source == source).rev().cloned().collect());
        }
        let (mut other, mut turn) = (Model::default(), 0);
        while queues.iter().any(|q| !q.is_empty()) {
            queues.retain(|q| !q.is_empty());
            let queue = picks[turn % picks.len()] as usize % queues.len();
            queues[queue].pop().into_iter().for_each(|o| other.apply(o));
            turn += 1;
            // Joined again on the way, only what was touched.
            if turn % often == 0 {
                other.snapshot();
            }
        }
        let (a, b) = (straight.snapshot(), other.snapshot());
        prop_assert_eq!(keys(&a), keys(&b));
        prop_assert!(a.pods == b.pods, "the pods differ");
        prop_assert_eq!(&a.orphaned, &b.orphaned);
        let text = serde_json::to_string(&other).unwrap();
        let mut read: Model = serde_json::from_str(&text).unwrap();
        read.reindex();
        let c = read.snapshot();
        prop_assert!(c.pods == a.pods, "the pods differ after a keyframe: {:?} {:?}", keys(&c), keys(&a));
        prop_assert_eq!(&a.orphaned, &c.orphaned);
    }
}

/// A directory for the files of one test.
struct Dir(PathBuf);

impl Dir {
    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn with_api_server_and_runtime_closed_the_pods_of_the_disk_are_listed() {
    tls::install_provider();
    let dir = Dir(std::env::temp_dir().join(format!("kpodtrace-disk-{}", std::process::id())));
    dir.write("var/lib/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/data/x", "");
    dir.write("var/log/pods/shop_web-0_u1/app/2.log", "");
    let etcd = "kind: Pod\nmetadata: {name: etcd, namespace: kube-system}\nspec: {containers: [{name: etcd}]}\n";
    dir.write("etc/kubernetes/manifests/etcd.yaml", etcd);
    dir.write(
        "kubeconfig",
        "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n\
        clusters: [{name: k, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: t}}]\n",
    );
    let plan = MachinePlan {
        paths: Default::default(),
        root: Root::new(&dir.0),
        units: Vec::new(),
        root_dir: Path::new("/var/lib/kubelet").into(),
        static_pods: Some("/etc/kubernetes/manifests".into()),
        serving: None,
        node: "n".into(),
    };
    let (tx, mut rx) = mpsc::channel(64);
    let (clock, back_off) = (Clock::start(), BackOff::default());
    let outlet = |source| ObservationSink::new(source, clock, tx.clone());
    let access = ApiAccess::new(Credential::Kubeconfig(vec![dir.0.join("kubeconfig")]), Env::new());
    tokio::spawn(supervise(MachineSource::new(plan), outlet(Source::Machine), back_off));
    tokio::spawn(supervise(ListWatch::new(access, WatchedResource::pods("n")), outlet(Source::ApiPods), back_off));
    tokio::spawn(supervise(CriSource::new(dir.0.join("no.sock")), outlet(Source::Cri), back_off));
    let (mut model, end) = (Model::default(), Instant::now() + Duration::from_secs(20));
    let closed = |s: &Snapshot, source| {
        s.sources.get(&source).is_some_and(|facts| matches!(facts.state, SourceState::Retrying { .. }))
    };
    let snapshot = loop {
        let observation = tokio::time::timeout_at(end.into(), rx.recv()).await.unwrap().unwrap();
        model.apply(observation);
        let snapshot = model.snapshot();
        if closed(&snapshot, Source::ApiPods) && closed(&snapshot, Source::Cri) && snapshot.pods.len() == 2 {
            break snapshot;
        }
    };
    let moment = NodeView::new(snapshot, &mut DiagnosisCache::default(), kpodtrace::time::Time::now());
    let rows: Vec<_> =
        moment.rows().iter().map(|row| format!("{}/{} {}", row.namespace, row.name, row.status)).collect();
    assert_eq!(rows, ["kube-system/etcd-n Unknown", "shop/web-0 Unknown"]);
    assert_eq!(placed(&moment, "u1").position.status.restarts, 2);
}
