//! The Node, Kubelet and Events panes, checked against captures of a real node.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::Path;

use common::{capture, fact, moment_of, with};
use kpodtrace::diagnose::DiagnosisCache;
use kpodtrace::model::Model;
use kpodtrace::objects::{Quantity, Resource};
use kpodtrace::observation::{Observation, Sequencer, Source, Time};
use kpodtrace::session::RecordedSession;
use kpodtrace::time::TimeDelta;
use kpodtrace::view::{
    ChannelHealth, EventLine, KubeletView, NodeDetail, NodeView, TimelinePhase, events, restart_strip, timeline,
};
use serde_json::{Value, json};

fn at(time: &str) -> Time {
    format!("2026-11-29T{time}Z").parse().unwrap()
}

fn incident(time: &str) -> NodeView {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo/incident.kpt");
    let mut session = RecordedSession::open(&path).unwrap();
    session.seek(at(time)).unwrap();
    session.moment()
}

fn names(victims: &[kpodtrace::view::Victim]) -> Vec<&str> {
    victims.iter().map(|v| v.name.as_str()).collect()
}

fn uid(moment: &NodeView, name: &str) -> String {
    moment.pods.iter().find(|p| p.facts.name == name).unwrap().facts.key.to_string()
}

#[test]
fn oom_scores_match_those_of_the_kernel() {
    // oomScoreAdj in crictl inspect of the same moment: 1000, 998, -997, and 999 of pod-level-resources.
    let view = NodeDetail::new(&moment_of(&capture("v2-qos")));
    let found: Vec<_> = view.kernel.iter().map(|v| (v.name.as_str(), v.adj)).collect();
    assert_eq!(found, [("besteffort", 1000), ("burstable", 998), ("guaranteed", -997)]);
    assert!(!view.knows_use());
    let whole = NodeDetail::new(&moment_of(&capture("pod-level-resources")));
    assert_eq!(whole.kernel.iter().find(|v| v.name == "plr").unwrap().adj, 999);
}

#[test]
fn requests_and_limits_are_those_of_the_specs() {
    let view = NodeDetail::new(&moment_of(&capture("v2-qos")));
    let of = |resource: Resource| view.resources.iter().find(|r| r.resource == resource).unwrap();
    let text = |q: Quantity| q.to_string();
    let memory = of(Resource::Memory);
    let found = [memory.capacity, memory.allocatable, memory.requested, memory.limits].map(text);
    assert_eq!(found, ["6073960Ki", "5971560Ki", "48Mi", "32Mi"]);
    assert_eq!(memory.unbounded, 2);
    assert_eq!([of(Resource::Cpu).requested, of(Resource::Cpu).limits].map(text), ["70m", "50m"]);
    let pods = of(Resource::Pods);
    assert_eq!((text(pods.requested), text(pods.allocatable)), ("3".into(), "250".into()));
    assert!(view.resources.iter().all(|r| r.resource != Resource::from_name("hugepages-2Mi")), "the node has none");
}

#[test]
fn who_is_evicted_first_depends_on_use_and_not_on_the_class() {
    let before = moment_of(&capture("v2-qos"));
    // Without data on use, a pod without a request exceeds its request.
    assert_eq!(names(&NodeDetail::new(&before).eviction), ["besteffort", "burstable", "guaranteed"]);
    let uses =
        |name: &str, mib: u64| (Source::Machine, "pod-usage", json!({"uid": uid(&before, name), "memory": mib << 20}));
    let view = NodeDetail::new(&with("v2-qos", &[uses("besteffort", 2), uses("burstable", 5), uses("guaranteed", 36)]));
    assert_eq!(names(&view.eviction), ["guaranteed", "besteffort", "burstable"]);
    let over: Vec<_> = view.eviction.iter().map(|v| v.excess().unwrap() > Quantity::ZERO).collect();
    assert_eq!(over, [true, true, false]);
    // The kernel still takes it last.
    assert_eq!(names(&view.kernel), ["besteffort", "burstable", "guaranteed"]);
}

#[test]
fn the_busiest_pods_have_use_and_request() {
    let before = moment_of(&capture("v2-qos"));
    let uses = |name: &str, cpu: Option<u32>| {
        (Source::Machine, "pod-usage", json!({"uid": uid(&before, name), "memory": 1 << 20, "cpu": cpu}))
    };
    let told = [vitals(300, 50), uses("besteffort", Some(250)), uses("guaranteed", Some(5)), uses("burstable", None)];
    let view = NodeDetail::new(&with("v2-qos", &told));
    let text = |q: Quantity| q.to_string();
    let found: Vec<_> = view
        .busy
        .iter()
        .map(|b| (b.name.as_str(), text(b.used), text(b.request), b.limit.map(text), b.is_over()))
        .collect();
    let wanted = [
        ("besteffort", "250m".to_owned(), "0".to_owned(), None, true),
        ("guaranteed", "5m".to_owned(), "50m".to_owned(), Some("50m".to_owned()), false),
    ];
    assert_eq!(found, wanted, "no data on the third pod");
    assert!(NodeDetail::new(&before).busy.is_empty());
}

