//! Everything captured, served again on real sockets: what API server and runtime said must come out of the live sources
//! as it comes out of the import.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "fakes/api.rs"]
#[allow(dead_code)]
mod api;
mod common;
mod fake_runtime;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::{Certificates, FakeApi};
use fake_runtime::crictl::{container, container_status, image, image_fs, items, sandbox, sandbox_status};
use fake_runtime::{Fake, cri};
use kpodtrace::model::{Model, PodFacts, Snapshot};
use kpodtrace::observation::{Fact, Observation, Sandbox, Source, SourceState};
use kpodtrace::observe::api::{ApiAccess, ListWatch, WatchedResource};
use kpodtrace::observe::discover::{Credential, Env};
use kpodtrace::observe::{Attempt, BackOff, Clock, CriSource, CriTimings, ObservationSink, supervise, tls};
use kpodtrace::record::import::Imported;
use kpodtrace::text::Text;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

const PATIENCE: Duration = Duration::from_secs(60);
const MS: Duration = Duration::from_millis(1);

/// Sources and the model that they feed; they end with it.
struct Live {
    rx: mpsc::Receiver<Observation>,
    tx: mpsc::Sender<Observation>,
    model: Model,
    sources: JoinSet<()>,
}

impl Live {
    fn new() -> Self {
        let (tx, rx) = mpsc::channel(4096);
        Self { rx, tx, model: Model::default(), sources: JoinSet::new() }
    }

    fn add(&mut self, kind: Source, source: impl Attempt + 'static) {
        self.sources.spawn(supervise(
            source,
            ObservationSink::new(kind, Clock::start(), self.tx.clone()),
            BackOff::default(),
        ));
    }

    /// Takes in what comes until both sides are the same.
    async fn until<T: PartialEq + std::fmt::Debug>(&mut self, of: &str, wanted: &T, known: impl Fn(&Snapshot) -> T) {
        let end = Instant::now() + PATIENCE;
        loop {
            let is = known(&self.model.snapshot());
            if is == *wanted {
                return;
            }
            if !self.take(end).await {
                assert_eq!(is, *wanted, "{of}");
            }
        }
    }

    /// Takes one observation in, and all that have come beside it.
    async fn take(&mut self, end: Instant) -> bool {
        let Ok(Some(first)) = tokio::time::timeout_at(end.into(), self.rx.recv()).await else { return false };
        let mut next = Some(first);
        while let Some(observation) = next {
            self.model.apply(observation);
            next = self.rx.try_recv().ok();
        }
        true
    }
}

/// Every capture with what its import gives, of those in which these sources answered.
fn captures(answered: &[Source]) -> Vec<(PathBuf, Imported)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(common::fixtures().join("captures")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let imported = common::imported(&path);
            let live = |source: &Source| {
                let mut of = imported.observations.iter().filter(|o| o.stamp.source == *source);
                of.any(|o| matches!(o.fact, Fact::SourceState(SourceState::Live { .. })))
            };
            if answered.iter().all(live) {
                all.push((path, imported));
            }
        }
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn model_of(imported: Imported, sources: &[Source]) -> Snapshot {
    let mut model = Model::default();
    imported.observations.into_iter().filter(|o| sources.contains(&o.stamp.source)).for_each(|o| model.apply(o));
    model.snapshot()
}

fn json(path: &Path) -> Option<Value> {
    path.exists().then(|| serde_json::from_str(&common::read_text(path)).unwrap())
}

// ---- the API server ----

