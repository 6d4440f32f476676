//! The runtime as a source, against a fake on a real unix socket: what is said, when it is asked, and how it fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fake_runtime;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fake_runtime::{Fake, content, cri};
use kpodtrace::observation::{
    Call, Container, ContainerPhase, ErrorKind, Fact, Observation, Sandbox, Source, SourceError, SourceState,
};
use kpodtrace::observe::{Attempt, BackOff, Clock, CriSource, CriTimings, ObservationSink, PullsSource, supervise};
use tokio::sync::mpsc;

/// Waiting for something that must come; long, because machines are slow.
const PATIENCE: Duration = Duration::from_secs(30);
/// Waiting for something that must not come.
const A_WHILE: Duration = Duration::from_millis(400);
const MS: Duration = Duration::from_millis(1);

/// A folder for one socket.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("kpt-{name}-{}", std::process::id()));
        _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir(&dir).unwrap();
        Self(dir)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("r.sock")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a supervised source says.
struct Said {
    rx: mpsc::Receiver<Observation>,
    task: tokio::task::JoinHandle<()>,
    epochs: u32,
}

impl Drop for Said {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Said {
    fn by(kind: Source, source: impl Attempt + 'static) -> Self {
        let (tx, rx) = mpsc::channel(4096);
        let back_off = BackOff { first: 20 * MS, limit: 100 * MS, forbidden: 100 * MS };
        Self {
            rx,
            task: tokio::spawn(supervise(source, ObservationSink::new(kind, Clock::start(), tx), back_off)),
            epochs: 0,
        }
    }

    fn cri(path: &Path, pace: CriTimings) -> Self {
        Self::by(Source::Cri, CriSource::new(path).with_timings(pace))
    }

    /// The next fact that `pick` picks something of.
    async fn until<T>(&mut self, what: &str, mut pick: impl FnMut(&Fact) -> Option<T>) -> T {
        let mut seen = Vec::new();
        let end = tokio::time::Instant::now() + PATIENCE;
        while let Ok(Some(observation)) = tokio::time::timeout_at(end, self.rx.recv()).await {
            self.epochs += u32::from(observation.fact == Fact::EpochBegin);
            if let Some(picked) = pick(&observation.fact) {
                return picked;
            }
            seen.push(observation.fact);
        }
        panic!("never came: {what}; seen: {seen:#?}");
    }

    async fn container(&mut self, pick: impl Fn(&Container) -> bool) -> Container {
        self.until("a container", |f| match f {
            Fact::Container(c) if pick(c) => Some((**c).clone()),
            _ => None,
        })
        .await
    }

    async fn sandbox(&mut self, pick: impl Fn(&Sandbox) -> bool) -> Sandbox {
        self.until("a sandbox", |f| match f {
            Fact::Sandbox(s) if pick(s) => Some((**s).clone()),
            _ => None,
        })
        .await
    }

    async fn live(&mut self) {
        self.until("live", |f| matches!(f, Fact::SourceState(SourceState::Live { .. })).then_some(())).await;
    }

    async fn retrying(&mut self) -> SourceError {
        self.until("retrying", |f| match f {
            Fact::SourceState(SourceState::Retrying { error, .. }) => Some(error.clone()),
            _ => None,
        })
        .await
    }

    async fn call_ends(&mut self) -> Option<SourceError> {
        self.until("the end of a list", |f| match f {
            Fact::CallEnd { call: Call::CriList, error, .. } => Some(error.clone()),
            _ => None,
        })
        .await
    }