fn vitals(available_mib: u64, disk_percent: u64) -> (Source, &'static str, Value) {
    let value = json!({
        "memory": {"total": 4096u64 << 20, "available": available_mib << 20},
        "filesystems": [
            {"path": "/var/lib/kubelet", "id": 1, "size": 1000 << 20, "available": (10 * disk_percent) << 20, "inodes": 1000, "inodes_free": 900},
            {"path": "/", "id": 1, "size": 1000 << 20, "available": (10 * disk_percent) << 20, "inodes": 1000, "inodes_free": 900}
        ],
        "oom_kills": 3
    });
    (Source::Machine, "vitals", value)
}

#[test]
fn how_far_each_threshold_is_away() {
    let view = NodeDetail::new(&with("v2-qos", &[vitals(300, 8)]));
    let of = |signal: &str| view.thresholds.iter().find(|t| t.signal == signal).unwrap();
    assert!(view.thresholds.iter().all(|t| !t.assumed), "/configz was read");
    assert_eq!(of("memory.available").margin(), Quantity::parse("200Mi"));
    assert_eq!(of("nodefs.available").margin(), Quantity::parse("-20Mi"));
    assert_eq!(of("nodefs.inodesFree").margin(), Some(Quantity::whole(850)));
    assert_eq!(of("imagefs.available").margin(), None, "where images lie was not looked at");
    assert_eq!(view.thresholds[0].signal, "nodefs.available", "the nearest first");
    assert_eq!((view.disks.len(), view.disks[0].role.as_str(), view.oom_kills), (1, "kubelet (nodefs), /", Some(3)));
}

#[test]
fn without_settings_the_defaults_are_marked_as_assumed() {
    let model = &mut Model::default();
    let now = at("12:00:00");
    let (source, kind, value) = vitals(300, 50);
    model.apply(Observation { stamp: Sequencer::new(source).stamp(0, now), fact: fact(kind, value) });
    let view = NodeDetail::new(&NodeView::new(model.snapshot(), &mut DiagnosisCache::default(), now));
    assert_eq!(view.thresholds.len(), 5);
    assert!(view.thresholds.iter().all(|t| t.assumed));
    let late = NodeView::new(model.snapshot(), &mut DiagnosisCache::default(), now + TimeDelta::seconds(60));
    assert!(NodeDetail::new(&late).memory.is_none(), "an old look says nothing of now");
}

#[test]
fn a_lease_counts_down_to_not_ready_and_to_eviction() {
    let renewed = at("12:00:00");
    let lease = json!({"metadata": {"name": "node-b"}, "spec": {"holderIdentity": "node-b", "leaseDurationSeconds": 40, "renewTime": renewed}});
    let view = NodeDetail::new(&with("v2-qos", &[(Source::ApiLease, "lease", lease)]));
    let life = view.lease.unwrap();
    // node-monitor-grace-period of 1.32 and later; tolerationSeconds of the default tolerations.
    assert_eq!((life.not_ready_at, life.evicted_at), (at("12:00:50"), at("12:05:50")));
    assert!(!life.is_unknown);
}