#[tokio::test]
async fn what_the_api_server_said() {
    const API: [Source; 3] = [Source::ApiPods, Source::ApiNode, Source::ApiEvents];
    tls::install_provider();
    let certificates = Certificates::new();
    let dir = std::env::temp_dir().join(format!("kpodtrace-captures-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let captures = captures(&API);
    assert!(captures.len() > 80, "{}", captures.len());
    for (path, imported) in captures {
        let api = FakeApi::start(&certificates, 0).await;
        for resource in ["pods", "nodes", "events"] {
            let list = json(&path.join(format!("{resource}.json"))).unwrap();
            for object in list["items"].as_array().unwrap() {
                api.put(resource, object.clone());
            }
        }
        let node = imported.node.to_string();
        let known = |s: &Snapshot| {
            let told = s.pods.values().filter(|p| p.api.is_some());
            let pods = told.map(|p| (p.key.clone(), p.api.as_ref().map(|h| h.value.clone()), p.events.clone()));
            (pods.collect::<Vec<_>>(), s.node.clone(), s.node_events.clone())
        };
        let wanted = known(&model_of(imported, &API));
        let kubeconfig = dir.join("kubeconfig");
        std::fs::write(&kubeconfig, api.kubeconfig("token: t0")).unwrap();
        let access = ApiAccess::new(Credential::Kubeconfig(vec![kubeconfig]), Env::new());
        let mut live = Live::new();
        for what in [
            WatchedResource::pods(&node),
            WatchedResource::unbound(),
            WatchedResource::node(&node),
            WatchedResource::events(),
        ] {
            live.add(what.source, ListWatch::new(access.clone(), what));
        }
        live.until(&path.display().to_string(), &wanted, known).await;
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

// ---- the runtime ----

/// What `crictl inspect` or `inspectp` kept, under a prefix.
fn statuses<T>(cri: &Path, prefix: &str, of: impl Fn(&Value) -> (String, T)) -> BTreeMap<String, T> {
    let names = std::fs::read_dir(cri).unwrap().map(|e| e.unwrap().path());
    let kept = names.filter(|p| p.file_name().unwrap().to_str().unwrap().starts_with(prefix));
    kept.map(|p| of(&json(&p).unwrap()["status"])).collect()
}

fn known(s: &Snapshot) -> impl PartialEq + std::fmt::Debug + use<> {
    let pods: Vec<_> = s.pods.values().map(|p| (p.key.clone(), p.sandboxes.clone(), p.containers.clone())).collect();
    let images: Vec<_> = s.images.iter().map(|(_, held)| held.value.clone()).collect();
    (pods, images, s.image_fs.clone(), s.runtime.clone())
}

#[tokio::test]
async fn what_the_runtime_said() {
    let dir = std::env::temp_dir().join(format!("kpt-captures-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let pace = CriTimings { spacing: 20 * MS, settle: MS, images_spacing: 20 * MS, ..CriTimings::default() };
    let captures = captures(&[Source::Cri]);
    assert!(captures.len() > 80, "{}", captures.len());
    for (number, (path, imported)) in captures.into_iter().enumerate() {
        let cri = path.join("cri");
        let wanted = model_of(imported, &[Source::Cri]);
        let fake = Fake::new();
        fake.set(|s| {
            // Every other one in pieces.
            s.streams = number % 2 == 0;
            s.sandboxes = items(&json(&cri.join("pods.json")).unwrap(), "items", sandbox);
            s.containers = items(&json(&cri.join("ps.json")).unwrap(), "containers", container);
            s.statuses = statuses(&cri, "inspect-", container_status);
            s.sandbox_statuses = Some(statuses(&cri, "inspectp-", sandbox_status));
            s.images = items(&json(&cri.join("images.json")).unwrap(), "images", image);
            s.image_fs = image_fs(&json(&cri.join("imagefsinfo.json")).unwrap());
            // Read from two formats of crictl's, neither of which is the protocol's.
            let runtime = wanted.runtime.as_deref().unwrap();
            let conditions = runtime.conditions.iter().map(|c| cri::RuntimeCondition {
                r#type: c.kind.to_string(),
                status: c.ok,
                reason: c.reason.to_string(),
                message: c.message.to_string(),
            });
            s.identity = Some((runtime.name.to_string(), runtime.version.to_string(), conditions.collect()));
        });
        let socket = dir.join(format!("{number}.sock"));
        let _served = fake.serve(&socket, number % 3 != 0);
        let mut live = Live::new();
        live.add(Source::Cri, CriSource::new(&socket).with_timings(pace));
        live.until(&path.display().to_string(), &known(&wanted), known).await;
        let state = fake.state.lock().unwrap();
        assert!(state.most_lists_in_flight <= 1 && !state.looked_beside_lists);
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// List by list, with the statuses that followed each, and the call that brought no answer.
#[tokio::test]
async fn what_the_runtime_said_during_the_incident() {
    let path = common::fixtures().join("incident");
    let mut observations = common::imported(&path).observations;
    observations.retain(|o| o.stamp.source == Source::Cri);
    let text = common::read_text(&path.join("cri.jsonl.gz"));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_step = |line: &Value| line["sandboxes"].is_array() || line["error"].is_string();
    let steps: Vec<usize> = (0..lines.len()).filter(|i| is_step(&lines[*i])).collect();
    assert!(steps.len() > 100, "{}", steps.len());

    let socket = std::env::temp_dir().join(format!("kpt-incident-{}.sock", std::process::id()));
    let fake = Fake::new();
    let (mut containers, mut sandboxes) = (BTreeMap::new(), BTreeMap::new());
    let _served = fake.serve(&socket, true);
    let mut live = Live::new();
    let deadline = Duration::from_secs(1);
    let pace =
        CriTimings { spacing: 10 * MS, settle: MS, rest: 20 * MS, list_deadline: deadline, ..CriTimings::default() };
    live.add(Source::Cri, CriSource::new(&socket).with_timings(pace));
    let mut imported = Model::default();
    let mut left = observations.into_iter().peekable();
    for (step, at) in steps.iter().enumerate() {
        let end = steps.get(step + 1).copied().unwrap_or(lines.len());
        for line in &lines[*at..end] {
            containers.extend(line.get("container_status").map(container_status));
            sandboxes.extend(line.get("sandbox_status").map(sandbox_status));
        }
        let of = lines[*at]["t"].to_string();
        if lines[*at]["error"].is_string() {
            fake.hang(true);
            fake.event("/tasks/exit", "x", "x");
            let failed = |s: &Snapshot| matches!(s.sources[&Source::Cri].state, SourceState::Retrying { .. });
            live.until(&of, &true, failed).await;
            fake.hang(false);
            live.until(&of, &false, failed).await;
            continue;
        }
        fake.set(|s| {
            s.sandboxes = items(&lines[*at], "sandboxes", sandbox);
            s.containers = items(&lines[*at], "containers", container);
            (s.statuses, s.sandbox_statuses) = (containers.clone(), Some(sandboxes.clone()));
        });
        let list = lines[*at]["containers"].as_array().unwrap().iter();
        let created: BTreeSet<String> =
            list.filter(|c| c["state"] == "CONTAINER_CREATED").map(|c| c["id"].as_str().unwrap().to_owned()).collect();
        fake.event("/containers/update", "", "");
        let until: Option<kpodtrace::time::Time> = lines.get(end).map(|l| l["t"].as_str().unwrap().parse().unwrap());
        while let Some(observation) = left.next_if(|o| until.is_none_or(|until| o.stamp.wall < until)) {
            imported.apply(observation);
        }
        let pods = |s: &Snapshot| {
            let told = s.pods.values().filter(|p| !p.sandboxes.is_empty() || !p.containers.is_empty());
            // One that is not ready is not asked about any more: it keeps the address that it had.
            let address = |s: &Arc<Sandbox>| if s.ready { s.ip.clone() } else { Text::default() };
            let sandboxes = |p: &Arc<PodFacts>| {
                p.sandboxes.iter().map(|s| Sandbox { ip: address(s), ..(**s).clone() }).collect::<Vec<_>>()
            };
            // One that was listed as created is asked about only once it is listed as started.
            let containers = |p: &Arc<PodFacts>| {
                let listed = p.containers.iter().filter(|c| !created.contains(c.id.as_str()));
                listed.cloned().collect::<Vec<_>>()
            };
            told.map(|p| (p.key.clone(), sandboxes(p), containers(p))).collect::<Vec<_>>()
        };
        live.until(&of, &pods(&imported.snapshot()), pods).await;
    }
    assert!(imported.snapshot().pods.len() > 30);
    let state = fake.state.lock().unwrap();
    assert!(state.most_lists_in_flight <= 1 && !state.looked_beside_lists);
}
