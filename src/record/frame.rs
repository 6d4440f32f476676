//! The payload of a frame: a keyframe and observations, packed for writing and unpacked within limits.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::format::{FrameHead, FrameStart, MAX_RAW};
use super::{FrameFault, RecordError, RecordPoint};
use crate::observation::{Decoded, Observation};

/// Longest line of an observation, bytes: more than any API server stores. Longer lines count as malformed, since the decoded
/// value is many times as large.
pub const MAX_LINE_LEN: usize = 2 << 20;

/// Most observations in one frame.
pub const FRAME_OBSERVATIONS: usize = 4096;
/// Longest payload that is written, bytes before compression: half of what a reader accepts.
const FRAME_LEN: usize = (MAX_RAW / 2) as usize;
/// Longest JSON text of a state, bytes: more than that of a node with 60,000 visible pods.
pub const MAX_STATE: usize = 256 << 20;

/// Compression level: the default of zstd. A higher one costs the node too much CPU time.
const LEVEL: i32 = 3;

#[derive(Serialize)]
struct KeyframeLine<'a, K: ?Sized> {
    at: RecordPoint,
    keyframe: &'a K,
}

#[derive(Deserialize)]
struct OwnedKeyframeLine {
    at: RecordPoint,
    keyframe: Box<RawValue>,
}

/// Encoded observations of a frame, one line each.
#[derive(Clone, Debug, Default)]
pub struct ObservationLines {
    raw: Vec<u8>,
    count: usize,
    /// The earliest and the latest value of each clock.
    span: Option<(RecordPoint, RecordPoint)>,
}

impl ObservationLines {
    /// Adds an observation.
    ///
    /// # Errors
    /// [`RecordError::Encode`], and [`RecordError::TooLarge`] above [`MAX_LINE_LEN`]. Nothing is added then.
    pub fn push(&mut self, observation: &Observation) -> Result<(), RecordError> {
        let line = observation
            .encode()
            .map_err(|e| RecordError::Encode { what: "an observation", why: e.to_string().into() })?;
        if line.len() > MAX_LINE_LEN {
            let (len, limit) = (line.len() as u64, MAX_LINE_LEN as u64);
            return Err(RecordError::TooLarge { what: "an observation", len, limit });
        }
        self.raw.extend_from_slice(line.as_bytes());
        self.raw.push(b'\n');
        self.count += 1;
        let at = RecordPoint { mono: observation.stamp.mono, wall: observation.stamp.wall };
        self.span = Some(self.span(at));
        Ok(())
    }

    /// The earliest and the latest value of each clock, in these lines and `at`.
    fn span(&self, at: RecordPoint) -> (RecordPoint, RecordPoint) {
        let (first, last) = self.span.unwrap_or((at, at));
        let first = RecordPoint { mono: first.mono.min(at.mono), wall: first.wall.min(at.wall) };
        (first, RecordPoint { mono: last.mono.max(at.mono), wall: last.wall.max(at.wall) })
    }

    /// Number of observations.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True without observations.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// True when a frame is full, in number or in bytes.
    pub fn is_full(&self) -> bool {
        self.count >= FRAME_OBSERVATIONS || self.raw.len() >= FRAME_LEN / 2
    }
}

/// A buffer with a size limit.
struct LimitedBuffer {
    bytes: Vec<u8>,
    limit: usize,
}

impl io::Write for LimitedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A compressed frame that is ready to be written; the writer numbers it.
#[derive(Clone, Debug)]
pub struct PackedFrame {
    pub(super) head: FrameHead,
    pub(super) payload: Vec<u8>,
}

impl PackedFrame {
    /// Packs `keyframe`, the state at `at`, and the observations after it, in order, into one frame.
    ///
    /// # Errors
    /// [`RecordError::Encode`] and [`RecordError::TooLarge`] (an observation above [`MAX_LINE_LEN`], all together above
    /// [`MAX_RAW`](super::MAX_RAW)).
    pub fn new<K: Serialize + ?Sized>(
        at: RecordPoint,
        keyframe: &K,
        observations: &[Observation],
    ) -> Result<Self, RecordError> {
        let mut lines = ObservationLines::default();
        for observation in observations {
            lines.push(observation)?;
        }
        Self::with_start(FrameStart::State, at, keyframe, &lines)
    }