#[test]
fn overdue_certificates_are_marked() {
    let certificate = |path: &str, begins: &str, ends: &str| {
        (Source::Machine, "certificate", json!({"path": path, "begins": begins, "ends": ends}))
    };
    let found = with(
        "v2-qos",
        &[
            certificate("/a", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            certificate("/b", "2026-10-01T00:00:00Z", "2027-10-01T00:00:00Z"),
            certificate("/c", "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ],
    );
    let view = NodeDetail::new(&found);
    let told: Vec<_> =
        view.certificates.iter().map(|c| (c.certificate.path.as_str(), c.late, c.left > TimeDelta::zero())).collect();
    assert_eq!(told, [("/c", true, false), ("/a", true, true), ("/b", false, true)]);
}

#[test]
fn the_kubelet_during_the_hang_of_the_runtime() {
    // driver.log: the runtime is stopped from 12:41:40 for 35 s.
    let view = KubeletView::new(&incident("12:42:05"));
    let pleg = view.channels.iter().find(|f| f.name == "plegCh").unwrap();
    assert_eq!(pleg.health, ChannelHealth::Failing);
    assert!(pleg.known.starts_with("hanging"), "{}", pleg.known);
    let before = KubeletView::new(&incident("12:41:00"));
    assert_eq!(before.channels.iter().find(|f| f.name == "plegCh").unwrap().health, ChannelHealth::Healthy);
    let relists = before.pleg.relists;
    assert!(relists.rate.unwrap() > 0.9 && relists.rate.unwrap() < 1.1, "one a second: {relists:?}");
    assert!(relists.mean.unwrap() < relists.worst.unwrap().0);
    let workers: Vec<_> = before.workers.iter().map(|w| (w.lifecycle.as_str(), w.config.as_str())).collect();
    assert!(workers.contains(&("sync", "desired")), "{workers:?}");
    assert!(before.workers.iter().map(|w| w.pods).sum::<u64>() >= 38);
    assert!(before.starts.unwrap().count >= 25);
}

#[test]
fn non_default_settings_have_defaults_and_remarks() {
    let view = KubeletView::new(&incident("12:41:00"));
    let of = |name: &str| view.settings.iter().find(|s| s.name == name).unwrap();
    let changed: Vec<_> = view.settings.iter().filter(|s| s.changed).map(|s| s.name).collect();
    assert_eq!(changed, ["serializeImagePulls", "registryPullQPS", "registryBurst", "maxPods"]);
    assert_eq!((of("maxPods").value.as_deref(), of("maxPods").default), (Some("250"), "110"));
    assert!(of("maxParallelImagePulls").remark.contains("parallel"));
    assert!(of("kubeReserved").remark.contains("nothing reserved"));
    assert_eq!(of("evictionHard").remark, "");
    assert_eq!(of("crashLoopBackOff").value.as_deref(), Some("300s"));
}

#[test]
fn a_threshold_that_replaces_the_defaults_is_remarked() {
    let config = json!({"evented_pleg": false, "settings": {"evictionHard.memory.available": "500Mi", "serializeImagePulls": "true"}});
    let view = KubeletView::new(&with("v2-qos", &[(Source::KubeletConfig, "kubelet-config", config)]));
    let of = |name: &str| view.settings.iter().find(|s| s.name == name).unwrap();
    assert!(of("evictionHard").remark.contains("no eviction for nodefs.available"), "{:?}", of("evictionHard"));
    assert!(of("serializeImagePulls").remark.contains("one image at a time"));
}

#[test]
fn events_are_one_stream_newest_first_with_their_findings() {
    let moment = incident("12:41:00");
    let all = events(&moment);
    assert!(all.windows(2).all(|pair| pair[0].last >= pair[1].last));
    let objects: usize = moment.pods.iter().map(|p| p.facts.events.len()).sum();
    assert!(!all.is_empty() && all.len() <= objects + moment.snapshot.other_events.len());
    let notag: Vec<&EventLine> = all.iter().filter(|e| e.subject.ends_with("/notag") && e.reason == "Failed").collect();
    assert!(
        !notag.is_empty() && notag.iter().all(|e| e.cause == "image.not-found" && e.warning && e.container == "app"),
        "{notag:?}"
    );
    let said = |words: &str| all.iter().filter(|e| e.matches(words)).count();
    assert_eq!(said("warning") + said("normal"), all.len());
    assert_eq!(said("failed notag"), notag.len());
    assert_eq!(said("notag") - said("notag !failed"), said("notag failed"));
    assert_eq!(said(""), all.len());
}

#[test]
fn the_life_of_a_pod_that_crashes() {
    let moment = incident("12:41:00");
    let exit1 = moment.pods.iter().find(|p| p.facts.name == "exit1").unwrap();
    let stretches = timeline(exit1, moment.now);
    assert_eq!(stretches[0].from, exit1.facts.object().unwrap().metadata.creation_timestamp.unwrap());
    assert_eq!(stretches.last().unwrap().to, moment.now);
    assert!(stretches.windows(2).all(|pair| pair[0].to == pair[1].from && pair[0].phase != pair[1].phase));
    assert_eq!(stretches.last().unwrap().phase, TimelinePhase::Failing);
    let strip = restart_strip(exit1, "app", moment.now).unwrap();
    assert!(strip.starts_with("previous exits: code 1 after "), "{strip}");
    let web = moment.pods.iter().find(|p| p.facts.namespace == "s-healthy-web").unwrap();
    let stretches = timeline(web, moment.now);
    assert_eq!(stretches.last().unwrap().phase, TimelinePhase::Ready);
    assert!(stretches.iter().all(|s| s.phase != TimelinePhase::Failing), "{stretches:?}");
    assert_eq!(restart_strip(web, "app", moment.now), None);
}

#[test]
fn an_event_that_a_finding_rests_on_shows_it_though_others_say_the_same() {
    let moment = incident("12:41:00");
    let all = events(&moment);
    // Each failing pull has Failed events (two, with different messages) and BackOff events, one of them of type Normal.
    for reason in ["Failed", "BackOff"] {
        let of: Vec<_> = all.iter().filter(|e| e.subject.ends_with("/notag") && e.reason == reason).collect();
        assert!(!of.is_empty() && of.iter().all(|e| e.cause == "image.not-found"), "{of:?}");
    }
    let routine = |e: &&EventLine| ["Scheduled", "Pulled", "Created", "Started"].contains(&e.reason.as_str());
    assert!(all.iter().filter(routine).all(|e| e.cause.is_empty()));
    let named = all.iter().filter(|e| !e.cause.is_empty() && !e.warning).count();
    assert!(named > 0, "not warnings alone");
}
