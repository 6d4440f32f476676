//! Owns the tests of damage: cuts, wrong bytes, garbage, and files that were made to harm.
//! It must not accept a wrong content in silence, however it came about.

use proptest::prelude::*;

use super::super::format;
use super::*;

/// Either nothing can be read, or damage is reported, or all is unchanged; a wrong value is never read.
fn check_damaged(bytes: Vec<u8>) {
    let Ok(reader) = open(bytes) else { return };
    let original = original();
    let found = contents(&reader);
    assert!(found.iter().all(|f| original.contains(f)));
    if reader.is_complete() {
        assert_eq!((found, reader.header()), (original, &header()));
    }
}

#[test]
fn a_cut_at_every_length_keeps_every_whole_frame() {
    let (bytes, ends) = &*SMALL;
    let original = original();
    for cut in 0..bytes.len() {
        let whole = ends.iter().skip(1).filter(|&&end| end <= cut).count();
        match open(bytes[..cut].to_vec()) {
            Err(_) => assert!(cut < ends[0], "{cut}"),
            Ok(reader) => {
                assert!(!reader.is_complete(), "{cut}");
                assert!(damages(&reader).contains(&Damage::NoEnd), "{cut}");
                assert_eq!(contents(&reader), original[..whole], "{cut}");
            }
        }
    }
}

#[test]
fn every_byte_may_be_wrong() {
    for i in 0..SMALL.0.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = SMALL.0.clone();
            bytes[i] ^= flip;
            assert!(open(bytes.clone()).map_or(true, |r| !r.is_complete()), "byte {i}");
            check_damaged(bytes);
        }
    }
}

#[test]
fn a_damaged_header_costs_the_header_alone() {
    for i in [0, 9, 13, 17, 30] {
        let mut bytes = SMALL.0.clone();
        bytes[i] ^= 0x40;
        let reader = open(bytes).unwrap();
        assert_eq!(damages(&reader), [Damage::Header]);
        assert_eq!(contents(&reader), original());
        assert_eq!(reader.header().node, "");
    }
}

#[test]
fn a_damaged_frame_costs_that_frame_alone() {
    let (mut bytes, ends) = SMALL.clone();
    bytes[ends[2] - 1] ^= 1;
    let reader = open(bytes).unwrap();
    let (at, len) = (ends[1] as u64, (ends[2] - ends[1]) as u64);
    assert_eq!(reader.problems()[0], Problem { at, len, what: Damage::Checksum });
    assert_eq!(damages(&reader)[1], Damage::Missing { first: 1, count: 1 });
    assert_eq!(numbers(&reader), [0, 2]);
    assert_eq!(contents(&reader)[1], original()[2]);
}

#[test]
fn frames_missing_twice_or_after_the_end_are_reported() {
    let (bytes, ends) = &*SMALL;
    let part = |from: usize, to: usize| &bytes[ends[from]..ends[to]];
    let (head, end) = (&bytes[..ends[0]], &bytes[ends[3]..]);
    let of = |parts: &[&[u8]]| open(parts.concat()).unwrap();

    let gone = of(&[head, part(0, 1), part(2, 3), end]);
    assert_eq!(damages(&gone)[0], Damage::Missing { first: 1, count: 1 });
    let last = of(&[head, part(0, 2), end]);
    assert_eq!(damages(&last), [Damage::Totals { frames: 3, observations: 12 }]);
    let twice = of(&[head, part(0, 2), part(1, 3), end]);
    assert_eq!((damages(&twice), numbers(&twice)), (vec![Damage::OutOfOrder { number: 1 }], vec![0, 1, 2]));
    let early = of(&[head, part(0, 1), end, part(1, 3), end]);
    assert_eq!((damages(&early), contents(&early)), (vec![Damage::EarlyEnd], original()));
    let behind = of(&[bytes, b"more"]);
    assert_eq!((damages(&behind), contents(&behind)), (vec![Damage::Garbage], original()));
}

