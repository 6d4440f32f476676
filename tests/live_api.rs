//! The API server as a source, against a fake one on a TLS socket: lists, watches, credentials and faults.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "fakes/api.rs"]
mod fake;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fake::{Certificates, FakeApi, kubeconfig};
use kpodtrace::model::{Model, Snapshot};
use kpodtrace::observation::{ErrorKind, Fact, Observation, Source, SourceError, SourceState};
use kpodtrace::observe::api::{ApiAccess, LeaseSource, ListWatch, WatchTimings, WatchedResource};
use kpodtrace::observe::discover::{Credential, Env};
use kpodtrace::observe::{BackOff, Clock, ObservationSink, supervise, tls};
use serde_json::{Value, json};
use tokio::sync::mpsc;

const NODE: &str = "node-a";
const PATIENCE: Duration = Duration::from_secs(20);
const ADMIN: &str = "token: t0";

fn back_off() -> BackOff {
    let first = Duration::from_millis(20);
    BackOff { first, limit: Duration::from_millis(100), forbidden: Duration::from_secs(60) }
}

/// A directory for the files of one test.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("kpodtrace-api-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    /// A file that is rotated is another file: written beside, then put in place.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let (beside, path) = (self.0.join("beside"), self.0.join(name));
        std::fs::write(&beside, text).unwrap();
        std::fs::rename(&beside, &path).unwrap();
        path
    }

    fn script(&self, text: &str) -> PathBuf {
        let path = self.write("plugin", &format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn access(&self, kubeconfig: &str) -> ApiAccess {
        ApiAccess::new(Credential::Kubeconfig(vec![self.write("kubeconfig", kubeconfig)]), Env::new())
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Sources under their supervisors, and the model that they feed.
struct Live {
    tx: mpsc::Sender<Observation>,
    rx: mpsc::Receiver<Observation>,
    model: Model,
    all: Vec<Observation>,
}

impl Live {
    /// A lease, read every 50 ms where it cannot be watched; beside it what else is wanted.
    fn lease(access: ApiAccess, node: &str, what: Vec<WatchedResource>) -> Self {
        let live = Self::start(access.clone(), what);
        let source = LeaseSource::new(access, node).with_timings(WatchTimings::default(), Duration::from_millis(50));
        tokio::spawn(supervise(
            source,
            ObservationSink::new(Source::ApiLease, Clock::start(), live.tx.clone()),
            back_off(),
        ));
        live
    }

    fn start(access: ApiAccess, what: Vec<WatchedResource>) -> Self {
        Self::paced(access, what, WatchTimings { short: Duration::from_millis(300), ..WatchTimings::default() })
    }

    fn paced(access: ApiAccess, what: Vec<WatchedResource>, pace: WatchTimings) -> Self {
        tls::install_provider();
        let (tx, rx) = mpsc::channel(1024);
        let clock = Clock::start();
        for what in what {
            let outlet = ObservationSink::new(what.source, clock, tx.clone());
            tokio::spawn(supervise(ListWatch::new(access.clone(), what).with_timings(pace), outlet, back_off()));
        }
        Self { tx, rx, model: Model::default(), all: Vec::new() }
    }

    /// Applies observations until the model matches.
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

    /// Waits for a failure of ApiPods.
    async fn failure(&mut self, kind: ErrorKind) -> SourceError {
        let of = |s: &Snapshot| match state(s, Source::ApiPods) {
            Some(SourceState::Retrying { error, .. } | SourceState::Forbidden { error }) if error.kind == kind => {
                Some(error)
            }
            _ => None,
        };
        of(&self.until(&format!("{kind:?}"), |s| of(s).is_some()).await).unwrap()
    }

    /// Takes in what comes for so long.
    async fn for_a(&mut self, while_: Duration) {
        let end = Instant::now() + while_;
        while let Ok(Some(observation)) = tokio::time::timeout_at(end.into(), self.rx.recv()).await {
            self.all.push(observation.clone());
            self.model.apply(observation);
        }
    }

    fn count(&self, fact: impl Fn(&Fact) -> bool) -> usize {
        self.all.iter().filter(|o| fact(&o.fact)).count()
    }

    fn epochs(&self) -> usize {
        self.count(|f| *f == Fact::EpochBegin)
    }

    fn failures(&self) -> usize {
        self.count(|f| matches!(f, Fact::SourceState(SourceState::Retrying { .. })))
    }

    fn shows(&self, secret: &str) -> bool {
        self.all.iter().any(|o| o.encode().unwrap().contains(secret))
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

fn is_live(snapshot: &Snapshot, source: Source) -> bool {
    matches!(state(snapshot, source), Some(SourceState::Live { .. }))
}

fn pods() -> Vec<WatchedResource> {
    vec![WatchedResource::pods(NODE)]
}

#[tokio::test]
async fn lists_in_pages_then_watches() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("watch"));
    for i in 0..5 {
        api.put("pods", pod(&format!("p{i}"), NODE, "Pending"));
    }
    api.put("pods", pod("elsewhere", "node-b", "Running"));
    let mut live = Live::start(dir.access(&api.kubeconfig(ADMIN)), pods());
    let listed = live.until("five pods", |s| s.pods.len() == 5).await;
    assert!(!listed.pods.contains_key("elsewhere"));
    api.put("pods", pod("p1", NODE, "Running"));
    live.until("a change", |s| phase(s, "p1").as_deref() == Some("Running")).await;
    api.put("pods", pod("p5", NODE, "Pending"));
    live.until("a new pod", |s| s.pods.len() == 6).await;
    api.delete("pods", "p0");
    live.until("a pod that is gone", |s| s.pods.len() == 5 && !s.pods.contains_key("p0")).await;
    let alive = live.count(|f| *f == Fact::Alive);
    live.for_a(Duration::from_millis(500)).await;
    assert!(live.count(|f| *f == Fact::Alive) > alive, "bookmarks");
    assert_eq!((live.epochs(), live.failures()), (1, 0), "one listing, and differences");
    assert!(!live.shows("hunter2"));
    assert!(api.state().asked.iter().all(|a| a.starts_with("GET ")), "{:?}", api.state().asked);
}

#[tokio::test]
async fn a_first_list_reports_its_progress() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("first"));
    for i in 0..5 {
        api.put("events", json!({"kind": "Event", "metadata": {"name": format!("e{i}"), "uid": format!("e{i}")}}));
    }
    let mut live = Live::start(dir.access(&api.kubeconfig(ADMIN)), vec![WatchedResource::events()]);
    let mut seen = Vec::new();
    live.until("a whole list", |s| {
        let first = s.initial_lists.get(&Source::ApiEvents);
        seen.extend(first.map(|f| (f.live, f.so_far, f.remaining)));
        is_live(s, Source::ApiEvents) && first.is_none()
    })
    .await;
    for wanted in [(false, None, None), (true, Some(0), None), (true, Some(2), Some(3)), (true, Some(4), Some(1))] {
        assert!(seen.contains(&wanted), "{wanted:?}: {seen:?}");
    }
}

#[tokio::test]
async fn a_watch_closed_by_the_server_resumes_at_its_version() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("end"));
    api.state().no_bookmarks = true;
    api.put("events", json!({"kind": "Event", "metadata": {"name": "e", "uid": "e"}}));
    let second = Duration::from_secs(1);
    let pace = WatchTimings {
        watch: second,
        slack: second * 4,
        silence: second / 5,
        short: second / 2,
        ..WatchTimings::default()
    };
    let mut live = Live::paced(dir.access(&api.kubeconfig(ADMIN)), vec![WatchedResource::events()], pace);
    live.for_a(Duration::from_millis(2500)).await;
    assert!(is_live(&live.model.snapshot(), Source::ApiEvents));
    assert_eq!((live.epochs(), live.failures()), (1, 0), "silence without bookmarks is no failure");
    let watches = api.state().asked.iter().filter(|a| a.contains("watch=1")).count();
    assert!((2..=4).contains(&watches), "{watches}");
    assert_eq!(live.count(|f| *f == Fact::Alive), watches, "each watch that begins says that the server answers");
}

