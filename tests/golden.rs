//! The encoding of observations is stable: every later version reads and writes every line of `golden/observations.jsonl`
//! unchanged, and reads `golden/format-1.kpt`. Lines are added at the end, never changed or removed.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;

use kpodtrace::observation::{
    Call, ContainerPhase, Decoded, ErrorKind, Fact, LogKind, Observation, Source, SourceError, SourceState,
};
use kpodtrace::record::{RecordPoint, RecordReader};

const LINES: &str = include_str!("golden/observations.jsonl");

/// Names every variant of an enum. The match has no wildcard, so a new variant must be named here, and then needs a golden
/// line.
macro_rules! variants {
    ($function:ident, $all:ident, $type:ident, $($name:ident)*) => {
        const $all: &[&str] = &[$(stringify!($name)),*];
        fn $function(value: &$type) -> &'static str {
            match value {
                $($type::$name { .. } => stringify!($name)),*
            }
        }
    };
}

variants!(fact, FACTS, Fact,
    SourceState EpochBegin EpochEnd Alive Unreadable Tls CallBegin CallEnd Pod PodGone Node NodeGone Event EventGone Sandbox SandboxGone
    Container ContainerGone RuntimeStatus Pull PullGone Scrape KubeletConfig Health Log Span Dropped Unit Boot NodePaths PodDir
    PodDirGone StaticManifest StaticManifestGone Lease LeaseGone Image ImageGone ImageFs StaticPod Vitals Certificate
    CertificateGone PodUsage PodUsageGone Remaining LogRecord);
variants!(log_kind, LOG_KINDS, LogKind,
    PodSeen PodDelete PodRemove AdmissionDenied SandboxCreating SandboxFailed SyncError Startup Killing ContainerFinished
    PlegEvent
    LoopBlocked PlegTrouble Other Output);
variants!(state, STATES, SourceState, Off Connecting Live Degraded Retrying Forbidden Ended);
variants!(error_kind, ERROR_KINDS, ErrorKind, NoSuchNode Unreachable NotRunning Timeout Denied Malformed TooLarge Other);
variants!(call, CALLS, Call, CriList Metrics KubeletPods Configz Healthz Systemctl);
variants!(phase, PHASES, ContainerPhase, Created Running Exited Unknown);
variants!(source, SOURCES, Source,
    ApiPods ApiNode ApiLease ApiEvents ApiUnbound Cri Pulls KubeletPods KubeletMetrics KubeletConfig KubeletHealth KubeletLog RuntimeLog Spans
    KernelLog Machine ContainerLog OtherLog);

fn known(line: &str) -> Observation {
    match Observation::decode(line) {
        Decoded::Known(observation) => *observation,
        other => panic!("{other:?}: {line}"),
    }
}

#[test]
fn every_line_is_read_and_written_unchanged() {
    for line in LINES.lines() {
        assert_eq!(known(line).encode().unwrap(), line);
    }
}

#[test]
fn every_variant_has_a_line() {
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    for observation in LINES.lines().map(known) {
        seen.insert(("source", source(&observation.stamp.source)));
        seen.insert(("fact", fact(&observation.fact)));
        let mut error = |e: &SourceError| seen.insert(("error", error_kind(&e.kind)));
        match &observation.fact {
            Fact::SourceState(s) => {
                if let SourceState::Degraded { error: e, .. }
                | SourceState::Retrying { error: e, .. }
                | SourceState::Forbidden { error: e } = s
                {
                    error(e);
                }
                seen.insert(("state", state(s)));
            }
            Fact::CallBegin(c) => {
                seen.insert(("call", call(c)));
            }
            Fact::CallEnd { error: Some(e), .. } => {
                error(e);
            }
            Fact::Container(c) => {
                seen.insert(("phase", phase(&c.phase)));
            }
            Fact::Log(l) => {
                seen.insert(("log", log_kind(&l.what)));
            }
            _ => {}
        }
    }
    let all = [
        ("source", SOURCES),
        ("fact", FACTS),
        ("error", ERROR_KINDS),
        ("state", STATES),
        ("call", CALLS),
        ("phase", PHASES),
        ("log", LOG_KINDS),
    ];
    let missing: Vec<_> = all
        .iter()
        .flat_map(|(what, names)| names.iter().map(move |n| (*what, *n)))
        .filter(|k| !seen.contains(k))
        .collect();
    assert!(missing.is_empty(), "no golden line for {missing:?}");
}

#[test]
fn an_unknown_field_is_ignored_at_every_level() {
    for line in LINES.lines() {
        let observation = known(line);
        let more = line.replacen('{', r#"{"later":{"a":[1,null]},"#, 1);
        assert_eq!(known(&more), observation, "{more}");
        if line.contains(r#""value":{"#) {
            let more = line.replacen(r#""value":{"#, r#""value":{"later":[{}],"#, 1);
            assert_eq!(known(&more), observation, "{more}");
        }
    }
}

#[test]
fn additions_of_a_later_version_are_unknown_and_not_malformed() {
    let stamp = r#""epoch":1,"seq":9,"mono":5,"wall":"2026-03-01T12:00:00Z""#;
    let unknown = [
        format!(r#"{{"source":"cri",{stamp},"kind":"volume","value":{{"id":"x"}}}}"#),
        format!(r#"{{"source":"cri",{stamp},"kind":"volume"}}"#),
        format!(r#"{{"source":"hypervisor",{stamp},"kind":"alive"}}"#),
        format!(r#"{{"source":"cri",{stamp},"kind":"source-state","value":{{"state":"asleep"}}}}"#),
        format!(r#"{{"source":"cri",{stamp},"kind":"call-begin","value":"images"}}"#),
        format!(
            r#"{{"source":"kubelet-log",{stamp},"kind":"log","value":{{"at":"2026-03-01T12:00:00Z","what":{{"is":"x"}}}}}}"#
        ),
    ];
    for line in unknown {
        assert_eq!(Observation::decode(&line), Decoded::Unknown, "{line}");
    }
    for line in
        ["", "{}", "null", "[]", r#"{"source":"cri"}"#, r#"{"source":"cri","seq":-1,"kind":"alive"}"#, "{\"source\""]
    {
        assert_eq!(Observation::decode(line), Decoded::Malformed, "{line}");
    }
}

#[test]
fn a_recording_of_format_1_is_read() {
    let reader = RecordReader::from_bytes("format-1.kpt", include_bytes!("golden/format-1.kpt").as_slice()).unwrap();
    assert!(reader.is_complete(), "{:?}", reader.problems());
    let header = reader.header();
    assert_eq!((header.program.as_str(), header.node.as_str()), ("kpodtrace 0.1.0", "node-1"));
    assert_eq!(header.began.to_rfc3339(), "2026-03-01T12:00:00.000000123Z");
    assert_eq!(header.labels["ticket"], "OPS-1");

    // The recording has the first 53 golden lines, in frames of 30 and 23.
    let mut lines = LINES.lines().map(known);
    for (index, count) in [30, 23].into_iter().enumerate() {
        let expected: Vec<_> = lines.by_ref().take(count).collect();
        let frame = reader.frame(index).unwrap();
        let stamp = expected[0].stamp;
        assert_eq!(frame.at, RecordPoint { mono: stamp.mono, wall: stamp.wall });
        assert_eq!(frame.keyframe.get(), format!(r#"{{"pods":{index}}}"#));
        assert_eq!(frame.observations().collect::<Vec<_>>(), expected);
        assert_eq!(reader.find_frame(stamp.wall), Some(index));
    }
    assert_eq!(reader.frames().len(), 2);
}
