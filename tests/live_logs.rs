//! The log sources against a fake journalctl, and the machine source against a fake systemctl.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kpodtrace::decode::NodeLog;
use kpodtrace::observation::{ErrorKind, Fact, LogRecord, Observation, Source, SourceState, Time};
use kpodtrace::observe::discover::Root;
use kpodtrace::observe::logs::{FileSource, JournalSource};
use kpodtrace::observe::machine::{MachinePlan, MachineSource};
use kpodtrace::observe::{Attempt, BackOff, Clock, ObservationSink, supervise};
use kpodtrace::time::TimeDelta;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(20);

struct Dir(PathBuf);

impl Dir {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("kpodtrace-logs-{}-{n}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn append(&self, name: &str, text: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(self.path(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn script(&self, name: &str, text: &str) -> String {
        self.write(name, &text.replace("DIR", self.0.to_str().unwrap()));
        let path = self.path(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A journalctl whose journal is the file `entries`.
    fn journal(&self, of: NodeLog) -> JournalSource {
        self.append("entries", "");
        self.write("var/log/journal/0a/system.journal", "");
        let program = self.script(
            "journalctl",
            r#"#!/bin/sh
echo "$@" >>DIR/calls
if [ -f DIR/words ]; then cat DIR/words >&2; exit 1; fi
n=0
for arg in "$@"; do case "$arg" in
  --after-cursor=*) n=$(grep -n -F "\"__CURSOR\":\"${arg#--after-cursor=}\"" DIR/entries | cut -d: -f1) ;;
  --follow) follow=1 ;;
esac; done
if [ -z "$follow" ]; then exec tail -n +$((n + 1)) DIR/entries; fi
echo $$ >DIR/pid
exec tail -n +$((n + 1)) -s 0.05 -f DIR/entries
"#,
        );
        let units = if of == NodeLog::Kernel { vec![] } else { vec!["kubelet.service".into()] };
        JournalSource::new(of, units).with_program(program, Root::new(&self.0))
    }

    fn entry(&self, n: u32, message: Value) {
        let line = json!({"__CURSOR": format!("c{n}."), "__REALTIME_TIMESTAMP": "1795951277000000", "_PID": "5788", "PRIORITY": "6", "MESSAGE": message});
        self.append("entries", &format!("{line}\n"));
    }

