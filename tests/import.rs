//! Every fixture is imported without a lost line into valid observations.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kpodtrace::observation::{
    Call, ContainerPhase, Decoded, ErrorKind, Fact, LogKind, Observation, Source, SourceState,
};
use kpodtrace::record::import::{ImportError, Imported, import};
use proptest::prelude::*;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn capture(name: &str) -> Imported {
    import(&fixtures().join("captures").join(name)).unwrap()
}

fn of(imported: &Imported, source: Source) -> Vec<&Observation> {
    imported.observations.iter().filter(|o| o.stamp.source == source).collect()
}

/// Invariants of every import.
fn check_invariants(name: &str, imported: &Imported) {
    assert_eq!(imported.skipped, vec![], "{name}");
    let (mut seqs, mut mono) = (BTreeMap::new(), 0);
    let (mut epochs, mut open): (BTreeMap<Source, u32>, BTreeSet<Source>) = Default::default();
    for o in &imported.observations {
        let s = o.stamp;
        let last = seqs.insert(s.source, s.seq).unwrap_or(0);
        assert_eq!(s.seq, last + 1, "{name} {s:?}");
        assert!(s.mono >= mono && s.wall >= imported.begin && s.wall <= imported.end, "{name} {s:?}");
        mono = s.mono;
        assert_eq!(i64::try_from(s.mono).unwrap(), (s.wall - imported.begin).num_microseconds());
        let epoch = epochs.entry(s.source).or_default();
        if s.seq == 1 && !matches!(o.fact, Fact::CallBegin(_)) {
            assert!(matches!(o.fact, Fact::SourceState(_)), "{name} {o:?}");
        }
        match &o.fact {
            Fact::EpochBegin => {
                *epoch += 1;
                assert!(open.insert(s.source), "{name}: an epoch within an epoch {s:?}");
            }
            Fact::EpochEnd => assert!(open.remove(&s.source), "{name}: an end without a begin {s:?}"),
            Fact::SourceState(SourceState::Ended) => panic!("{name}: an end of a source was made up"),
            _ => {}
        }
        assert_eq!(s.epoch, *epoch, "{name} {s:?}");
        let line = o.encode().unwrap();
        assert!(Observation::decode(&line) == Decoded::Known(Box::new(o.clone())), "{name}: {line:.300}");
    }
    assert!(open.is_empty(), "{name}: an epoch without an end {open:?}");
    // What an incident was recorded with knew none of these.
    let late = [
        Source::ApiLease,
        Source::ApiUnbound,
        Source::KernelLog,
        Source::Machine,
        Source::ContainerLog,
        Source::OtherLog,
    ];
    let silent: Vec<_> = Source::ALL.iter().filter(|s| !seqs.contains_key(s) && !late.contains(s)).collect();
    assert!(silent.is_empty(), "{name}: a source says nothing of itself {silent:?}");
}

#[test]
fn every_capture() {
    let mut names: Vec<_> = std::fs::read_dir(fixtures().join("captures"))
        .unwrap()
        .map(|e| e.unwrap())
        .filter(|e| e.path().is_dir())
        .map(|e| e.file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() > 80);
    for name in names {
        let imported = capture(&name);
        check_invariants(&name, &imported);
        let node = match name.as_str() {
            // Nothing that answered names it.
            "apiserver-down" => "",
            name if name.starts_with("v2-") => "node-b",
            _ => "node-a",
        };
        assert_eq!(imported.node, node, "{name}");
    }
}

#[test]
fn an_import_is_deterministic() {
    for path in ["captures/init-chain", "incident", "kubectl/objects.json"] {
        let path = fixtures().join(path);
        assert_eq!(import(&path).unwrap(), import(&path).unwrap());
    }
}

fn retrying(imported: &Imported, source: Source) -> Option<ErrorKind> {
    of(imported, source).iter().find_map(|o| match &o.fact {
        Fact::SourceState(SourceState::Retrying { error, .. }) => Some(error.kind),
        _ => None,
    })
}

#[test]
fn errors_become_states() {
    let down = capture("apiserver-down");
    for source in [Source::ApiPods, Source::ApiNode, Source::ApiEvents] {
        assert_eq!(retrying(&down, source), Some(ErrorKind::Unreachable), "{source:?}");
    }
    for source in [Source::KubeletPods, Source::KubeletConfig, Source::KubeletMetrics] {
        assert_eq!(retrying(&down, source), Some(ErrorKind::Denied), "{source:?}");
    }
    assert_eq!(retrying(&down, Source::Cri), None);
    assert_eq!(retrying(&capture("runtime-down"), Source::Cri), Some(ErrorKind::Unreachable));
    assert_eq!(retrying(&capture("kubelet-down"), Source::KubeletHealth), Some(ErrorKind::Unreachable));
}

