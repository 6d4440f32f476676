//! Forged names and texts with credentials: what the binary prints and records.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kpodtrace::record::import::import;
use serde_json::{Value, json};

fn run(args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kpodtrace"));
    let output = command.args(args).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

const AT: &str = "2026-11-29T12:00:00Z";

fn pod(status: Value) -> Value {
    json!({"kind": "Pod", "metadata": {"name": "probe", "namespace": "ten", "uid": "u", "creationTimestamp": AT},
        "spec": {"nodeName": "n", "containers": [{"name": "app", "image": "i"}]}, "status": status})
}

fn event(about: &str, reason: &str, message: &str) -> Value {
    json!({"kind": "Event", "metadata": {"name": "z", "namespace": "ten", "uid": "z", "creationTimestamp": AT},
        "involvedObject": {"kind": "Pod", "namespace": "ten", "name": about, "uid": "u"}, "reason": reason,
        "message": message, "type": "Warning", "firstTimestamp": AT, "lastTimestamp": AT, "count": 1})
}

fn list(dir: &Path, items: &[Value]) -> String {
    let path = dir.join("objects.json");
    std::fs::write(&path, json!({"kind": "List", "items": items}).to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The output of all commands for an input and for its recording.
fn printed(dir: &Path, path: &str) -> Vec<(String, String)> {
    let recording = dir.join("x.kpt");
    let recording = recording.to_str().unwrap();
    let (code, _, err) = run(&["record", "-o", recording, "--from", path]);
    assert_eq!(code, 0, "{err}");
    let mut all = Vec::new();
    for from in [path, recording] {
        for command in [
            &["pods"][..],
            &["pods", "-o", "wide"],
            &["pods", "-o", "json"],
            &["events"],
            &["events", "-o", "json"],
            &["explain", "ten/probe"],
            &["explain", "ten/probe", "-o", "json"],
            &["node"],
            &["logs", "ten/probe"],
            &["doctor"],
        ] {
            let args: Vec<&str> = command.iter().copied().chain(["--from", from]).collect();
            let (code, out, err) = run(&args);
            assert!(code <= 3, "{args:?}: {code} {err}");
            all.push((command.join(" "), format!("{out}{err}")));
        }
    }
    all
}

#[test]
fn a_line_break_or_invisible_character_in_a_name_forges_no_row_and_no_name() {
    let dir = scratch("forged");
    let forged = "probe\n5s     Warning  kube-system/coredns  OOMKilling   node.memory  Memory cgroup out of memory";
    let reason = "Evicted\nkube-system  coredns  0/1  CrashLoopBackOff";
    let path = list(&dir, &[pod(json!({"phase": "Running", "reason": reason})), event(forged, "Fai\u{ad}led", "m")]);
    let all = printed(&dir, &path);
    for (command, text) in &all {
        assert!(!text.lines().any(|line| line.trim_start().starts_with("kube-system")), "{command}:\n{text}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with("5s  ")), "{command}:\n{text}");
        assert!(!text.contains("Failed") && !text.contains('\u{ad}'), "{command}:\n{text}");
    }
    let of = |command: &str| &all.iter().find(|(c, _)| c == command).unwrap().1;
    assert_eq!(
        of("pods").lines().filter(|l| !l.starts_with("note: ") && !l.trim().is_empty()).count(),
        2,
        "{}",
        of("pods")
    );
    assert!(of("pods").contains("Evicted␊kube-system"), "{}", of("pods"));
    let (code, out, _) = run(&["events", "--from", &path]);
    assert_eq!((code, out.lines().filter(|l| !l.trim().is_empty()).count()), (0, 2), "{out}");
    assert!(out.contains("probe␊5s ␠"), "{out}");
    // No run of spaces in a name ends a column.
    let columns = |line: &str| line.split("  ").filter(|part| !part.trim().is_empty()).count();
    let [head, row] = out.lines().collect::<Vec<_>>()[..] else { panic!("{out}") };
    assert!(columns(row) <= columns(head), "{out}");
    assert!(out.contains("Fai\\u{ad}led"), "{out}");
}

#[test]
fn credentials_are_neither_printed_nor_recorded() {
    let dir = scratch("credentials");
    let ended = json!({"exitCode": 1, "reason": "Error", "startedAt": AT, "finishedAt": AT,
        "message": "panic: dial postgres://app:hunter2@db:5432: refused\npassword=hunter2\n"});
    let status = json!({"phase": "Running", "message": "token: \"hunter2\"", "containerStatuses": [{
        "name": "app", "ready": false, "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off; Authorization: Bearer hunter2"}},
        "lastState": {"terminated": ended}}],
        "conditions": [{"type": "Ready", "status": "False", "message": "secret=hunter2", "lastTransitionTime": AT}]});
    let message = "Error: GET https://bob:hunter2@registry.corp/v2/: 401, {\"password\":\"hunter2\"}";
    let path = list(&dir, &[pod(status), event("probe", "Failed", message)]);
    let all = printed(&dir, &path);
    for (command, text) in &all {
        assert!(!text.contains("hunter2"), "{command}:\n{text}");
    }
    let whole: String = all.iter().map(|(_, text)| text.as_str()).collect();
    for kept in ["postgres://app:[redacted]@db:5432", "https://bob:[redacted]@registry.corp/v2/"] {
        assert!(whole.contains(kept), "{kept}");
    }
    // A recording contains the encoded observations.
    let observations = import(Path::new(&path)).unwrap().observations;
    let encoded: String = observations.iter().map(|o| o.encode().unwrap()).collect();
    assert!(encoded.contains("[redacted]") && !encoded.contains("hunter2"), "{encoded}");
}