#[test]
fn what_looks_like_frames_everywhere_is_given_up() {
    let head = format::FrameHead {
        compressed: 1 << 20,
        raw: 1,
        observations: 0,
        number: 0,
        start: FrameStart::State,
        first: at(0),
        last: at(0),
    };
    let mut bytes = SMALL.0[..SMALL.1[1]].to_vec();
    for _ in 0..4000 {
        bytes.extend(format::encode_frame_head(&head, b""));
    }
    bytes.extend(vec![0; 1 << 20]);
    let reader = open(bytes).unwrap();
    assert_eq!(contents(&reader), original()[..1]);
    assert_eq!(damages(&reader), [Damage::Checksum, Damage::GivenUp, Damage::NoEnd]);
}

/// Bytes that neither compress nor are valid UTF-8.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn frames_and_damage_longer_than_a_chunk() {
    let text: String = noise(200_000).iter().map(|b| char::from(b' ' + b % 64)).collect();
    let mut writer = RecordWriter::create(Vec::new(), &header()).unwrap();
    let mut ends = vec![writer.bytes() as usize];
    for i in 0..3 {
        writer.write_frame(at(i * 10), &text, &observations(i * 10, 4)).unwrap();
        ends.push(writer.bytes() as usize);
    }
    assert!(ends[1] > 100_000, "{ends:?}");
    let bytes = writer.finish().unwrap();
    let whole = open(bytes.clone()).unwrap();
    assert!(whole.is_complete());
    // With these lengths the next frame's first bytes are on both sides of a chunk's end.
    for len in (65_528..65_540).chain([200_000]) {
        let reader = open([&bytes[..ends[1]], &noise(len), &bytes[ends[1]..]].concat()).unwrap();
        assert_eq!(contents(&reader), contents(&whole), "{len}");
        assert_eq!(reader.problems(), [Problem { at: ends[1] as u64, len: len as u64, what: Damage::Garbage }]);
    }
    for i in 0..3 {
        let mut bytes = bytes.clone();
        bytes[ends[i] + 70_000] ^= 1;
        let reader = open(bytes).unwrap();
        let rest: Vec<u64> = (0..3).filter(|&n| n != i as u64).collect();
        assert_eq!(numbers(&reader), rest);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn wrong_bytes_are_noticed(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = SMALL.0.clone();
        for (index, value) in flips {
            *index.get_mut(&mut bytes) = value;
        }
        check_damaged(bytes);
    }

    #[test]
    fn frames_behind_garbage_are_found(
        garbage in prop::collection::vec(any::<u8>(), 1..300), between in 0usize..4, marks in 0usize..3,
    ) {
        let (bytes, ends) = &*SMALL;
        let mut garbage = garbage;
        // Also what begins like a frame.
        garbage.extend(bytes[ends[0]..].iter().take(marks * 37));
        let (before, behind) = bytes.split_at(ends[between]);
        let reader = open([before, &garbage, behind].concat()).unwrap();
        prop_assert!(!reader.is_complete());
        prop_assert_eq!(contents(&reader), original());
    }

    #[test]
    fn a_part_cut_out_costs_what_it_touches(from in any::<prop::sample::Index>(), len in 1usize..400) {
        let mut bytes = SMALL.0.clone();
        let from = from.index(bytes.len());
        let to = (from + len).min(bytes.len());
        bytes.drain(from..to);
        let (before, ends) = &*SMALL;
        // Frames start alike: a cut from the start of one to the same place in the next leaves the next one whole.
        let is_left = |i: &usize| bytes.windows(ends[i + 1] - ends[*i]).any(|left| *left == before[ends[*i]..ends[i + 1]]);
        let whole = (0..3).filter(is_left).map(|i| i as u64).collect::<Vec<_>>();
        match open(bytes) {
            Ok(reader) => {
                prop_assert!(!reader.is_complete());
                prop_assert_eq!(numbers(&reader), whole);
            }
            Err(e) => prop_assert!(whole.is_empty() && from < ends[0], "{}", e),
        }
    }

    #[test]
    fn other_bytes_are_not_a_recording(bytes in prop::collection::vec(any::<u8>(), 0..2000), magic in any::<bool>()) {
        let bytes = if magic { [&SMALL.0[..8], &bytes].concat() } else { bytes };
        let error = open(bytes).unwrap_err();
        let refused = matches!(error, RecordError::NotARecording { .. } | RecordError::HeaderDamaged { .. });
        prop_assert!(refused, "{}", error);
    }
}