#[tokio::test]
async fn a_watch_that_falls_silent_is_given_up() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("mute"));
    let pace = WatchTimings { silence: Duration::from_millis(500), ..WatchTimings::default() };
    let mut live = Live::paced(dir.access(&api.kubeconfig(ADMIN)), pods(), pace);
    live.for_a(Duration::from_millis(400)).await;
    api.state().mute = true;
    assert!(live.failure(ErrorKind::Timeout).await.tried.contains("no response within 0.5s"));
    api.put("pods", pod("a", NODE, "Running"));
    api.state().mute = false;
    live.until("what happened meanwhile", |s| s.pods.contains_key("a") && is_live(s, Source::ApiPods)).await;
    api.put("pods", pod("b", NODE, "Running"));
    live.until("the watch goes on", |s| s.pods.contains_key("b")).await;
    assert_eq!(live.epochs(), 2);
}

#[tokio::test]
async fn headers_that_do_not_come_are_late() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("slow"));
    api.state().slow = Duration::from_secs(30);
    let pace = WatchTimings { response: Duration::from_millis(300), ..WatchTimings::default() };
    let mut live = Live::paced(dir.access(&api.kubeconfig(ADMIN)), pods(), pace);
    let error = live.failure(ErrorKind::Timeout).await;
    assert!(error.tried.contains("list and watch pods with fieldSelector spec.nodeName=node-a"), "{error:?}");
    api.state().slow = Duration::ZERO;
    live.until("it answers", |s| is_live(s, Source::ApiPods)).await;
}

#[tokio::test]
async fn watches_that_close_or_expire_at_once_do_not_cause_a_busy_loop() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("short"));
    api.state().end_at_once = true;
    let mut live = Live::start(dir.access(&api.kubeconfig(ADMIN)), pods());
    assert!(live.failure(ErrorKind::Other).await.tried.contains("the watch was closed at once"));
    {
        let mut state = api.state();
        (state.end_at_once, state.refuse_watch) = (false, Some(410));
    }
    let gone = |s: &Snapshot| matches!(state(s, Source::ApiPods), Some(SourceState::Retrying { error, .. }) if error.tried.contains("410"));
    live.until("410 after a list", gone).await;
    api.state().asked.clear();
    live.for_a(Duration::from_secs(1)).await;
    let asked = api.state().asked.len();
    assert!((4..60).contains(&asked), "{asked} requests in a second, at most 20 attempts of two");
    api.state().refuse_watch = None;
    live.until("it recovers", |s| is_live(s, Source::ApiPods)).await;
}