    /// Packs a state and the observations after it into as many frames as needed.
    ///
    /// # Errors
    /// [`RecordError::Encode`], and [`RecordError::TooLarge`] for a state above [`MAX_STATE`].
    pub fn with_state<K: Serialize + ?Sized>(
        at: RecordPoint,
        keyframe: &K,
        lines: &ObservationLines,
    ) -> Result<Vec<Self>, RecordError> {
        Self::with_state_in(at, keyframe, lines, FRAME_LEN, MAX_STATE)
    }

    /// Packs a state with a limit for the payload of a frame and one for the state, bytes.
    pub(super) fn with_state_in<K: Serialize + ?Sized>(
        at: RecordPoint,
        keyframe: &K,
        lines: &ObservationLines,
        frame: usize,
        limit: usize,
    ) -> Result<Vec<Self>, RecordError> {
        let mut state = LimitedBuffer { bytes: Vec::new(), limit };
        if let Err(e) = serde_json::to_writer(&mut state, keyframe) {
            return Err(match e.is_io() {
                true => RecordError::TooLarge { what: "a state", len: limit as u64 + 1, limit: limit as u64 },
                false => RecordError::Encode { what: "a keyframe", why: e.to_string().into() },
            });
        }
        let state = state.bytes;
        if state.len() + lines.raw.len() <= frame {
            let state = String::from_utf8(state).map_err(|e| e.utf8_error().to_string());
            let state = state.and_then(|json| RawValue::from_string(json).map_err(|e| e.to_string()));
            let state = state.map_err(|why| RecordError::Encode { what: "a keyframe", why: why.into() })?;
            return Ok(vec![Self::with_start(FrameStart::State, at, &state, lines)?]);
        }
        let state = String::from_utf8_lossy(&state);
        let mut rest = state.as_ref();
        // A piece of JSON text is at most twice as long as a JSON string.
        let (mut frames, mut back) = (Vec::new(), 0);
        while !rest.is_empty() {
            let mut len = rest.len().min(frame / 2);
            while !rest.is_char_boundary(len) {
                len -= 1;
            }
            let (piece, after) = rest.split_at(len);
            let start = FrameStart::Piece { back, last: after.is_empty() };
            frames.push(Self::with_start(start, at, piece, &ObservationLines::default())?);
            (rest, back) = (after, back + 1);
        }
        if !lines.is_empty() {
            frames.push(Self::with_start(FrameStart::Before { back }, at, &(), lines)?);
        }
        Ok(frames)
    }

    /// Packs observations that build on the state after the frame before.
    ///
    /// # Errors
    /// Those of [`PackedFrame::new`].
    pub fn without_state(at: RecordPoint, lines: &ObservationLines) -> Result<Self, RecordError> {
        // The writer sets the distance to the state.
        Self::with_start(FrameStart::Before { back: 1 }, at, &(), lines)
    }

    fn with_start<K: Serialize + ?Sized>(
        start: FrameStart,
        at: RecordPoint,
        keyframe: &K,
        lines: &ObservationLines,
    ) -> Result<Self, RecordError> {
        let mut raw = serde_json::to_vec(&KeyframeLine { at, keyframe })
            .map_err(|e| RecordError::Encode { what: "a keyframe", why: e.to_string().into() })?;
        // Raw JSON in a keyframe is copied. A line feed in it is white space: in strings it is escaped.
        raw.iter_mut().filter(|b| **b == b'\n').for_each(|b| *b = b' ');
        raw.push(b'\n');
        raw.extend_from_slice(&lines.raw);
        let (first, last) = lines.span(at);
        let packed = Self::compress(&raw, lines.count, first, last)?;
        Ok(Self { head: FrameHead { start, ..packed.head }, ..packed })
    }

