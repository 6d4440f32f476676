//! The API server as a source, against a fake one on a real TLS socket: lists, watches, and every fault on the way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "fakes/api.rs"]
mod fake;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fake::{Certificates, FakeApi};
use kpodtrace::model::{Model, Snapshot};
use kpodtrace::observation::{ErrorKind, Fact, Observation, Source, SourceState};
use kpodtrace::observe::api::{ApiAccess, ListWatch, Watched};
use kpodtrace::observe::discover::{Credential, Env};
use kpodtrace::observe::{BackOff, Clock, Outlet, supervise, tls};
use serde_json::{Value, json};
use tokio::sync::mpsc;

const NODE: &str = "node-a";
const PATIENCE: Duration = Duration::from_secs(20);

fn back_off() -> BackOff {
    let first = Duration::from_millis(20);
    BackOff { first, limit: Duration::from_millis(100), forbidden: Duration::from_secs(60) }
}

/// A kubeconfig on disk, as kubelets have one.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let file = Self(std::env::temp_dir().join(format!("kpodtrace-api-{}-{name}", std::process::id())));
        file.write(text);
        file
    }

    fn write(&self, text: &str) {
        // A file that is rotated is another file: written beside, then put in place.
        let beside = self.0.with_extension("new");
        std::fs::write(&beside, text).unwrap();
        std::fs::rename(&beside, &self.0).unwrap();
    }
}

impl Drop for File {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

/// Sources under their supervisors, and the model that they feed.
struct Live {
    rx: mpsc::Receiver<Observation>,
    model: Model,
    all: Vec<Observation>,
}

impl Live {
    fn start(kubeconfig: &File, what: Vec<Watched>) -> Self {
        tls::install_provider();
        let (tx, rx) = mpsc::channel(1024);
        let access = ApiAccess::new(Credential::Kubeconfig(vec![kubeconfig.0.clone()]), Env::new());
        let clock = Clock::begin();
        for what in what {
            let outlet = Outlet::new(what.source, clock, tx.clone());
            tokio::spawn(supervise(ListWatch::new(access.clone(), what), outlet, back_off()));
        }
        Self { rx, model: Model::default(), all: Vec::new() }
    }

    /// Takes observations in until the model is as wanted.
    async fn until(&mut self, what: &str, mut done: impl FnMut(&Snapshot) -> bool) -> Snapshot {
        let end = Instant::now() + PATIENCE;
        loop {
            let snapshot = self.model.snapshot();
            if done(&snapshot) {
                return snapshot;
            }
            let next = tokio::time::timeout_at(end.into(), self.rx.recv()).await;
            let observation = next.unwrap_or_else(|_| panic!("never: {what}; {:?}", snapshot.sources)).unwrap();
            self.all.push(observation.clone());
            self.model.apply(observation);
        }
    }

    fn count(&self, fact: impl Fn(&Fact) -> bool) -> usize {
        self.all.iter().filter(|o| fact(&o.fact)).count()
    }
}

fn pod(uid: &str, node: &str, phase: &str) -> Value {
    json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": uid, "namespace": "shop", "uid": uid,
        "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i",
        "env": [{"name": "P", "value": "hunter2"}]}]}, "status": {"phase": phase}})
}

fn phase(snapshot: &Snapshot, uid: &str) -> Option<String> {
    let held = snapshot.pods.get(uid)?.api.as_ref()?;
    Some(held.value.status.phase.to_string())
}

fn state(snapshot: &Snapshot, source: Source) -> Option<SourceState> {
    snapshot.sources.get(&source).map(|s| s.state.clone())
}

#[tokio::test]
async fn lists_in_pages_then_watches() {
    let api = FakeApi::start(&Certificates::new(), 0).await;
    for i in 0..5 {
        api.put("pods", pod(&format!("p{i}"), NODE, "Pending"));
    }
    api.put("pods", pod("elsewhere", "node-b", "Running"));
    let file = File::new("watch", &api.kubeconfig("t0"));
    let mut live = Live::start(&file, vec![Watched::pods(NODE)]);
    let listed = live.until("five pods", |s| s.pods.len() == 5).await;
    assert!(listed.pods.get("elsewhere").is_none());
    api.put("pods", pod("p1", NODE, "Running"));
    live.until("a change", |s| phase(s, "p1").as_deref() == Some("Running")).await;
    api.put("pods", pod("p5", NODE, "Pending"));
    live.until("a new pod", |s| s.pods.len() == 6).await;
    api.delete("pods", "p0");
    live.until("a pod that is gone", |s| s.pods.len() == 5 && !s.pods.contains_key("p0")).await;
    let seen = live.all.len();
    live.until("a bookmark", |_| true).await;
    while live.count(|f| *f == Fact::Alive) == 0 && live.all.len() < seen + 50 {
        let observation = tokio::time::timeout(PATIENCE, live.rx.recv()).await.unwrap().unwrap();
        live.all.push(observation);
    }
    assert_eq!(live.count(|f| *f == Fact::EpochBegin), 1, "one listing, and differences");
    assert!(live.all.iter().all(|o| !o.encode().unwrap().contains("hunter2")));
    assert!(api.state().asked.iter().all(|a| a.starts_with("GET ")), "{:?}", api.state().asked);
}