#[tokio::test]
async fn the_nodes_certificate_reads_its_pods_and_other_sources_report_the_missing_permission() {
    let certificates = Certificates::new();
    let (api, dir) = (FakeApi::start(&certificates, 0).await, Dir::new("node"));
    let (der, pem) = certificates.client("system:node:node-a");
    api.state().certificates.insert(der, "system:node:node-a".into());
    api.put("pods", pod("p", NODE, "Running"));
    api.put("nodes", json!({"kind": "Node", "metadata": {"name": NODE, "uid": "n"}}));
    let current = dir.write("kubelet-client-1.pem", &pem).display().to_string();
    let user = format!("client-certificate: '{current}', client-key: '{current}'");
    let what = vec![
        WatchedResource::pods(NODE),
        WatchedResource::node(NODE),
        WatchedResource::events(),
        WatchedResource::unbound(),
    ];
    let mut live = Live::start(dir.access(&api.kubeconfig(&user)), what);
    let forbidden = |s: &Snapshot, source| matches!(state(s, source), Some(SourceState::Forbidden { .. }));
    let snapshot = live
        .until("two live, two forbidden", |s| {
            s.pods.len() == 1 && s.node.is_some() && forbidden(s, Source::ApiEvents) && forbidden(s, Source::ApiUnbound)
        })
        .await;
    let fix = |source| match state(&snapshot, source) {
        Some(SourceState::Forbidden { error }) => error.fix.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(fix(Source::ApiEvents).contains("--verb=list,watch --resource=events"));
    assert!(fix(Source::ApiEvents).ends_with("--user=system:node:node-a"));
    assert!(fix(Source::ApiUnbound).contains("not allowed to list unscheduled pods"));
    let mut other = Live::start(dir.access(&api.kubeconfig(&user)), vec![WatchedResource::pods("node-b")]);
    assert!(other.failure(ErrorKind::Denied).await.fix.contains("the credential of node node-a"));
}

fn lease(node: &str, renewed: &str) -> Value {
    json!({"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": node, "uid": format!("lease-{node}"),
        "namespace": "kube-node-lease"}, "spec": {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": renewed}})
}

fn renewed(snapshot: &Snapshot) -> Option<String> {
    snapshot.lease.as_ref()?.spec.renew_time.map(|at| at.to_rfc3339())
}

#[tokio::test]
async fn a_lease_is_watched_and_touches_no_pod() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("lease"));
    api.put("leases", lease(NODE, "2026-03-01T12:00:00.123456Z"));
    api.put("leases", lease("node-b", "2026-03-01T12:00:01Z"));
    api.put("pods", pod("p", NODE, "Running"));
    let mut live = Live::lease(dir.access(&api.kubeconfig(ADMIN)), NODE, pods());
    let first = |s: &Snapshot| renewed(s).as_deref() == Some("2026-03-01T12:00:00.123456Z");
    let before = live.until("the lease and the pod", |s| first(s) && s.pods.len() == 1).await;
    assert_eq!(before.lease.as_ref().unwrap().ends().unwrap().to_rfc3339(), "2026-03-01T12:00:40.123456Z");
    api.put("leases", lease(NODE, "2026-03-01T12:00:10Z"));
    let after = live.until("a renewal", |s| renewed(s).as_deref() == Some("2026-03-01T12:00:10Z")).await;
    assert!(std::sync::Arc::ptr_eq(&before.pods, &after.pods), "nothing was joined again");
    api.delete("leases", "lease-node-a");
    live.until("none", |s| s.lease.is_none()).await;
    assert_eq!(live.count(|f| matches!(f, Fact::Lease(_))), 2, "not that of another node");
    assert!(!api.state().asked.iter().any(|a| a.contains("leases/")), "watched, not read again and again");
}

#[tokio::test]
async fn a_node_reads_its_own_lease_by_name() {
    let certificates = Certificates::new();
    let (api, dir) = (FakeApi::start(&certificates, 0).await, Dir::new("lease-node"));
    let (der, pem) = certificates.client("system:node:node-a");
    api.state().certificates.insert(der, "system:node:node-a".into());
    let current = dir.write("kubelet-client-1.pem", &pem).display().to_string();
    let user = format!("client-certificate: '{current}', client-key: '{current}'");
    let mut live = Live::lease(dir.access(&api.kubeconfig(&user)), NODE, Vec::new());
    live.until("it answers that there is none", |s| is_live(s, Source::ApiLease)).await;
    api.put("leases", lease(NODE, "2026-03-01T12:00:00Z"));
    live.until("the lease", |s| renewed(s).is_some()).await;
    live.for_a(Duration::from_millis(300)).await;
    assert_eq!(live.count(|f| matches!(f, Fact::Lease(_))), 1, "said once as long as it is the same");
    assert!(live.count(|f| *f == Fact::Alive) > 0);
    api.put("leases", lease(NODE, "2026-03-01T12:00:10Z"));
    live.until("a renewal", |s| renewed(s).as_deref() == Some("2026-03-01T12:00:10Z")).await;
    api.delete("leases", "lease-node-a");
    live.until("none", |s| s.lease.is_none()).await;
    assert_eq!((live.epochs(), live.failures()), (1, 0));
    let lists = api.state().asked.iter().filter(|a| a.contains("leases?")).count();
    assert_eq!(lists, 1, "a list that is refused is not asked for between two reads");

    let forbidden = |s: &Snapshot| matches!(state(s, Source::ApiLease), Some(SourceState::Forbidden { .. }));
    let mut other = Live::lease(dir.access(&api.kubeconfig(&user)), "node-b", Vec::new());
    let snapshot = other.until("the lease of another node", forbidden).await;
    let said = format!("{:?}", state(&snapshot, Source::ApiLease));
    assert!(said.contains("the credential of node node-a") || said.contains("credential of node node-a"), "{said}");
}

#[tokio::test]
async fn a_forbidden_lease_affects_no_other_source() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("lease-403"));
    api.state().tokens.insert("t2".into(), "no-leases".into());
    api.put("pods", pod("p", NODE, "Running"));
    let mut live = Live::lease(dir.access(&api.kubeconfig("token: t2")), NODE, pods());
    let forbidden = |s: &Snapshot| matches!(state(s, Source::ApiLease), Some(SourceState::Forbidden { .. }));
    let snapshot = live.until("refused", |s| forbidden(s) && s.pods.len() == 1).await;
    let Some(SourceState::Forbidden { error }) = state(&snapshot, Source::ApiLease) else { panic!() };
    assert!(error.tried.contains("get leases/node-a"), "{error:?}");
    assert!(error.fix.contains("-n kube-node-lease create role kpodtrace --verb=get,list,watch --resource=leases"));
    api.put("pods", pod("p", NODE, "Failed"));
    live.until("the pods go on", |s| phase(s, "p").as_deref() == Some("Failed")).await;
    assert!(is_live(&live.model.snapshot(), Source::ApiPods));
    assert_eq!(live.failures(), 0);
}

