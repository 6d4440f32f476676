//! No time and no number in what is read is too large: from decoding over model, pipeline, diagnosis and view to what is
//! printed and drawn, and recordings whose clocks jump or whose headers lie are played to their end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use kpodtrace::diagnose::Rounds;
use kpodtrace::model::Model;
use kpodtrace::observation::{Decoded, Observation, Time};
use kpodtrace::report;
use kpodtrace::session::RecordedSession;
use kpodtrace::time::TimeDelta;
use kpodtrace::tui::{App, Options, Theme};
use kpodtrace::view::{self, NodeView};
use proptest::prelude::*;
use serde_json::Value;

const TIMES: [&str; 9] = [
    "+262142-12-31T23:59:59.999999999Z",
    "-262143-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
    "99999999-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "1970-01-01T00:00:00Z",
    "2026-11-29T11:59:59.000000001Z",
    "2026-11-29T12:34:56Z",
];

const NUMBERS: [i64; 8] = [i64::MAX, i64::MIN, 1 << 53, -(1 << 53), u32::MAX as i64, -1, 0, 1_796_000_000];

const LINES: &str = include_str!("golden/observations.jsonl");

fn hostile(name: &str) -> PathBuf {
    common::fixtures().join("hostile").join(name)
}

/// The places of all times and whole numbers in a document.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, v)| places(v, &format!("{at}/{}", escape(key)), out)),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, v)| places(v, &format!("{at}/{i}"), out)),
        Value::String(text) if is_time(text) => out.push(at.to_owned()),
        Value::Number(_) => out.push(at.to_owned()),
        _ => {}
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn is_time(text: &str) -> bool {
    text.len() >= 20 && text.as_bytes()[4] == b'-' && text.as_bytes()[10] == b'T'
}

fn put(document: &mut Value, place: &str, choice: usize) {
    let value = document.pointer_mut(place).unwrap();
    *value = match &*value {
        Value::String(_) => TIMES[choice % TIMES.len()].into(),
        Value::Number(n) if n.is_f64() => [1e308, -1e308, 0.0, 5e-324, 1e18][choice % 5].into(),
        _ => NUMBERS[choice % NUMBERS.len()].into(),
    };
}

/// Everything that is printed and drawn of a moment.
fn show(moment: &NodeView) {
    let rows = moment.rows();
    let text = [
        report::pods_table(moment, rows, report::TableDetail::Wide, Some(200)),
        report::node_text(moment),
        report::pleg_text(moment),
        report::doctor_text(moment, &[]),
        report::events_table(moment, &view::events(moment), Some(200)),
        report::explain_text(&view::explain_all(moment), moment.now, Some(100)),
        report::notes(moment).join("\n"),
    ];
    assert!(text.iter().any(|t| !t.is_empty()));
    let json = [
        serde_json::to_string(&report::pods_json(moment, rows)).unwrap(),
        serde_json::to_string(&report::node_json(moment)).unwrap(),
        serde_json::to_string(&report::pleg_json(moment)).unwrap(),
        serde_json::to_string(&report::events_json(moment, &view::events(moment), true)).unwrap(),
        serde_json::to_string(&report::explain_json(moment, &view::explain_all(moment))).unwrap(),
        serde_json::to_string(&report::doctor_json(moment, &[])).unwrap(),
    ];
    // A far time is the nearest that RFC 3339 can express.
    for text in text.iter().chain(&json) {
        assert!(!text.contains("+262142-") && !text.contains("-262143-") && !text.contains("+10000-"), "{text}");
    }
    let mut app = App::new(Theme::new(true, false), &Options::default());
    app.show(moment.clone(), "test");
    for key in ['1', '3', '4', '5'] {
        app.event(&Event::Key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE)));
        app.draw(120, 40);
    }
    app.event(&Event::Key(KeyEvent::new(KeyCode::Char('1'), KeyModifiers::NONE)));
    for _ in 0..3.min(rows.len()) {
        app.event(&Event::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)));
        app.draw(160, 50);
        app.event(&Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)));
        app.event(&Event::Key(KeyEvent::new(KeyCode::Down, KeyModifiers::NONE)));
    }
    assert!(moment.next_change().is_none_or(|at| at > moment.now));
    assert!(rows.iter().all(|row| row.in_stage_for.is_none_or(|d| d >= TimeDelta::zero())));
}

fn now(choice: usize) -> Time {
    let usual: Time = "2026-11-29T12:00:00Z".parse().unwrap();
    [usual, Time::MIN, Time::MAX, Time::UNIX_EPOCH][choice % 4]
}

/// A file that is removed again.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("kpodtrace-times-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