    /// Everything that comes for a while.
    async fn for_a_while(&mut self) -> Vec<Fact> {
        tokio::time::sleep(A_WHILE).await;
        let mut facts = Vec::new();
        while let Ok(observation) = self.rx.try_recv() {
            facts.push(observation.fact);
        }
        facts
    }
}

fn quick() -> CriTimings {
    CriTimings { spacing: 50 * MS, settle: 10 * MS, ..CriTimings::default() }
}

fn map(pairs: &[(&str, &str)]) -> std::collections::HashMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

const BORN: i64 = 1_795_951_277_612_222_610;

fn sandbox(id: &str) -> cri::PodSandbox {
    cri::PodSandbox {
        id: id.into(),
        metadata: Some(cri::PodSandboxMetadata {
            name: "web".into(),
            uid: "u1".into(),
            namespace: "shop".into(),
            attempt: 2,
        }),
        state: 0,
        created_at: BORN,
        annotations: map(&[
            ("kubernetes.io/config.seen", "2026-11-29T11:21:17.5Z"),
            ("kubernetes.io/config.source", "api"),
            ("secret", "hunter2"),
        ]),
    }
}

fn container(id: &str, state: i32) -> cri::Container {
    cri::Container {
        id: id.into(),
        pod_sandbox_id: "s1".into(),
        metadata: Some(cri::ContainerMetadata { name: "app".into(), attempt: 1 }),
        image: Some(cri::ImageSpec { image: "sha256:1".into(), user_specified_image: "app:1".into() }),
        image_ref: "sha256:1".into(),
        state,
        created_at: BORN,
        labels: map(&[
            ("io.kubernetes.pod.name", "web"),
            ("io.kubernetes.pod.namespace", "shop"),
            ("io.kubernetes.pod.uid", "u1"),
            ("secret", "hunter2"),
        ]),
    }
}

fn status(id: &str, state: i32) -> cri::ContainerStatus {
    cri::ContainerStatus {
        id: id.into(),
        state,
        started_at: BORN + 1,
        finished_at: if state == 2 { BORN + 2 } else { 0 },
        exit_code: if state == 2 { 137 } else { 0 },
        reason: if state == 2 { "OOMKilled".into() } else { String::new() },
        ..Default::default()
    }
}

fn one_pod() -> Fake {
    let fake = Fake::new();
    fake.set(|s| {
        s.sandboxes = vec![sandbox("s1")];
        s.sandbox_ip = "10.0.0.7".into();
        s.containers = vec![container("c1", 1)];
        s.statuses = BTreeMap::from([("c1".into(), status("c1", 1))]);
    });
    fake
}

/// Nothing but looking was asked of the runtime, and never two lists at once.
fn only_looked(fake: &Fake) {
    const MAY: [&str; 12] = [
        "/runtime.v1.RuntimeService/Version",
        "/runtime.v1.RuntimeService/Status",
        "/runtime.v1.RuntimeService/ListPodSandbox",
        "/runtime.v1.RuntimeService/PodSandboxStatus",
        "/runtime.v1.RuntimeService/ListContainers",
        "/runtime.v1.RuntimeService/ContainerStatus",
        "/runtime.v1.RuntimeService/StreamPodSandboxes",
        "/runtime.v1.RuntimeService/StreamContainers",
        "/runtime.v1.ImageService/ListImages",
        "/runtime.v1.ImageService/ImageFsInfo",
        "/containerd.services.events.v1.Events/Subscribe",
        "/containerd.services.content.v1.Content/ListStatuses",
    ];
    let state = fake.state.lock().unwrap();
    let other: Vec<_> = state.calls.keys().filter(|path| !MAY.contains(&path.as_str())).collect();
    assert!(other.is_empty(), "{other:?}");
    assert!(state.most_lists_in_flight <= 1, "two lists at once");
    assert!(!state.looked_beside_lists, "images were looked at beside a list");
}

#[tokio::test]
async fn what_is_there_and_what_changes_is_said_and_nothing_twice() {
    let dir = Dir::new("changes");
    let fake = one_pod();
    let _served = fake.serve(&dir.socket(), true);
    let mut said = Said::cri(&dir.socket(), quick());
    let mut begun = false;
    let runtime = said
        .until("the runtime's status", |f| {
            begun |= matches!(f, Fact::CallBegin(Call::CriList));
            match f {
                Fact::RuntimeStatus(r) => Some((**r).clone()),
                _ => None,
            }
        })
        .await;
    assert_eq!((runtime.name.as_str(), runtime.version.as_str()), ("fake", "1.2.3"));
    assert_eq!((runtime.conditions.len(), runtime.conditions[1].ok), (2, false));
    let s = said.sandbox(|s| s.ip == "10.0.0.7" || s.ip.is_empty()).await;
    assert_eq!((s.name.as_str(), s.namespace.as_str(), s.uid.as_str(), s.attempt), ("web", "shop", "u1", 2));
    assert!(s.ready && s.seen.is_some() && s.created_at.is_some());
    assert_eq!(s.config_source, "api");
    let c = said.container(|c| c.id == "c1").await;
    assert_eq!((c.pod.as_str(), c.name.as_str(), c.image.as_str(), c.attempt), ("web", "app", "app:1", 1));
    assert_eq!((c.phase, c.started_at), (ContainerPhase::Running, None));
    let c = said.container(|c| c.started_at.is_some()).await;
    assert_eq!(c.exit_code, None);
    said.sandbox(|s| s.ip == "10.0.0.7").await;

    // Nothing changes: no further list, for a while. An exec probe is no change.
    let lists = fake.count("ListContainers");
    fake.event("/tasks/exec-added", "c1", "probe");
    fake.event("/tasks/exec-started", "c1", "probe");
    fake.event("/tasks/exit", "c1", "probe");
    assert_eq!(said.for_a_while().await, []);
    assert_eq!(fake.count("ListContainers"), lists);

    fake.set(|s| {
        s.containers[0].state = 2;
        s.statuses.insert("c1".into(), status("c1", 2));
    });
    fake.event("/tasks/exit", "c1", "c1");
    let c = said.container(|c| c.exit_code.is_some()).await;
    assert_eq!((c.phase, c.exit_code, c.reason.as_str()), (ContainerPhase::Exited, Some(137), "OOMKilled"));
    assert!(c.finished_at > c.started_at);
    assert_eq!(fake.count("ContainerStatus"), 2, "once for each state");
    assert_eq!(fake.count("PodSandboxStatus"), 1);

    fake.set(|s| {
        s.containers.clear();
        s.sandboxes.clear();
    });
    fake.event("/containers/delete", "", "");
    said.until("a sandbox that is gone", |f| (*f == Fact::SandboxGone("s1".into())).then_some(())).await;
    said.until("a container that is gone", |f| (*f == Fact::ContainerGone("c1".into())).then_some(())).await;
    assert_eq!(said.epochs, 1);
    only_looked(&fake);
}

/// containerd tells of an exit before its CRI plugin has taken it in: by seconds, on a node that is sick.
#[tokio::test]
async fn an_exit_that_the_runtime_has_not_taken_in_yet_is_looked_for_again() {
    let dir = Dir::new("owed");
    let fake = one_pod();
    let _served = fake.serve(&dir.socket(), true);
    let pace = CriTimings { spacing: 100 * MS, quiet: Duration::from_secs(600), settle: 10 * MS, ..quick() };
    let mut said = Said::cri(&dir.socket(), pace);
    said.container(|c| c.started_at.is_some()).await;
    said.for_a_while().await;
    fake.event("/tasks/exit", "c1", "c1");
    said.call_ends().await;
    said.call_ends().await;
    fake.set(|s| {
        s.containers[0].state = 2;
        s.statuses.insert("c1".into(), status("c1", 2));
    });
    said.container(|c| c.exit_code == Some(137)).await;
    assert_eq!(said.for_a_while().await, [], "what was promised is there: silence again");
}

#[tokio::test]
async fn events_are_gathered_and_silence_still_lists() {
    let dir = Dir::new("pace");
    let fake = one_pod();
    let _served = fake.serve(&dir.socket(), true);
    let mut said =
        Said::cri(&dir.socket(), CriTimings { spacing: 300 * MS, quiet: 1500 * MS, settle: 10 * MS, ..quick() });
    said.call_ends().await;
    let began = Instant::now();
    while began.elapsed() < 900 * MS {
        fake.event("/tasks/start", "c1", "");
        tokio::time::sleep(5 * MS).await;
    }
    let (lists, most) = (fake.count("ListContainers"), 2 + began.elapsed().as_millis() / 300);
    assert!(u128::from(lists) <= most, "{lists} lists in {:?} of events, spaced 0.3 s", began.elapsed());
    _ = said.for_a_while().await;
    let lists = fake.count("ListContainers");
    said.call_ends().await;
    assert_eq!(fake.count("ListContainers"), lists + 1, "listed without an event");
    only_looked(&fake);
}

#[tokio::test]
async fn without_containerds_services_it_polls_and_pulls_are_off() {
    let dir = Dir::new("crio");
    let fake = one_pod();
    fake.set(|s| {
        // CRI-O names what the image was resolved to where containerd names the image.
        s.containers[0].image = Some(cri::ImageSpec::default());
        s.containers[0].image_ref = "registry.example/app@sha256:2".into();
    });
    let _served = fake.serve(&dir.socket(), false);
    let mut said = Said::cri(&dir.socket(), quick());
    assert_eq!(said.container(|_| true).await.image, "registry.example/app@sha256:2");
    fake.set(|s| s.containers.clear());
    said.until("found by polling", |f| (*f == Fact::ContainerGone("c1".into())).then_some(())).await;

    let mut pulls = Said::by(Source::Pulls, PullsSource::new(dir.socket()));
    pulls.until("off", |f| matches!(f, Fact::SourceState(SourceState::Off { .. })).then_some(())).await;
    only_looked(&fake);
}

#[tokio::test]
async fn a_runtime_that_hangs_from_the_beginning_shows_as_a_call_in_flight() {
    let dir = Dir::new("hang");
    let fake = one_pod();
    fake.hang(true);
    let _served = fake.serve(&dir.socket(), true);
    let mut said = Said::cri(&dir.socket(), quick());
    said.until("the call", |f| (*f == Fact::CallBegin(Call::CriList)).then_some(())).await;
    assert_eq!(said.for_a_while().await, [], "not live, not failed, no second call");
    fake.hang(false);
    assert_eq!(said.call_ends().await, None);
    said.container(|c| c.started_at.is_some()).await;

    fake.hang(true);
    fake.event("/tasks/start", "c1", "");
    said.until("the next call", |f| (*f == Fact::CallBegin(Call::CriList)).then_some(())).await;
    assert_eq!(said.for_a_while().await, []);
    fake.hang(false);
    assert_eq!(said.call_ends().await, None);
    only_looked(&fake);
}

#[tokio::test]
async fn a_runtime_that_goes_away_after_a_slow_list_is_missed_at_once() {
    let dir = Dir::new("slow-gone");
    let fake = one_pod();
    let served = fake.serve(&dir.socket(), true);
    // After a list this slow the runtime would be left alone for 15 s.
    let mut said = Said::cri(&dir.socket(), quick());
    said.live().await;
    fake.hang(true);
    fake.event("/containers/create", "c9", "");
    tokio::time::sleep(Duration::from_secs(3)).await;
    fake.hang(false);
    assert_eq!(said.call_ends().await, None);
    drop(served);
    let error = tokio::time::timeout(Duration::from_secs(10), said.retrying()).await;
    assert_eq!(error.expect("missed before the rest is over").kind, ErrorKind::Unreachable);
}

#[tokio::test]
async fn a_list_that_is_never_answered_ends_the_attempt_with_a_new_epoch() {
    let dir = Dir::new("late");
    let fake = one_pod();
    let _served = fake.serve(&dir.socket(), false);
    let mut said = Said::cri(&dir.socket(), CriTimings { list_deadline: Duration::from_secs(1), ..quick() });
    said.until("the first epoch", |f| (*f == Fact::EpochEnd).then_some(())).await;
    fake.hang(true);
    let error = said.until("a list that failed", |f| match f {
        Fact::CallEnd { error: Some(error), .. } => Some(error.clone()),
        _ => None,
    });
    let error = error.await;
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.tried.ends_with(": no answer within 1 s"), "{}", error.tried);
    assert_eq!(said.retrying().await, error);
    fake.hang(false);
    said.live().await;
    said.container(|c| c.started_at.is_some()).await;
    assert!(said.epochs >= 2);
    only_looked(&fake);
}