#[tokio::test]
async fn a_certificate_that_rotates_behind_its_link_is_read_again() {
    let certificates = Certificates::new();
    let (api, dir) = (FakeApi::start(&certificates, 0).await, Dir::new("link"));
    let node = "system:node:node-a";
    let (old, old_pem) = certificates.client(node);
    let (new, new_pem) = certificates.client(node);
    api.state().certificates.insert(old, node.into());
    api.put("pods", pod("a", NODE, "Pending"));
    dir.write("kubelet-client-1.pem", &old_pem);
    let current = dir.0.join("kubelet-client-current.pem");
    std::os::unix::fs::symlink("kubelet-client-1.pem", &current).unwrap();
    let user = format!("client-certificate: '{0}', client-key: '{0}'", current.display());
    let mut live = Live::start(dir.access(&api.kubeconfig(&user)), pods());
    live.until("the list", |s| s.pods.len() == 1).await;
    live.for_a(Duration::from_millis(200)).await;
    dir.write("kubelet-client-2.pem", &new_pem);
    std::fs::remove_file(&current).unwrap();
    std::os::unix::fs::symlink("kubelet-client-2.pem", &current).unwrap();
    {
        let mut state = api.state();
        state.certificates.clear();
        state.certificates.insert(new, node.into());
    }
    api.compact();
    api.put("pods", pod("a", NODE, "Running"));
    live.until("the new certificate works", |s| phase(s, "a").as_deref() == Some("Running")).await;
    assert_eq!(live.failures(), 0, "nobody needs to know");
}

#[tokio::test]
async fn an_unbound_pod_stays_one_pod_when_it_is_bound() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("unbound"));
    api.put("pods", pod("p", "", "Pending"));
    api.put("pods", pod("q", "", "Pending"));
    let mut live =
        Live::start(dir.access(&api.kubeconfig(ADMIN)), vec![WatchedResource::pods(NODE), WatchedResource::unbound()]);
    live.until("the unbound pods", |s| s.pods.len() == 2 && is_live(s, Source::ApiPods)).await;
    api.put("pods", pod("p", NODE, "Running"));
    api.put("pods", pod("q", "node-b", "Running"));
    let bound = |s: &Snapshot| phase(s, "p").as_deref() == Some("Running") && !s.pods.contains_key("q");
    live.until("one is bound here, one elsewhere", bound).await;
    live.for_a(Duration::from_millis(300)).await;
    let snapshot = live.model.snapshot();
    assert!(bound(&snapshot) && snapshot.pods.len() == 1);
}

#[tokio::test]
async fn a_node_that_the_api_server_does_not_have_is_reported_with_those_that_it_has() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("wrong-node"));
    let node = |name: &str| json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "uid": name}});
    api.put("nodes", node(NODE));
    api.put("nodes", node("node-b"));
    api.put("pods", pod("p", NODE, "Running"));
    let what = vec![WatchedResource::node("wrong"), WatchedResource::pods("wrong")];
    let mut live = Live::start(dir.access(&api.kubeconfig(ADMIN)), what);
    let error = |s: &Snapshot| match state(s, Source::ApiNode) {
        Some(SourceState::Retrying { error, .. }) => Some(error),
        _ => None,
    };
    let snapshot = live.until("the failure", |s| error(s).is_some() && is_live(s, Source::ApiPods)).await;
    let error = error(&snapshot).unwrap();
    assert_eq!(error.kind, ErrorKind::NoSuchNode);
    assert!(error.tried.contains("has no node \"wrong\"; it has node-a, node-b"), "{}", error.tried);
    assert!(error.fix.contains("--node"), "{}", error.fix);
    // A pod in the runtime is not an orphan because the list for a wrong node is empty.
    let sandbox =
        json!({"id": "s", "pod": "p", "name": "p", "namespace": "n", "uid": "p", "attempt": 0, "ready": true});
    let facts = [Fact::EpochBegin, Fact::Sandbox(serde_json::from_value(sandbox).unwrap()), Fact::EpochEnd];
    let mut sink = kpodtrace::observation::Sequencer::new(Source::Cri);
    let at = kpodtrace::observation::Time::from_timestamp(1_790_000_000, 0).unwrap();
    for fact in [Fact::SourceState(SourceState::Live { since: at })].into_iter().chain(facts) {
        let stamp = if fact == Fact::EpochBegin { sink.next_epoch(0, at) } else { sink.stamp(0, at) };
        live.model.apply(Observation { stamp, fact });
    }
    let located = kpodtrace::pipeline::PodLocator::default().locate_all(&live.model.snapshot(), at);
    assert_eq!(located.len(), 1);
    assert_ne!(located[0].position.stage, kpodtrace::pipeline::Stage::Terminating);
}