#[tokio::test]
async fn a_nodes_own_credential_sees_its_own_and_the_rest_says_what_is_missing() {
    let api = FakeApi::start(&Certificates::new(), 0).await;
    api.state().node_only = Some(NODE.into());
    api.put("pods", pod("p", NODE, "Running"));
    api.put("nodes", json!({"kind": "Node", "metadata": {"name": NODE, "uid": "n"}}));
    let file = File::new("node", &api.kubeconfig("t0"));
    let what = vec![Watched::pods(NODE), Watched::node(NODE), Watched::events(), Watched::unbound()];
    let mut live = Live::start(&file, what);
    let forbidden = |s: &Snapshot, source| matches!(state(s, source), Some(SourceState::Forbidden { .. }));
    let snapshot = live
        .until("two live, two forbidden", |s| {
            s.pods.len() == 1 && s.node.is_some() && forbidden(s, Source::ApiEvents) && forbidden(s, Source::ApiUnbound)
        })
        .await;
    let Some(SourceState::Forbidden { error }) = state(&snapshot, Source::ApiEvents) else { panic!() };
    assert!(error.tried.contains("403") && error.fix.contains("--verb=list,watch --resource=events"), "{error:?}");
}

#[tokio::test]
async fn unbound_pods_are_seen_and_stay_one_pod_when_they_are_bound() {
    let api = FakeApi::start(&Certificates::new(), 0).await;
    api.put("pods", pod("p", "", "Pending"));
    let file = File::new("unbound", &api.kubeconfig("t0"));
    let mut live = Live::start(&file, vec![Watched::pods(NODE), Watched::unbound()]);
    live.until("the unbound pod", |s| phase(s, "p").is_some()).await;
    api.put("pods", pod("p", NODE, "Running"));
    let bound = live.until("it is bound", |s| phase(s, "p").as_deref() == Some("Running")).await;
    assert_eq!(bound.pods.len(), 1);
}

#[tokio::test]
async fn a_version_that_is_too_old_begins_a_new_epoch_and_loses_nothing() {
    let api = FakeApi::start(&Certificates::new(), 0).await;
    api.put("pods", pod("a", NODE, "Running"));
    api.put("pods", pod("b", NODE, "Running"));
    let file = File::new("gone", &api.kubeconfig("t0"));
    let mut live = Live::start(&file, vec![Watched::pods(NODE)]);
    live.until("two pods", |s| s.pods.len() == 2).await;
    {
        // Both at once: the watch must not see the deletion before its history is gone.
        let mut state = api.state();
        state.reset = true;
    }
    api.delete("pods", "a");
    api.compact();
    live.until("the deletion, by a new listing", |s| s.pods.len() == 1 && s.pods.contains_key("b")).await;
    assert!(live.count(|f| *f == Fact::EpochBegin) >= 1);
}

#[tokio::test]
async fn a_connection_that_breaks_in_an_event_is_tried_again() {
    let api = FakeApi::start(&Certificates::new(), 0).await;
    api.put("pods", pod("a", NODE, "Pending"));
    api.state().reset = true;
    let file = File::new("reset", &api.kubeconfig("t0"));
    let mut live = Live::start(&file, vec![Watched::pods(NODE)]);
    live.until("the list", |s| s.pods.len() == 1).await;
    api.put("pods", pod("a", NODE, "Running"));
    live.until("the change, all the same", |s| phase(s, "a").as_deref() == Some("Running")).await;
    let failed = |f: &Fact| matches!(f, Fact::SourceState(SourceState::Retrying { .. }));
    assert_eq!((live.count(failed), live.count(|f| *f == Fact::EpochBegin)), (1, 2));
}

#[tokio::test]
async fn a_rotated_token_is_read_again() {
    let api = FakeApi::start(&Certificates::new(), 0).await;
    api.put("pods", pod("a", NODE, "Pending"));
    let file = File::new("rotate", &api.kubeconfig("t0"));
    let mut live = Live::start(&file, vec![Watched::pods(NODE)]);
    live.until("the list", |s| s.pods.len() == 1).await;
    {
        let mut state = api.state();
        (state.token, state.reset) = ("t1".into(), true);
    }
    api.put("pods", pod("a", NODE, "Running"));
    let denied = |s: &Snapshot| match state(s, Source::ApiPods) {
        Some(SourceState::Retrying { error, .. }) => error.kind == ErrorKind::Denied,
        _ => false,
    };
    live.until("401", denied).await;
    file.write(&api.kubeconfig("t1"));
    live.until("the new token works", |s| phase(s, "a").as_deref() == Some("Running")).await;
}