#[tokio::test]
async fn a_slow_runtime_is_left_alone_five_times_as_long() {
    let dir = Dir::new("slow");
    let fake = one_pod();
    // Each of the two lists takes so long.
    fake.set(|s| s.list_delay = 100 * MS);
    let _served = fake.serve(&dir.socket(), false);
    let mut said = Said::cri(&dir.socket(), quick());
    let mut took = Duration::ZERO;
    said.until("the first end", |f| match f {
        Fact::CallEnd { took_us, .. } => {
            took = Duration::from_micros(*took_us);
            Some(())
        }
        _ => None,
    })
    .await;
    let ended = Instant::now();
    assert!(took >= 200 * MS);
    said.until("the second begin", |f| (*f == Fact::CallBegin(Call::CriList)).then_some(())).await;
    assert!(ended.elapsed() >= took * 4, "{:?} after a list of {took:?}", ended.elapsed());
    only_looked(&fake);
}

#[tokio::test]
async fn fifteen_mebibytes_are_read_and_seventeen_are_the_kubelets_problem_too() {
    let dir = Dir::new("large");
    let fake = one_pod();
    let fill = |mebibytes: usize| {
        fake.set(|s| {
            _ = s.containers[0].labels.insert("fill".into(), "x".repeat(mebibytes << 20));
        });
    };
    fill(15);
    let _served = fake.serve(&dir.socket(), false);
    let mut said = Said::cri(&dir.socket(), quick());
    said.container(|c| c.started_at.is_some()).await;
    fill(17);
    let error = said.retrying().await;
    assert_eq!(error.kind, ErrorKind::Malformed, "{error:?}");
    assert!(error.fix.contains("16 MiB"), "{error:?}");
    assert!(error.tried.len() < 700, "{error:?}");
    only_looked(&fake);
}