#[tokio::test]
async fn an_expired_version_starts_a_new_epoch_and_loses_nothing() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("gone"));
    api.put("pods", pod("a", NODE, "Running"));
    api.put("pods", pod("b", NODE, "Running"));
    let mut live = Live::start(dir.access(&api.kubeconfig(ADMIN)), pods());
    live.until("two pods", |s| s.pods.len() == 2 && is_live(s, Source::ApiPods)).await;
    live.for_a(Duration::from_millis(200)).await;
    api.state().mute = true;
    api.delete("pods", "a");
    api.compact();
    api.state().mute = false;
    live.until("the deletion, by a new listing", |s| s.pods.len() == 1 && s.pods.contains_key("b")).await;
    assert_eq!((live.epochs(), live.failures()), (2, 0));
}

#[tokio::test]
async fn a_list_that_expires_between_pages_restarts() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("pages"));
    for uid in ["a", "b", "c"] {
        api.put("pods", pod(uid, NODE, "Running"));
    }
    api.state().pages_expire = true;
    let mut live = Live::start(dir.access(&api.kubeconfig(ADMIN)), pods());
    live.failure(ErrorKind::Other).await;
    api.state().pages_expire = false;
    live.until("all pages", |s| s.pods.len() == 3 && is_live(s, Source::ApiPods)).await;
}

#[tokio::test]
async fn a_connection_that_breaks_in_an_event_is_tried_again() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("reset"));
    api.put("pods", pod("a", NODE, "Pending"));
    api.state().reset = true;
    let mut live = Live::start(dir.access(&api.kubeconfig(ADMIN)), pods());
    live.until("the list", |s| s.pods.len() == 1).await;
    api.put("pods", pod("a", NODE, "Running"));
    live.until("the change, all the same", |s| phase(s, "a").as_deref() == Some("Running")).await;
    assert_eq!((live.failures(), live.epochs()), (1, 2));
}

#[tokio::test]
async fn a_rotated_token_is_read_again() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("rotate"));
    api.put("pods", pod("a", NODE, "Pending"));
    let mut live = Live::start(dir.access(&api.kubeconfig(ADMIN)), pods());
    live.until("the list", |s| s.pods.len() == 1).await;
    {
        let mut state = api.state();
        state.tokens = [("t1".to_owned(), "admin".to_owned())].into();
    }
    api.compact();
    api.put("pods", pod("a", NODE, "Running"));
    assert!(live.failure(ErrorKind::Denied).await.fix.contains("expired"));
    dir.write("kubeconfig", &api.kubeconfig("token: t1"));
    live.until("the new token works", |s| phase(s, "a").as_deref() == Some("Running")).await;
}

#[tokio::test]
async fn a_service_account_is_read_from_its_directory() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("pod"));
    api.put("pods", pod("a", NODE, "Pending"));
    dir.write("token", "t0");
    dir.write("ca.crt", api.ca());
    let port = api.address.port().to_string();
    let env = [("KUBERNETES_SERVICE_HOST", "127.0.0.1"), ("KUBERNETES_SERVICE_PORT", port.as_str())];
    let env = env.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let mut live = Live::start(ApiAccess::new(Credential::ServiceAccount(dir.0.clone().into()), env), pods());
    live.until("the list", |s| s.pods.len() == 1).await;
}

#[tokio::test]
async fn retry_after_is_respected() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("busy"));
    api.state().refuse = Some((429, "busy", Some(2)));
    let mut live = Live::start(dir.access(&api.kubeconfig(ADMIN)), pods());
    let snapshot = live.until("429", |s| matches!(state(s, Source::ApiPods), Some(SourceState::Retrying { .. }))).await;
    let facts = &snapshot.sources[&Source::ApiPods];
    let SourceState::Retrying { at: Some(at), .. } = &facts.state else { panic!() };
    assert!((*at - facts.since).num_milliseconds() >= 1900, "{facts:?}");
    assert_eq!(api.state().asked.len(), 1, "no hidden retries");
    api.put("pods", pod("a", NODE, "Running"));
    api.state().refuse = None;
    let recovered = live.until("it recovers", |s| s.pods.contains_key("a")).await;
    assert!(recovered.sources[&Source::ApiPods].last_answer.unwrap() >= *at, "and not before it was asked to");
    assert_eq!(live.failures(), 1);
}

#[tokio::test]
async fn a_503_is_not_retried_silently_and_etcd_is_distinguished() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("503"));
    api.state().refuse = Some((503, "etcdserver: request timed out", None));
    let mut live = Live::start(dir.access(&api.kubeconfig(ADMIN)), pods());
    assert!(live.failure(ErrorKind::Other).await.fix.contains("etcd is not"));
    assert_eq!(api.state().asked.len(), 1);
    api.state().refuse = None;
    live.until("it answers", |s| is_live(s, Source::ApiPods)).await;
}

