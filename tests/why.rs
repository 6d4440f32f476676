//! What is said of pods and nodes of a real cluster: of every one in the captures the cause that a table of labels gives it,
//! and of a pod that is well, at any second, that it is well.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kpodtrace::model::PodFacts;
use kpodtrace::session::RecordedSession;
use kpodtrace::time::TimeDelta;
use kpodtrace::view::NodeView;

/// `capture, namespace/name or node/name, cause, stage` of what is not healthy: read from `describe`, events and logs of each.
const LABELS: &str = include_str!("fixtures/captured_causes.tsv");

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Cause and stage of every pod and of the node.
fn told(moment: &NodeView) -> BTreeMap<String, (String, String)> {
    let pods = moment.pods.iter().map(|placed| {
        let top = moment.diagnosis(&placed.facts.key).unwrap().top().unwrap();
        (format!("{}/{}", placed.facts.namespace, placed.facts.name), top)
    });
    let node = (format!("node/{}", moment.header().node), moment.node_diagnosis().top().unwrap());
    pods.chain([node]).map(|(name, top)| (name, (top.cause.to_string(), top.stage.to_owned()))).collect()
}

#[test]
fn every_captured_pod_and_node_is_explained_as_labelled() {
    let mut labels: BTreeMap<(String, String), (&str, &str)> = LABELS
        .lines()
        .map(|line| {
            let [capture, subject, cause, stage] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
            ((capture.to_owned(), subject.to_owned()), (cause, stage))
        })
        .collect();
    let (mut wrong, mut all) = (Vec::new(), 0);
    let mut folders: Vec<_> =
        std::fs::read_dir(fixtures().join("captures")).unwrap().map(|e| e.unwrap().path()).collect();
    folders.sort();
    for folder in folders.iter().filter(|f| f.is_dir()) {
        let capture = folder.file_name().unwrap().to_str().unwrap();
        for (subject, (cause, stage)) in told(&RecordedSession::open(folder).unwrap().moment()) {
            all += 1;
            let healthy = || ("none.healthy", if subject.starts_with("node/") { "node" } else { "running" });
            let want = labels.remove(&(capture.to_owned(), subject.clone())).unwrap_or_else(healthy);
            if (cause.as_str(), stage.as_str()) != want {
                wrong.push(format!("{capture} {subject}: {cause} at {stage}, not {} at {}", want.0, want.1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(labels.is_empty(), "labels of nothing: {labels:?}");
    assert!(all >= 350, "{all} subjects were looked at");
}

/// By the API server's own word: Ready, nothing of it was ever restarted, nobody asked it or a container of it to stop.
fn is_healthy(facts: &PodFacts) -> bool {
    facts.event(&["Killing"]).is_none()
        && facts.object().is_some_and(|pod| {
            let status = &pod.status;
            let mut containers = status.all_containers();
            pod.metadata.deletion_timestamp.is_none()
                && status.phase == "Running"
                && status.is_true("Ready")
                && status.resize.is_empty()
                && !status.conditions.iter().any(|c| c.kind.starts_with("PodResize"))
                && containers
                    .all(|c| c.restart_count == 0 && (c.state.running.is_some() || c.state.terminated.is_some()))
        })
}

#[test]
fn a_healthy_pod_is_told_to_be_healthy_at_any_second() {
    let mut session = RecordedSession::open(&fixtures().join("incident")).unwrap();
    let (begin, end) = session.span();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for second in 0..=(end - begin).num_seconds() {
        let at = (begin + TimeDelta::seconds(second)).min(end);
        session.seek(at).unwrap();
        let moment = session.moment();
        for placed in moment.pods.iter().filter(|p| is_healthy(&p.facts)) {
            let top = moment.diagnosis(&placed.facts.key).unwrap().top().unwrap();
            seen += 1;
            if top.cause != "none.healthy" {
                wrong.push(format!("+{second}s {}/{}: {}", placed.facts.namespace, placed.facts.name, top.cause));
            }
        }
    }
    assert!(wrong.is_empty(), "{} times:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen >= 1000, "{seen} healthy pods in all seconds");
}