#[tokio::test]
async fn lists_come_in_pieces_where_the_runtime_has_that() {
    let dir = Dir::new("pieces");
    let fake = Fake::new();
    fake.set(|s| {
        s.streams = true;
        s.sandboxes = (0..3).map(|n| sandbox(&format!("s{n}"))).collect();
        s.containers = (0..5).map(|n| container(&format!("c{n}"), 0)).collect();
        // Each of them fits into an answer, both together do not.
        s.containers[1].labels.insert("fill".into(), "x".repeat(10 << 20));
        s.containers[3].labels.insert("fill".into(), "x".repeat(10 << 20));
    });
    let served = fake.serve(&dir.socket(), true);
    let mut said = Said::cri(&dir.socket(), quick());
    let (mut sandboxes, mut containers, mut timed) = (0, 0, false);
    said.until("all of both lists as an epoch", |f| {
        sandboxes += usize::from(matches!(f, Fact::Sandbox(_)));
        containers += usize::from(matches!(f, Fact::Container(_)));
        timed |= matches!(f, Fact::CallEnd { call: Call::CriList, error: None, .. });
        (*f == Fact::EpochEnd).then_some(())
    })
    .await;
    assert_eq!((sandboxes, containers, timed), (3, 5, true));
    fake.set(|s| _ = s.containers.pop());
    fake.event("/containers/delete", "", "");
    said.until("a difference", |f| (*f == Fact::ContainerGone("c4".into())).then_some(())).await;
    assert_eq!(fake.count("ListPodSandbox") + fake.count("ListContainers"), 0);

    // Half a list is none: nothing is gone, and the attempt ends.
    fake.set(|s| s.torn = true);
    fake.event("/containers/delete", "", "");
    said.until("a failed list", |f| match f {
        Fact::ContainerGone(_) | Fact::SandboxGone(_) => panic!("taken for a list"),
        Fact::CallEnd { error: Some(error), .. } => error.tried.contains("StreamPodSandboxes").then_some(()),
        _ => None,
    })
    .await;
    said.retrying().await;

    // The runtime was exchanged for one that has no streams.
    drop(served);
    fake.set(|s| {
        (s.torn, s.streams) = (false, false);
        s.containers.iter_mut().for_each(|c| c.labels.clear());
    });
    let before = fake.count("StreamPodSandboxes");
    let _served = fake.serve(&dir.socket(), false);
    said.until("the next epoch", |f| (*f == Fact::EpochEnd).then_some(())).await;
    for _ in 0..3 {
        assert_eq!(said.call_ends().await, None);
    }
    assert_eq!(fake.count("StreamPodSandboxes"), before + 1, "asked for once, and remembered");
    only_looked(&fake);
}