fn objects() -> (Value, Vec<String>) {
    let document: Value = serde_json::from_str(&common::read_text(&hostile("far-times.json"))).unwrap();
    let mut all = Vec::new();
    places(&document, "", &mut all);
    (document, all)
}

#[test]
fn each_time_and_number_of_objects_may_be_anything() {
    let (document, all) = objects();
    assert!(all.len() >= 50, "{all:?}");
    let mut rounds = Rounds::default();
    for (i, place) in all.iter().enumerate() {
        for choice in 0..4 {
            let mut document = document.clone();
            put(&mut document, place, choice);
            let file = File::new("object.json", &document.to_string());
            let imported = common::imported(&file.0);
            // A number that no field of the API holds costs its object, a time never does.
            let is_time = document.pointer(place).is_some_and(Value::is_string);
            assert!(imported.skipped.is_empty() || !is_time, "{place} {choice}: {:?}", imported.skipped);
            let mut model = Model::default();
            imported.observations.into_iter().for_each(|o| model.apply(o));
            let at = if i % 2 == 0 { imported.end } else { now(0) };
            let moment = NodeView::new(model.snapshot(), &mut rounds, at);
            assert!(moment.pods.len() == 3 || !is_time, "{place}");
            show(&moment);
        }
    }
}

#[test]
fn a_far_deletion_is_a_deletion() {
    let (mut document, _) = objects();
    put(&mut document, "/items/0/metadata/deletionTimestamp", 0);
    let file = File::new("deleted.json", &document.to_string());
    let mut session = RecordedSession::open(&file.0).unwrap();
    let moment = session.moment();
    let pod = moment.pods.iter().find(|p| p.facts.name == "a").unwrap();
    assert_eq!(pod.facts.object().unwrap().metadata.deletion_timestamp, Some(Time::MAX));
    assert_eq!(pod.position.stage, kpodtrace::pipeline::Stage::Terminating);
}

/// Golden lines with one place of each set to an extreme value.
fn mutated(picks: &[(usize, usize, usize)]) -> Vec<Observation> {
    let mut lines: Vec<Value> = LINES.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    for (line, place, choice) in picks {
        let line = *line % lines.len();
        let mut all = Vec::new();
        places(&lines[line]["value"], "/value", &mut all);
        all.extend(["/wall".to_owned(), "/mono".to_owned()]);
        let place = &all[place % all.len()];
        match place.as_str() {
            "/mono" => lines[line]["mono"] = [u64::MAX, 0, 1 << 63][choice % 3].into(),
            place => put(&mut lines[line], place, *choice),
        }
    }
    let decoded = lines.iter().filter_map(|line| match Observation::decode(&line.to_string()) {
        Decoded::Known(observation) => Some(*observation),
        _ => None,
    });
    decoded.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn observations_with_any_times(
        picks in prop::collection::vec((0usize..1000, 0usize..1000, 0usize..1000), 1..40),
        at in 0usize..4,
    ) {
        let mut model = Model::default();
        mutated(&picks).into_iter().for_each(|o| model.apply(o));
        let json = serde_json::to_string(&model).unwrap();
        show(&NodeView::new(model.snapshot(), &mut Rounds::default(), now(at)));
        let mut again: Model = serde_json::from_str(&json).unwrap();
        again.reindex();
        prop_assert!(again.snapshot().pods == model.snapshot().pods);
    }

    #[test]
    fn objects_with_any_times(
        picks in prop::collection::vec((0usize..1000, 0usize..1000), 2..12),
        at in 0usize..4,
    ) {
        let (mut document, all) = objects();
        picks.iter().for_each(|(place, choice)| put(&mut document, &all[place % all.len()], *choice));
        let file = File::new("objects.json", &document.to_string());
        let mut model = Model::default();
        common::imported(&file.0).observations.into_iter().for_each(|o| model.apply(o));
        show(&NodeView::new(model.snapshot(), &mut Rounds::default(), now(at)));
    }
}

#[test]
fn each_place_of_each_observation_may_be_anything() {
    let mut rounds = Rounds::default();
    for line in 0..LINES.lines().count() {
        for choice in 0..3 {
            let mut model = Model::default();
            let picks: Vec<_> = (0..40).map(|place| (line, place, choice)).collect();
            mutated(&picks).into_iter().for_each(|o| model.apply(o));
            let moment = NodeView::new(model.snapshot(), &mut rounds, now(choice));
            assert!(moment.next_change().is_none_or(|at| at > moment.now));
            report::pleg_text(&moment);
            report::node_text(&moment);
            report::doctor_text(&moment, &[]);
        }
    }
}

struct Ran {
    out: String,
    err: String,
    code: Option<i32>,
}

