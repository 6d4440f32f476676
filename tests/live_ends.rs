//! The last words of containers that ended badly, from a fake runtime and a folder of logs: what is read, once, and what is not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fake_runtime;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use fake_runtime::{Fake, cri};
use kpodtrace::observation::{Fact, LogEntry, LogKind, Observation, Source, SourceState};
use kpodtrace::observe::discover::{LogDirs, Root};
use kpodtrace::observe::logs::LastWords;
use kpodtrace::observe::{BackOff, Clock, CriSource, CriTimings, ObservationSink, exit_channel, supervise};
use tokio::sync::mpsc;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("kpt-ends-{name}-{}", std::process::id()));
        _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).unwrap();
        Self(dir)
    }

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

fn container(name: &str, attempt: u32, code: i32) -> (cri::Container, cri::ContainerStatus) {
    let labels =
        [("io.kubernetes.pod.name", "web"), ("io.kubernetes.pod.namespace", "shop"), ("io.kubernetes.pod.uid", "u1")];
    let id = format!("{name}{attempt}");
    let at = 1_795_951_277_000_000_000 + i64::from(attempt);
    let listed = cri::Container {
        id: id.clone(),
        pod_sandbox_id: "s1".into(),
        metadata: Some(cri::ContainerMetadata { name: name.into(), attempt }),
        state: 2,
        created_at: at,
        labels: labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        ..Default::default()
    };
    let reason = if code == 255 { "Unknown" } else { "Error" };
    let status = cri::ContainerStatus {
        id,
        state: 2,
        started_at: at,
        finished_at: at,
        exit_code: code,
        reason: reason.into(),
        ..Default::default()
    };
    (listed, status)
}

fn runtime(ended: Vec<(cri::Container, cri::ContainerStatus)>) -> Fake {
    let fake = Fake::new();
    fake.set(|s| {
        s.statuses = ended.iter().map(|(_, status)| (status.id.clone(), status.clone())).collect();
        s.containers = ended.into_iter().map(|(listed, _)| listed).collect();
    });
    fake
}

/// The reader of logs, beside a source of containers whose own words nobody hears.
struct Watch {
    rx: mpsc::Receiver<Observation>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

impl Watch {
    fn begin(dir: &Dir) -> Self {
        let back_off = BackOff { first: Duration::from_millis(20), ..BackOff::default() };
        let pace = CriTimings {
            spacing: Duration::from_millis(50),
            settle: Duration::from_millis(10),
            ..CriTimings::default()
        };
        let (told, ends) = exit_channel();
        let runtime = CriSource::new(dir.0.join("r.sock")).with_timings(pace).with_exit_updates(told);
        let (unheard, mut rest) = mpsc::channel(64);
        let (tx, rx) = mpsc::channel(4096);
        let out = |source, tx| ObservationSink::new(source, Clock::start(), tx);
        let tasks = vec![
            tokio::spawn(supervise(runtime, out(Source::Cri, unheard), back_off)),
            tokio::spawn(async move { while rest.recv().await.is_some() {} }),
            tokio::spawn(supervise(
                LastWords::new(Root::new(&dir.0), LogDirs::default(), ends),
                out(Source::ContainerLog, tx),
                back_off,
            )),
        ];
        Self { rx, tasks }
    }

    /// What is said until the source lives, or says that it is alive.
    async fn words(&mut self) -> Vec<LogEntry> {
        let mut entries = Vec::new();
        loop {
            match timeout(PATIENCE, self.rx.recv()).await.unwrap().unwrap().fact {
                Fact::Log(entry) => entries.push(*entry),
                Fact::Alive | Fact::SourceState(SourceState::Live { .. }) => return entries,
                _ => {}
            }
        }
    }
}

fn short(entries: &[LogEntry]) -> Vec<(&str, &str)> {
    let short = entries.iter().map(|e| match &e.what {
        LogKind::Output { container, line } => (container.as_str(), line.as_str()),
        other => panic!("{other:?}"),
    });
    short.collect()
}

#[tokio::test]
async fn the_last_words_of_each_bad_end_are_read_once() {
    let dir = Dir::new("once");
    let log = |n: u32, text: &str| {
        dir.write(
            &format!("var/log/pods/shop_web_u1/app/{n}.log"),
            &format!("2026-11-29T11:21:1{n}Z stderr F {text}\n"),
        );
    };
    log(3, "panic: three");
    log(4, "panic: four");
    let line = "2026-11-29T11:21:17Z stdout F worked\n";
    ["done", "gone"].iter().for_each(|c| dir.write(&format!("var/log/pods/shop_web_u1/{c}/0.log"), line));
    let mut elsewhere = container("other", 0, 1);
    elsewhere.1.log_path = "/var/lib/docker/containers/x".into();
    dir.write(
        "var/lib/docker/containers/x",
        &(0..500).map(|n| format!("2026-11-29T11:21:18Z stdout F line {n}\n")).collect::<String>(),
    );
    let ended = vec![
        container("app", 4, 1),
        container("app", 3, 2),
        container("done", 0, 0),
        container("gone", 0, 255),
        container("no-log", 0, 1),
        elsewhere,
    ];
    let fake = runtime(ended);
    let _served = fake.serve(&dir.0.join("r.sock"), true);
    let mut watch = Watch::begin(&dir);
    let words = watch.words().await;
    let expected: Vec<(&str, String)> = (480..500).map(|n| ("other", format!("line {n}"))).collect();
    let expected: Vec<(&str, &str)> = expected.iter().map(|(c, line)| (*c, line.as_str())).collect();
    assert_eq!(short(&words), [expected.as_slice(), &[("app", "panic: three"), ("app", "panic: four")]].concat());
    assert!(words.iter().all(|e| e.pod == "shop/web" && e.uid == "u1" && !e.severe));
    assert_eq!(words[21].at.to_rfc3339(), "2026-11-29T11:21:14Z");
    log(5, "panic: five");
    fake.set(|s| {
        let (listed, status) = container("app", 5, 1);
        s.statuses.insert(status.id.clone(), status);
        s.containers.push(listed);
    });
    fake.event("/tasks/exit", "app5", "app5");
    let mut words = watch.words().await;
    while words.is_empty() {
        words = watch.words().await;
    }
    assert_eq!(short(&words), [("app", "panic: five")]);
    assert!(watch.words().await.is_empty());
}

#[tokio::test]
async fn without_a_runtime_it_waits_and_says_so() {
    let dir = Dir::new("away");
    let mut watch = Watch::begin(&dir);
    loop {
        if let Fact::SourceState(SourceState::Retrying { error, .. }) =
            timeout(PATIENCE, watch.rx.recv()).await.unwrap().unwrap().fact
        {
            assert_eq!(error.tried, "ask the runtime which containers ended");
            break;
        }
    }
    dir.write("var/log/pods/shop_web_u1/app/0.log", "2026-11-29T11:21:17Z stderr F panic: one\n");
    let fake = runtime(vec![container("app", 0, 2)]);
    let _served = fake.serve(&dir.0.join("r.sock"), true);
    assert_eq!(short(&watch.words().await), [("app", "panic: one")]);
}