#[tokio::test]
async fn a_list_in_pieces_that_hangs_is_in_flight_like_any_other() {
    let dir = Dir::new("pieces-hang");
    let fake = one_pod();
    fake.set(|s| s.streams = true);
    fake.hang(true);
    let _served = fake.serve(&dir.socket(), true);
    let mut said = Said::cri(&dir.socket(), CriTimings { list_deadline: Duration::from_secs(1), ..quick() });
    let error = said.call_ends().await.expect("late");
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.tried.ends_with("StreamPodSandboxes: no answer within 1 s"), "{error:?}");
    fake.hang(false);
    said.container(|c| c.started_at.is_some()).await;
    only_looked(&fake);
}

#[tokio::test]
async fn a_socket_that_goes_away_and_comes_back() {
    let dir = Dir::new("socket");
    let mut said = Said::cri(&dir.socket(), quick());
    let error = said.retrying().await;
    assert_eq!(error.kind, ErrorKind::Unreachable);
    assert_eq!(error.tried.as_str(), format!("{}: there is no such file", dir.socket().display()));
    assert!(!error.fix.is_empty());

    std::fs::write(dir.socket(), "").unwrap();
    said.until("what was seen", |f| match f {
        Fact::SourceState(SourceState::Retrying { error, .. }) => {
            error.tried.contains("a file and not a").then_some(())
        }
        _ => None,
    })
    .await;
    std::fs::remove_file(dir.socket()).unwrap();

    let fake = one_pod();
    let served = fake.serve(&dir.socket(), true);
    said.container(|c| c.started_at.is_some()).await;
    let asked = fake.count("ContainerStatus");
    drop(served);
    let error = said.retrying().await;
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error:?}");

    let _served = fake.serve(&dir.socket(), true);
    said.live().await;
    said.container(|c| c.started_at.is_some()).await;
    assert_eq!(said.epochs, 2);
    assert_eq!(fake.count("ContainerStatus"), asked, "what is known of a container is not asked again");

    // It dies while a list is in flight.
    let dying = Dir::new("dying");
    let fake = one_pod();
    fake.hang(true);
    let served = fake.serve(&dying.socket(), true);
    let mut said = Said::cri(&dying.socket(), quick());
    said.until("the call", |f| (*f == Fact::CallBegin(Call::CriList)).then_some(())).await;
    tokio::time::sleep(A_WHILE).await;
    drop(served);
    let error = said.call_ends().await.unwrap();
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error:?}");

    // A socket that no process listens on.
    let other = Dir::new("dead");
    drop(std::os::unix::net::UnixListener::bind(other.socket()).unwrap());
    let error = Said::cri(&other.socket(), quick()).retrying().await;
    assert!(error.tried.contains("no process listens"), "{error:?}");
    only_looked(&fake);
}