#[tokio::test]
async fn a_busy_server_says_when() {
    let api = FakeApi::start(&Certificates::new(), 0).await;
    api.state().refuse = Some((429, Some(2)));
    let file = File::new("busy", &api.kubeconfig("t0"));
    let mut live = Live::start(&file, vec![Watched::pods(NODE)]);
    let snapshot = live.until("429", |s| matches!(state(s, Source::ApiPods), Some(SourceState::Retrying { .. }))).await;
    let facts = &snapshot.sources[&Source::ApiPods];
    let SourceState::Retrying { at: Some(at), .. } = &facts.state else { panic!() };
    assert!((*at - facts.since).num_milliseconds() >= 1900, "{facts:?}");
    assert_eq!(api.state().asked.len(), 1, "no hidden retries");
}

#[tokio::test]
async fn no_hidden_retries_on_503() {
    let api = FakeApi::start(&Certificates::new(), 0).await;
    api.state().refuse = Some((503, None));
    let file = File::new("503", &api.kubeconfig("t0"));
    let mut live = Live::start(&file, vec![Watched::pods(NODE)]);
    live.until("503", |s| matches!(state(s, Source::ApiPods), Some(SourceState::Retrying { .. }))).await;
    assert_eq!(api.state().asked.len(), 1);
    api.state().refuse = None;
    live.until("it answers", |s| matches!(state(s, Source::ApiPods), Some(SourceState::Live { .. }))).await;
}

#[tokio::test]
async fn an_object_that_cannot_be_read_costs_itself_alone() {
    let api = FakeApi::start(&Certificates::new(), 0).await;
    api.put("pods", pod("a", NODE, "Pending"));
    let mut odd = pod("odd", NODE, "Pending");
    odd["spec"]["containers"] = json!("not a list");
    api.put("pods", odd);
    let file = File::new("odd", &api.kubeconfig("t0"));
    let mut live = Live::start(&file, vec![Watched::pods(NODE)]);
    live.until("the one that can be read", |s| s.pods.contains_key("a")).await;
    api.put("pods", pod("b", NODE, "Pending"));
    let snapshot = live.until("the watch goes on", |s| s.pods.contains_key("b")).await;
    assert!(!snapshot.pods.contains_key("odd"));
}

#[tokio::test]
async fn a_server_that_is_down_at_the_start_comes_up_later() {
    let certificates = Certificates::new();
    let api = FakeApi::start(&certificates, 0).await;
    let port = api.address.port();
    let file = File::new("down", &api.kubeconfig("t0"));
    drop(api);
    let mut live = Live::start(&file, vec![Watched::pods(NODE)]);
    let snapshot =
        live.until("unreachable", |s| matches!(state(s, Source::ApiPods), Some(SourceState::Retrying { .. }))).await;
    let Some(SourceState::Retrying { error, .. }) = state(&snapshot, Source::ApiPods) else { panic!() };
    assert!(error.fix.contains("nothing listens") && error.kind == ErrorKind::Unreachable, "{error:?}");
    let api = FakeApi::start(&certificates, port).await;
    api.put("pods", pod("a", NODE, "Running"));
    live.until("the pod", |s| s.pods.contains_key("a")).await;
}

#[tokio::test]
async fn the_incident_comes_out_as_its_import() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/incident");
    let mut imported = Model::default();
    let observations = kpodtrace::record::import::import(&path).unwrap().observations;
    observations.into_iter().filter(|o| o.stamp.source == Source::ApiPods).for_each(|o| imported.apply(o));
    let wanted = imported.snapshot();

    let api = FakeApi::start(&Certificates::new(), 0).await;
    let file = File::new("incident", &api.kubeconfig("t0"));
    let mut live = Live::start(&file, vec![Watched::pods(NODE)]);
    live.until("the empty list", |s| matches!(state(s, Source::ApiPods), Some(SourceState::Live { .. }))).await;
    let bytes = std::fs::read(path.join("api-pods.jsonl.gz")).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(&bytes[..]), &mut text).unwrap();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let object = line["event"]["object"].clone();
        match line["event"]["type"].as_str() {
            Some("ADDED" | "MODIFIED") => api.put("pods", object),
            Some("DELETED") => api.delete("pods", object["metadata"]["uid"].as_str().unwrap()),
            _ => {}
        }
    }
    let on_node = |s: &Snapshot| -> Vec<_> {
        let held = s.pods.values().filter_map(|p| p.api.as_ref()).map(|h| h.value.clone());
        held.filter(|p| p.spec.node_name == NODE).collect()
    };
    let wanted = on_node(&wanted);
    live.until("the same pods", |s| on_node(s) == wanted).await;
}
