//! The binary: exit codes, errors, and JSON documents with the documented fields.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const INCIDENT: &str = "tests/fixtures/incident";
/// The same six minutes as a recording, which opens faster.
const RECORDING: &str = "assets/demo/incident.kpt";
const KUBECTL: &str = "tests/fixtures/kubectl/objects.json";

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kpodtrace"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(args).stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> (i32, String, String) {
    result_of(command(args).output().unwrap())
}

fn result_of(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(args: &[&str]) -> Value {
    let (code, out, err) = run(args);
    assert_eq!(code, 0, "{args:?}: {err}");
    serde_json::from_str(&out).unwrap()
}

/// An empty folder for one test.
fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// An error has one line with what failed and why, and one with what to do; standard output is empty.
fn fails(args: &[&str], code: i32, what: &[&str]) {
    let (got, out, err) = run(args);
    assert_eq!((got, out.as_str()), (code, ""), "{args:?}: {err}");
    assert!(err.starts_with("error: "), "{args:?}: {err}");
    assert!(err.contains("\n  try: "), "{args:?}: {err}");
    for words in what {
        assert!(err.contains(words), "{args:?}: {words:?} in {err}");
    }
}

/// Flags with which no source responds, on any machine.
const NOTHING: [&str; 8] = [
    "--runtime-endpoint",
    "unix:///nonexistent/kpodtrace.sock",
    "--kubeconfig",
    "/nonexistent/kpodtrace.conf",
    "--node",
    "nowhere",
    "--wait",
    "20s",
];

#[test]
fn a_node_that_does_not_respond_is_reported_and_not_shown_as_empty() {
    for command in ["pods", "pleg"] {
        let args: Vec<&str> = [command].into_iter().chain(NOTHING).collect();
        fails(&args, 3, &["no source of pods", "/nonexistent/kpodtrace.sock", "kpodtrace doctor"]);
    }
}

#[test]
fn doctor_lists_what_was_tried_and_what_is_missing() {
    let args: Vec<&str> = ["doctor"].into_iter().chain(NOTHING).collect();
    let (code, out, err) = run(&args);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    for words in ["cri", "missing: ", "/nonexistent/kpodtrace.sock", "DISCOVERY", "--runtime-endpoint"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let args: Vec<&str> = ["doctor", "-o", "json"].into_iter().chain(NOTHING).collect();
    let (code, out, _) = run(&args);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, report["kind"].as_str(), report["enough"].as_bool()), (1, Some("DoctorReport"), Some(false)));
    assert!(report["looked_for"].as_array().unwrap().iter().any(|l| l["what"] == "container runtime"));
}