    pub(super) fn compress(
        raw: &[u8],
        observations: usize,
        first: RecordPoint,
        last: RecordPoint,
    ) -> Result<Self, RecordError> {
        let too_large = || RecordError::too_large_frame(raw.len());
        let raw_len = u32::try_from(raw.len()).ok().filter(|&len| len <= MAX_RAW).ok_or_else(too_large)?;
        let observations = u32::try_from(observations).map_err(|_| too_large())?;
        let payload = zstd::bulk::compress(raw, LEVEL)
            .map_err(|e| RecordError::Encode { what: "a frame", why: e.to_string().into() })?;
        let compressed = u32::try_from(payload.len()).map_err(|_| too_large())?;
        Ok(Self {
            head: FrameHead {
                compressed,
                raw: raw_len,
                observations,
                number: 0,
                start: FrameStart::State,
                first,
                last,
            },
            payload,
        })
    }

    /// Length of the payload, bytes. In the file a header of less than 100 bytes is added.
    pub fn size(&self) -> usize {
        self.payload.len()
    }

    /// The latest value of each clock.
    pub fn last(&self) -> RecordPoint {
        self.head.last
    }
}

/// A decoded frame.
#[derive(Debug)]
pub struct Frame {
    /// The point of the keyframe.
    pub at: RecordPoint,
    /// The state at that point, before the first observation.
    pub keyframe: Box<RawValue>,
    /// The payload; the keyframe ends before `lines`.
    raw: Vec<u8>,
    lines: usize,
}

impl Frame {
    pub(super) fn unpack(payload: &[u8], raw_len: u32, observations: u32) -> Result<Self, FrameFault> {
        let raw_len = raw_len as usize;
        let raw = zstd::bulk::decompress(payload, raw_len).map_err(|_| FrameFault::Compression)?;
        if raw.len() != raw_len {
            return Err(FrameFault::Compression);
        }
        let end = raw.iter().position(|&b| b == b'\n').ok_or(FrameFault::Keyframe)?;
        let line = raw.get(..end).unwrap_or_default();
        let OwnedKeyframeLine { at, keyframe } = serde_json::from_slice(line).map_err(|_| FrameFault::Keyframe)?;
        let frame = Self { at, keyframe, lines: end + 1, raw };
        if frame.observations().rest.iter().filter(|&&b| b == b'\n').count() != observations as usize
            || frame.raw.last() != Some(&b'\n')
        {
            return Err(FrameFault::Count);
        }
        Ok(frame)
    }

    /// The observations in order, decoded one by one.
    pub fn observations(&self) -> Observations<'_> {
        self.observations_from(0)
    }

    /// The observations after the first `skipped` bytes of their lines, as counted by [`Observations::read`].
    pub fn observations_from(&self, skipped: usize) -> Observations<'_> {
        let rest = self.raw.get(self.lines + skipped..).unwrap_or_default();
        Observations { len: skipped + rest.len(), rest, unknown: 0, malformed: 0 }
    }

    /// Takes the keyframe out of the frame, to free its memory.
    pub fn take_keyframe(&mut self) -> Box<RawValue> {
        std::mem::replace(&mut self.keyframe, RawValue::NULL.to_owned())
    }
}

/// The observations of one frame. Lines that cannot be decoded are skipped and counted.
#[derive(Clone, Debug)]
pub struct Observations<'a> {
    /// Bytes of all lines.
    len: usize,
    rest: &'a [u8],
    unknown: u64,
    malformed: u64,
}

impl Observations<'_> {
    /// Length of the lines so far, bytes.
    pub fn read(&self) -> usize {
        self.len - self.rest.len()
    }

    /// Number of lines so far of kinds that this version does not know.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Number of lines so far that are not observations.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }
}

impl Iterator for Observations<'_> {
    type Item = Observation;

    fn next(&mut self) -> Option<Observation> {
        loop {
            let end = self.rest.iter().position(|&b| b == b'\n')?;
            let (line, rest) = self.rest.split_at_checked(end)?;
            self.rest = rest.get(1..).unwrap_or_default();
            let line = Some(line).filter(|l| l.len() <= MAX_LINE_LEN).and_then(|l| std::str::from_utf8(l).ok());
            match line.map_or(Decoded::Malformed, Observation::decode) {
                Decoded::Known(observation) => return Some(*observation),
                Decoded::Unknown => self.unknown += 1,
                Decoded::Malformed => self.malformed += 1,
            }
        }
    }
}
