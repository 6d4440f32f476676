//! The same log gives the same findings whether it is followed in the journal, read back from a recording or given as a file.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kpodtrace::decode::{NodeLog, plain_line};
use kpodtrace::diagnose::{Diagnosis, DiagnosisCache};
use kpodtrace::model::Model;
use kpodtrace::observation::{Fact, Observation, SourceState, Time};
use kpodtrace::observe::discover::Root;
use kpodtrace::observe::logs::JournalSource;
use kpodtrace::observe::{BackOff, Clock, ObservationSink, supervise};
use kpodtrace::record::{RecordHeader, RecordWriter};
use kpodtrace::session::{LogFile, LogFileKind, RecordedSession, write_recording};
use kpodtrace::view::{NodeView, SubjectName, explain_named};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("kpodtrace-one-log-{}-{name}", std::process::id()));
        _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// The log as `journalctl -o json` writes it. A line of a record that spans several lines has no time: that of the line before.
fn journal(text: &str, reference: Time) -> String {
    let mut last = reference;
    let entry = |(n, line): (usize, &str)| {
        let plain = plain_line(line, reference);
        let own = kpodtrace::decode::klog(&plain.text, reference).map(|record| record.at);
        last = plain.at.or(own).unwrap_or(last);
        let pid = plain.pid.unwrap_or(4242).to_string();
        let entry = json!({"__CURSOR": format!("c{n}."), "__REALTIME_TIMESTAMP": last.timestamp_micros().to_string(),
            "_PID": pid, "PRIORITY": "6", "MESSAGE": plain.text});
        format!("{entry}\n")
    };
    text.lines().enumerate().map(entry).collect()
}

fn newest(text: &str, reference: Time) -> Time {
    let times = text.lines().filter_map(|line| {
        let plain = plain_line(line, reference);
        kpodtrace::decode::klog(&plain.text, reference).map(|record| record.at).or(plain.at)
    });
    times.max().unwrap_or(reference)
}

/// What the journal's source observes of it.
async fn live(dir: &Dir, log: NodeLog, text: &str, reference: Time) -> Vec<Observation> {
    let entries = dir.write("entries", &journal(text, reference));
    dir.write("var/log/journal/0a/system.journal", "");
    let script =
        format!("#!/bin/sh\ncase \"$*\" in *--follow*) exec sleep 600 ;; esac\nexec cat {}\n", entries.display());
    let program = dir.write("journalctl", &script);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let units = if log == NodeLog::Kernel { vec![] } else { vec!["any.service".into()] };
    let source = JournalSource::new(log, units).with_program(program.to_str().unwrap(), Root::new(&dir.0));
    let (tx, mut rx) = mpsc::channel(256);
    let task =
        tokio::spawn(supervise(source, ObservationSink::new(log.source(), Clock::start(), tx), BackOff::default()));
    let mut observations = Vec::new();
    loop {
        let observation = timeout(PATIENCE, rx.recv()).await.unwrap().unwrap();
        let is_complete = matches!(observation.fact, Fact::SourceState(SourceState::Live { .. }));
        observations.push(observation);
        if is_complete {
            task.abort();
            return observations;
        }
    }
}

/// The content of a finding without the wording of its entry.
type FindingContent = (String, String, String, String, Vec<String>);

fn contents(diagnosis: &Diagnosis) -> (Vec<FindingContent>, Vec<String>) {
    let findings = diagnosis.findings.iter().map(|f| {
        let evidence = f.evidence.iter().map(|e| format!("{:?} {:?} {}", e.source, e.at, e.text)).collect();
        (f.cause.to_string(), f.stage.to_string(), f.confidence.name().to_owned(), f.container.to_string(), evidence)
    });
    let signals = diagnosis.signals.iter().map(|signal| format!("{signal:?}"));
    (findings.collect(), signals.collect())
}

fn explain(moment: &NodeView, subject: &SubjectName) -> (Vec<FindingContent>, Vec<String>) {
    let explained = explain_named(moment, subject);
    assert_eq!(explained.len(), 1);
    contents(&explained[0].diagnosis)
}

fn of_model(observations: &[Observation], now: Time) -> NodeView {
    let mut model = Model::default();
    observations.iter().for_each(|o| model.apply(o.clone()));
    NodeView::new(model.snapshot(), &mut DiagnosisCache::default(), now)
}