#[test]
fn an_import_has_the_content_of_its_files() {
    let web = capture("healthy-web");
    let facts = |source| of(&web, source).into_iter().map(|o| &o.fact);
    let containers: Vec<_> = facts(Source::Cri)
        .filter_map(|f| match f {
            Fact::Container(c) => Some(c),
            _ => None,
        })
        .collect();
    assert_eq!(containers.len(), 2);
    assert!(containers.iter().all(|c| c.phase == ContainerPhase::Running && c.started_at.is_some()));
    assert!(facts(Source::Cri).any(|f| matches!(f, Fact::Sandbox(s) if s.ip == "10.88.0.10" && s.seen.is_some())));
    assert!(
        facts(Source::Cri)
            .any(|f| matches!(f, Fact::RuntimeStatus(s) if s.name == "containerd" && s.conditions.len() > 1))
    );
    assert!(facts(Source::KubeletMetrics).any(
        |f| matches!(f, Fact::Scrape(s) if s.relist.as_ref().is_some_and(|r| r.count > 0) && s.version == "v1.36.2")
    ));
    assert!(
        facts(Source::KubeletLog)
            .any(|f| matches!(f, Fact::LogRecord(l) if matches!(l.kind(), Some(LogKind::Startup { .. }))))
    );
    assert!(facts(Source::Spans).any(|f| matches!(f, Fact::Span(s) if s.name == "syncPod" && !s.uid.is_empty())));
    assert!(facts(Source::KubeletHealth).any(|f| matches!(f, Fact::Health(h) if h.ok)));
    assert_eq!(web.end, "2026-11-29T11:21:40.205815206Z".parse::<kpodtrace::observation::Time>().unwrap());
}

#[test]
fn the_incident() {
    let incident = import(&fixtures().join("incident")).unwrap();
    check_invariants("incident", &incident);
    assert_eq!(incident.node, "node-a");
    let cri = of(&incident, Source::Cri);
    assert_eq!(cri.iter().filter(|o| o.fact == Fact::EpochBegin).count(), 2, "one epoch before the hang, one after");
    let hang = cri.iter().find_map(|o| match &o.fact {
        Fact::CallEnd { call: Call::CriList, took_us, error: Some(error) } => Some((*took_us, error.kind)),
        _ => None,
    });
    assert_eq!(hang, Some((23_523_000, ErrorKind::Timeout)));
    let timeouts = of(&incident, Source::KubeletMetrics)
        .iter()
        .filter(|o| matches!(&o.fact, Fact::CallEnd { took_us: 8_001_000, error: Some(e), .. } if e.kind == ErrorKind::Timeout))
        .count();
    assert_eq!(timeouts, 2);
    let pulls = of(&incident, Source::Pulls);
    let gone = pulls.iter().filter(|o| matches!(o.fact, Fact::PullGone(_))).count();
    assert_eq!(gone, 2);
    let of_pods = of(&incident, Source::ApiPods);
    assert_eq!(of_pods.iter().filter(|o| matches!(o.fact, Fact::PodGone(_))).count(), 9);
}

/// What is left at the end of each source's epoch is what its last list held.
#[test]
fn differences_add_up_to_the_last_list() {
    let incident = import(&fixtures().join("incident")).unwrap();
    let (mut containers, mut sandboxes, mut pods) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for o in &incident.observations {
        match (&o.stamp.source, &o.fact) {
            (Source::Cri, Fact::EpochBegin) => containers.clear(),
            (_, Fact::Container(c)) => {
                let rank = |p| {
                    [ContainerPhase::Created, ContainerPhase::Running, ContainerPhase::Exited]
                        .iter()
                        .position(|r| *r == p)
                };
                if let Some(before) = containers.insert(c.id.clone(), c.clone()) {
                    assert!(rank(before.phase) <= rank(c.phase), "{before:?} {c:?}");
                    assert!(before.started_at.is_none() || c.started_at == before.started_at, "{before:?} {c:?}");
                    assert!(before.exit_code.is_none() || c.exit_code == before.exit_code, "{before:?} {c:?}");
                }
            }
            (_, Fact::Sandbox(s)) => {
                if let Some(before) = sandboxes.insert(s.id.clone(), s.clone()) {
                    assert!(before.ready || !s.ready, "{before:?} {s:?}");
                    // The runtime takes the address back once the sandbox is not ready.
                    assert!(before.ip.is_empty() || s.ip == before.ip || !s.ready, "{before:?} {s:?}");
                }
            }
            (_, Fact::ContainerGone(id)) => drop(containers.remove(id).unwrap()),
            (Source::KubeletPods, Fact::Pod(p)) => drop(pods.insert(p.metadata.uid.clone(), p.clone())),
            (Source::KubeletPods, Fact::PodGone(uid)) => drop(pods.remove(uid).unwrap()),
            _ => {}
        }
    }
    assert!(!containers.is_empty() && !pods.is_empty());
    let exited: Vec<_> = containers.values().filter(|c| c.phase == ContainerPhase::Exited).collect();
    assert!(exited.iter().filter(|c| c.exit_code.is_some()).count() * 10 >= exited.len() * 9);
}

