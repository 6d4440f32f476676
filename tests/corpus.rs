//! The labelled failures of `tests/corpus` and `tests/corpus-public` are a contract: cause and stage of the top finding, and how sure it may be.
//! A case that is answered wrongly is listed here with the reason; the test fails when the list says less, or more.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};

use kpodtrace::runbook::Confidence;
use kpodtrace::session::{LogFile, LogOf, RecordedSession};
use kpodtrace::view::{ExplainedSubject, SubjectName, explain_named};
use serde::Deserialize;

/// Cases that are answered wrongly, and why.
const STILL_WRONG: &[(&str, &str)] = &[];

#[derive(Deserialize)]
struct Case {
    now: kpodtrace::time::Time,
    subject: Subject,
    expect: Expect,
    #[serde(default = "yes")]
    usable: bool,
    #[serde(default)]
    control: Option<String>,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct Subject {
    kind: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
struct Expect {
    cause: String,
    #[serde(default)]
    also_accept: Vec<String>,
    stage: String,
    #[serde(default)]
    also_stage: Vec<String>,
}

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let read = |name| std::fs::read_dir(root.join(name)).unwrap().map(|e| e.unwrap().path());
    let mut all: Vec<PathBuf> = read("corpus").chain(read("corpus-public")).collect();
    all.sort();
    all
}

fn explain(folder: &Path, case: &Case) -> ExplainedSubject {
    let mut logs = Vec::new();
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    for path in names {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let of = match name.as_str() {
            "kubelet.log" => LogOf::Kubelet,
            "runtime.log" => LogOf::Runtime,
            "kernel.log" => LogOf::Kernel,
            "metrics.prom" => LogOf::Metrics,
            other if other.starts_with("container-") => {
                LogOf::Container(other["container-".len()..].trim_end_matches(".log").to_owned())
            }
            other if other.starts_with("other-") => LogOf::Other,
            _ => continue,
        };
        logs.push(LogFile { of, path });
    }
    let objects = Some(folder.join("objects.json")).filter(|p| p.is_file());
    let Subject { kind, namespace, name } = &case.subject;
    let asked = match kind.as_str() {
        "Pod" => SubjectName::Pod(namespace.clone(), name.clone()),
        _ => SubjectName::Node(name.clone()),
    };
    let subject = format!("{namespace}/{name}");
    let mut session = RecordedSession::examine(objects.as_deref(), &logs, Some(case.now), &subject, 256 << 20).unwrap();
    let mut found = explain_named(&session.moment(), &asked);
    assert_eq!(found.len(), 1, "{}", folder.display());
    found.remove(0)
}

/// A label is met by itself and by any refinement of it.
fn meets(label: &str, cause: &str) -> bool {
    cause == label || cause.strip_prefix(label).is_some_and(|rest| rest.starts_with('.'))
}

#[test]
fn every_case_is_answered_as_labelled_or_listed() {
    let (mut right, mut certain, mut all) = (0, 0, 0);
    let mut complaints = Vec::new();
    for folder in folders() {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let case: Case = serde_json::from_str(&std::fs::read_to_string(folder.join("case.json")).unwrap()).unwrap();
        let explained = explain(&folder, &case);
        let top = explained.diagnosis.top().unwrap();
        let want = &case.expect;
        let cause = meets(&want.cause, &top.cause) || want.also_accept.iter().any(|label| meets(label, &top.cause));
        let stage = want.stage == top.stage || want.also_stage.iter().any(|s| s == top.stage);
        let good = (cause && stage) || (!case.usable && top.cause == "unknown");
        all += 1;
        right += usize::from(good);
        certain += usize::from(good && top.confidence == Confidence::Certain);
        for finding in &explained.diagnosis.findings {
            // That nothing is known, or that nothing is wrong, may have nothing to show.
            let shown = finding.cause.starts_with("none.") || !finding.evidence.is_empty();
            if finding.cause != "unknown" && (finding.steps.len() < 2 || !shown) {
                let (steps, evidence) = (finding.steps.len(), finding.evidence.len());
                complaints.push(format!("{name}: {} has {steps} steps and {evidence} evidence", finding.cause));
            }
        }
        let listed = STILL_WRONG.iter().any(|(case, _)| *case == name);
        let got = format!("{} at {} ({})", top.cause, top.stage, top.confidence.name());
        if !good && top.confidence == Confidence::Certain {
            complaints.push(format!("{name}: wrong and certain: {got}, not {}", want.cause));
        } else if !good && !listed {
            complaints.push(format!("{name}: {got}, not {} at {}", want.cause, want.stage));
        } else if good && listed {
            complaints.push(format!("{name}: right now, and still listed as wrong"));
        }
        if case.control.is_some() && !good {
            complaints.push(format!("{name}: a control is alarmed about: {got}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(all >= 369, "{all} cases were found");
    assert!(right * 100 >= all * 95, "{right} of {all} right");
    assert!(certain * 100 >= all * 60, "{certain} of {all} right and certain");
}
