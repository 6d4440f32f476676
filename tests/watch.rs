//! `--watch`: the output for a changing node and for a recording, and its exit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "fakes/api.rs"]
#[allow(dead_code)]
mod fake;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use fake::{Certificates, FakeApi};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const RECORDING: &str = "assets/demo/incident.kpt";
const PATIENCE: Duration = Duration::from_secs(20);

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kpodtrace"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(args).stdin(Stdio::null());
    command
}

fn out(args: &[&str]) -> String {
    let output = command(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// An API server on a separate thread.
fn api() -> FakeApi {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let api = runtime.block_on(FakeApi::start(&Certificates::new(), 0));
    std::thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
    api
}

/// A watch of a node of which only this API server answers.
struct Watch {
    child: Child,
    lines: Receiver<String>,
    config: PathBuf,
}

impl Watch {
    fn start(api: &FakeApi, name: &str, args: &[&str]) -> Self {
        let config = std::env::temp_dir().join(format!("kpodtrace-watch-{}-{name}", std::process::id()));
        std::fs::write(&config, api.kubeconfig("token: t0")).unwrap();
        let path = config.display().to_string();
        let more = ["--kubeconfig", &path, "--node", "node-a", "--runtime-endpoint", "unix:///nonexistent/k.sock"];
        let args = [args, &more, &["--wait", "2s"]].concat();
        let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        Self { lines: lines(child.stdout.take().unwrap()), child, config }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line")
    }

    fn object(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// The next object about a pod.
    fn pod(&self) -> (String, String, String) {
        let object = std::iter::repeat_with(|| self.object()).find(|o| o["kind"] == "PodChange").unwrap();
        let word = |v: &Value| v.as_str().unwrap().to_owned();
        (word(&object["change"]), word(&object["pod"]["name"]), word(&object["pod"]["status"]))
    }

    fn signal(&mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        ended(&mut self.child)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
        _ = std::fs::remove_file(&self.config);
    }
}

fn lines(out: ChildStdout) -> Receiver<String> {
    let (tx, rx) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            if tx.send(line.unwrap()).is_err() {
                return;
            }
        }
    });
    rx
}

fn ended(child: &mut Child) -> Option<i32> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it does not end");
}

fn pod(uid: &str, waiting: Option<&str>) -> Value {
    let state = match waiting {
        Some(reason) => json!({"waiting": {"reason": reason, "message": "said"}}),
        None => json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}),
    };
    let ready = if waiting.is_some() { "False" } else { "True" };
    json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": uid, "namespace": "shop", "uid": uid,
        "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"nodeName": "node-a", "restartPolicy": "Always", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z",
            "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": ready}],
            "containerStatuses": [{"name": "c", "image": "i", "containerID": "containerd://x", "ready": waiting.is_none(),
                "state": state}]}})
}

#[test]
fn the_table_then_the_rows_that_change_until_ctrl_c() {
    let api = api();
    api.put("pods", pod("a", None));
    api.put("pods", pod("b", None));
    let mut watch = Watch::start(&api, "table", &["pods", "--watch"]);
    assert!(watch.line().starts_with("NAMESPACE"));
    let names = [watch.line(), watch.line()].map(|line| line.split_whitespace().nth(1).unwrap().to_owned());
    assert_eq!(names, ["a", "b"]);
    api.put("pods", pod("b", Some("ImagePullBackOff")));
    let line = watch.line();
    assert!(line.starts_with("shop") && line.contains(" b ") && line.contains("ImagePullBackOff"), "{line}");
    api.delete("pods", "a");
    let line = watch.line();
    let cells: Vec<_> = line.split_whitespace().collect();
    assert_eq!((cells[1], cells[7]), ("a", "gone"), "{line}");
    assert_eq!(watch.signal(Signal::INT), Some(0));
}

#[test]
fn with_failing_a_recovered_pod_is_printed_once_more() {
    let api = api();
    api.put("pods", pod("well", None));
    api.put("pods", pod("ill", Some("ImagePullBackOff")));
    let mut watch = Watch::start(&api, "failing", &["pods", "--watch", "--failing", "-o", "json"]);
    let first = watch.object();
    assert_eq!(first["kind"], "NodeChange");
    assert!(first["sources"].as_array().unwrap().iter().any(|s| s["name"] == "api-pods"));
    let change = |kind: &str, name: &str, status: &str| (kind.to_owned(), name.to_owned(), status.to_owned());
    assert_eq!(watch.pod(), change("listed", "ill", "ImagePullBackOff"));
    api.put("pods", pod("ill", None));
    assert_eq!(watch.pod(), change("left", "ill", "Running"));
    api.put("pods", pod("well", Some("CrashLoopBackOff")));
    assert_eq!(watch.pod(), change("added", "well", "CrashLoopBackOff"));
    api.delete("pods", "well");
    assert_eq!(watch.pod(), change("gone", "well", "CrashLoopBackOff"));
    assert_eq!(watch.signal(Signal::TERM), Some(0));
}

