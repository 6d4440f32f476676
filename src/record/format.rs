//! Owns the bytes of a recording: header, frame header, end record, and their checksums.
//! It must not do I/O, and must take every length that it reads for a lie until the checksum over it is right.
//!
//! All numbers are little endian; checksums are CRC-32 (IEEE).
//!
//! ```text
//! header   magic 8, major u16, minor u16, length u32, crc u32, then `length` bytes: one line of JSON with its line feed.
//!          The crc is over the 16 bytes before it and the line. This part is the same in every major version.
//! frame    magic 8, major u16, header length u16, compressed u32, raw u32, observations u32, number u64,
//!          first mono u64, last mono u64 (µs), first wall i64 (Unix µs, rounded down), last wall i64 (rounded up),
//!          since major version 2: back u32, piece u8
//!          (a later minor version may add fields here: the header length says so)
//!          payload crc u32 (over all the above and the payload), header crc u32 (over all the above), payload.
//! end      magic 8, frames u64, observations u64, crc u32 (over all the above).
//! payload  one zstd frame: a line of JSON {"at":{"mono":…,"wall":…},"keyframe":…}, then one line for each observation.
//! ```
//!
//! A frame with `back` 0 begins with a state, the keyframe; in version 1 every frame does. One with another `back` goes on
//! from the frame before it, holds the keyframe `null`, and the state that it builds on begins so many frames before it. A
//! state that is too long for one frame is cut into pieces: consecutive frames without observations whose keyframes are JSON
//! strings that make up the state's JSON text together; `piece` is 1 where another one follows, 2 in the last, 0 elsewhere.

use serde::{Deserialize, Serialize};

use super::{At, Header, RecordError};
use crate::observation::Time;
use crate::text::Text;

/// Major version of the format; a higher one cannot be read by this program.
pub const FORMAT_MAJOR: u16 = 2;
/// Minor version of the format; a higher one only adds what may be ignored.
pub const FORMAT_MINOR: u16 = 0;
/// Longest payload of a frame before compression, bytes.
pub const MAX_RAW: u32 = 64 << 20;

/// Not UTF-8, and changed by every transfer that takes the file for text.
const MAGIC: [u8; 8] = *b"\x89KPT\r\n\x1a\n";
const FRAME_MAGIC: [u8; 8] = *b"\xf7KPTfr\r\n";
const END_MAGIC: [u8; 8] = *b"\xf7KPTen\r\n";
/// Both magics begin so; 0xf7 is in no UTF-8 text.
pub(super) const MARK: [u8; 4] = *b"\xf7KPT";

/// True when a file that begins with these bytes is a recording, of whatever version.
pub fn is_recording(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}

/// Whole microseconds, rounded up: stamps are finer, and the end of a frame must not lie before its last observation.
fn micros_up(at: Time) -> i64 {
    let rest = at.timestamp_subsec_nanos() % 1000;
    at.timestamp_micros().saturating_add(i64::from(rest != 0))
}

/// Longest header line that is read or written, bytes.
const MAX_HEADER: usize = 64 << 10;
const PREAMBLE: usize = 20;
/// No header is longer than this, so no first frame begins later.
pub(super) const MAX_PREAMBLE: usize = PREAMBLE + MAX_HEADER;

const FRAME_FIELDS: usize = 64;
const FRAME_CRCS: usize = 8;
/// The frame header of version 1.
const MIN_FRAME_HEADER: usize = FRAME_FIELDS + FRAME_CRCS;
/// The frame header that is written.
const FRAME_HEADER: usize = MIN_FRAME_HEADER + 5;
/// Longest frame header that a later minor version may write, bytes.
pub(super) const MAX_FRAME_HEADER: usize = 512;
/// What zstd needs at most for [`MAX_RAW`] bytes that do not compress, generously.
const MAX_COMPRESSED: u32 = MAX_RAW + (MAX_RAW >> 7) + 1024;

#[derive(Serialize)]
struct HeaderLine<'a> {
    format: String,
    #[serde(flatten)]
    header: &'a Header,
}

/// The header as it stands at the beginning of the file.
pub(super) fn encode_header(header: &Header) -> Result<Vec<u8>, RecordError> {
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

/// What the beginning of a file is.
#[derive(Debug)]
pub(super) enum Beginning {
    /// A header; the first frame follows at `len`.
    Header { header: Header, len: u64 },
    /// A good header of a later major version.
    Newer { major: u16, program: Text },
    /// The magic is right, what follows is not.
    Damaged,
    /// Anything else.
    Foreign,
}

/// Reads the header from the first [`MAX_PREAMBLE`] bytes of a file, or all there are.
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

/// Where the state comes from that a frame's observations build on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameStart {
    /// It is this frame's keyframe.
    State,
    /// A part of its JSON text is this frame's keyframe.
    Piece {
        /// Frames before this one with earlier pieces.
        back: u32,
        /// It is the last piece.
        last: bool,
    },
    /// It is what the frame before leads to.
    Before {
        /// Frames before this one down to the state, at least 1.
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

    /// Frames before this one down to the one where the state begins.
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
    pub first: At,
    /// The latest of each clock in the frame.
    pub last: At,
}

/// The frame header of `payload`, whose length must be the head's `compressed`.
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

/// The end record.
pub(super) fn encode_end(frames: u64, observations: u64) -> Vec<u8> {
    let mut out = END_MAGIC.to_vec();
    out.extend(frames.to_le_bytes());
    out.extend(observations.to_le_bytes());
    let crc = crc32fast::hash(&out);
    out.extend(crc.to_le_bytes());
    out
}

/// What stands at one place behind the header.
#[derive(Debug)]
pub(super) enum Mark {
    /// A frame header in order; its payload has not been looked at.
    Frame {
        head: FrameHead,
        /// Length of the header, bytes.
        header_len: u64,
        /// The payload's checksum, begun over the header fields.
        begun: crc32fast::Hasher,
        /// What it must come to.
        crc: u32,
    },
    /// An end record in order.
    End { frames: u64, observations: u64, len: u64 },
    /// It begins like one of the two and is damaged.
    Damaged,
    /// It begins like one of the two and the bytes end too early.
    Short,
    /// Anything else.
    None,
}

/// Reads what stands at the beginning of `bytes`, which should be [`MAX_FRAME_HEADER`] long where the file is.
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
        // A header may say that a frame ends before it begins; what is searched must be in order.
        first: At { mono: first_mono.min(last_mono), wall: first_wall.min(last_wall) },
        last: At { mono: first_mono.max(last_mono), wall: first_wall.max(last_wall) },
    };
    let mut begun = crc32fast::Hasher::new();
    begun.update(fields);
    Some(Mark::Frame { head, header_len: header.len() as u64, begun, crc })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}
