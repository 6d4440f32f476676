//! Owns the tests of frames that build on a state in a frame before them.
//! It must not test what a state is.

use super::*;

fn lines(s: u64, count: u64) -> ObservationLines {
    let mut lines = ObservationLines::default();
    observations(s, count).iter().for_each(|o| lines.push(o).unwrap());
    lines
}

/// Two states with three frames each; the second one is in pieces. Gives the ends of the frames too.
fn groups() -> (Vec<u8>, Vec<usize>, String) {
    let mut writer = RecordWriter::create(Vec::new(), &header()).unwrap();
    let mut ends = vec![writer.bytes() as usize];
    let mut put = |writer: &mut RecordWriter<Vec<u8>>, packed: PackedFrame| {
        writer.write_packed(&packed).unwrap();
        ends.push(writer.bytes() as usize);
    };
    let long = "\u{e9}\"".repeat(2500);
    for (i, state) in [serde_json::json!({"pods": 1}), serde_json::json!({ "pods": long })].into_iter().enumerate() {
        let s = 10 * i as u64;
        for packed in PackedFrame::with_state_in(at(s), &state, &lines(s, 2), 10_000, 20_000).unwrap() {
            put(&mut writer, packed);
        }
        for more in [s + 2, s + 4] {
            put(&mut writer, PackedFrame::without_state(at(more), &lines(more, 2)).unwrap());
        }
    }
    (writer.finish().unwrap(), ends, serde_json::json!({ "pods": long }).to_string())
}

#[test]
fn a_frame_continues_the_previous_one() {
    let (bytes, ends, long) = groups();
    let reader = open(bytes.clone()).unwrap();
    assert!(reader.is_complete(), "{:?}", reader.problems());
    let starts: Vec<u32> = reader.frames().iter().map(|f| f.start.back()).collect();
    assert_eq!(starts, [0, 1, 2, 0, 1, 2, 3, 4, 5], "three pieces, and the observations in their own frame");
    let state = reader.state(2).unwrap();
    assert_eq!((state.at, state.json.as_str(), state.next), (at(0), r#"{"pods":1}"#, 0));
    for index in 3..9 {
        let state = reader.state(index).unwrap();
        assert_eq!((state.at, state.json == long, state.next), (at(10), true, 6));
    }
    let all: Vec<_> = (0..9).flat_map(|i| reader.frame(i).unwrap().observations().collect::<Vec<_>>()).collect();
    let times: Vec<u64> = all.iter().map(|o| o.stamp.mono / 1_000_000).collect();
    assert_eq!(times, [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15]);
    // A writer that is killed leaves every frame that it has written.
    for (frames, end) in ends.iter().enumerate() {
        let torn = open(bytes[..*end].to_vec()).unwrap();
        let readable = if (4..6).contains(&frames) { 3 } else { frames };
        assert_eq!(torn.frames().len(), readable, "a piece alone is no state");
        (0..readable).for_each(|i| _ = torn.state(i).unwrap());
    }
}

#[test]
fn a_damaged_frame_costs_those_that_build_on_it() {
    let (bytes, ends, _) = groups();
    let expected: [&[u64]; 9] = [
        &[3, 4, 5, 6, 7, 8],
        &[0, 3, 4, 5, 6, 7, 8],
        &[0, 1, 3, 4, 5, 6, 7, 8],
        &[0, 1, 2],
        &[0, 1, 2],
        &[0, 1, 2],
        &[0, 1, 2, 3, 4, 5],
        &[0, 1, 2, 3, 4, 5, 6],
        &[0, 1, 2, 3, 4, 5, 6, 7],
    ];
    for (lost, left) in expected.into_iter().enumerate() {
        let mut bytes = bytes.clone();
        bytes[(ends[lost] + ends[lost + 1]) / 2] ^= 0x40;
        let reader = open(bytes).unwrap();
        assert_eq!(numbers(&reader), left, "without frame {lost}");
        let told = damages(&reader);
        assert!(told.contains(&Damage::Checksum), "{told:?}");
        let gone = 8 - left.len() as u64;
        let said: u64 = told.iter().map(|d| if let Damage::NoState { count, .. } = d { *count } else { 0 }).sum();
        assert_eq!(said, gone, "{told:?}");
        (0..left.len()).for_each(|i| _ = reader.state(i).unwrap());
    }
}

#[test]
fn a_state_that_is_too_long_is_refused() {
    let half = "x".repeat(500);
    let cut = |limit| PackedFrame::with_state_in(at(0), &[&half, &half], &ObservationLines::default(), 300, limit);
    assert_eq!(cut(1007).unwrap().len(), 7);
    let error = cut(1006).unwrap_err();
    assert!(matches!(error, RecordError::TooLarge { what: "a state", .. }), "{error}");
}

/// A header may lie about everything but its checksums.
#[test]
fn a_frame_that_builds_on_nothing_is_left_out() {
    let mut writer = RecordWriter::create(Vec::new(), &header()).unwrap();
    for start in [
        FrameStart::Before { back: 1 },
        FrameStart::Before { back: u32::MAX },
        FrameStart::Piece { back: 0, last: false },
        FrameStart::Piece { back: 7, last: true },
        FrameStart::State,
    ] {
        let mut packed = PackedFrame::without_state(at(0), &lines(0, 1)).unwrap();
        packed.head.start = start;
        writer.write_unchecked(&packed).unwrap();
    }
    let reader = open(writer.finish().unwrap()).unwrap();
    assert_eq!(numbers(&reader), [4]);
}