#[test]
fn a_closed_pipe_stops_it_without_a_change() {
    let api = api();
    api.put("pods", pod("a", None));
    let config = std::env::temp_dir().join(format!("kpodtrace-watch-{}-pipe", std::process::id()));
    std::fs::write(&config, api.kubeconfig("token: t0")).unwrap();
    let path = config.display().to_string();
    let args = ["pods", "--watch", "--kubeconfig", &path, "--node", "node-a", "--wait", "1s"];
    let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    drop(reader);
    assert_eq!(ended(&mut child), Some(0));
    std::fs::remove_file(config).unwrap();
}

#[test]
fn of_a_recording_the_last_word_on_each_pod_is_what_its_end_shows() {
    let mut last: BTreeMap<String, (String, String)> = BTreeMap::new();
    let key = |pod: &Value| pod["uid"].as_str().unwrap().to_owned();
    let word = |pod: &Value| (format!("{} {}", pod["status"], pod["stage"]), pod["ready"].to_string());
    let (mut times, mut begun) = (Vec::new(), false);
    for line in out(&["pods", "--watch", "--from", RECORDING, "-o", "json"]).lines() {
        let object: Value = serde_json::from_str(line).unwrap();
        times.push(object["now"].as_str().unwrap().parse::<kpodtrace::time::Time>().unwrap());
        match (object["kind"].as_str(), object["change"].as_str()) {
            (Some("NodeChange"), _) => begun = true,
            (Some("PodChange"), Some("gone")) => _ = last.remove(&key(&object["pod"])),
            (Some("PodChange"), Some(_)) => _ = last.insert(key(&object["pod"]), word(&object["pod"])),
            other => panic!("{other:?}"),
        }
        assert!(begun, "the node comes first");
    }
    assert!(times.is_sorted());
    let end: Value = serde_json::from_str(&out(&["pods", "--from", RECORDING, "-o", "json"])).unwrap();
    let end: BTreeMap<_, _> = end["pods"].as_array().unwrap().iter().map(|pod| (key(pod), word(pod))).collect();
    assert_eq!(last, end);
}

#[test]
fn for_a_recording_every_line_has_its_time_and_at_sets_the_start() {
    let all = out(&["pods", "--watch", "--from", RECORDING, "-n", "s-sidecar"]);
    let late = out(&["pods", "--watch", "--from", RECORDING, "-n", "s-sidecar", "--at", "12:41:00"]);
    let mut lines = late.lines();
    assert!(lines.next().unwrap().starts_with("TIME      NAMESPACE"));
    let times: Vec<_> = lines.map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(times[0] == "12:41:00" && times.is_sorted() && times.last() > Some(&"12:42:10"), "{times:?}");
    assert!(all.lines().count() > late.lines().count());
}

#[test]
fn pleg_is_printed_once_per_window_and_at_once_when_it_hangs() {
    let text = out(&["pleg", "--watch", "--from", RECORDING]);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0][..2], ["TIME", "VERDICT"]);
    let hanging = rows.iter().find(|row| row[1] == "hanging").unwrap();
    assert!(("12:41:47".."12:41:49").contains(&hanging[0]), "seven seconds after it stopped: {hanging:?}");
    assert!((30..60).contains(&rows.len()), "about one line in ten seconds of six minutes: {}", rows.len());
    let json = out(&["pleg", "--watch", "--from", RECORDING, "-o", "json"]);
    assert_eq!(json.lines().count(), rows.len() - 1);
    for line in json.lines() {
        let report: Value = serde_json::from_str(line).unwrap();
        assert_eq!(report["kind"], "PlegReport");
    }
}

#[test]
fn doctor_prints_each_source_that_changes_state() {
    let text = out(&["doctor", "--watch", "--from", RECORDING]);
    let states: Vec<_> = text.lines().filter(|l| l.contains("  cri  ")).map(|l| l.split_whitespace().nth(1)).collect();
    assert_eq!(states, [Some("ok"), Some("FAIL"), Some("ok")]);
}

#[test]
fn a_watch_has_no_exit_code_to_give() {
    for what in ["pods", "pleg"] {
        let output = command(&[what, "--watch", "--exit-code"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
    }
    let output = command(&["pods", "--watch", "--at", "12:00"]).output().unwrap();
    assert!(matches!(output.status.code(), Some(2 | 3)));
}