/// Compares the three ways for one log; returns the causes.
async fn compare(name: &str, path: &Path, log: NodeLog, subject: &SubjectName, now: Time) -> Vec<String> {
    let text = common::read_text(path);
    // A file has no line that is later than `now`; some cases of the corpus have.
    let now = now.max(newest(&text, now));
    let dir = Dir::new(name);
    let observations = live(&dir, log, &text, now).await;
    let expected = explain(&of_model(&observations, now), subject);

    let mut writer = RecordWriter::create(Vec::new(), &RecordHeader::new("".into(), now)).unwrap();
    write_recording(&mut writer, &observations).unwrap();
    let recording = dir.0.join("r.kpt");
    fs::write(&recording, writer.finish().unwrap()).unwrap();
    let mut session = RecordedSession::open(&recording).unwrap();
    let recorded = NodeView::new((*session.moment().snapshot).clone(), &mut DiagnosisCache::default(), now);
    assert_eq!(explain(&recorded, subject), expected, "{name}: recorded and live");

    let of = match log {
        NodeLog::Kubelet => LogFileKind::Kubelet,
        NodeLog::Runtime => LogFileKind::Runtime,
        NodeLog::Kernel => LogFileKind::Kernel,
        NodeLog::Other => LogFileKind::Other,
    };
    let file = LogFile { of, path: dir.write("given.log", &text) };
    let mut session = RecordedSession::examine(None, &[file], Some(now), "", 256 << 20).unwrap();
    let moment = NodeView::new((*session.moment().snapshot).clone(), &mut DiagnosisCache::default(), now);
    assert_eq!(explain(&moment, subject), expected, "{name}: a file and live");
    expected.0.into_iter().map(|(cause, ..)| cause).collect()
}

fn subject_of(case: &serde_json::Value) -> SubjectName {
    let text = |key: &str| case["subject"][key].as_str().unwrap_or_default().to_owned();
    if text("kind") == "Pod" {
        SubjectName::Pod(text("namespace"), text("name"))
    } else {
        SubjectName::Node(text("name"))
    }
}

#[tokio::test]
async fn logs_of_the_corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let (mut compared, mut diagnosed) = (0, 0);
    for corpus in ["corpus", "corpus-public"] {
        let mut folders: Vec<PathBuf> = fs::read_dir(root.join(corpus)).unwrap().map(|e| e.unwrap().path()).collect();
        folders.sort();
        for folder in folders {
            let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
            let logs =
                [("kubelet.log", NodeLog::Kubelet), ("runtime.log", NodeLog::Runtime), ("kernel.log", NodeLog::Kernel)];
            for (file, log) in logs.iter().filter(|(file, _)| folder.join(file).is_file()) {
                let case = fs::read_to_string(folder.join("case.json")).unwrap();
                let case: serde_json::Value = serde_json::from_str(&case).unwrap();
                let now: Time = case["now"].as_str().unwrap().parse().unwrap();
                let causes =
                    compare(&format!("{name}-{file}"), &folder.join(file), *log, &subject_of(&case), now).await;
                compared += 1;
                diagnosed += usize::from(causes.iter().any(|cause| cause != "unknown"));
            }
        }
    }
    assert!(compared > 40 && diagnosed > 30, "{compared} compared, {diagnosed} with a cause");
}

#[tokio::test]
async fn whole_logs_of_captured_nodes() {
    for (scenario, subject) in [
        ("readiness-never", SubjectName::Pod("s-readiness-never".into(), "notready".into())),
        ("crashloop-liveness", SubjectName::Node("node-a".into())),
        ("imagepull-404", SubjectName::Node("node-a".into())),
        ("runtime-down", SubjectName::Node("node-a".into())),
        ("sandbox-cni-missing", SubjectName::Node("node-a".into())),
    ] {
        let folder = common::capture(scenario);
        let logs = [("kubelet.log.gz", NodeLog::Kubelet), ("containerd.log.gz", NodeLog::Runtime)];
        for (file, log) in logs.into_iter().filter(|(file, _)| folder.join(file).is_file()) {
            let now = common::imported(&folder).end;
            compare(&format!("{scenario}-{file}"), &folder.join(file), log, &subject, now).await;
        }
    }
}
