//! A damaged recording: what is lost is told, and what is whole is shown as it was.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use kpodtrace::observation::{Call, Fact, Observation, Sequencer, Source, Time};
use kpodtrace::record::{RecordHeader, RecordReader, RecordWriter};
use kpodtrace::session::{RecordedSession, write_recording};

const DEMO: &[u8] = include_bytes!("../assets/demo/incident.kpt");

fn at(time: &str) -> Time {
    format!("2026-11-29T{time}Z").parse().unwrap()
}

/// A file of that content, removed when the test ends.
struct Temp(PathBuf);

impl Temp {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("kpodtrace-{}-{name}.kpt", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn behind_a_lost_frame_the_state_is_whole_again() {
    let whole = RecordReader::from_bytes("demo", DEMO).unwrap();
    let lost = whole.find_frame(at("12:40:00.000")).unwrap();
    let mut bytes = DEMO.to_vec();
    let frame = &whole.frames()[lost];
    bytes[usize::try_from(frame.offset).unwrap() + usize::try_from(frame.len).unwrap() / 2] ^= 0x40;
    let file = Temp::new("flipped", &bytes);

    let mut damaged = RecordedSession::open(&file.0).unwrap();
    assert!(damaged.problems().iter().any(|p| p.at == frame.offset), "{:?}", damaged.problems());
    let mut intact = RecordedSession::demo().unwrap();
    let later = at("12:43:30.000");
    // Played over the gap, and sought behind it: the keyframe brings back what the lost frame had changed.
    damaged.seek(at("12:38:30.000")).unwrap();
    while damaged.now() < later {
        damaged.advance(std::time::Duration::from_secs(1)).unwrap();
    }
    intact.seek(damaged.now()).unwrap();
    assert_eq!(damaged.moment().snapshot.pods, intact.moment().snapshot.pods);
    damaged.seek(later).unwrap();
    intact.seek(later).unwrap();
    assert_eq!(damaged.moment().rows(), intact.moment().rows());
}

#[test]
fn a_recording_ends_with_its_last_observation() {
    // Live stamps have nanoseconds; an end in whole microseconds must not cut off what was observed within the last one.
    let begin = at("12:00:00.000000100");
    let mut seq = Sequencer::new(Source::Cri);
    let mut say = |nanos: i64, fact: Fact| {
        let wall = begin + kpodtrace::time::TimeDelta::nanoseconds(nanos);
        Observation { stamp: seq.stamp(u64::try_from(nanos / 1000).unwrap(), wall), fact }
    };
    let answered = Fact::CallEnd { call: Call::CriList, took_us: 15_000_000, error: None };
    let observations = [say(0, Fact::CallBegin(Call::CriList)), say(15_000_000_501, answered)];
    let mut writer = RecordWriter::create(Vec::new(), &RecordHeader::new("n".into(), begin)).unwrap();
    write_recording(&mut writer, &observations).unwrap();
    let file = Temp::new("nanoseconds", &writer.finish().unwrap());

    let mut session = RecordedSession::open(&file.0).unwrap();
    let (first, last) = session.span();
    assert!(first <= begin && last >= observations[1].stamp.wall, "{first} {last}");
    let calls = session.moment().pleg().own;
    assert_eq!((calls.in_flight, calls.unanswered_since, calls.done.len()), (None, None, 1));
}

#[test]
fn a_recording_that_was_cut_shows_what_there_is_and_says_so() {
    let file = Temp::new("cut", &DEMO[..DEMO.len() * 2 / 3]);
    let mut session = RecordedSession::open(&file.0).unwrap();
    assert!(!session.problems().is_empty());
    let (begin, end) = session.span();
    assert!(begin < end && end < at("12:44:00.000"));
    assert!(!session.moment().pods.is_empty());
}