#[test]
fn a_kubectl_list() {
    let imported = import(&fixtures().join("kubectl/objects.json")).unwrap();
    check_invariants("kubectl", &imported);
    let count = |source| of(&imported, source).len();
    // State, begin, end, and the objects.
    assert_eq!((count(Source::ApiPods), count(Source::ApiEvents), count(Source::ApiNode)), (3 + 6, 3 + 36, 3 + 1));
    assert!(
        matches!(of(&imported, Source::Cri)[..], [o] if matches!(o.fact, Fact::SourceState(SourceState::Off { .. })))
    );
}

#[test]
fn secrets_are_not_imported() {
    let list = r#"{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"a","namespace":"b","uid":"u","creationTimestamp":"2026-11-29T11:00:00Z",
        "labels":{"hunter2":"hunter2"},"annotations":{"hunter2":"hunter2","kubectl.kubernetes.io/last-applied-configuration":"hunter2"}},
        "spec":{"containers":[{"name":"c","image":"i","command":["hunter2"],"args":["hunter2"],"env":[{"name":"hunter2","value":"hunter2"}]}],
        "volumes":[{"name":"v","secret":{"secretName":"hunter2"}}]}},
        {"kind":"Secret","metadata":{"name":"hunter2"},"data":{"hunter2":"hunter2"}},
        {"kind":"Pod","metadata":{"uid":"w","creationTimestamp":"hunter2"}}]}"#;
    let folder = tempdir("secrets");
    let path = folder.join("list.json");
    std::fs::write(&path, list).unwrap();
    let imported = import(&path).unwrap();
    let lines: Vec<String> = imported.observations.iter().map(|o| o.encode().unwrap()).collect();
    assert!(lines.iter().any(|l| l.contains("\"uid\":\"u\"")));
    assert!(!lines.join("\n").contains("hunter2"), "{lines:#?}");
    assert_eq!(imported.skipped.len(), 2);
    assert!(!format!("{:?}", imported.skipped).contains("hunter2"), "{:?}", imported.skipped);
}

#[test]
fn images_come_with_the_capture() {
    let imported = capture("healthy-web");
    let images: Vec<_> = imported.observations.iter().filter(|o| matches!(o.fact, Fact::Image(_))).collect();
    assert_eq!(images.len(), 2);
    let Fact::Image(pause) = &images[1].fact else { panic!() };
    assert_eq!((pause.tags[0].as_str(), pause.size, pause.pinned), ("registry.k8s.io/pause:3.10", 607_619, true));
    let fs = imported.observations.iter().find_map(|o| match &o.fact {
        Fact::ImageFs(fs) => Some(fs.images[0].clone()),
        _ => None,
    });
    assert_eq!(fs.unwrap().used_bytes, Some(3_493_888));
}

