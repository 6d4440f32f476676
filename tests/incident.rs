//! The incident at chosen moments, against what was done to the node (`driver.log`) and the API's own times.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::Path;
use std::time::Duration;

use kpodtrace::observation::{Observation, Time};
use kpodtrace::pipeline::{LocatedPod, Stage, StageState};
use kpodtrace::record::RecordReader;
use kpodtrace::session::RecordedSession;
use kpodtrace::view::NodeView;

fn at(time: &str) -> Time {
    format!("2026-11-29T{time}Z").parse().unwrap()
}

fn demo() -> RecordedSession {
    RecordedSession::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo/incident.kpt")).unwrap()
}

fn moment(time: &str) -> NodeView {
    let mut session = demo();
    session.seek(at(time)).unwrap();
    session.moment()
}

fn pod<'a>(moment: &'a NodeView, name: &str) -> &'a LocatedPod {
    moment.pods.iter().find(|p| p.facts.name == name).unwrap_or_else(|| panic!("no pod {name} at {}", moment.now))
}

fn stands(moment: &NodeView, name: &str) -> (Stage, StageState) {
    let place = &pod(moment, name).position;
    (place.stage, place.state)
}

fn count(moment: &NodeView, stage: Stage, state: StageState) -> usize {
    moment.pods.iter().filter(|p| (p.position.stage, p.position.state) == (stage, state)).count()
}

#[test]
fn one_before_anything_was_applied() {
    // driver.log: the first manifest goes in at 12:38:26.669.
    let m = moment("12:38:26.000");
    assert_eq!(m.pods.len(), 0);
    assert_eq!((m.header().node.as_str(), m.header().ready), ("node-a", "Ready"));
}

#[test]
fn two_the_first_pods_come_up() {
    // The API: created 12:38:26, started 12:38:27, Ready True since 12:38:30.
    let m = moment("12:38:27.200");
    assert_eq!(m.pods.len(), 2);
    assert!(m.pods.iter().all(|p| p.position.stage < Stage::Running));
    let m = moment("12:38:35.000");
    let web = m.pods.iter().find(|p| p.facts.namespace == "s-healthy-web").unwrap();
    assert_eq!((web.position.stage, web.position.state), (Stage::Running, StageState::Active));
    let start = web.position.progress(Stage::Start).unwrap();
    assert_eq!(start.until.map(|t| t.timestamp()), Some(at("12:38:27").timestamp()));
    assert_eq!(web.position.since, web.facts.object().unwrap().status.condition("Ready").unwrap().last_transition_time);
}

#[test]
fn three_an_image_on_its_way() {
    // Applied 12:39:09; the recorder saw ingests from 12:39:10.6 to 12:39:39.
    let m = moment("12:39:20.000");
    assert_eq!(stands(&m, "slow"), (Stage::Image, StageState::Active));
    assert!(!m.snapshot.pulls.is_empty());
    assert_eq!(stands(&moment("12:40:00.000"), "slow"), (Stage::Running, StageState::Active));
}

#[test]
fn four_crash_loops_and_missing_things() {
    let m = moment("12:39:25.000");
    assert_eq!(stands(&m, "exit1"), (Stage::Running, StageState::Failed));
    assert_eq!(stands(&m, "cmenv"), (Stage::Create, StageState::Failed));
    assert_eq!(stands(&m, "cmvol"), (Stage::Volumes, StageState::Failed));
    assert_eq!(stands(&m, "notag"), (Stage::Image, StageState::Failed));
    assert_eq!(stands(&m, "init-fail"), (Stage::Init, StageState::Failed));
    assert!(pod(&m, "cmenv").position.reason.contains("app-config"));
}

#[test]
fn five_a_deletion_counts_down_from_its_request() {
    // driver.log: delete long-grace at 12:40:00.591; ignores-term has 60 s of grace, prestop-slow 45 s.
    let m = moment("12:40:10.000");
    let place = &pod(&m, "ignores-term").position;
    assert_eq!((place.stage, place.state), (Stage::Terminating, StageState::Active));
    assert!((place.since.unwrap() - at("12:40:00.591")).num_seconds().abs() <= 1);
    assert_eq!((place.next.unwrap().at.unwrap() - place.since.unwrap()).num_seconds(), 60);
    // KILL came at 12:41:00, and then the sandbox could not be torn down until the CNI plugin was back.
    let m = moment("12:41:10.000");
    assert_eq!(stands(&m, "ignores-term"), (Stage::Terminating, StageState::Failed));
    assert!(pod(&m, "ignores-term").position.reason.contains("failed to find plugin"));
    assert!(moment("12:41:17.000").pods.iter().all(|p| p.facts.name != "ignores-term"));
}