    fn calls(&self) -> Vec<String> {
        fs::read_to_string(self.path("calls")).unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        // A journalctl that is about to end may write its call while the directory goes.
        for _ in 0..20 {
            if fs::remove_dir_all(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

struct Watch {
    rx: mpsc::Receiver<Observation>,
    task: tokio::task::JoinHandle<()>,
}

impl Watch {
    fn begin(source: impl Attempt + 'static, is: Source) -> Self {
        let (tx, rx) = mpsc::channel(256);
        let out = ObservationSink::new(is, Clock::start(), tx);
        let back_off = BackOff { first: Duration::from_millis(50), ..BackOff::default() };
        Self { rx, task: tokio::spawn(supervise(source, out, back_off)) }
    }

    async fn next(&mut self) -> Fact {
        timeout(PATIENCE, self.rx.recv()).await.expect("an observation").expect("a source").fact
    }

    async fn until<T>(&mut self, mut take: impl FnMut(Fact) -> Option<T>) -> T {
        loop {
            let fact = self.next().await;
            if let Some(found) = take(fact) {
                return found;
            }
        }
    }

    async fn live(&mut self) {
        self.until(|f| matches!(f, Fact::SourceState(SourceState::Live { .. })).then_some(())).await;
    }

    async fn log(&mut self) -> LogRecord {
        self.until(|f| if let Fact::LogRecord(entry) = f { Some(*entry) } else { None }).await
    }

    async fn message(&mut self) -> String {
        self.log().await.text().to_string()
    }

    /// Nothing more is logged for a while.
    async fn silent(&mut self) {
        let end = tokio::time::Instant::now() + Duration::from_millis(700);
        while let Ok(Some(o)) = tokio::time::timeout_at(end, self.rx.recv()).await {
            assert!(!matches!(o.fact, Fact::LogRecord(_)), "{o:?}");
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn error(text: &str) -> String {
    format!("E1129 12:01:17.000000    5788 a.go:1] \"{text}\"")
}

/// The same, written now: a file's lines are read in this machine's zone, and none that are old.
fn fresh(text: &str) -> String {
    error(text).replace("1129 12:01:17", &chrono::Local::now().format("%m%d %H:%M:%S").to_string())
}

fn signal(pid: &str, signal: Signal) {
    kill_process(Pid::from_raw(pid.trim().parse().unwrap()).unwrap(), signal).unwrap();
}

fn alive(pid: &str) -> bool {
    // A zombie counts as gone too.
    fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|s| !s.contains(") Z "))
}

#[tokio::test]
async fn the_backlog_then_what_comes_and_nothing_twice_after_the_child_died() {
    let dir = Dir::new();
    dir.entry(1, error("one").into());
    dir.entry(2, json!(error("two").into_bytes()));
    let mut watch = Watch::begin(dir.journal(NodeLog::Kubelet), Source::KubeletLog);
    assert_eq!([watch.message().await, watch.message().await], ["one", "two"]);
    watch.live().await;
    dir.entry(3, error("three").into());
    assert_eq!(watch.message().await, "three");
    let pid = fs::read_to_string(dir.path("pid")).unwrap();
    signal(&pid, Signal::KILL);
    dir.entry(4, error("four").into());
    let tried = watch
        .until(|f| match f {
            Fact::SourceState(SourceState::Retrying { error, .. }) => Some(error.tried),
            Fact::LogRecord(entry) => panic!("{entry:?}"),
            _ => None,
        })
        .await;
    assert!(tried.contains("signal: 9"), "{tried}");
    assert_eq!(watch.message().await, "four");
    watch.live().await;
    dir.entry(5, error("five").into());
    assert_eq!(watch.message().await, "five");
    watch.silent().await;
    let calls = dir.calls();
    assert!(calls[0].contains("--output=json --no-pager --all") && calls[0].contains("--since=-30min"), "{calls:?}");
    assert!(calls.iter().all(|c| c.ends_with("-u kubelet.service")), "{calls:?}");
    assert!(calls[1].contains("--follow --no-tail --after-cursor=c2."), "{calls:?}");
    assert!(calls[2].contains("--after-cursor=c3.") && !calls[2].contains("--follow"), "{calls:?}");
    assert_eq!(calls.len(), 4);
}

#[tokio::test]
async fn a_killed_child_is_reported_and_the_next_one_resumes_at_its_cursor() {
    let dir = Dir::new();
    dir.entry(1, error("one").into());
    let source = dir.journal(NodeLog::Kubelet).with_look(Duration::from_millis(100));
    let mut watch = Watch::begin(source, Source::KubeletLog);
    assert_eq!(watch.message().await, "one");
    watch.live().await;
    watch.until(|f| (f == Fact::Alive).then_some(())).await;
    let pid = fs::read_to_string(dir.path("pid")).unwrap();
    signal(&pid, Signal::STOP);
    dir.entry(2, error("two").into());
    let tried = watch
        .until(|f| match f {
            Fact::SourceState(SourceState::Retrying { error, .. }) => Some(error.tried),
            _ => None,
        })
        .await;
    assert!(tried.contains("it was stopped"), "{tried}");
    assert_eq!(watch.message().await, "two");
    watch.live().await;
    dir.entry(3, error("three").into());
    assert_eq!(watch.message().await, "three", "and nothing twice");
}

#[tokio::test]
async fn the_child_ends_with_the_source() {
    let dir = Dir::new();
    let mut watch = Watch::begin(dir.journal(NodeLog::Kubelet), Source::KubeletLog);
    watch.live().await;
    dir.entry(1, error("one").into());
    watch.message().await;
    let pid = fs::read_to_string(dir.path("pid")).unwrap();
    assert!(alive(&pid));
    drop(watch);
    for _ in 0..200 {
        if !alive(&pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{pid} is still there");
}

#[tokio::test]
async fn long_lines_are_lost_and_counted_and_records_of_several_lines_are_joined() {
    let dir = Dir::new();
    dir.entry(1, "x".repeat(300_000).into());
    dir.entry(2, "not klog at all".into());
    dir.append("entries", "no JSON\n");
    dir.entry(3, "E1129 12:01:17.000000    5788 a.go:1] \"failed\" err=<".into());
    dir.entry(4, "\tone".into());
    dir.entry(5, "\ttwo".into());
    dir.entry(6, " >".into());
    let mut watch = Watch::begin(dir.journal(NodeLog::Kubelet), Source::KubeletLog);
    assert_eq!(watch.until(|f| if let Fact::Dropped { count } = f { Some(count) } else { None }).await, 1);
    assert_eq!(watch.message().await, "not klog at all", "a line without a header is evidence as in a file");
    let entry = watch.log().await;
    assert_eq!(entry.text(), "failed: one\ntwo");
    // 12:01:17 in a zone two hours and fifteen minutes behind the time of receipt.
    assert_eq!(entry.at.timestamp() % 900, (12 * 3600 + 77) % 900);
    assert!((entry.at.timestamp() - 1_795_951_277).abs() <= 450, "{}", entry.at);
}

async fn state_with(words: &str) -> SourceState {
    let dir = Dir::new();
    dir.write("words", words);
    let mut watch = Watch::begin(dir.journal(NodeLog::Kubelet), Source::KubeletLog);
    watch
        .until(|f| if let Fact::SourceState(s) = f { Some(s) } else { None }.filter(|s| *s != SourceState::Connecting))
        .await
}

#[tokio::test]
async fn refusals_have_a_remedy() {
    let SourceState::Forbidden { error } = state_with(
        "Hint: You are currently not seeing messages from other users and the system.\n      Users in groups 'adm', \
         'systemd-journal' can see all messages.\nNo journal files were opened due to insufficient permissions.\n",
    )
    .await
    else {
        panic!("not forbidden")
    };
    assert_eq!(error.kind, ErrorKind::Denied);
    assert!(error.fix.contains("usermod -aG systemd-journal"), "{error:?}");
    assert!(matches!(state_with("No journal files were found.\n").await, SourceState::Off { .. }));
    // Without a journal, journalctl -o json prints nothing and succeeds.
    let dir = Dir::new();
    let source = dir.journal(NodeLog::Kubelet);
    fs::remove_dir_all(dir.path("var")).unwrap();
    let mut watch = Watch::begin(source, Source::KubeletLog);
    let off = watch.until(|f| if let Fact::SourceState(SourceState::Off { why }) = f { Some(why) } else { None }).await;
    assert!(off.contains("keeps no journal"), "{off}");
    let SourceState::Retrying { error, .. } = state_with("Failed to open journal: Bad message\n").await else {
        panic!("not retrying")
    };
    assert!(error.tried.contains("Bad message") && error.tried.contains("-u kubelet.service"), "{error:?}");
}

#[tokio::test]
async fn without_journalctl_the_source_is_off() {
    let source = JournalSource::new(NodeLog::Kernel, vec![]).with_program("/nowhere/journalctl", Root::live());
    let mut watch = Watch::begin(source, Source::KernelLog);
    let off = watch.until(|f| if let Fact::SourceState(SourceState::Off { why }) = f { Some(why) } else { None }).await;
    assert!(off.contains("no journalctl"), "{off}");
}

#[tokio::test]
async fn of_the_kernel_only_what_kills() {
    let dir = Dir::new();
    dir.entry(1, "eth0: renamed".into());
    dir.entry(2, "Memory cgroup out of memory: Killed process 7 (stress) total-vm:1kB".into());
    let mut watch = Watch::begin(dir.journal(NodeLog::Kernel), Source::KernelLog);
    assert!(watch.message().await.starts_with("Memory cgroup"));
    watch.live().await;
    assert!(dir.calls()[0].ends_with(" -k"), "{:?}", dir.calls());
}

#[tokio::test]
async fn the_log_of_the_incident_gives_the_same_as_its_import() {
    let dir = Dir::new();
    let text = common::read_text(&common::fixtures().join("incident/kubelet.log.jsonl.gz"));
    let mut entries = String::new();
    for (n, line) in text.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        let at: Time = line["t"].as_str().unwrap().parse().unwrap();
        let entry = json!({"__CURSOR": format!("c{n}."), "__REALTIME_TIMESTAMP": at.timestamp_micros().to_string(), "_PID": "9", "MESSAGE": line["line"]});
        entries.push_str(&format!("{entry}\n"));
    }
    dir.write("entries", &entries);
    let expected: Vec<LogRecord> = common::imported(&common::fixtures().join("incident"))
        .observations
        .into_iter()
        .filter(|o| o.stamp.source == Source::KubeletLog)
        .filter_map(|o| if let Fact::LogRecord(entry) = o.fact { Some(*entry) } else { None })
        .collect();
    assert!(expected.len() > 100);
    let mut watch = Watch::begin(dir.journal(NodeLog::Kubelet), Source::KubeletLog);
    for (n, expected) in expected.iter().enumerate() {
        assert_eq!(watch.log().await, *expected, "entry {n}");
    }
    watch.live().await;
    watch.silent().await;
}

#[tokio::test]
async fn a_file_through_rotation_and_truncation() {
    let dir = Dir::new();
    let line = |text: &str| format!("{}\n", fresh(text));
    dir.write("log", &format!("{}\trest of a record\n{}", line("one"), line("two")));
    let mut watch = Watch::begin(FileSource::new(NodeLog::Kubelet, dir.path("log")), Source::KubeletLog);
    assert_eq!(watch.message().await, "one");
    watch.live().await;
    assert_eq!(watch.message().await, "two");
    dir.append("log", &line("three"));
    assert_eq!(watch.message().await, "three");
    dir.append("log", &line("four"));
    fs::rename(dir.path("log"), dir.path("log.1")).unwrap();
    dir.append("log.1", &line("five"));
    tokio::time::sleep(Duration::from_millis(600)).await;
    dir.write("log", &line("six"));
    assert_eq!([watch.message().await, watch.message().await, watch.message().await], ["four", "five", "six"]);
    dir.write("log", "");
    tokio::time::sleep(Duration::from_millis(700)).await;
    dir.append("log", &line("seven"));
    assert_eq!(watch.message().await, "seven");
    // The file is removed: the source reports no error, and resumes when it exists again.
    watch.silent().await;
}

#[tokio::test]
async fn a_file_that_is_not_there_comes_later_and_only_its_end_is_read() {
    let dir = Dir::new();
    let mut watch = Watch::begin(FileSource::new(NodeLog::Runtime, dir.path("log")), Source::RuntimeLog);
    let tried = watch
        .until(|f| if let Fact::SourceState(SourceState::Retrying { error, .. }) = f { Some(error) } else { None })
        .await;
    assert_eq!(tried.kind, ErrorKind::Unreachable);
    let ago = |minutes| (Time::now() - TimeDelta::minutes(minutes)).to_rfc3339_seconds();
    let old = format!("time=\"{}\" level=error msg=old\n", ago(0));
    let new =
        format!("time=\"{}\" level=error msg=history\ntime=\"{}\" level=error msg=new error=x\n", ago(31), ago(29));
    let quiet = "time=\"2026-11-29T10:00:00Z\" level=info msg=quiet\n".repeat(90_000);
    assert!(quiet.len() > 4 * 1024 * 1024);
    dir.write("log.new", &format!("{old}{quiet}{new}"));
    fs::rename(dir.path("log.new"), dir.path("log")).unwrap();
    assert_eq!(watch.message().await, "new: x");
    watch.live().await;
}

#[tokio::test]
async fn a_machine_without_a_kubelet_is_off() {
    let dir = Dir::new();
    let plan = MachinePlan {
        paths: Default::default(),
        root: Root::new(&dir.0),
        units: vec![],
        root_dir: "/var/lib/kubelet".into(),
        static_pods: None,
        serving: None,
        node: "n".into(),
    };
    let mut watch = Watch::begin(MachineSource::new(plan), Source::Machine);
    let off = watch.until(|f| if let Fact::SourceState(SourceState::Off { why }) = f { Some(why) } else { None }).await;
    assert_eq!(off, "no systemd unit of a kubelet or a runtime, and no kubelet directory exists");
}

#[tokio::test]
async fn the_machine_and_what_changes_on_it() {
    let dir = Dir::new();
    let block = "Id=kubelet.service\nLoadState=loaded\nActiveState=ACTIVE\nSubState=running\nNRestarts=0\n\
                 ActiveEnterTimestamp=Sat 2026-11-28 10:00:00 UTC\nExecMainCode=0\nExecMainStatus=0\nResult=success\n";
    dir.write("answer", &block.replace("ACTIVE", "active"));
    let program = dir.script(
        "systemctl",
        "#!/bin/sh\necho \"$TZ $@\" >>DIR/calls\nif [ -f DIR/hangs ]; then exec sleep 60; fi\ncat DIR/answer\n",
    );
    dir.write("proc/stat", "cpu 1 2\nbtime 1795900000\n");
    dir.write("var/lib/kubelet/pods/u1/etc-hosts", "");
    dir.write("var/log/pods/shop_web-0_u1/app/0.log", "");
    dir.write("etc/kubernetes/manifests/etcd.yaml", "");
    let plan = MachinePlan {
        paths: Default::default(),
        root: Root::new(&dir.0),
        units: vec!["kubelet.service".into()],
        root_dir: Path::new("/var/lib/kubelet").into(),
        static_pods: Some("/etc/kubernetes/manifests".into()),
        serving: None,
        node: "n".into(),
    };
    let source = MachineSource::new(plan).with_program(program, Duration::from_millis(100));
    let mut watch = Watch::begin(source, Source::Machine);
    let mut first = Vec::new();
    watch
        .until(|f| match f {
            Fact::EpochEnd => Some(()),
            other => {
                first.push(other);
                None
            }
        })
        .await;
    assert!(
        first.contains(&Fact::EpochBegin) && first.contains(&Fact::StaticManifest("etcd.yaml".into())),
        "{first:?}"
    );
    assert!(first.contains(&Fact::Boot(Time::from_timestamp(1_795_900_000, 0).unwrap())), "{first:?}");
    assert!(first.iter().any(|f| matches!(f, Fact::Unit(u) if u.active == "active" && u.since.is_some())), "{first:?}");
    assert!(first.iter().any(|f| matches!(f, Fact::PodDir(d) if d.pod == "shop/web-0" && d.kubelet && d.logs)));
    watch.live().await;
    fs::remove_dir_all(dir.path("var/lib/kubelet/pods/u1")).unwrap();
    watch.until(|f| matches!(f, Fact::PodDir(d) if !d.kubelet && d.logs).then_some(())).await;
    fs::remove_dir_all(dir.path("var/log/pods/shop_web-0_u1")).unwrap();
    fs::remove_file(dir.path("etc/kubernetes/manifests/etcd.yaml")).unwrap();
    watch.until(|f| (f == Fact::PodDirGone("u1".into())).then_some(())).await;
    watch.until(|f| (f == Fact::StaticManifestGone("etcd.yaml".into())).then_some(())).await;
    dir.write("answer.new", &block.replace("ACTIVE", "failed").replace("MainCode=0", "MainCode=2"));
    fs::rename(dir.path("answer.new"), dir.path("answer")).unwrap();
    let unit = watch.until(|f| if let Fact::Unit(unit) = f { Some(unit) } else { None }).await;
    assert!(unit.active == "failed" && unit.exit.unwrap().killed, "{unit:?}");
    dir.write("hangs", "");
    let error = watch.until(|f| if let Fact::CallEnd { error, .. } = f { error } else { None }).await;
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(dir.calls()[0].starts_with("UTC show kubelet.service --no-pager -p Id,"), "{:?}", dir.calls()[0]);
}

/// A machine source beside another on the same thread: what holds one up does not hold up the other.
fn machine(dir: &Dir, systemctl: &str) -> MachineSource {
    dir.write("proc/stat", "btime 1795900000\n");
    dir.write("var/lib/kubelet/pods/u1/etc-hosts", "");
    let plan = MachinePlan {
        paths: Default::default(),
        root: Root::new(&dir.0),
        units: vec!["kubelet.service".into()],
        root_dir: Path::new("/var/lib/kubelet").into(),
        static_pods: None,
        serving: None,
        node: "n".into(),
    };
    MachineSource::new(plan).with_program(systemctl, Duration::from_millis(50))
}

#[tokio::test]
async fn a_hanging_journalctl_is_reported_and_killed_and_blocks_no_other_source() {
    let dir = Dir::new();
    dir.write("var/log/journal/0a/system.journal", "");
    // Stopped by a signal, it does not even see that it is asked to end.
    let program = dir.script("stopped", "#!/bin/sh\necho $$ >DIR/pid\nkill -STOP $$\nexec sleep 600\n");
    let source = JournalSource::new(NodeLog::Kubelet, vec!["kubelet.service".into()]);
    let source = source.with_program(program, Root::new(&dir.0)).with_silence(Duration::from_millis(500));
    let systemctl = dir.script("systemctl", "#!/bin/sh\necho Id=kubelet.service\n");
    let mut beside = Watch::begin(machine(&dir, &systemctl), Source::Machine);
    let mut watch = Watch::begin(source, Source::KubeletLog);
    beside.live().await;
    let error = watch
        .until(|f| if let Fact::SourceState(SourceState::Retrying { error, .. }) = f { Some(error) } else { None })
        .await;
    assert_eq!((error.kind, error.tried.contains("silent for 0.5 s")), (ErrorKind::Timeout, true), "{error:?}");
    beside.until(|f| matches!(f, Fact::Alive).then_some(())).await;
    watch.task.abort();
    let pid = fs::read_to_string(dir.path("pid")).unwrap();
    for _ in 0..500 {
        if !alive(pid.trim()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it lives on");
}

#[tokio::test]
async fn a_systemctl_that_never_ends_or_never_stops_talking_costs_only_its_units() {
    for (script, kind) in [("exec yes", ErrorKind::Malformed), ("kill -STOP $$; exec sleep 600", ErrorKind::Timeout)] {
        let dir = Dir::new();
        let systemctl = dir.script("systemctl", &format!("#!/bin/sh\n{script}\n"));
        let mut watch = Watch::begin(machine(&dir, &systemctl), Source::Machine);
        let error = watch.until(|f| if let Fact::CallEnd { error, .. } = f { error } else { None }).await;
        assert_eq!(error.kind, kind, "{error:?}");
        watch.until(|f| matches!(f, Fact::PodDir(dir) if dir.kubelet).then_some(())).await;
        watch.live().await;
    }
}

#[tokio::test]
async fn a_log_that_is_not_a_file_is_reported_at_once() {
    let dir = Dir::new();
    assert!(std::process::Command::new("mkfifo").arg(dir.path("pipe")).status().unwrap().success());
    for name in ["pipe", ".", "/dev/zero"] {
        let mut watch = Watch::begin(FileSource::new(NodeLog::Kubelet, dir.path(name)), Source::KubeletLog);
        let error = watch
            .until(|f| if let Fact::SourceState(SourceState::Retrying { error, .. }) = f { Some(error) } else { None })
            .await;
        assert!(error.tried.contains("it is a"), "{error:?}");
    }
}

#[tokio::test]
async fn of_a_gigabyte_of_one_line_nothing_is_kept_and_the_next_line_is_read() {
    let dir = Dir::new();
    let file = fs::File::create(dir.path("log")).unwrap();
    file.set_len(1 << 30).unwrap();
    drop(file);
    dir.append("log", &format!("\ntime=\"{}\" level=error msg=after\n", Time::now().to_rfc3339()));
    let mut watch = Watch::begin(FileSource::new(NodeLog::Runtime, dir.path("log")), Source::RuntimeLog);
    assert_eq!(watch.message().await, "after");
    dir.append("log", &format!("{}\n", "hunter2 ".repeat(100_000)));
    assert_eq!(watch.until(|f| if let Fact::Dropped { count } = f { Some(count) } else { None }).await, 1);
}