#[test]
fn leases_of_nodes_and_no_others() {
    let path = tempdir("leases").join("list.json");
    let lease = |namespace: &str, name: &str| {
        format!(
            r#"{{"kind":"Lease","metadata":{{"namespace":"{namespace}","name":"{name}","uid":"{name}"}},
            "spec":{{"holderIdentity":"{name}","leaseDurationSeconds":40,"renewTime":"2026-03-01T12:00:07.5Z"}}}}"#
        )
    };
    let node = r#"{"kind":"Node","metadata":{"name":"a","creationTimestamp":"2026-03-01T12:00:00Z"}}"#;
    let items = [node.to_owned(), lease("kube-node-lease", "a"), lease("kube-system", "kube-scheduler")].join(",");
    std::fs::write(&path, format!(r#"{{"kind":"List","items":[{items}]}}"#)).unwrap();
    let imported = import(&path).unwrap();
    let leases = of(&imported, Source::ApiLease);
    let leases: Vec<_> = leases.iter().filter(|o| matches!(o.fact, Fact::Lease(_))).collect();
    assert_eq!((leases.len(), imported.skipped.len()), (1, 1));
    assert_eq!(imported.end.to_rfc3339(), "2026-03-01T12:00:07.500Z");
    let states = of(&capture("healthy-web"), Source::ApiLease).len();
    assert_eq!(states, 1, "off: the input has no leases");
}

#[test]
fn other_files_and_folders_are_refused() {
    let folder = tempdir("nothing");
    assert!(matches!(import(&folder), Err(ImportError::Folder { .. })));
    assert!(matches!(import(&folder.join("absent")), Err(ImportError::Read { .. })));
    let file = folder.join("file");
    for text in ["", "hello", "[]", "{\"kind\":\"List\",\"items\":[]}", "{\"kind\":\"Secret\"}"] {
        std::fs::write(&file, text).unwrap();
        let error = import(&file).unwrap_err();
        assert!(error.to_string().contains("not a recognised input"), "{text}: {error}");
    }
    let huge = "x".repeat(5 << 20);
    let pod = format!(r#"{{"kind":"Pod","metadata":{{"name":"p","uid":"u","annotations":{{"a":"{huge}"}}}}}}"#);
    std::fs::write(&file, format!(r#"{{"kind":"PodList","items":[{pod}]}}"#)).unwrap();
    let error = import(&file).unwrap_err().to_string();
    assert!(error.contains("object above the size limit"), "{error}");
    std::fs::write(&file, [0x1f, 0x8b, 1, 2, 3]).unwrap();
    assert!(matches!(import(&file), Err(ImportError::Read { .. })));
}

#[test]
fn undecodable_lines_are_counted() {
    let folder = tempdir("lines");
    let watch = concat!(
        "{\"t\":\"2026-11-29T12:00:00Z\",\"event\":{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}}\n",
        "not json\n",
        "{\"t\":\"2026-11-29T12:00:01Z\",\"event\":{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"spec\":7}}}\n",
        "{\"t\":\"2026-11-29T12:00:02Z\",\"closed\":true}\n",
        "{\"t\":\"2026-11-29T12:00:03Z\",\"event\":{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"uid\":\"u\"}}}}\n",
    );
    std::fs::write(folder.join("api-pods.jsonl"), watch).unwrap();
    let imported = import(&folder).unwrap();
    assert_eq!(imported.skipped.iter().map(|s| s.count).sum::<u64>(), 2);
    let kinds: Vec<_> = of(&imported, Source::ApiPods)
        .iter()
        .map(|o| match &o.fact {
            Fact::SourceState(SourceState::Live { .. }) => "live",
            Fact::SourceState(SourceState::Retrying { .. }) => "retrying",
            Fact::EpochBegin => "begin",
            Fact::EpochEnd => "end",
            Fact::Pod(_) => "pod",
            _ => "?",
        })
        .collect();
    assert_eq!(kinds, ["live", "begin", "end", "retrying", "live", "begin", "pod"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the files of a folder hold, nothing panics, and what comes out is ordered.
    #[test]
    fn hostile_folders(
        text in "([{}\\[\\]\"a-z:,0-9\n\t =<>\\\\-]{0,120})",
        year in "(\\+262142|-262143|2026|1969|9999)",
        took in prop_oneof![Just(f64::MAX), Just(-1.0), Just(1e18), 0.0..90_000.0],
        key in "(body|answer|active|line|error|closed|event|sandboxes|container_status)",
    ) {
        let folder = tempdir("hostile");
        let quoted = serde_json::to_string(&text).unwrap();
        let line = format!("{{\"t\":\"{year}-12-31T23:59:59Z\",\"took_s\":{took},\"{key}\":{quoted},\"unchanged\":true}}\n{text}\n");
        for file in ["api-pods", "api-events", "cri", "pulls", "kubelet-pods", "metrics", "health", "kubelet.log", "runtime.log", "spans"] {
            std::fs::write(folder.join(format!("{file}.jsonl")), &line).unwrap();
        }
        if let Ok(imported) = import(&folder) {
            prop_assert!(imported.observations.is_sorted_by_key(|o| o.stamp.mono));
        }
        let folder = tempdir("hostile-capture");
        for file in ["pods.json", "kubelet-pods.json", "healthz.txt", "kubelet.log", "containerd.log", "traces.jsonl", "kubelet-metrics.prom"] {
            std::fs::write(folder.join(file), &text).unwrap();
        }
        std::fs::write(folder.join("when.txt"), format!("start x end {year}-12-31T23:59:59Z")).unwrap();
        if let Ok(imported) = import(&folder) {
            prop_assert!(imported.observations.is_sorted_by_key(|o| o.stamp.mono));
        }
    }
}

fn tempdir(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A folder from another user is read with the current user's rights; files outside of it are not read.
#[test]
fn no_link_leads_out_of_a_folder() {
    let dir = std::env::temp_dir().join(format!("kpodtrace-import-links-{}", std::process::id()));
    std::fs::create_dir_all(dir.join("in")).unwrap();
    let secret = r#"{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"hunter2","namespace":"d","uid":"u"}}]}"#;
    std::fs::write(dir.join("secret.json"), secret).unwrap();
    for target in [dir.join("secret.json"), "../secret.json".into()] {
        _ = std::fs::remove_file(dir.join("in/pods.json"));
        std::os::unix::fs::symlink(&target, dir.join("in/pods.json")).unwrap();
        let error = import(&dir.join("in")).unwrap_err().to_string();
        assert!(error.contains("is a link out of the folder") && !error.contains("hunter2"), "{error}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}