#[test]
fn six_the_cni_plugin_is_gone() {
    // driver.log: gone at 12:40:28.909, back at 12:41:10.484.
    assert_eq!(count(&moment("12:40:28.000"), Stage::Sandbox, StageState::Failed), 0);
    let m = moment("12:40:50.000");
    assert!(count(&m, Stage::Sandbox, StageState::Failed) >= 3);
    assert_eq!(stands(&m, "poststart"), (Stage::Sandbox, StageState::Failed));
    assert!(pod(&m, "poststart").position.reason.contains("Failed to create pod sandbox"));
    assert_eq!(stands(&m, "notready"), (Stage::Probes, StageState::Failed), "what ran before goes on");
}

#[test]
fn seven_the_cni_plugin_is_back() {
    assert_eq!(count(&moment("12:41:35.000"), Stage::Sandbox, StageState::Failed), 0);
}

#[test]
fn eight_the_runtime_hangs_and_it_shows_before_the_metrics_do() {
    // driver.log: SIGSTOP at 12:41:40.489, SIGCONT at 12:42:15.493.
    assert!(moment("12:41:45.000").alarms.is_empty(), "not before ten seconds");
    let m = moment("12:42:00.000");
    let pleg = m.pleg();
    assert_eq!(pleg.verdict(m.now), "hanging");
    assert!((pleg.own.unanswered_since.unwrap() - at("12:41:40.489")).num_milliseconds().abs() < 1000);
    assert!(pleg.own.in_flight.is_some());
    assert!(pleg.scraped_at.unwrap() < at("12:41:40.489"), "no page of metrics came since");
    assert!(
        m.header().faults.iter().any(|a| a.text.contains("runtime has not answered for 19s")),
        "{:?}",
        m.header().faults
    );
    // The first call has failed at 12:42:04, another is in flight: the silence is one and the same.
    let m = moment("12:42:14.000");
    assert_eq!(m.pleg().unanswered_for(m.now).unwrap().num_seconds(), 33);
}

#[test]
fn nine_the_runtime_is_back_and_the_relist_that_hung_is_in_the_window() {
    let m = moment("12:42:17.000");
    assert!(m.header().faults.iter().all(|a| !a.text.contains("runtime")), "{:?}", m.header().faults);
    let m = moment("12:42:30.000");
    let hung = m.pleg().windows.into_iter().find(|w| w.beyond > 0).expect("a window with a relist beyond 10 s");
    assert_eq!(hung.beyond, 1);
    assert!(hung.mean.unwrap() * hung.relists as f64 > 34.0, "{hung:?}");
    assert!(hung.p99.unwrap().1, "the quantile is only a lower bound");
}

#[test]
fn ten_rejections_a_finalizer_and_what_is_deleted() {
    // driver.log: outofcpu applied 12:42:45.5, stuck-finalizer deleted 12:43:04.804.
    let m = moment("12:43:15.000");
    let rejected = &pod(&m, "outofcpu").position;
    assert_eq!((rejected.stage, rejected.state), (Stage::Admission, StageState::Failed));
    assert_eq!(rejected.status.word, "OutOfcpu");
    assert_eq!(stands(&m, "badcmd"), (Stage::Start, StageState::Failed));
    let held = &pod(&m, "finalizer").position;
    assert_eq!((held.stage, held.state), (Stage::Terminating, StageState::Waiting));
    assert!(held.reason.contains("example.com/hold"));
    assert!((held.since.unwrap() - at("12:43:04.804")).num_seconds().abs() <= 1);
    assert!(m.pods.iter().all(|p| p.facts.namespace != "s-imagepull-404"), "deleted at 12:43:04.967");
}

#[test]
fn a_healthy_pod_is_never_in_trouble() {
    let mut session = demo();
    let (begin, end) = session.span();
    let mut time = begin;
    while time < end {
        session.seek(time).unwrap();
        for row in session.moment().rows().iter().filter(|r| r.namespace == "s-healthy-web") {
            assert!(!row.health.is_failing(), "{time}: {row:?}");
        }
        time += kpodtrace::time::TimeDelta::seconds(5);
    }
}

#[test]
fn the_demo_is_the_incident() {
    let imported = common::imported(&common::fixtures().join("incident")).observations;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo/incident.kpt");
    assert!(std::fs::metadata(&path).unwrap().len() < 3_000_000);
    let reader = RecordReader::open(&path).unwrap();
    assert!(reader.is_complete(), "{:?}", reader.problems());
    let frames = (0..reader.frames().len()).map(|i| reader.frame(i).unwrap());
    let recorded: Vec<Observation> = frames.flat_map(|f| f.observations().collect::<Vec<_>>()).collect();
    assert_eq!(recorded.len(), imported.len());
    assert!(recorded == imported, "the recording differs from the import");
}

#[test]
fn playing_and_seeking_agree() {
    let mut played = demo();
    played.seek(at("12:38:20.000")).unwrap();
    while played.now() < at("12:41:00.000") {
        played.advance(Duration::from_millis(250)).unwrap();
    }
    let mut sought = demo();
    sought.seek(played.now()).unwrap();
    let (played, sought) = (played.moment(), sought.moment());
    assert_eq!(played.snapshot.pods, sought.snapshot.pods);
    assert_eq!(played.rows(), sought.rows());
}
