//! Tests of the recording as a whole: written data is read back, and damage costs only the frames it touches. The encoding of an
//! observation is tested in `tests/golden.rs`.

use std::borrow::Cow;
use std::os::unix::fs::PermissionsExt;
use std::sync::LazyLock;

use serde_json::value::RawValue;

use super::*;
use crate::observation::{Fact, Observation, Sequencer, Source};

mod damage;
mod groups;

fn wall(s: u64) -> Time {
    Time::from_timestamp(1_772_366_400 + s as i64, 123_456_789).unwrap()
}

fn at(s: u64) -> RecordPoint {
    RecordPoint { mono: s * 1_000_000, wall: wall(s) }
}

/// Observations of the seconds from `s` on.
fn observations(s: u64, count: u64) -> Vec<Observation> {
    let mut seq = Sequencer::new(Source::ApiPods);
    let mut gone = |s| Observation {
        stamp: seq.stamp(s * 1_000_000, wall(s)),
        fact: Fact::PodGone(format!("5b2f0d4c-0000-4a6e-9c51-{s:012}").into()),
    };
    (s..s + count).map(&mut gone).collect()
}

fn header() -> RecordHeader {
    let mut header = RecordHeader::new("node-1".into(), wall(0));
    header.labels.insert("ticket".into(), "OPS-1".into());
    header
}

/// A recording of three frames with 10 s each, the offsets of their ends, and of the recording's.
static SMALL: LazyLock<(Vec<u8>, Vec<usize>)> = LazyLock::new(|| {
    let mut writer = RecordWriter::create(Vec::new(), &header()).unwrap();
    let mut ends = vec![writer.bytes() as usize];
    for i in 0..3 {
        writer
            .write_frame(at(i * 10), &serde_json::json!({"pods": i, "of": "a\nb"}), &observations(i * 10, 4))
            .unwrap();
        ends.push(writer.bytes() as usize);
    }
    (writer.finish().unwrap(), ends)
});

fn open(bytes: impl Into<Cow<'static, [u8]>>) -> Result<RecordReader, RecordError> {
    RecordReader::from_bytes("test", bytes)
}

type Content = (u64, RecordPoint, String, Vec<Observation>);

fn content(reader: &RecordReader, index: usize) -> Result<Content, RecordError> {
    let frame = reader.frame(index)?;
    let mut lines = frame.observations();
    let observations = lines.by_ref().collect();
    assert_eq!((lines.unknown(), lines.malformed()), (0, 0));
    Ok((reader.frames()[index].number, frame.at, frame.keyframe.get().to_owned(), observations))
}

fn contents(reader: &RecordReader) -> Vec<Content> {
    (0..reader.frames().len()).map(|i| content(reader, i).unwrap()).collect()
}

fn original() -> Vec<Content> {
    contents(&open(SMALL.0.as_slice()).unwrap())
}

fn numbers(reader: &RecordReader) -> Vec<u64> {
    reader.frames().iter().map(|f| f.number).collect()
}

fn damages(reader: &RecordReader) -> Vec<Damage> {
    reader.problems().iter().map(|p| p.what).collect()
}

#[test]
fn written_observations_are_read_back() {
    let reader = open(SMALL.0.as_slice()).unwrap();
    assert!(reader.is_complete(), "{:?}", reader.problems());
    assert_eq!(reader.header(), &header());
    for i in 0..3u64 {
        let (number, time, keyframe, lines) = content(&reader, i as usize).unwrap();
        assert_eq!((number, time), (i, at(i * 10)));
        assert_eq!(keyframe, serde_json::json!({"pods": i, "of": "a\nb"}).to_string());
        assert_eq!(lines, observations(i * 10, 4));
        let info = reader.frames()[i as usize];
        assert_eq!(
            (info.observations, info.first.mono, info.last.mono),
            (4, i * 10_000_000, i * 10_000_000 + 3_000_000)
        );
    }
    assert!(matches!(reader.frame(3), Err(RecordError::NoFrame { index: 3, frames: 3, .. })));
}

#[test]
fn a_wall_time_is_found() {
    let reader = open(SMALL.0.as_slice()).unwrap();
    let far = crate::time::TimeDelta::days(1);
    assert_eq!(reader.find_frame(wall(0) - far), Some(0));
    assert_eq!([0, 3, 5, 10, 12, 19, 20, 99].map(|s| reader.find_frame(wall(s)).unwrap()), [0, 0, 0, 1, 1, 1, 2, 2]);
    let none = RecordWriter::create(Vec::new(), &header()).unwrap().finish().unwrap();
    assert_eq!(open(none).unwrap().find_frame(wall(0)), None);
}

