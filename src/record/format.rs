//! The bytes of a recording: header, frame header, end record, and their checksums. No length is used before its checksum is
//! verified.
//!
//! All numbers are little endian; checksums are CRC-32 (IEEE).
//!
//! ```text
//! header   magic 8, major u16, minor u16, length u32, crc u32, then `length` bytes: one line of JSON with its line feed.
//!          The crc covers the 16 bytes before it and the line. The header is the same in every major version.
//! frame    magic 8, major u16, header length u16, compressed u32, raw u32, observations u32, number u64,
//!          first mono u64, last mono u64 (µs), first wall i64 (Unix µs, rounded down), last wall i64 (rounded up),
//!          from major version 2: back u32, piece u8
//!          (a later minor version can add fields here and increase the header length)
//!          payload crc u32 (over all the above and the payload), header crc u32 (over all the above), payload.
//! end      magic 8, frames u64, observations u64, crc u32 (over all the above).
//! payload  one zstd frame: a line of JSON {"at":{"mono":…,"wall":…},"keyframe":…}, then one line for each observation.
//! ```
//!
//! A frame with `back` 0 starts with a state, the keyframe; in version 1 every frame does. A frame with `back` above 0 continues
//! the frame before it, has the keyframe `null`, and builds on the state that starts `back` frames before it. A state that is
//! too long for one frame is divided into pieces: consecutive frames without observations whose keyframes are JSON strings,
//! which together are the JSON text of the state; `piece` is 1 if another piece follows, 2 in the last, 0 in all other frames.

use serde::{Deserialize, Serialize};

use super::{RecordError, RecordHeader, RecordPoint};
use crate::observation::Time;
use crate::text::Text;

/// Major version of the format; this program cannot read a higher one.
pub const FORMAT_MAJOR: u16 = 2;
/// Minor version of the format; a higher one only adds fields that can be ignored.
pub const FORMAT_MINOR: u16 = 0;
/// Longest payload of a frame before compression, bytes.
pub const MAX_RAW: u32 = 64 << 20;

/// Not UTF-8, and changed by every transfer in text mode.
const MAGIC: [u8; 8] = *b"\x89KPT\r\n\x1a\n";
const FRAME_MAGIC: [u8; 8] = *b"\xf7KPTfr\r\n";
const END_MAGIC: [u8; 8] = *b"\xf7KPTen\r\n";
/// First bytes of the frame and the end magic; UTF-8 text never contains 0xf7.
pub(super) const MARK: [u8; 4] = *b"\xf7KPT";

/// True if a file with these first bytes is a recording, of any version.
pub fn is_recording(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}

/// Whole microseconds, rounded up: the end of a frame must not be before its last observation, which has nanoseconds.
fn micros_up(at: Time) -> i64 {
    let rest = at.timestamp_subsec_nanos() % 1000;
    at.timestamp_micros().saturating_add(i64::from(rest != 0))
}

/// Longest header line, bytes.
const MAX_HEADER: usize = 64 << 10;
const PREAMBLE: usize = 20;
/// Longest header, bytes: the first frame starts at this offset at the latest.
pub(super) const MAX_PREAMBLE: usize = PREAMBLE + MAX_HEADER;

const FRAME_FIELDS: usize = 64;
const FRAME_CRCS: usize = 8;
/// Length of the frame header of version 1, bytes.
const MIN_FRAME_HEADER: usize = FRAME_FIELDS + FRAME_CRCS;
/// Length of the frame header that is written, bytes.
const FRAME_HEADER: usize = MIN_FRAME_HEADER + 5;
/// Longest frame header of a later minor version, bytes.
pub(super) const MAX_FRAME_HEADER: usize = 512;
/// Upper bound of the compressed length of [`MAX_RAW`] bytes.
const MAX_COMPRESSED: u32 = MAX_RAW + (MAX_RAW >> 7) + 1024;

#[derive(Serialize)]
struct HeaderLine<'a> {
    format: String,
    #[serde(flatten)]
    header: &'a RecordHeader,
}

/// Encodes the header, for the start of the file.
///
/// # Errors
/// [`RecordError::Encode`] and [`RecordError::TooLarge`].
pub(super) fn encode_header(header: &RecordHeader) -> Result<Vec<u8>, RecordError> {
    let line = HeaderLine { format: format!("{FORMAT_MAJOR}.{FORMAT_MINOR}"), header };
    let mut line =
        serde_json::to_vec(&line).map_err(|e| RecordError::Encode { what: "the header", why: e.to_string().into() })?;
    line.push(b'\n');
    let len = u32::try_from(line.len()).ok().filter(|&l| l as usize <= MAX_HEADER);
    let Some(len) = len else {
        return Err(RecordError::TooLarge { what: "a header", len: line.len() as u64, limit: MAX_HEADER as u64 });
    };
    let mut out = MAGIC.to_vec();
    out.extend(FORMAT_MAJOR.to_le_bytes());
    out.extend(FORMAT_MINOR.to_le_bytes());
    out.extend(len.to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&out);
    crc.update(&line);
    out.extend(crc.finalize().to_le_bytes());
    out.extend(line);
    Ok(out)
}