#[tokio::test]
async fn details_come_in_bounded_rounds() {
    let dir = Dir::new("rounds");
    let fake = Fake::new();
    fake.set(|s| {
        for n in 0..25 {
            let id = format!("c{n}");
            s.containers.push(container(&id, 1));
            s.statuses.insert(id.clone(), status(&id, 1));
        }
    });
    let _served = fake.serve(&dir.socket(), true);
    let pace = CriTimings { spacing: 3 * A_WHILE, details: 10, ..quick() };
    let mut said = Said::cri(&dir.socket(), pace);
    for _ in 0..10 {
        said.container(|c| c.started_at.is_some()).await;
    }
    assert_eq!(fake.count("ContainerStatus"), 10);
    for _ in 0..15 {
        said.container(|c| c.started_at.is_some()).await;
    }
    assert_eq!(said.for_a_while().await.len(), 0);
    assert_eq!(fake.count("ContainerStatus"), 25);
    only_looked(&fake);
}

fn image(id: &str, tag: &str) -> cri::Image {
    cri::Image {
        id: id.into(),
        repo_tags: vec![tag.into()],
        repo_digests: vec![format!("{tag}@{id}")],
        size: 5 << 20,
        pinned: false,
    }
}

fn image_fs(used: u64) -> cri::ImageFsInfoResponse {
    cri::ImageFsInfoResponse {
        image_filesystems: vec![cri::FilesystemUsage {
            fs_id: Some(cri::FilesystemIdentifier { mountpoint: "/var/lib/x".into() }),
            used_bytes: Some(cri::UInt64Value { value: used }),
            inodes_used: Some(cri::UInt64Value { value: 7 }),
        }],
        container_filesystems: Vec::new(),
    }
}