#[test]
fn a_clock_that_is_set_back_is_found() {
    let mut writer = RecordWriter::create(Vec::new(), &header()).unwrap();
    for (mono, s) in [(0, 100), (10, 110), (20, 50)] {
        let at = RecordPoint { mono: mono * 1_000_000, wall: wall(s) };
        writer.write_frame(at, "k", &observations(s, 5)).unwrap();
    }
    let reader = open(writer.finish().unwrap()).unwrap();
    assert_eq!([112, 101, 52].map(|s| reader.find_frame(wall(s)).unwrap()), [1, 0, 2]);
}

#[test]
fn a_file_is_read_on_demand_and_never_overwritten() {
    let dir = std::env::temp_dir().join(format!("kpodtrace-record-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("small.kpt");
    let mut writer = create_file(&path, &header()).unwrap();
    for i in 0..3 {
        writer
            .write_frame(at(i * 10), &serde_json::json!({"pods": i, "of": "a\nb"}), &observations(i * 10, 4))
            .unwrap();
    }
    writer.finish().unwrap().sync_all().unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read(&path).unwrap(), SMALL.0);
    let reader = RecordReader::open(&path).unwrap();
    assert!(reader.is_complete());
    assert_eq!(contents(&reader), original());

    let again = create_file(&path, &header()).unwrap_err();
    assert!(matches!(again, RecordError::Exists { .. }), "{again}");
    assert!(matches!(create_file(&dir.join("no/file"), &header()), Err(RecordError::Create { .. })));
    assert!(matches!(RecordReader::open(&dir), Err(RecordError::NotAFile { .. })));
    assert!(matches!(RecordReader::open(&dir.join("none")), Err(RecordError::Open { .. })));

    std::fs::write(&path, &SMALL.0[..SMALL.1[1]]).unwrap();
    assert!(matches!(reader.frame(1), Err(RecordError::Read { .. })));
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let (mut bytes, ends) = SMALL.clone();
    let line = br#"{"format":"3.0","program":"kpodtrace 7.1.0","shape":{"is":"new"}}"#;
    let mut newer = bytes[..8].to_vec();
    newer.extend([3, 0, 0, 0]);
    newer.extend((line.len() as u32).to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&newer);
    crc.update(line);
    newer.extend(crc.finalize().to_le_bytes());
    newer.extend(line);
    newer.extend(bytes.drain(ends[0]..));
    let error = open(newer).unwrap_err().to_string();
    let said = "test was written by kpodtrace 7.1.0 in format 3, this version reads up to format 2";
    assert_eq!(error, said);
}

#[test]
fn a_later_minor_version_may_lengthen_the_frame_header() {
    let (bytes, ends) = &*SMALL;
    let (fields, payload) = (&bytes[ends[0]..ends[0] + 69], &bytes[ends[0] + 77..ends[1]]);
    let mut frame = fields.to_vec();
    frame[10..12].copy_from_slice(&85u16.to_le_bytes());
    frame.extend(*b"addition");
    let crc = crc32fast::hash(&[&frame, payload].concat());
    frame.extend(crc.to_le_bytes());
    let crc = crc32fast::hash(&frame);
    frame.extend(crc.to_le_bytes());
    let reader = open([&bytes[..ends[0]], &frame, payload, &bytes[ends[1]..]].concat()).unwrap();
    assert!(reader.is_complete(), "{:?}", reader.problems());
    assert_eq!(contents(&reader), original());
}

/// A recording of one frame that holds `raw` and claims `observations` of them.
fn with_payload(raw: &[u8], observations: usize, claimed: Option<u32>) -> RecordReader {
    let mut writer = RecordWriter::create(Vec::new(), &header()).unwrap();
    let mut packed = PackedFrame::compress(raw, observations, at(0), at(0)).unwrap();
    packed.head.raw = claimed.unwrap_or(packed.head.raw);
    writer.write_packed(&packed).unwrap();
    open(writer.finish().unwrap()).unwrap()
}

const KEY: &str = r#"{"at":{"mono":0,"wall":"2026-03-01T12:00:00Z","later":1},"keyframe":[1],"later":{}}"#;

#[test]
fn lines_of_later_versions_and_broken_lines_are_counted() {
    let line = observations(1, 1)[0].encode().unwrap();
    let later = line.replace("pod-gone", "pod-thought-of");
    let mut raw = [KEY, &line, &later, "{", "", &line].join("\n").into_bytes();
    raw.extend(b"\n\xff\xfe\n");
    raw.extend(vec![b' '; MAX_LINE_LEN]);
    raw.extend(line.as_bytes());
    raw.push(b'\n');
    let frame = with_payload(&raw, 7, None).frame(0).unwrap();
    assert_eq!(frame.keyframe.get(), "[1]");
    let mut lines = frame.observations();
    assert_eq!(lines.by_ref().count(), 2);
    assert_eq!((lines.unknown(), lines.malformed()), (1, 4));
}

#[test]
fn a_frame_that_is_not_what_it_claims_is_refused() {
    let fault = |raw: &str, count, claimed| match with_payload(raw.as_bytes(), count, claimed).frame(0) {
        Err(RecordError::Frame { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let good = format!("{KEY}\n");
    let len = good.len() as u32;
    assert_eq!(fault(&good, 0, Some(len - 1)), FrameFault::Compression);
    assert_eq!(fault(&good, 0, Some(len + 1)), FrameFault::Compression);
    assert_eq!(fault(&"0".repeat(10 << 20), 0, Some(len)), FrameFault::Compression);
    assert_eq!(fault(&good, 1, None), FrameFault::Count);
    assert_eq!(fault(&format!("{good}no line feed"), 0, None), FrameFault::Count);
    assert_eq!(fault("\n", 0, None), FrameFault::Keyframe);
    assert_eq!(fault("", 0, None), FrameFault::Keyframe);
    assert_eq!(fault("{}\n", 0, None), FrameFault::Keyframe);
    // A length above the limit is not even taken for a frame.
    assert!(with_payload(good.as_bytes(), 0, Some(MAX_RAW + 1)).frames().is_empty());
}

#[test]
fn raw_json_of_a_keyframe_may_be_pretty() {
    let raw = RawValue::from_string("{\n  \"a\": \"b\\nc\"\n}".into()).unwrap();
    let mut writer = RecordWriter::create(Vec::new(), &header()).unwrap();
    writer.write_frame(at(0), &raw, &observations(0, 1)).unwrap();
    let reader = open(writer.finish().unwrap()).unwrap();
    let (_, _, keyframe, lines) = content(&reader, 0).unwrap();
    assert_eq!((keyframe.as_str(), lines), ("{   \"a\": \"b\\nc\" }", observations(0, 1)));
}

#[test]
fn what_no_reader_would_take_is_not_written() {
    let mut long = header();
    long.labels = (0..9).map(|i| (Text::from(i.to_string()), "x\n".repeat(4 << 10).into())).collect();
    assert!(matches!(RecordWriter::create(Vec::new(), &long), Err(RecordError::TooLarge { what: "a header", .. })));
    let huge = "x".repeat(MAX_RAW as usize);
    assert!(matches!(PackedFrame::new(at(0), &huge, &[]), Err(RecordError::TooLarge { what: "a frame", .. })));
}

/// A disk that is full for one write.
struct Full<'a>(Vec<u8>, &'a std::cell::Cell<bool>);

impl std::io::Write for Full<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.1.get() {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_frame_that_could_not_be_written_is_missed() {
    let full = std::cell::Cell::new(false);
    let mut writer = RecordWriter::create(Full(Vec::new(), &full), &header()).unwrap();
    for i in 0..3 {
        full.set(i == 1);
        let written = writer.write_frame(at(i * 10), "k", &observations(i * 10, 4));
        assert_eq!(written.is_ok(), i != 1);
    }
    let reader = open(writer.finish().unwrap().0).unwrap();
    assert_eq!(numbers(&reader), [0, 2]);
    assert_eq!(damages(&reader)[0], Damage::Missing { first: 1, count: 1 });
}

#[test]
fn deep_nesting_is_carried_or_refused() {
    let deep = "[".repeat(1 << 20) + &"]".repeat(1 << 20);
    let line = observations(1, 1)[0].encode().unwrap();
    let key = KEY.replace("[1]", &deep);
    let raw = [&key, &line, &line.replacen('{', &format!("{{\"x\":{},", &deep[(1 << 20) - 9999..][..19998]), 1), ""]
        .join("\n");
    let frame = with_payload(raw.as_bytes(), 2, None).frame(0).unwrap();
    assert_eq!(frame.keyframe.get().len(), 2 << 20);
    assert_eq!(frame.observations().next(), Some(observations(1, 1).remove(0)));
    assert!(serde_json::from_str::<serde_json::Value>(frame.keyframe.get()).is_err());
    frame.observations().for_each(drop);
}