/// The start of a file.
#[derive(Debug)]
pub(super) enum Beginning {
    /// A valid header; the first frame is at offset `len`.
    Header { header: RecordHeader, len: u64 },
    /// A valid header of a later major version.
    Newer { major: u16, program: Text },
    /// The right magic with a damaged header.
    Damaged,
    /// Not a recording.
    Foreign,
}

/// Decodes the header from the first [`MAX_PREAMBLE`] bytes of a file, or from fewer if the file is shorter.
pub(super) fn decode_header(bytes: &[u8]) -> Beginning {
    #[derive(Deserialize)]
    struct Program {
        #[serde(default)]
        program: Text,
    }
    if !bytes.starts_with(&MAGIC) {
        return Beginning::Foreign;
    }
    let parse = || {
        let (covered, _) = bytes.split_at_checked(PREAMBLE - 4)?;
        let mut rest = bytes.get(MAGIC.len()..)?;
        let major = u16::from_le_bytes(take(&mut rest)?);
        let _minor = u16::from_le_bytes(take(&mut rest)?);
        let len = u32::from_le_bytes(take(&mut rest)?) as usize;
        let crc = u32::from_le_bytes(take(&mut rest)?);
        let line = rest.get(..len)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(covered);
        hasher.update(line);
        if hasher.finalize() != crc {
            return None;
        }
        if major > FORMAT_MAJOR {
            let program = serde_json::from_slice::<Program>(line).map(|p| p.program).unwrap_or_default();
            let program = if program.is_empty() { "a later kpodtrace".into() } else { program };
            return Some(Beginning::Newer { major, program });
        }
        let header = serde_json::from_slice(line).ok()?;
        Some(Beginning::Header { header, len: (PREAMBLE + len) as u64 })
    };
    parse().unwrap_or(Beginning::Damaged)
}

/// The state on which a frame's observations build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameStart {
    /// The keyframe of this frame.
    State,
    /// A state in pieces: the keyframe of this frame is a part of its JSON text.
    Piece {
        /// Number of earlier pieces.
        back: u32,
        /// The last piece.
        last: bool,
    },
    /// The state after the frame before.
    Before {
        /// Number of frames back to the state, at least 1.
        back: u32,
    },
}

impl FrameStart {
    fn from_fields(back: u32, piece: u8) -> Option<Self> {
        match (back, piece) {
            (0, 0) => Some(FrameStart::State),
            (back, 0) => Some(FrameStart::Before { back }),
            (back, 1 | 2) => Some(FrameStart::Piece { back, last: piece == 2 }),
            _ => None,
        }
    }

    fn piece(self) -> u8 {
        match self {
            FrameStart::Piece { last: false, .. } => 1,
            FrameStart::Piece { last: true, .. } => 2,
            FrameStart::State | FrameStart::Before { .. } => 0,
        }
    }

    /// Number of frames back to the start of the state.
    pub fn back(self) -> u32 {
        match self {
            FrameStart::State => 0,
            FrameStart::Piece { back, .. } | FrameStart::Before { back } => back,
        }
    }
}

/// A frame header's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub compressed: u32,
    pub raw: u32,
    pub observations: u32,
    pub number: u64,
    pub start: FrameStart,
    /// The earliest of each clock in the frame.
    pub first: RecordPoint,
    /// The latest of each clock in the frame.
    pub last: RecordPoint,
}

/// Encodes the frame header of `payload`. The length of `payload` must be `compressed` of the head.
pub(super) fn encode_frame_head(head: &FrameHead, payload: &[u8]) -> Vec<u8> {
    let mut out = FRAME_MAGIC.to_vec();
    out.extend(FORMAT_MAJOR.to_le_bytes());
    out.extend((FRAME_HEADER as u16).to_le_bytes());
    out.extend(head.compressed.to_le_bytes());
    out.extend(head.raw.to_le_bytes());
    out.extend(head.observations.to_le_bytes());
    out.extend(head.number.to_le_bytes());
    out.extend(head.first.mono.to_le_bytes());
    out.extend(head.last.mono.to_le_bytes());
    out.extend(head.first.wall.timestamp_micros().to_le_bytes());
    out.extend(micros_up(head.last.wall).to_le_bytes());
    out.extend(head.start.back().to_le_bytes());
    out.push(head.start.piece());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&out);
    crc.update(payload);
    out.extend(crc.finalize().to_le_bytes());
    let header_crc = crc32fast::hash(&out);
    out.extend(header_crc.to_le_bytes());
    out
}