#[test]
fn unrecognized_inputs() {
    let dir = scratch("none");
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    std::fs::write(path("empty"), "").unwrap();
    std::fs::write(path("text"), "hello\n").unwrap();
    std::fs::write(path("list.json"), r#"{"kind":"List","apiVersion":"v1","items":[]}"#).unwrap();
    std::fs::create_dir(path("folder")).unwrap();
    std::fs::write(path("cut.kpt"), &std::fs::read(RECORDING).unwrap()[..12]).unwrap();
    fails(&["pods", "--from", &path("absent")], 3, &["absent", "No such file"]);
    for name in ["empty", "text", "list.json", "folder", "cut.kpt"] {
        fails(&["pods", "--from", &path(name)], 3, &[name]);
        fails(&["pleg", "--from", &path(name)], 3, &[name]);
    }
}

#[test]
fn a_hostile_name_is_escaped() {
    let (_, _, err) = run(&["pods", "--from", "a\x1b]0;owned\x07\x1b[2Jb"]);
    assert!(!err.contains('\x1b'), "{err:?}");
}

#[test]
fn usage() {
    for args in [
        &["pods", "-o", "yaml", "--from", KUBECTL][..],
        &["pleg", "-o", "table", "--from", KUBECTL],
        &["pods", "--at", "noon", "--from", KUBECTL],
        &["demo", "--speed", "0"],
        &["nonsense"],
        &["record", "--from", KUBECTL],
    ] {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(err.starts_with("error: "), "{args:?}: {err}");
    }
    let (_, _, err) = run(&["pods", "-o", "yaml", "--from", KUBECTL]);
    assert!(err.contains("table, wide, json"), "{err}");
}

#[test]
fn flags_of_the_screen_are_refused_with_other_commands() {
    fails(&["--ascii", "pods", "--from", KUBECTL], 2, &["flags of the screen do not apply"]);
    fails(&["--speed", "4", "pods"], 2, &["kpodtrace --from PATH --speed 4"]);
    fails(&["--speed", "4"], 2, &["--speed without --from", "omit --speed"]);
}

#[test]
fn a_time_outside_the_input_is_refused_with_the_span_of_the_input() {
    for at in ["2020-01-01T00:00:00Z", "03:00:00", "+3h"] {
        fails(
            &["pods", "--from", RECORDING, "--at", at],
            2,
            &["--at", "outside", "2026-11-29T12:38:", "2026-11-29T12:4"],
        );
    }
}

#[test]
fn times_of_an_input() {
    let now =
        |at: &str| json(&["pods", "--from", RECORDING, "--at", at, "-o", "json"])["now"].as_str().unwrap().to_owned();
    assert_eq!(now("12:42:10"), "2026-11-29T12:42:10Z");
    assert_eq!(now("2026-11-29T13:42:10+01:00"), "2026-11-29T12:42:10Z");
    let begin: kpodtrace::time::Time = now("+0s").parse().unwrap();
    let later: kpodtrace::time::Time = now("+1m30s").parse().unwrap();
    assert_eq!((later - begin).num_seconds(), 90);
}

#[test]
fn help_and_version() {
    for (args, words) in
        [(&["--help"][..], "kpodtrace demo"), (&["pods", "--help"], "--failing"), (&["-V"], "kpodtrace 0.")]
    {
        let (code, out, err) = run(args);
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        assert!(out.contains(words), "{args:?}: {out}");
    }
}

#[test]
fn the_manual_page_is_in_the_binary() {
    let (code, out, err) = run(&["man"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out, std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/kpodtrace.1")).unwrap());
    assert!(out.contains(".SH KEYS") && out.contains(".SH \"EXIT STATUS\""), "{out}");
}

#[test]
fn kubectl_objects_as_a_table() {
    let (code, out, err) = run(&["pods", "--from", KUBECTL]);
    assert_eq!(code, 0, "{err}");
    let mut lines = out.lines();
    let head: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    let names = "NAMESPACE NAME READY STATUS RESTARTS AGE STAGE STATE IN-STAGE NEXT WHY";
    assert_eq!(head, names.split(' ').collect::<Vec<_>>());
    assert!(lines.all(|line| line.split_whitespace().count() >= head.len() - 1), "{out}");
    assert!(out.contains("lab-static-node-a"), "{out}");
    assert!(err.lines().all(|line| line.starts_with("note: ")), "{err}");
    assert!(err.contains("no data: ") && err.contains("cri"), "{err}");
}

#[test]
fn standard_input() {
    let file = std::fs::File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(KUBECTL)).unwrap();
    let (code, out, err) = result_of(command(&["pods", "--from", "-"]).stdin(file).output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert_eq!(out, run(&["pods", "--from", KUBECTL]).1);
    let mut child = command(&["pods", "--from", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"no json").unwrap();
    assert_eq!(result_of(child.wait_with_output().unwrap()).0, 3);
}

#[test]
fn filters() {
    let rows = |more: &[&str]| {
        let args = [&["pods", "--from", RECORDING, "--at", "12:42:10"], more].concat();
        run(&args).1.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let (all, failing, one) = (rows(&[]), rows(&["--failing"]), rows(&["-n", "s-sidecar"]));
    assert!(failing.len() < all.len() && !failing.is_empty());
    assert!(failing.iter().all(|line| all.contains(line) || !line.is_empty()));
    assert!(!one.is_empty() && one.iter().all(|line| line.starts_with("s-sidecar ")), "{one:?}");
    let (code, out, err) = run(&["pods", "--from", RECORDING, "-n", "nowhere"]);
    assert_eq!((code, out.as_str()), (0, ""));
    assert!(err.contains("no pods in namespace nowhere"), "{err}");
}

#[test]
fn problems_change_the_exit_code_only_with_its_flag() {
    assert_eq!(run(&["pods", "--from", RECORDING]).0, 0);
    assert_eq!(run(&["pods", "--from", RECORDING, "--exit-code"]).0, 1);
    assert_eq!(run(&["pods", "--from", RECORDING, "-n", "s-healthy-web", "--exit-code"]).0, 0);
    assert_eq!(
        run(&["pods", "--from", RECORDING, "-n", "s-healthy-web", "--exit-code", "--at", "12:42:10"]).0,
        1,
        "an alarm"
    );
    assert_eq!(run(&["pleg", "--from", RECORDING, "--exit-code"]).0, 0);
    assert_eq!(run(&["pleg", "--from", RECORDING, "--exit-code", "--at", "12:42:10"]).0, 1);
    assert_eq!(run(&["pleg", "--from", KUBECTL, "--exit-code"]).0, 3, "nothing is known of PLEG");
}

#[test]
fn a_hang_is_shown_while_the_metrics_do_not_respond() {
    let at = ["pleg", "--from", RECORDING, "--at", "12:42:10"];
    let (code, out, _) = run(&at);
    assert_eq!(code, 0);
    let verdict = out.lines().nth(2).unwrap();
    assert!(verdict.starts_with("HANGING: the container runtime has not responded"), "{out}");
    assert!(out.contains("no response from the kubelet's metrics for"), "{out}");
    let report = json(&[&at[..], &["-o", "json"]].concat());
    assert_eq!(report["verdict"], "hanging");
    let waited = report["own_calls"]["unanswered_seconds"].as_f64().unwrap();
    assert!((25.0..=35.0).contains(&waited), "{waited}");
    assert!(report["alarms"].as_array().unwrap().iter().any(|a| a["kind"] == "unanswered" && a["source"] == "cri"));
    // Once the metrics are back they show it too.
    let after = json(&["pleg", "--from", RECORDING, "--at", "12:42:20", "-o", "json"]);
    let last = after["windows"].as_array().unwrap().last().unwrap();
    assert_eq!((last["beyond_10s"].as_u64(), &after["verdict"]), (Some(1), &Value::from("slow")));
    assert_eq!(last["p99"]["at_least"], true);
}

#[test]
fn the_wide_table_has_more_columns_and_nothing_is_cut() {
    let (_, out, _) = run(&["pods", "--from", RECORDING, "-o", "wide"]);
    let head: Vec<_> = out.lines().next().unwrap().split_whitespace().collect();
    assert!(head.contains(&"SINCE") && head.contains(&"QOS"), "{head:?}");
    assert!(out.contains("dmesg(1) may have more information after failed mount system call."), "{out}");
}

#[test]
fn a_recording_shows_the_same_as_its_import() {
    let dir = scratch("record");
    let file = dir.join("made.kpt");
    let file = file.to_str().unwrap();
    let (code, out, err) = run(&["record", "--from", INCIDENT, "-o", file]);
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    for at in ["12:39:00", "12:42:10"] {
        for what in ["pods", "pleg"] {
            let of = |from| json(&[what, "--from", from, "--at", at, "-o", "json"]);
            assert_eq!(of(file), of(INCIDENT), "{what} at {at}");
        }
    }
    fails(&["record", "--from", INCIDENT, "-o", file], 3, &["already exists"]);
    fails(&["record", "--from", INCIDENT, "-o", "/nonexistent/x.kpt"], 3, &["cannot create"]);
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut child = command(&["pods", "--from", RECORDING, "-o", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let (code, _, err) = result_of(child.wait_with_output().unwrap());
    assert_eq!((code, err.as_str()), (0, ""));
}

/// Every key of a document, at any depth.
fn keys(value: &Value, out: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                out.insert(key.clone());
                keys(value, out);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, out)),
        _ => {}
    }
}

#[test]
fn the_log_of_a_container() {
    let at = ["--from", RECORDING, "--at", "+225s"];
    let logs = |rest: &[&str]| run(&[&["logs"], rest, &at[..]].concat());
    let (code, out, err) = logs(&["s-crashloop-exit1/exit0-always"]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(err.contains("log not in this recording"), "{err}");
    assert!(err.contains("try: kubectl logs -n s-crashloop-exit1 exit0-always -c app; or crictl logs "), "{err}");
    let (code, _, err) = logs(&["exit0-always", "-c", "nope"]);
    assert!(code == 2 && err.contains("has no container nope") && err.contains("use -c with one of app"), "{err}");
    let (code, _, err) = logs(&["nobody"]);
    assert!(code == 3 && err.contains("no pod nobody on this node"), "{err}");
    let (code, _, err) = logs(&["exit0-always", "--follow"]);
    assert!(code == 2 && err.contains("a recording gets no new lines"), "{err}");
}

#[test]
fn the_node_and_its_events() {
    let at = ["--from", RECORDING, "--at", "12:42:10"];
    let (code, text, _) = run(&[&["node"], &at[..]].concat());
    assert_eq!(code, 0);
    for part in [
        "NODE node-a at 2026-11-29 12:42:10 UTC",
        "the container runtime has not responded",
        "memory.available",
        "EVICTION ORDER",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let node = json(&[&["node", "-o", "json"], &at[..]].concat());
    assert_eq!(node["kind"], "NodeReport");
    let pods = node["resources"].as_array().unwrap().iter().find(|r| r["name"] == "pods").unwrap();
    assert_eq!((&pods["allocatable"], &pods["requested"]), (&"250".into(), &"38".into()));
    assert_eq!(node["memory"], serde_json::Value::Null, "no host metrics");
    let events = json(&[&["events", "-o", "json"], &at[..], &["--", "warning", "notag", "failed"]].concat());
    let all = events["events"].as_array().unwrap();
    assert!(
        !all.is_empty() && all.iter().all(|e| e["cause"] == "image.not-found" && e["type"] == "Warning"),
        "{events}"
    );
    let (code, text, _) = run(&[&["events"], &at[..], &["!warning"]].concat());
    assert_eq!(code, 0);
    assert!(text.starts_with(" LAST") && !text.contains("Warning"), "{text}");
}

#[test]
fn every_key_is_documented() {
    let docs = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.md")).unwrap();
    let mut seen = BTreeSet::new();
    for (from, at) in [(RECORDING, Some("12:40:00")), (RECORDING, Some("12:42:10")), (RECORDING, None), (KUBECTL, None)]
    {
        let at: Vec<&str> = at.into_iter().flat_map(|at| ["--at", at]).collect();
        for what in ["pods", "pleg"] {
            keys(&json(&[&[what, "--from", from, "-o", "json"], &at[..]].concat()), &mut seen);
        }
        for what in ["explain", "node", "events"] {
            keys(&json(&[&[what, "--from", from, "-o", "json"], &at[..]].concat()), &mut seen);
        }
    }
    keys(&json(&["explain", "image.not-found", "-o", "json"]), &mut seen);
    let watch = ["pods", "--watch", "--from", RECORDING, "--at", "12:44:00", "-o", "json"];
    run(&watch).1.lines().for_each(|line| keys(&serde_json::from_str(line).unwrap(), &mut seen));
    assert!(seen.len() > 80, "the documents were full: {}", seen.len());
    let missing: Vec<_> = seen.iter().filter(|key| !docs.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "docs/json.md does not name {missing:?}");
}

#[test]
fn documented_scalars_are_present_without_data() {
    let list = json(&["pods", "--from", KUBECTL, "-o", "json"]);
    assert_eq!((list["apiVersion"].as_str(), list["kind"].as_str()), (Some("kpodtrace/v1alpha1"), Some("PodList")));
    for key in ["now", "node", "sources", "alarms", "counts", "pods"] {
        assert!(list.get(key).is_some(), "{key}");
    }
    let pod = list["pods"].as_array().unwrap().iter().find(|pod| pod["name"] == "lab-static-node-a").unwrap();
    for key in [
        "namespace",
        "name",
        "uid",
        "status",
        "status_from",
        "ready",
        "restarts",
        "last_restart",
        "created",
        "qos",
        "static",
        "trouble",
        "stage",
        "stage_state",
        "stage_since",
        "stage_since_is_bound",
        "reason",
        "why",
        "cause",
        "next",
        "stages",
        "containers",
    ] {
        assert!(pod.get(key).is_some(), "{key}");
    }
    assert_eq!((&pod["reason"], &pod["next"]), (&Value::Null, &Value::Null));
    let stages = pod["stages"].as_array().unwrap();
    assert_eq!(stages.len(), 12);
    for stage in stages {
        for key in ["name", "state", "since", "until", "took_ms", "evidence"] {
            assert!(stage.get(key).is_some(), "{key}");
        }
        for time in ["since", "until"].iter().filter_map(|key| stage[key].as_str()) {
            assert!(time.ends_with('Z') && time.len() <= "2026-11-29T12:00:00.000Z".len(), "{time}");
        }
    }
    let report = json(&["pleg", "--from", KUBECTL, "-o", "json"]);
    assert_eq!((report["kind"].as_str(), report["verdict"].as_str()), (Some("PlegReport"), Some("unknown")));
    for key in ["last_seen", "last_seen_age_seconds", "scraped_at", "kubelet_restarted", "relists_total"] {
        assert_eq!(report.get(key), Some(&Value::Null), "{key}");
    }
}

#[test]
fn images_are_in_doctor_and_in_json() {
    const CAPTURE: &str = "tests/fixtures/captures/healthy-web";
    let (_, out, err) = run(&["doctor", "--from", CAPTURE]);
    assert!(
        out.contains("\nTHE NODE\n2 images\nimages take 3.3MiB, 321 inodes in /var/lib/containerd/io."),
        "{out}{err}"
    );
    let node = &json(&["pods", "--from", CAPTURE, "-o", "json"])["node"];
    assert_eq!((&node["images"], &node["lease"]), (&Value::from(2), &Value::Null));
    assert_eq!(node["image_filesystems"][0]["used_bytes"], 3_493_888);
}

#[test]
fn the_state_of_one_node_is_never_shown_for_another() {
    let (code, out, err) = run(&["explain", "node/nope", "--from", KUBECTL]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(err.contains("no pod, node, cause or reason named \"node/nope\""), "{err}");
    let known = json(&["explain", "node/node-a", "--from", KUBECTL, "-o", "json"]);
    assert_eq!(
        (known["subjects"][0]["name"].as_str(), known["subjects"][0]["status"].as_str()),
        (Some("node-a"), Some("Ready"))
    );
}

#[test]
fn pods_are_filtered_and_sorted_as_on_the_screen() {
    let names = |args: &[&str]| {
        let list = json(&[&["pods", "--from", RECORDING, "-o", "json"], args].concat());
        let name = |pod: &Value| format!("{}/{}", pod["namespace"].as_str().unwrap(), pod["name"].as_str().unwrap());
        list["pods"].as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    let web = names(&["--filter", "ns:healthy-web", "--sort", "name"]);
    assert!(web.len() == 2 && web.iter().all(|name| name.starts_with("s-healthy-web/")), "{web:?}");
    let mut back = names(&["--filter", "ns:healthy-web", "--sort", "-name"]);
    back.reverse();
    assert_eq!(back, web);
    let all = names(&[]).len();
    assert_eq!(names(&["--filter", "!ns:healthy-web"]).len(), all - 2);
    for (args, said) in [(["--filter", "pod:x"], "unknown field pod"), (["--sort", "size"], "unknown column \"size\"")]
    {
        let (code, out, err) = run(&[&["pods", "--from", RECORDING], &args[..]].concat());
        assert!(code == 2 && out.is_empty() && err.contains(said), "{code} {err}");
    }
}

#[test]
fn the_configuration_is_printed_and_an_invalid_one_refused() {
    let dir = scratch("config");
    let file = dir.join("kpodtrace/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let run = |args: &[&str]| result_of(command(args).env("XDG_CONFIG_HOME", &dir).output().unwrap());
    std::fs::write(&file, "theme = 'light'\n").unwrap();
    let (code, out, _) = run(&["config", "--no-mouse"]);
    assert_eq!(code, 0);
    let line = |start: &str| out.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
    assert!(line("theme = \"light\"").ends_with(&format!("# {}:1", file.display())), "{out}");
    assert!(line("mouse = false").ends_with("# --no-mouse") && line("frames = 10").ends_with("# default"), "{out}");
    std::fs::write(&file, out).unwrap();
    assert_eq!(run(&["config"]).0, 0, "what is printed is read");
    std::fs::write(&file, "\nthem = 'light'\n").unwrap();
    for args in [&["config"][..], &["demo"], &["--from", RECORDING]] {
        let (code, out, err) = run(args);
        assert!(code == 2 && out.is_empty(), "{args:?} {code}");
        assert!(err.contains(&format!("{}:2: unknown field `them`", file.display())), "{err}");
    }
    assert_eq!(run(&["pods", "--from", RECORDING]).0, 0, "what prints does not depend on it");
}