#[tokio::test]
async fn an_undecodable_object_is_counted_and_affects_no_other() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("odd"));
    api.put("pods", pod("a", NODE, "Pending"));
    let mut odd = pod("odd", NODE, "Pending");
    odd["spec"]["containers"] = json!("not a list");
    api.put("pods", odd);
    let mut live = Live::start(dir.access(&api.kubeconfig(ADMIN)), pods());
    live.until("the one that can be read", |s| s.pods.contains_key("a")).await;
    api.state().lines = ["{\"type\":", "\u{1}", "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"spec\":7}}"]
        .map(str::to_owned)
        .into();
    let counted = live.until("three more", |s| s.sources[&Source::ApiPods].unreadable == 4).await;
    let moment = kpodtrace::view::NodeView::new(counted, &mut Default::default(), kpodtrace::time::Time::now());
    assert!(kpodtrace::report::doctor_text(&moment, &[]).contains("4 unreadable objects"));
    let json = serde_json::to_value(kpodtrace::report::doctor_json(&moment, &[])).unwrap();
    assert_eq!(json["sources"][0]["unreadable"], 4);
    api.put("pods", pod("b", NODE, "Pending"));
    let snapshot = live.until("the watch goes on", |s| s.pods.contains_key("b")).await;
    assert!(!snapshot.pods.contains_key("odd"));
    assert_eq!((live.epochs(), live.failures()), (1, 0));
}

#[tokio::test]
async fn a_server_that_is_down_at_the_start_comes_up_later() {
    let (certificates, dir) = (Certificates::new(), Dir::new("down"));
    let api = FakeApi::start(&certificates, 0).await;
    let (port, access) = (api.address.port(), dir.access(&api.kubeconfig(ADMIN)));
    drop(api);
    let mut live = Live::start(access, pods());
    assert!(live.failure(ErrorKind::Unreachable).await.fix.contains("nothing listens"));
    let api = FakeApi::start(&certificates, port).await;
    api.put("pods", pod("a", NODE, "Running"));
    live.until("the pod", |s| s.pods.contains_key("a")).await;
}

#[tokio::test]
async fn certificate_errors_are_distinguished() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("tls"));
    let fix = async |text: &str| {
        let mut live = Live::start(dir.access(text), pods());
        live.failure(ErrorKind::Other).await
    };
    let none = fix(&kubeconfig(&api.url(), None, ADMIN)).await;
    assert!(none.fix.contains("names no CA") || none.tried.contains("names no CA"), "{none:?}");
    let other = FakeApi::start(&Certificates::new(), 0).await;
    let another = fix(&kubeconfig(&api.url(), Some(other.ca()), ADMIN)).await;
    assert!(another.fix.contains("not signed by the CA in this credential"), "{another:?}");
    let named = FakeApi::start(&Certificates::for_name("api.corp"), 0).await;
    let misnamed = fix(&named.kubeconfig(ADMIN)).await;
    assert!(misnamed.fix.contains("has other names"), "{misnamed:?}");
}

#[tokio::test]
async fn errors_in_a_kubeconfig_are_reported_without_secrets() {
    let dir = Dir::new("words");
    let said = async |text: &str| {
        let mut live = Live::start(dir.access(text), pods());
        let failed = |s: &Snapshot| matches!(state(s, Source::ApiPods), Some(SourceState::Retrying { .. }));
        let snapshot = live.until(text, failed).await;
        assert!(!live.shows("hunter2"), "{text}");
        format!("{:?}", state(&snapshot, Source::ApiPods))
    };
    let user = "token: hunter2";
    assert!(said("users: [{name: u, user: {token: hunter2}\n: }").await.contains("not a kubeconfig"));
    assert!(said("current-context: c\n").await.contains("current-context c does not exist"));
    assert!(said(&kubeconfig("not a url", None, user)).await.contains("the server's address"));
    let proxied = kubeconfig("https://10.0.0.1', proxy-url: 'socks5://u:hunter2@proxy:1080", None, user);
    assert!(said(&proxied).await.contains("(supported: http, https)"));
    assert!(said(&kubeconfig("https://10.0.0.1", Some("hunter2"), user)).await.contains("no certificate in PEM form"));
    let gone = said(&kubeconfig("https://10.0.0.1", None, "tokenFile: /nowhere/token")).await;
    assert!(gone.contains("/nowhere/token") || gone.contains("names no CA"), "{gone}");
    let old = "auth-provider: {name: gcp, config: {access-token: hunter2}}";
    assert!(said(&kubeconfig("https://10.0.0.1", None, old)).await.contains("auth-provider gcp"));
}

fn plugin(path: &Path) -> String {
    let path = path.display();
    format!("exec: {{apiVersion: client.authentication.k8s.io/v1beta1, command: '{path}'}}")
}

