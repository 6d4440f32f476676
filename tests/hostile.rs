//! The binary against servers and files that never end: what is left out is said, the rest is shown, memory is bounded.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "fakes/hostile_api.rs"]
mod hostile_api;

mod fake_runtime;

use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fake_runtime::{Fake, cri};
use serde_json::Value;

/// Most memory that the program may ever hold, KiB.
const MOST: u64 = 300 << 10;
/// Longest that any of it may take: seconds are expected.
const PATIENCE: Duration = Duration::from_secs(90);
const NODE: &str = "node-a";

struct Ended {
    code: Option<i32>,
    err: String,
    /// `VmHWM`, KiB.
    memory: u64,
    took: Duration,
}

/// Runs the program to its end, and looks how much memory it holds meanwhile.
fn run(args: &[&str], input: Option<&Path>) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kpodtrace"));
    let input = input.map_or(Stdio::null(), |path| std::fs::File::open(path).unwrap().into());
    command.args(args).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn().unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = |from: &mut dyn Read| {
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        text
    };
    let (out, err) = (std::thread::spawn(move || read(&mut out)), std::thread::spawn(move || read(&mut err)));
    let mut most = 0;
    let status = loop {
        most = memory(child.id()).max(most);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{args:?} did not end; it holds {most} KiB");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    _ = out.join().unwrap();
    let err = err.join().unwrap();
    eprintln!("{args:?}: {most} KiB, {:?}", began.elapsed());
    Ended { code: status.code(), err, memory: most, took: began.elapsed() }
}

