//! STATUS, READY and RESTARTS equal the output of kubectl for the same pods, one or two seconds later.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use kpodtrace::objects::Pod;
use kpodtrace::observation::Time;
use kpodtrace::pipeline::kubectl_status;

/// Minor version of the API server that was captured.
const MINOR: u32 = 36;
/// kubectl ran this long after `pods.json` at most.
const LATER_S: i64 = 3;

/// Rows that no recorded state explains: scenario, pod, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("v2-crashloop-exit1", "exit0-always", ENDS_EARLY),
    ("v2-crashloop-oom", "oom", ENDS_EARLY),
    ("v2-crashloop-oom", "oom-child", ENDS_EARLY),
    ("v2-sidecar", "sidecar-crash", ENDS_EARLY),
];
const ENDS_EARLY: &str = "on the slow node the watch stream's last state is older than pods.json or equal to it, and kubectl ran a restart later";

#[derive(serde::Deserialize)]
struct List {
    items: Option<Vec<serde_json::Value>>,
}

#[derive(serde::Deserialize)]
struct WatchEvent {
    #[serde(rename = "type")]
    kind: String,
    object: serde_json::Value,
}

/// A state of a pod, with its resource version to order it by.
struct State {
    version: u64,
    pod: Pod,
}

fn state(value: serde_json::Value) -> Option<State> {
    let version = value["metadata"]["resourceVersion"].as_str()?.parse().ok()?;
    Some(State { version, pod: serde_json::from_value(value).ok()? })
}

/// The newest time inside a pod, a lower bound of the time of its state.
fn newest(pod: &Pod) -> Option<Time> {
    let status = &pod.status;
    let conditions = status.conditions.iter().filter_map(|c| c.last_transition_time);
    let containers = status.all_containers().flat_map(|c| {
        let ends = [&c.state.terminated, &c.last_state.terminated];
        let ends = ends.into_iter().flatten().flat_map(|t| [t.started_at, t.finished_at]);
        ends.chain([c.state.running.as_ref().and_then(|r| r.started_at)]).flatten().collect::<Vec<_>>()
    });
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
    let deletion = pod.metadata.deletion_timestamp.map(|at| at - kpodtrace::time::TimeDelta::seconds(grace));
    conditions.chain(containers).chain(deletion).chain(status.start_time).chain(pod.metadata.creation_timestamp).max()
}

#[test]
fn status_ready_and_restarts_equal_kubectl() {
    let mut wrong = Vec::new();
    let mut rows = 0;
    let mut scenarios: Vec<_> =
        std::fs::read_dir(common::fixtures().join("captures")).unwrap().map(|e| e.unwrap().path()).collect();
    scenarios.sort();
    for dir in scenarios {
        let scenario = dir.file_name().unwrap().to_string_lossy().into_owned();
        if !dir.join("get.txt").exists() {
            continue;
        }
        let pods: List = serde_json::from_str(&common::read_text(&dir.join("pods.json"))).unwrap();
        let listed: Vec<State> = pods.items.unwrap_or_default().into_iter().filter_map(state).collect();
        let mut watched = Vec::new();
        let watch = dir.join("watch-pods.jsonl.gz");
        if watch.exists() {
            for line in common::read_text(&watch).lines() {
                let event: WatchEvent = serde_json::from_str(line).unwrap();
                if event.kind == "ADDED" || event.kind == "MODIFIED" {
                    watched.extend(state(event.object));
                }
            }
        }
        let end = common::read_text(&dir.join("get.txt"));
        let when = dir.join("when.txt").exists().then(|| common::read_text(&dir.join("when.txt")));
        let end_time: Option<Time> = when
            .as_deref()
            .and_then(|w| w.split("end ").nth(1)?.trim().parse().ok())
            .or_else(|| listed.iter().filter_map(|s| newest(&s.pod)).max());
        let limit = end_time.map(|t| t + kpodtrace::time::TimeDelta::seconds(LATER_S));
        for line in end.lines().skip(1).filter(|l| !l.starts_with("No resources") && !l.trim().is_empty()) {
            let columns: Vec<&str> = line.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
            let (name, ready, word) = (columns[0], columns[1], columns[2]);
            let restarts = columns[3].split(' ').next().unwrap();
            rows += 1;
            let base = listed.iter().find(|s| s.pod.metadata.name == name);
            let later = watched.iter().filter(|s| {
                s.pod.metadata.name == name
                    && base.is_none_or(|b| b.pod.metadata.uid == s.pod.metadata.uid && s.version >= b.version)
                    && newest(&s.pod).zip(limit).is_none_or(|(at, limit)| at <= limit)
            });
            let candidates: Vec<_> = base.into_iter().chain(later).map(|s| kubectl_status(&s.pod, MINOR)).collect();
            let fits = candidates
                .iter()
                .any(|s| s.word == word && s.ready_text() == ready && s.restarts.to_string() == restarts);
            let excepted = EXCEPTIONS.iter().any(|(s, p, _)| *s == scenario && *p == name);
            assert!(!(fits && excepted), "{scenario} {name} is no exception");
            if !fits && !excepted {
                let have: Vec<_> =
                    candidates.iter().map(|s| format!("{} {} {}", s.ready_text(), s.word, s.restarts)).collect();
                wrong.push(format!("{scenario} {name}: kubectl {ready} {word} {restarts}, here {have:?}"));
            }
        }
    }
    assert!(rows > 200, "only {rows} rows");
    assert!(wrong.is_empty(), "{} of {rows} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}