#[tokio::test]
async fn a_credential_plugin_provides_the_token_and_runs_again_when_it_expires() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("plugin"));
    api.put("pods", pod("a", NODE, "Pending"));
    let script = dir.script(&format!(
        "cat; test -t 0 && exit 7; echo run >> {0}/runs; echo \"$KUBERNETES_EXEC_INFO\" > {0}/info
         echo '{{\"kind\":\"ExecCredential\",\"status\":{{\"token\":\"'$(cat {0}/token)'\",\"expirationTimestamp\":\"2099-01-01T00:00:00Z\"}}}}'",
        dir.0.display()
    ));
    dir.write("token", "t0");
    let what = vec![WatchedResource::pods(NODE), WatchedResource::unbound(), WatchedResource::events()];
    let mut live = Live::start(dir.access(&api.kubeconfig(&plugin(&script))), what);
    live.until("the list", |s| s.pods.len() == 1 && is_live(s, Source::ApiUnbound) && is_live(s, Source::ApiEvents))
        .await;
    let runs = || std::fs::read_to_string(dir.0.join("runs")).unwrap().lines().count();
    assert_eq!(runs(), 1, "once for all sources");
    let info: Value = serde_json::from_str(&std::fs::read_to_string(dir.0.join("info")).unwrap()).unwrap();
    assert_eq!(info["apiVersion"], "client.authentication.k8s.io/v1beta1");
    assert_eq!(info["spec"]["interactive"], false);
    live.for_a(Duration::from_millis(300)).await;
    api.state().tokens = [("t1".to_owned(), "admin".to_owned())].into();
    dir.write("token", "t1");
    api.compact();
    api.put("pods", pod("a", NODE, "Running"));
    live.until("a 401 asks the plugin again", |s| phase(s, "a").as_deref() == Some("Running")).await;
    assert_eq!(live.failures(), 0);
}

#[tokio::test]
async fn a_credential_plugin_that_hangs_or_fails_blocks_no_other_source() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("hang"));
    let script = dir.script("exec sleep 600");
    let access = dir.access(&api.kubeconfig(&plugin(&script))).plugin_deadline(Duration::from_millis(400));
    let began = Instant::now();
    let mut live =
        Live::start(access, vec![WatchedResource::pods(NODE), WatchedResource::unbound(), WatchedResource::events()]);
    assert!(live.failure(ErrorKind::Timeout).await.fix.contains("the plugin hangs"));
    let retrying = |s: &Snapshot, source| matches!(state(s, source), Some(SourceState::Retrying { .. }));
    live.until("all say so", |s| retrying(s, Source::ApiUnbound) && retrying(s, Source::ApiEvents)).await;
    assert!(began.elapsed() < Duration::from_secs(3), "one wait for all of them: {:?}", began.elapsed());
    dir.script("echo hunter2; echo Unable to locate credentials >&2; exit 255");
    let error = live.failure(ErrorKind::Denied).await;
    assert!(error.tried.contains("exit status: 255 Unable to locate credentials"), "{error:?}");
    assert!(!live.shows("hunter2"));
}

#[tokio::test]
async fn a_failing_plugin_leaks_no_secret_and_a_hanging_one_leaves_no_process() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("group"));
    // For any output, with the secret at any position.
    for complaint in [
        "hunter2",
        "token: hunter2",
        "request to https://u:hunter2@sts.corp failed",
        "error: hunter2=x {\\\"access_token\\\": \\\"hunter2\\\"}",
        "the password is hunterthesecond",
    ] {
        let script = dir.script(&format!("echo \"{complaint}\" >&2; exit 1"));
        let mut live = Live::start(dir.access(&api.kubeconfig(&plugin(&script))), pods());
        let error = live.failure(ErrorKind::Denied).await;
        assert!(error.tried.contains("exit status: 1"), "{error:?}");
        assert!(!live.shows("hunter"), "{complaint}: {error:?}");
    }
    let dir = Dir::new("group-hangs");
    let script = dir.script(&format!("sleep 600 & echo $! >{}/child; wait", dir.0.display()));
    let access = dir.access(&api.kubeconfig(&plugin(&script))).plugin_deadline(Duration::from_secs(1));
    let mut live = Live::start(access, pods());
    live.failure(ErrorKind::Timeout).await;
    let child = std::fs::read_to_string(dir.0.join("child")).unwrap();
    let stat = format!("/proc/{}/stat", child.trim());
    let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    let end = Instant::now() + PATIENCE;
    while lives() && Instant::now() < end {
        live.for_a(Duration::from_millis(20)).await;
    }
    assert!(!lives(), "what it started is killed with it");
}

#[tokio::test]
async fn a_credential_with_unusable_files_is_reported_and_blocks_no_other_source() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("files"));
    let path = |name: &str| dir.0.join(name).display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    std::fs::File::create(path("long")).unwrap().set_len(1 << 30).unwrap();
    dir.write("empty", "\n");
    let said = async |access: ApiAccess| {
        let mut live = Live::start(access, pods());
        let failed = |s: &Snapshot| matches!(state(s, Source::ApiPods), Some(SourceState::Retrying { .. }));
        format!("{:?}", state(&live.until("a failure", failed).await, Source::ApiPods))
    };
    for (name, why) in [(".", "it is a directory"), ("pipe", "a pipe"), ("long", "longer than 1 MiB")] {
        let credential = Credential::Kubeconfig(vec![dir.0.join(name)]);
        let error = said(ApiAccess::new(credential, Env::new())).await;
        assert!(error.contains(why), "{error}");
        for user in ["tokenFile: 'PATH'", "client-certificate: 'PATH', client-key: 'PATH'"] {
            let error = said(dir.access(&api.kubeconfig(&user.replace("PATH", &path(name))))).await;
            assert!(error.contains(why) && error.contains("files"), "{user}: {error}");
        }
    }
    let error = said(dir.access(&api.kubeconfig(&format!("tokenFile: '{}'", path("empty"))))).await;
    assert!(error.contains("it is empty"), "{error}");
}