/// Most memory that a process has held, KiB.
fn memory(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let held = status.lines().find_map(|l| l.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    held.unwrap_or(0)
}

/// Reads the documents that the program prints until one is as wanted, and a while longer; gives it, and the memory.
fn watch(args: &[&str], done: impl Fn(&Value) -> bool) -> (Value, u64) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kpodtrace"));
    let mut child =
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let out = child.stdout.take().unwrap();
    let (tx, reports) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::BufReader::new(out).lines().map_while(Result::ok) {
            _ = tx.send(serde_json::from_str::<Value>(&line).unwrap());
        }
    });
    let (began, mut last) = (Instant::now(), Value::Null);
    let found = loop {
        match reports.recv_timeout(PATIENCE.saturating_sub(began.elapsed())) {
            Ok(report) if done(&report) => break Some(report),
            Ok(report) => last = report,
            Err(_) => break None,
        }
    };
    let states = began.elapsed();
    std::thread::sleep(Duration::from_secs(5));
    let held = memory(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    eprintln!("{args:?}: {held} KiB, after {states:?}");
    (found.unwrap_or_else(|| panic!("never; it holds {held} KiB: {}", last["sources"])), held)
}

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("kpodtrace-hostile-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// A gzip file of `head`, then so many MiB of spaces, then `tail`.
    fn bomb(&self, name: &str, head: &str, mib: usize, tail: &str) -> String {
        let path = self.path(name);
        let file = std::fs::File::create(&path).unwrap();
        let mut zip = flate2::write::GzEncoder::new(file, flate2::Compression::best());
        zip.write_all(head.as_bytes()).unwrap();
        let blank = vec![b' '; 1 << 20];
        (0..mib).for_each(|_| zip.write_all(&blank).unwrap());
        zip.write_all(tail.as_bytes()).unwrap();
        zip.finish().unwrap();
        path
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn source<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["sources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["name"] == name)
        .unwrap_or_else(|| panic!("{name}: {report}"))
}

#[test]
fn servers_without_an_end_cost_themselves_alone() {
    let dir = Dir::new("servers");
    let api = hostile_api::start(NODE);
    let kubeconfig = dir.path("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: k\n  cluster: {{server: 'http://{api}'}}\n\
         contexts:\n- name: c\n  context: {{cluster: k, user: u}}\nusers:\n- name: u\n  user: {{token: t}}\n"
    );
    std::fs::write(&kubeconfig, text).unwrap();
    let fake = Fake::new();
    fake.set(|state| {
        (state.streams, state.endless) = (true, true);
        let container = |n: usize| cri::Container { id: format!("container-{n}"), ..Default::default() };
        state.containers = (0..50_000).map(container).collect();
        let sandbox = |n: usize| cri::PodSandbox { id: format!("sandbox-{n}"), ..Default::default() };
        state.sandboxes = (0..50_000).map(sandbox).collect();
    });
    let socket = dir.path("cri.sock");
    let _served = fake.serve(Path::new(&socket), true);
    let endpoint = format!("unix://{socket}");
    let args = ["doctor", "-o", "json", "--node", NODE, "--kubeconfig", &kubeconfig, "--runtime-endpoint", &endpoint];
    let degraded = ["api-events", "api-unbound", "cri"];
    let (report, memory) =
        watch(&[&args[..], &["--watch", "--wait", "1s", "--max-memory", "96MiB"]].concat(), |report| {
            degraded.iter().all(|name| source(report, name)["state"] == "degraded")
        });
    // Half as much again for what the allocator keeps.
    assert!(memory <= 144 << 10, "{memory} KiB");
    for name in degraded {
        let state = source(&report, name);
        assert_eq!(state["error"]["kind"], "too-large", "{state}");
        assert!(state["error"]["tried"].as_str().unwrap().contains("left out"), "{state}");
        assert!(!state["error"]["fix"].as_str().unwrap().is_empty(), "{state}");
    }
    assert_eq!(source(&report, "api-node")["state"], "live", "{report}");
    // Its list was read; its watch is one line without an end.
    assert!(!source(&report, "api-pods")["last_answer"].is_null(), "{report}");
}

#[test]
fn files_without_an_end_are_refused_with_words() {
    let dir = Dir::new("files");
    let pipe = dir.path("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, pipe.as_str(), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let list = r#"{"kind":"PodList","items":[{"metadata":{"name":""#;
    let in_an_item = dir.bomb("item.gz", list, 100, r#""}}]}"#);
    let around = dir.bomb("around.gz", "", 100, "{}");
    let log = dir.bomb("log.gz", "", 100, "");
    let objects = "tests/fixtures/kubectl/objects.json";
    let cases: [(&[&str], &str); 8] = [
        (&["pods", "--from", "/dev/zero"], "it is a device, not a regular file or a pipe"),
        (&["pods", "--from", &in_an_item], "decompresses to more than 200 times its size"),
        (&["pods", "--from", &around], "not a recognised input"),
        (&["explain", "--from", objects, "--kubelet-log", "/dev/zero"], "it is a device"),
        (&["explain", "--from", objects, "--kubelet-log", &log], "decompresses to more than 200 times its size"),
        (&["explain", "--from", objects, "--container-log", "app=/dev/zero"], "it is a device"),
        (&["explain", "--from", objects, "--metrics", "/dev/zero"], "it is a device"),
        (&["explain", "--from", objects, "--metrics", &log], "decompresses to more than 200 times its size"),
    ];
    for (args, words) in cases {
        let Ended { code, err, memory, took, .. } = run(args, None);
        assert!(code == Some(3) && err.starts_with("error: ") && err.contains("\n  try: "), "{args:?}: {code:?} {err}");
        assert!(err.contains(words), "{args:?}: {err}");
        assert!(memory <= MOST && took < PATIENCE, "{args:?}: {memory} KiB, {took:?}");
    }
    let zeros = run(&["pods", "--from", "-"], Some(Path::new("/dev/zero")));
    assert!(zeros.code == Some(3) && zeros.memory <= MOST, "{} KiB: {}", zeros.memory, zeros.err);
    // What a team's folder holds is left out, and said; what was asked for must be right.
    for name in ["zero.toml", "pipe.toml"] {
        let book = Dir::new(name);
        match name {
            "zero.toml" => std::os::unix::fs::symlink("/dev/zero", book.0.join(name)).unwrap(),
            _ => std::fs::rename(&pipe, book.0.join(name)).unwrap(),
        }
        let ended = run(&["runbook", "check", book.0.to_str().unwrap()], None);
        assert!(ended.code == Some(2) && ended.err.contains(", not a regular file"), "{name}: {}", ended.err);
        assert!(ended.took < Duration::from_secs(20), "{:?}", ended.took);
    }
}

#[test]
fn a_recording_that_unfolds_is_refused() {
    use kpodtrace::record::{RecordHeader, RecordPoint, create_file};
    let dir = Dir::new("recording");
    let path = dir.path("bomb.kpt");
    let wall = "2026-03-01T12:00:00Z".parse().unwrap();
    let held = r#"{"value":{},"first":"2026-03-01T12:00:00Z","changed":"2026-03-01T12:00:00Z","epoch":1}"#;
    let items: Vec<_> = (0..400_000).map(|n| format!("\"u{n}\":{held}")).collect();
    let keyframe = format!(r#"{{"api_pods":{{"items":{{{}}},"epoch":1,"complete":true}}}}"#, items.join(","));
    let keyframe = serde_json::value::RawValue::from_string(keyframe).unwrap();
    let mut writer = create_file(Path::new(&path), &RecordHeader::new(NODE.into(), wall)).unwrap();
    writer.write_frame(RecordPoint { mono: 0, wall }, &keyframe, &[]).unwrap();
    writer.finish().unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 4 << 20, "{size}");
    let ended = run(&["pods", "--from", &path], None);
    assert!(ended.code == Some(3) && ended.err.contains("needs more memory than --max-memory allows"), "{}", ended.err);
    assert!(ended.err.contains("raise --max-memory") && ended.memory <= MOST, "{} KiB: {}", ended.memory, ended.err);
}

#[test]
fn an_input_that_needs_more_is_read_where_more_is_allowed() {
    let dir = Dir::new("large");
    let path = dir.path("pods.json");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    write!(file, "{{\"kind\":\"PodList\",\"items\":[").unwrap();
    for n in 0..6_000 {
        let comma = if n == 0 { "" } else { "," };
        let message = "y".repeat(4000);
        write!(
            file,
            r#"{comma}{{"metadata":{{"name":"p{n}","namespace":"n","uid":"u{n}","creationTimestamp":"2026-03-01T12:00:00Z"}},"spec":{{"containers":[{{"name":"a"}}]}},"status":{{"message":"{message}"}}}}"#
        )
        .unwrap();
    }
    write!(file, "]}}").unwrap();
    drop(file);
    let refused = run(&["events", "--from", &path, "--max-memory", "96MiB"], None);
    assert!(
        refused.code == Some(3) && refused.err.contains("needs more memory than --max-memory allows"),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("raise --max-memory"), "{}", refused.err);
    assert!(refused.memory <= MOST, "{} KiB", refused.memory);
    let read = run(&["explain", "pod/n/none", "--from", &path, "--max-memory", "1GiB"], None);
    assert!(!read.err.contains("memory"), "{}", read.err);
}