#[tokio::test]
async fn images_are_looked_at_once_and_again_when_one_comes() {
    let dir = Dir::new("images");
    let fake = one_pod();
    fake.set(|s| {
        s.images = vec![image("sha256:1", "a:1"), image("sha256:2", "b:1")];
        s.image_fs = image_fs(9);
    });
    let served = fake.serve(&dir.socket(), true);
    let pace = CriTimings { images_spacing: 100 * MS, images_every: 1000 * MS, ..quick() };
    let mut said = Said::cri(&dir.socket(), pace);
    let (mut images, mut fs, mut started) = (Vec::new(), None, false);
    said.until("two images, their file system, and the rest", |f| {
        match f {
            Fact::Image(i) => images.push((**i).clone()),
            Fact::ImageFs(f) => fs = Some((**f).clone()),
            Fact::Container(c) => started |= c.started_at.is_some(),
            _ => {}
        }
        (images.len() == 2 && fs.is_some() && started).then_some(())
    })
    .await;
    assert_eq!((images[0].id.as_str(), images[0].tags[0].as_str(), images[0].size), ("sha256:1", "a:1", 5 << 20));
    let fs = fs.unwrap();
    assert_eq!((fs.images[0].mountpoint.as_str(), fs.images[0].used_bytes), ("/var/lib/x", Some(9)));

    // An image comes, another goes: one fact each, and no list of containers for it.
    let lists = fake.count("ListContainers");
    fake.set(|s| s.images = vec![image("sha256:2", "b:1"), image("sha256:3", "c:1")]);
    fake.event("/images/create", "", "");
    let mut changed = Vec::new();
    said.until("what changed of the images", |f| {
        changed.extend(matches!(f, Fact::Image(_) | Fact::ImageGone(_)).then(|| f.clone()));
        (changed.len() == 2).then_some(())
    })
    .await;
    assert_eq!(changed[0], Fact::ImageGone("sha256:1".into()));
    assert!(matches!(&changed[1], Fact::Image(i) if i.id == "sha256:3"));
    assert_eq!(fake.count("ListContainers"), lists);

    // The file system is measured now and then; what is the same is not said.
    fake.set(|s| s.image_fs = image_fs(10));
    let now = said.until("what images take", |f| match f {
        Fact::ImageFs(f) => f.images[0].used_bytes,
        Fact::Image(_) | Fact::ImageGone(_) => panic!("nothing of it has changed"),
        _ => None,
    });
    assert_eq!(now.await, 10);

    // A new epoch says all that is known again.
    drop(served);
    said.retrying().await;
    let _served = fake.serve(&dir.socket(), true);
    let mut again = 0;
    said.until("the epoch", |f| {
        again += usize::from(matches!(f, Fact::Image(_) | Fact::ImageFs(_)));
        (*f == Fact::EpochEnd).then_some(())
    })
    .await;
    assert_eq!(again, 3);
    only_looked(&fake);
}