fn kpodtrace(args: &[&str]) -> Ran {
    let begin = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_kpodtrace")).args(args).output().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(60), "{args:?} took {:?}", begin.elapsed());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(!err.contains("panicked"), "{args:?}: {err}");
    Ran { out, err, code: output.status.code() }
}

#[test]
fn recordings_with_lying_headers_are_read() {
    for name in ["headwall.kpt", "inverted.kpt"] {
        let path = hostile(name);
        let path = path.to_str().unwrap();
        for at in [None, Some("+1s"), Some("12:00"), Some("2026-11-29T12:00:00Z"), Some("9999-12-31T23:59:59Z")] {
            for command in ["pods", "node", "events", "pleg", "doctor"] {
                let mut args = vec![command, "--from", path];
                args.extend(at.iter().flat_map(|at| ["--at", at]));
                let ran = kpodtrace(&args);
                assert!(matches!(ran.code, Some(0..=3)), "{args:?}: {:?} {}", ran.code, ran.err);
            }
        }
        let watched = kpodtrace(&["pods", "--watch", "--from", path]);
        assert_eq!(watched.code, Some(0), "{}", watched.err);
    }
    let far = kpodtrace(&["pods", "--from", hostile("headwall.kpt").to_str().unwrap(), "--at", "0000-01-01T00:00:00Z"]);
    assert!(far.code == Some(2) && far.err.contains("expected 2026-01-31T12:42:10Z"), "{:?} {}", far.code, far.err);
}

#[test]
fn a_recording_over_a_step_of_the_clock_is_played() {
    let path = hostile("ntp1970.kpt");
    let text = path.to_str().unwrap();
    for command in ["pods", "pleg"] {
        let ran = kpodtrace(&[command, "--watch", "--from", text]);
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.err);
        assert!(ran.out.lines().count() < 20, "{command} does not tell what was not recorded: {}", ran.out);
    }
    let mut session = RecordedSession::open(&path).unwrap();
    let end: Time = "2026-11-29T12:00:00Z".parse().unwrap();
    assert_eq!((session.span(), session.now()), ((Time::UNIX_EPOCH, end), end));
    // What the clock skipped is the moment before.
    session.seek("1999-01-01T00:00:00Z".parse().unwrap()).unwrap();
    assert!((session.now() - Time::UNIX_EPOCH).num_seconds() <= 10, "{:?}", session.now());
    session.rewind().unwrap();
    assert_eq!(session.now(), Time::UNIX_EPOCH);
    // Ten seconds are played in ten seconds: five, and then the rest with the step.
    session.advance(Duration::from_secs(5)).unwrap();
    assert_eq!(session.now(), Time::UNIX_EPOCH + TimeDelta::seconds(5));
    session.advance(Duration::from_secs(6)).unwrap();
    assert!(session.is_over());
    assert_eq!(session.now(), end);
}

#[test]
fn a_clock_that_is_set_back_is_played_in_the_order_of_what_happened() {
    use kpodtrace::observation::{Fact, Sequencer, Source};
    use kpodtrace::record::{RecordHeader, RecordWriter};
    let late: Time = "2026-11-29T13:00:00Z".parse().unwrap();
    let early = late - TimeDelta::hours(1);
    let mut sequencer = Sequencer::new(Source::Cri);
    let mut all = Vec::new();
    for second in 0..60u64 {
        let wall = if second < 30 { late } else { early } + TimeDelta::seconds(second as i64);
        all.push(Observation { stamp: sequencer.stamp(second * 1_000_000, wall), fact: Fact::Alive });
    }
    let mut writer = RecordWriter::create(Vec::new(), &RecordHeader::new("n".into(), late)).unwrap();
    kpodtrace::session::write_recording(&mut writer, &all).unwrap();
    let path = std::env::temp_dir().join(format!("kpodtrace-times-{}-back.kpt", std::process::id()));
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    let mut session = RecordedSession::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(session.now(), early + TimeDelta::seconds(59), "the end is what came last");
    assert_eq!(session.span(), (early + TimeDelta::seconds(30), late + TimeDelta::seconds(29)));
    session.rewind().unwrap();
    assert_eq!(session.now(), late);
    session.advance(Duration::from_secs(29)).unwrap();
    assert_eq!(session.now(), late + TimeDelta::seconds(29));
    session.advance(Duration::from_secs(1)).unwrap();
    assert_eq!(session.now(), early + TimeDelta::seconds(30));
    session.seek(early + TimeDelta::seconds(40)).unwrap();
    assert_eq!(session.now(), early + TimeDelta::seconds(40));
    session.advance(Duration::from_secs(20)).unwrap();
    assert!(session.is_over());
}
