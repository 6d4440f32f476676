//! The runtime as a source, against a real containerd that `e2e/containerd.sh` starts: one line for each check.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kpodtrace::observation::{
    Call, ContainerPhase, ErrorKind, Fact, FilesystemUsage, Observation, Source, SourceState,
};
use kpodtrace::observe::{Attempt, BackOff, Clock, CriSource, CriTimings, ObservationSink, PullsSource, supervise};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc;
use tonic::transport::{Channel, Endpoint};

#[allow(clippy::all)]
mod lab {
    include!(concat!(env!("OUT_DIR"), "/lab/runtime.v1.rs"));
}
use lab::runtime_service_client::RuntimeServiceClient;

/// Waiting for something that must come.
const PATIENCE: Duration = Duration::from_secs(40);
const SECOND: Duration = Duration::from_secs(1);

fn given(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run tests/e2e/containerd.sh"))
}

/// What a supervised source says, with the checks made of it.
struct Said {
    name: &'static str,
    rx: mpsc::Receiver<Observation>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Said {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Said {
    fn by(name: &'static str, kind: Source, source: impl Attempt + 'static) -> Self {
        let (tx, rx) = mpsc::channel(65_536);
        let task = tokio::spawn(supervise(source, ObservationSink::new(kind, Clock::start(), tx), BackOff::default()));
        Self { name, rx, task }
    }

    /// Waits until a fact is as it should be, and says how long that took.
    async fn sees(&mut self, what: &str, mut is: impl FnMut(&Fact) -> bool) {
        let (began, end) = (Instant::now(), tokio::time::Instant::now() + PATIENCE);
        let mut seen = Vec::new();
        while let Ok(Some(observation)) = tokio::time::timeout_at(end, self.rx.recv()).await {
            if is(&observation.fact) {
                println!("ok    {}: {what} ({:.1} s)", self.name, began.elapsed().as_secs_f32());
                return;
            }
            seen.push(observation.fact);
        }
        println!("FAIL  {}: {what}", self.name);
        panic!("{what}: seen {seen:#?}");
    }

    /// Nothing that `is` for a while.
    async fn never(&mut self, what: &str, a_while: Duration, is: impl Fn(&Fact) -> bool) {
        let end = tokio::time::Instant::now() + a_while;
        while let Ok(Some(observation)) = tokio::time::timeout_at(end, self.rx.recv()).await {
            if is(&observation.fact) {
                println!("FAIL  {}: {what}", self.name);
                panic!("{what}: {:?}", observation.fact);
            }
        }
        println!("ok    {}: {what}", self.name);
    }

    async fn is_live(&mut self, what: &str) {
        self.sees(what, |f| matches!(f, Fact::SourceState(SourceState::Live { .. }))).await;
    }

    fn drain(&mut self) {
        while self.rx.try_recv().is_ok() {}
    }
}

/// Makes pods, as a kubelet would.
struct Lab {
    cri: RuntimeServiceClient<Channel>,
}

impl Lab {
    async fn to(socket: &str) -> Self {
        let channel = Endpoint::from_shared(format!("unix://{socket}")).unwrap().connect().await.unwrap();
        Self { cri: RuntimeServiceClient::new(channel) }
    }

    fn labels(pod: &str, container: Option<&str>) -> HashMap<String, String> {
        let mut labels = HashMap::from([
            ("io.kubernetes.pod.name".to_owned(), pod.to_owned()),
            ("io.kubernetes.pod.namespace".to_owned(), "e2e".to_owned()),
            ("io.kubernetes.pod.uid".to_owned(), format!("uid-{pod}")),
        ]);
        labels.extend(container.map(|c| ("io.kubernetes.container.name".to_owned(), c.to_owned())));
        labels
    }

    /// `network` is 0 for one of its own, 2 for the node's.
    fn config(pod: &str, network: i32) -> lab::PodSandboxConfig {
        lab::PodSandboxConfig {
            metadata: Some(lab::PodSandboxMetadata {
                name: pod.into(),
                uid: format!("uid-{pod}"),
                namespace: "e2e".into(),
                attempt: 0,
            }),
            hostname: if network == 0 { pod.into() } else { String::new() },
            log_directory: format!("{}/logs-{pod}", given("KPT_CONTAINERD_DIR")),
            labels: Self::labels(pod, None),
            annotations: HashMap::from([
                ("kubernetes.io/config.seen".into(), "2026-03-01T12:00:00.5Z".into()),
                ("kubernetes.io/config.source".into(), "api".into()),
            ]),
            linux: Some(lab::LinuxPodSandboxConfig {
                cgroup_parent: String::new(),
                security_context: Some(lab::LinuxSandboxSecurityContext {
                    namespace_options: Some(lab::NamespaceOption { network }),
                }),
            }),
        }
    }

    async fn sandbox(&mut self, pod: &str, network: i32) -> String {
        let config = Some(Self::config(pod, network));
        self.cri.run_pod_sandbox(lab::RunPodSandboxRequest { config }).await.unwrap().into_inner().pod_sandbox_id
    }

    async fn container(&mut self, sandbox: &str, pod: &str, network: i32, name: &str, script: &str) -> String {
        let config = lab::ContainerConfig {
            metadata: Some(lab::ContainerMetadata { name: name.into(), attempt: 0 }),
            image: Some(lab::ImageSpec { image: "docker.io/library/lab-app:1".into() }),
            command: vec!["/bin/sh".into(), "-c".into(), script.into()],
            envs: vec![lab::KeyValue { key: "PASSWORD".into(), value: "hunter2".into() }],
            labels: Self::labels(pod, Some(name)),
            log_path: format!("{name}.log"),
            linux: Some(lab::LinuxContainerConfig {
                security_context: Some(lab::LinuxContainerSecurityContext {
                    namespace_options: Some(lab::NamespaceOption { network }),
                }),
            }),
            ..Default::default()
        };
        let request = lab::CreateContainerRequest {
            pod_sandbox_id: sandbox.into(),
            config: Some(config),
            sandbox_config: Some(Self::config(pod, network)),
        };
        self.cri.create_container(request).await.unwrap().into_inner().container_id
    }

    async fn start(&mut self, id: &str) {
        self.cri.start_container(lab::ContainerId { container_id: id.into() }).await.unwrap();
    }

    async fn exec(&mut self, id: &str) {
        let request = lab::ExecSyncRequest { container_id: id.into(), cmd: vec!["/bin/true".into()], timeout: 10 };
        self.cri.exec_sync(request).await.unwrap();
    }

    async fn remove(&mut self, sandbox: &str) {
        let id = || lab::PodSandboxId { pod_sandbox_id: sandbox.into() };
        self.cri.stop_pod_sandbox(id()).await.unwrap();
        self.cri.remove_pod_sandbox(id()).await.unwrap();
    }
}

fn signal(signal: Signal) {
    let pid = std::fs::read_to_string(format!("{}/pid", given("KPT_CONTAINERD_DIR"))).unwrap();
    kill_process(Pid::from_raw(pid.trim().parse().unwrap()).unwrap(), signal).unwrap();
}

fn ctr(socket: &str) -> Command {
    let mut command = Command::new("ctr");
    command.args(["-a", socket, "-n", "k8s.io"]);
    command
}

fn is_begin(fact: &Fact) -> bool {
    *fact == Fact::CallBegin(Call::CriList)
}

fn is_answer(fact: &Fact) -> bool {
    matches!(fact, Fact::CallEnd { call: Call::CriList, error: None, .. })
}

#[tokio::test]
#[ignore = "needs a containerd of its own: run tests/e2e/containerd.sh"]
async fn a_real_containerd() {
    let socket = given("KPT_CONTAINERD_SOCKET");
    let mut lab = Lab::to(&socket).await;
    // Without an event it would list once in a minute: whatever is seen sooner was told by an event.
    let pace =
        CriTimings { quiet: 60 * SECOND, images_every: 600 * SECOND, images_spacing: SECOND, ..CriTimings::default() };
    let mut events = Said::by("events", Source::Cri, CriSource::new(&socket).with_timings(pace));
    let (mut status, mut epoch) = (false, false);
    events
        .sees("version, conditions, and the first list as an epoch", |f| {
            epoch |= *f == Fact::EpochEnd;
            if let Fact::RuntimeStatus(r) = f {
                status = r.name == "containerd" && r.conditions.iter().any(|c| c.kind == "RuntimeReady" && c.ok);
            }
            status && epoch
        })
        .await;
    let mut names = vec!["registry.k8s.io/pause:3.10", "docker.io/library/lab-app:1"];
    events
        .sees("the images", |f| {
            if let Fact::Image(image) = f {
                names.retain(|name| !image.tags.iter().any(|tag| tag == name));
            }
            names.is_empty()
        })
        .await;
    let tag = ["images", "tag", "docker.io/library/lab-app:1", "docker.io/library/again:1"];
    assert!(ctr(&socket).args(tag).stdout(Stdio::null()).status().unwrap().success());
    events
        .sees("a name that an image was given", |f| match f {
            Fact::Image(image) => image.tags.iter().any(|tag| tag == "docker.io/library/again:1"),
            _ => false,
        })
        .await;
    let pace = CriTimings { images_every: 3 * SECOND, ..CriTimings::default() };
    Said::by("images", Source::Cri, CriSource::new(&socket).with_timings(pace))
        .sees("what they take", |f| match f {
            Fact::ImageFs(fs) => {
                let of = |usage: &FilesystemUsage| {
                    usage.mountpoint.starts_with(&given("KPT_CONTAINERD_DIR")) && usage.used_bytes > Some(1 << 20)
                };
                fs.images.iter().any(of)
            }
            _ => false,
        })
        .await;

    let host = lab.sandbox("host", 2).await;
    events
        .sees("a sandbox in the node's network", |f| match f {
            Fact::Sandbox(s) => s.id == host.as_str() && s.ready && s.seen.is_some() && s.config_source == "api",
            _ => false,
        })
        .await;
    let bridged = lab.sandbox("bridged", 0).await;
    events
        .sees("a sandbox with an address", |f| match f {
            Fact::Sandbox(s) => s.id == bridged.as_str() && s.ip.starts_with("10.89."),
            _ => false,
        })
        .await;

    let short = lab.container(&host, "host", 2, "short", "sleep 4; exit 7").await;
    events
        .sees("a container created", |f| match f {
            Fact::Container(c) => c.id == short.as_str() && c.phase == ContainerPhase::Created && c.uid == "uid-host",
            _ => false,
        })
        .await;
    lab.start(&short).await;
    events
        .sees("it runs, since when", |f| match f {
            Fact::Container(c) => {
                c.id == short.as_str() && c.phase == ContainerPhase::Running && c.started_at.is_some()
            }
            _ => false,
        })
        .await;
    events
        .sees("it exited with 7", |f| match f {
            Fact::Container(c) => c.id == short.as_str() && c.exit_code == Some(7) && c.reason == "Error",
            _ => false,
        })
        .await;
    let long = lab.container(&bridged, "bridged", 0, "long", "sleep 1000").await;
    lab.start(&long).await;
    events
        .sees("another runs", |f| match f {
            Fact::Container(c) => c.id == long.as_str() && c.started_at.is_some(),
            _ => false,
        })
        .await;
    tokio::time::sleep(4 * SECOND).await;
    events.drain();
    for _ in 0..3 {
        lab.exec(&long).await;
    }
    events.never("exec probes cause no list", 4 * SECOND, is_begin).await;
    drop(events);

    let mut pulls = Said::by("pulls", Source::Pulls, PullsSource::new(&socket));
    pulls.sees("the first list is an epoch", |f| *f == Fact::EpochEnd).await;
    let mut ingest = ctr(&socket)
        .args(["content", "ingest", "layer-sha256:e2e"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(ingest.stdin.as_mut().unwrap(), &[7; 2 << 20]).unwrap();
    pulls
        .sees("an ingest and its bytes", |f| match f {
            Fact::Pull(p) => p.reference == "layer-sha256:e2e" && p.offset > 1 << 20 && p.started_at.is_some(),
            _ => false,
        })
        .await;
    drop(ingest.stdin.take());
    ingest.wait().unwrap();
    pulls.sees("it is over", |f| *f == Fact::PullGone("layer-sha256:e2e".into())).await;

    let mut known = Said::by("hang", Source::Cri, CriSource::new(&socket));
    known.sees("the first answer", |f| *f == Fact::EpochEnd).await;
    signal(Signal::STOP);
    known.drain();
    known.sees("a list begins", is_begin).await;
    let mut late = Said::by("hang, joined later", Source::Cri, CriSource::new(&socket));
    late.sees("a list is in flight at once", is_begin).await;
    late.never("and not answered", 2 * SECOND, |f| is_answer(f) || matches!(f, Fact::SourceState(_))).await;
    known.never("nor the other", 2 * SECOND, |f| is_answer(f) || is_begin(f)).await;
    signal(Signal::CONT);
    known.sees("answered after SIGCONT", is_answer).await;
    late.is_live("live after SIGCONT").await;
    late.sees("lists what is there", |f| *f == Fact::EpochEnd).await;
    drop(late);

    let mut known = Said::by("kill", Source::Cri, CriSource::new(&socket));
    known.sees("the first answer", is_answer).await;
    signal(Signal::KILL);
    known
        .sees("retrying, because nobody answers", |f| match f {
            Fact::SourceState(SourceState::Retrying { error, .. }) => error.kind == ErrorKind::Unreachable,
            _ => false,
        })
        .await;
    assert!(Command::new(format!("{}/start", given("KPT_CONTAINERD_DIR"))).status().unwrap().success());
    known.is_live("live again").await;
    known
        .sees("what ran goes on", |f| match f {
            Fact::Container(c) => c.id == long.as_str() && c.phase == ContainerPhase::Running,
            _ => false,
        })
        .await;

    let mut lab = Lab::to(&socket).await;
    lab.remove(&host).await;
    lab.remove(&bridged).await;
    let mut left = vec![host, bridged, short, long];
    known
        .sees("all is gone", |f| {
            if let Fact::SandboxGone(id) | Fact::ContainerGone(id) = f {
                left.retain(|l| id != l.as_str());
            }
            left.is_empty()
        })
        .await;
}

#[tokio::test]
#[ignore = "needs a containerd of its own, and a user who may not speak to it: run tests/e2e/containerd.sh"]
async fn a_user_without_rights() {
    let mut said = Said::by("no rights", Source::Cri, CriSource::new(given("KPT_CONTAINERD_SOCKET")));
    said.sees("forbidden, with the remedy", |f| match f {
        Fact::SourceState(SourceState::Forbidden { error }) => {
            error.kind == ErrorKind::Denied && error.tried.contains("mode 660") && error.fix.contains("sudo")
        }
        _ => false,
    })
    .await;
}