#[tokio::test]
async fn slow_images_hold_no_list_up_and_a_runtime_without_them_is_asked_once() {
    let dir = Dir::new("slow-images");
    let fake = one_pod();
    fake.set(|s| s.look_delay = 600_000 * MS);
    let _served = fake.serve(&dir.socket(), false);
    let mut said = Said::cri(&dir.socket(), quick());
    for _ in 0..4 {
        assert_eq!(said.call_ends().await, None);
    }
    assert_eq!(fake.count("ListImages") + fake.count("ImageFsInfo"), 2, "given up for the lists, each for a while");
    only_looked(&fake);

    let dir = Dir::new("no-images");
    let fake = one_pod();
    fake.set(|s| s.no_images = true);
    let _served = fake.serve(&dir.socket(), false);
    let pace = CriTimings { images_every: 10 * MS, images_spacing: 10 * MS, ..quick() };
    let mut said = Said::cri(&dir.socket(), pace);
    for _ in 0..5 {
        assert_eq!(said.call_ends().await, None);
    }
    assert_eq!((fake.count("ListImages"), fake.count("ImageFsInfo")), (1, 1));
}

#[tokio::test]
async fn pulls_begin_move_and_end() {
    let dir = Dir::new("pulls");
    let fake = Fake::new();
    let ingest = |offset| content::Status {
        started_at: Some(prost_types::Timestamp { seconds: 1_795_951_277, nanos: 5 }),
        updated_at: None,
        r#ref: "layer-sha256:ab".into(),
        offset,
        total: 40 << 20,
    };
    fake.set(|s| s.ingests = vec![ingest(5)]);
    let _served = fake.serve(&dir.socket(), true);
    let mut said = Said::by(Source::Pulls, PullsSource::new(dir.socket()).with_timings(quick()));
    async fn pull(said: &mut Said) -> kpodtrace::observation::Pull {
        said.until("a pull", |f| match f {
            Fact::Pull(p) => Some(p.clone()),
            _ => None,
        })
        .await
    }
    let first = pull(&mut said).await;
    assert_eq!((first.reference.as_str(), first.offset, first.total), ("layer-sha256:ab", 5, Some(40 << 20)));
    assert!(first.started_at.is_some());
    fake.set(|s| s.ingests = vec![ingest(9)]);
    assert_eq!(pull(&mut said).await.offset, 9);
    fake.set(|s| s.ingests.clear());
    said.until("gone", |f| (*f == Fact::PullGone("layer-sha256:ab".into())).then_some(())).await;
    assert_eq!(said.epochs, 1);
    only_looked(&fake);
}

#[test]
fn the_protocol_has_no_call_that_changes_anything_and_one_file_sees_the_clients() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut calls = BTreeSet::new();
    for file in ["cri", "containerd_events", "containerd_content"] {
        let text = std::fs::read_to_string(root.join(format!("proto/{file}.proto"))).unwrap();
        assert!(!text.contains("bool verbose"), "{file}: verbose answers hold environments");
        let rpc = |line: &str| Some(line.trim().strip_prefix("rpc ")?.split('(').next()?.to_owned());
        calls.extend(text.lines().filter_map(rpc));
    }
    let may = [
        "ContainerStatus",
        "ImageFsInfo",
        "ListContainers",
        "ListImages",
        "ListPodSandbox",
        "ListStatuses",
        "PodSandboxStatus",
        "Status",
        "StreamContainers",
        "StreamPodSandboxes",
        "Subscribe",
        "Version",
    ];
    assert_eq!(calls.iter().map(String::as_str).collect::<Vec<_>>(), may);

    let mut waiting = vec![root.join("src")];
    let mut seers = Vec::new();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        if ["service_client", "events_client", "content_client"].iter().any(|c| text.contains(c)) {
            seers.push(path.strip_prefix(root).unwrap().to_owned());
        }
    }
    assert_eq!(seers, [Path::new("src/observe/cri/runtime.rs")]);
}