#[tokio::test]
async fn a_token_in_a_file_is_read_again_when_it_is_rotated() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("token-file"));
    api.put("pods", pod("a", NODE, "Pending"));
    dir.write("token", "t0\n");
    // Relative to the kubeconfig, and stronger than a token beside it.
    let mut live = Live::start(dir.access(&api.kubeconfig("tokenFile: token, token: hunter2")), pods());
    live.until("the list", |s| s.pods.len() == 1).await;
    live.for_a(Duration::from_millis(300)).await;
    dir.write("token", "t1\n");
    api.state().tokens = [("t1".to_owned(), "admin".to_owned())].into();
    api.compact();
    api.put("pods", pod("a", NODE, "Running"));
    live.until("the new token works", |s| phase(s, "a").as_deref() == Some("Running")).await;
    assert_eq!(live.failures(), 0);
    assert!(!live.shows("hunter2"));
}

#[tokio::test]
async fn an_unverified_server_is_marked_until_it_is_verified() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("insecure"));
    let (other, user) = (FakeApi::start(&Certificates::new(), 0).await, "token: t0");
    let insecure =
        kubeconfig(&format!("{}', insecure-skip-tls-verify: true, tls-server-name: '", api.url()), None, user);
    api.put("pods", pod("a", NODE, "Pending"));
    let mut live = Live::start(dir.access(&insecure), pods());
    let unverified = |s: &Snapshot| s.sources.get(&Source::ApiPods).is_some_and(|facts| facts.unverified);
    let snapshot = live.until("the list", |s| s.pods.len() == 1).await;
    assert!(unverified(&snapshot));
    let moment = kpodtrace::view::NodeView::new(snapshot, &mut Default::default(), kpodtrace::time::Time::now());
    assert_eq!(moment.header().unverified, ["API server"]);
    assert!(kpodtrace::report::doctor_text(&moment, &[]).contains("; TLS not verified"));
    assert!(kpodtrace::report::notes(&moment).contains(&"API server: TLS not verified".to_owned()));
    dir.write("kubeconfig", &api.kubeconfig(user));
    api.compact();
    api.put("pods", pod("b", NODE, "Pending"));
    live.until("the credential that verifies", |s| s.pods.len() == 2 && !unverified(s)).await;
    let mut wrong = Live::start(dir.access(&kubeconfig(&api.url(), Some(other.ca()), user)), pods());
    assert!(wrong.failure(ErrorKind::Other).await.fix.contains("not signed by the CA"));
}

#[tokio::test]
async fn another_context_can_be_named() {
    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("context"));
    api.put("pods", pod("a", NODE, "Pending"));
    let more = "- name: other\n  context: {cluster: k, user: nobody}\n";
    let text = api.kubeconfig(ADMIN).replace("current-context: c", "current-context: other");
    let text = text.replace("contexts:\n", &format!("contexts:\n{more}"));
    let mut current = Live::start(dir.access(&text), pods());
    current.failure(ErrorKind::Denied).await;
    let mut named = Live::start(dir.access(&text).context(Some("c".into())), pods());
    named.until("the list", |s| s.pods.len() == 1).await;
    let mut absent = Live::start(dir.access(&text).context(Some("d".into())), pods());
    let error = absent.failure(ErrorKind::Other).await;
    assert!(error.tried.contains("the context d does not exist (available: other, c)"), "{error:?}");
}

/// The API files of the incident, served by the fake API server, give the same result as their import.
#[tokio::test]
async fn the_incident_gives_the_same_as_its_import() {
    const FILES: [(&str, &str); 3] =
        [("pods", "api-pods.jsonl.gz"), ("nodes", "api-node.jsonl.gz"), ("events", "api-events.jsonl.gz")];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/incident");
    let mut imported = Model::default();
    let of_the_api = |o: &Observation| matches!(o.stamp.source, Source::ApiPods | Source::ApiNode | Source::ApiEvents);
    let observations = kpodtrace::record::import::import(&path).unwrap().observations;
    observations.into_iter().filter(of_the_api).for_each(|o| imported.apply(o));

    let (api, dir) = (FakeApi::start(&Certificates::new(), 0).await, Dir::new("incident"));
    let what = vec![WatchedResource::pods(NODE), WatchedResource::node(NODE), WatchedResource::events()];
    let changes = |file: &str| -> Vec<Value> {
        let bytes = std::fs::read(path.join(file)).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(&bytes[..]), &mut text).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    // Without its node, the API server does not know the name.
    api.put(
        "nodes",
        changes("api-node.jsonl.gz").into_iter().find(|c| c["event"]["type"] == "ADDED").unwrap()["event"]["object"]
            .clone(),
    );
    let mut live = Live::start(dir.access(&api.kubeconfig(ADMIN)), what);
    let all = [Source::ApiPods, Source::ApiNode, Source::ApiEvents];
    live.until("three lists", |s| all.iter().all(|source| is_live(s, *source))).await;
    for (resource, file) in FILES {
        for line in changes(file) {
            let object = line["event"]["object"].clone();
            match line["event"]["type"].as_str() {
                Some("ADDED" | "MODIFIED") => api.put(resource, object),
                Some("DELETED") => api.delete(resource, object["metadata"]["uid"].as_str().unwrap()),
                _ => {}
            }
        }
    }
    let known = |s: &Snapshot| {
        let pods = s.pods.values().map(|p| (p.key.clone(), p.api.as_ref().map(|h| h.value.clone()), p.events.clone()));
        (pods.collect::<Vec<_>>(), s.node.clone(), s.node_events.clone())
    };
    let wanted = known(&imported.snapshot());
    assert!(!wanted.0.is_empty() && wanted.1.is_some());
    live.until("the same pods, node and events", |s| known(s) == wanted).await;
    assert_eq!((live.epochs(), live.failures()), (3, 0));
}