/// Encodes the end record.
pub(super) fn encode_end(frames: u64, observations: u64) -> Vec<u8> {
    let mut out = END_MAGIC.to_vec();
    out.extend(frames.to_le_bytes());
    out.extend(observations.to_le_bytes());
    let crc = crc32fast::hash(&out);
    out.extend(crc.to_le_bytes());
    out
}

/// What is at an offset after the header.
#[derive(Debug)]
pub(super) enum Mark {
    /// A valid frame header; its payload is not checked.
    Frame {
        head: FrameHead,
        /// Length of the header, bytes.
        header_len: u64,
        /// Checksum of the header fields, to be continued over the payload.
        partial_crc: crc32fast::Hasher,
        /// Expected checksum of fields and payload.
        crc: u32,
    },
    /// A valid end record.
    End { frames: u64, observations: u64, len: u64 },
    /// Starts like one of the two and is damaged.
    Damaged,
    /// Starts like one of the two and is incomplete.
    Short,
    /// Anything else.
    None,
}

/// Decodes the mark at the start of `bytes`: [`MAX_FRAME_HEADER`] bytes, or fewer at the end of the file.
pub(super) fn decode_mark(bytes: &[u8]) -> Mark {
    let mut rest = bytes;
    let Some(magic) = take::<8>(&mut rest) else {
        return if bytes.is_empty() || !FRAME_MAGIC.starts_with(bytes) && !END_MAGIC.starts_with(bytes) {
            Mark::None
        } else {
            Mark::Short
        };
    };
    match magic {
        FRAME_MAGIC => decode_frame_head(bytes, rest),
        END_MAGIC => decode_end(bytes, rest).unwrap_or(Mark::Short),
        _ => Mark::None,
    }
}

fn decode_end(bytes: &[u8], mut rest: &[u8]) -> Option<Mark> {
    let frames = u64::from_le_bytes(take(&mut rest)?);
    let observations = u64::from_le_bytes(take(&mut rest)?);
    let crc = u32::from_le_bytes(take(&mut rest)?);
    let covered = bytes.get(..END_MAGIC.len() + 16)?;
    if crc32fast::hash(covered) != crc {
        return Some(Mark::Damaged);
    }
    Some(Mark::End { frames, observations, len: covered.len() as u64 + 4 })
}

fn decode_frame_head(bytes: &[u8], mut rest: &[u8]) -> Mark {
    let (Some(major), Some(len)) = (take(&mut rest).map(u16::from_le_bytes), take(&mut rest).map(u16::from_le_bytes))
    else {
        return Mark::Short;
    };
    let len = usize::from(len);
    let shortest = if major == 1 { MIN_FRAME_HEADER } else { FRAME_HEADER };
    if !(1..=FORMAT_MAJOR).contains(&major) || !(shortest..=MAX_FRAME_HEADER).contains(&len) {
        return Mark::Damaged;
    }
    let Some(header) = bytes.get(..len) else {
        return Mark::Short;
    };
    decode_fields(major, header, rest).unwrap_or(Mark::Damaged)
}

fn decode_fields(major: u16, header: &[u8], mut rest: &[u8]) -> Option<Mark> {
    let (fields, mut crcs) = header.split_at_checked(header.len().checked_sub(FRAME_CRCS)?)?;
    let crc = u32::from_le_bytes(take(&mut crcs)?);
    let header_crc = u32::from_le_bytes(take(&mut crcs)?);
    if crc32fast::hash(header.get(..header.len() - 4)?) != header_crc {
        return None;
    }
    let compressed = u32::from_le_bytes(take(&mut rest)?);
    let raw = u32::from_le_bytes(take(&mut rest)?);
    let observations = u32::from_le_bytes(take(&mut rest)?);
    let number = u64::from_le_bytes(take(&mut rest)?);
    let first_mono = u64::from_le_bytes(take(&mut rest)?);
    let last_mono = u64::from_le_bytes(take(&mut rest)?);
    let first_wall = Time::nearest_to_micros(i64::from_le_bytes(take(&mut rest)?));
    let last_wall = Time::nearest_to_micros(i64::from_le_bytes(take(&mut rest)?));
    let start = match major {
        1 => FrameStart::State,
        _ => FrameStart::from_fields(u32::from_le_bytes(take(&mut rest)?), u8::from_le_bytes(take(&mut rest)?))?,
    };
    if raw > MAX_RAW || compressed > MAX_COMPRESSED {
        return None;
    }
    let head = FrameHead {
        compressed,
        raw,
        observations,
        number,
        start,
        // A damaged header can have last before first; the index needs them in order.
        first: RecordPoint { mono: first_mono.min(last_mono), wall: first_wall.min(last_wall) },
        last: RecordPoint { mono: first_mono.max(last_mono), wall: first_wall.max(last_wall) },
    };
    let mut partial_crc = crc32fast::Hasher::new();
    partial_crc.update(fields);
    Some(Mark::Frame { head, header_len: header.len() as u64, partial_crc, crc })
}

/// Splits off the first `N` bytes.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}
