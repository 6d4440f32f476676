//! Owns a frame's payload: a keyframe and the observations behind it, packed for a file and unpacked again.
//! It must not touch a file, and must hold no more of a hostile frame than the limit allows.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::format::{FrameHead, FrameStart, MAX_RAW};
use super::{At, FrameFault, RecordError};
use crate::observation::{Decoded, Observation};

/// Longest line of an observation, bytes: more than any API server stores. What one decodes to is many times as large,
/// so a longer one is taken for malformed.
pub const MAX_LINE_LEN: usize = 2 << 20;

/// Most observations in one frame: what a reader holds at once.
pub const FRAME_OBSERVATIONS: usize = 4096;
/// Longest payload of a frame that is written, bytes before compression: half of what a reader takes.
const FRAME_LEN: usize = (MAX_RAW / 2) as usize;
/// Longest state that is written or read, bytes of its JSON text: more than that of a node with 60,000 pods in sight.
pub const MAX_STATE: usize = 256 << 20;

/// zstd's own default: smaller costs the node more than the bytes are worth.
const LEVEL: i32 = 3;

#[derive(Serialize)]
struct KeyLine<'a, K: ?Sized> {
    at: At,
    keyframe: &'a K,
}

#[derive(Deserialize)]
struct OwnedKeyLine {
    at: At,
    keyframe: Box<RawValue>,
}

/// Observations as a frame's payload holds them: one line each.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    raw: Vec<u8>,
    count: usize,
    /// The earliest and the latest of each clock.
    span: Option<(At, At)>,
}

impl Lines {
    /// Adds an observation.
    ///
    /// # Errors
    /// [`RecordError::Encode`], and [`RecordError::TooLarge`] above [`MAX_LINE_LEN`]; then nothing is added.
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
        let at = At { mono: observation.stamp.mono, wall: observation.stamp.wall };
        self.span = Some(self.span(at));
        Ok(())
    }

    /// The earliest and the latest of each clock, of these lines and of `at`.
    fn span(&self, at: At) -> (At, At) {
        let (first, last) = self.span.unwrap_or((at, at));
        let first = At { mono: first.mono.min(at.mono), wall: first.wall.min(at.wall) };
        (first, At { mono: last.mono.max(at.mono), wall: last.wall.max(at.wall) })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// As much as one frame should hold, in number or in bytes.
    pub fn is_full(&self) -> bool {
        self.count >= FRAME_OBSERVATIONS || self.raw.len() >= FRAME_LEN / 2
    }
}

/// Takes a state as long as it is not too long.
struct Limited {
    bytes: Vec<u8>,
    limit: usize,
}

impl io::Write for Limited {
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

/// A frame ready to be written, compressed and without its number: what a ring keeps until it is asked for.
#[derive(Clone, Debug)]
pub struct Packed {
    pub(super) head: FrameHead,
    pub(super) payload: Vec<u8>,
}

impl Packed {
    /// Packs `keyframe`, the state as it was at `at`, and what was observed from then on, in order, into one frame.
    ///
    /// # Errors
    /// [`RecordError::Encode`] and [`RecordError::TooLarge`] (an observation above [`MAX_LINE_LEN`], all together above
    /// [`MAX_RAW`](super::MAX_RAW)).
    pub fn new<K: Serialize + ?Sized>(at: At, keyframe: &K, observations: &[Observation]) -> Result<Self, RecordError> {
        let mut lines = Lines::default();
        for observation in observations {
            lines.push(observation)?;
        }
        Self::with_start(FrameStart::State, at, keyframe, &lines)
    }

    /// Packs a state and what was observed from then on into as many frames as that takes.
    ///
    /// # Errors
    /// [`RecordError::Encode`], and [`RecordError::TooLarge`] for a state above [`MAX_STATE`].
    pub fn state<K: Serialize + ?Sized>(at: At, keyframe: &K, lines: &Lines) -> Result<Vec<Self>, RecordError> {
        Self::cut(at, keyframe, lines, FRAME_LEN, MAX_STATE)
    }

    /// The same with a limit for a frame's payload and one for the state, bytes.
    pub(super) fn cut<K: Serialize + ?Sized>(
        at: At,
        keyframe: &K,
        lines: &Lines,
        frame: usize,
        limit: usize,
    ) -> Result<Vec<Self>, RecordError> {
        let mut state = Limited { bytes: Vec::new(), limit };
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
        // As a JSON string a piece of JSON text is at most twice as long.
        let (mut frames, mut back) = (Vec::new(), 0);
        while !rest.is_empty() {
            let mut len = rest.len().min(frame / 2);
            while !rest.is_char_boundary(len) {
                len -= 1;
            }
            let (piece, after) = rest.split_at(len);
            let start = FrameStart::Piece { back, last: after.is_empty() };
            frames.push(Self::with_start(start, at, piece, &Lines::default())?);
            (rest, back) = (after, back + 1);
        }
        if !lines.is_empty() {
            frames.push(Self::with_start(FrameStart::Before { back }, at, &(), lines)?);
        }
        Ok(frames)
    }

    /// Packs what was observed since the frame before, which this one goes on from.
    ///
    /// # Errors
    /// Those of [`Packed::new`].
    pub fn after(at: At, lines: &Lines) -> Result<Self, RecordError> {
        // How far the state is away is known when the frame is written.
        Self::with_start(FrameStart::Before { back: 1 }, at, &(), lines)
    }

    fn with_start<K: Serialize + ?Sized>(
        start: FrameStart,
        at: At,
        keyframe: &K,
        lines: &Lines,
    ) -> Result<Self, RecordError> {
        let mut raw = serde_json::to_vec(&KeyLine { at, keyframe })
            .map_err(|e| RecordError::Encode { what: "a keyframe", why: e.to_string().into() })?;
        // Raw JSON inside a keyframe is copied as it is. A line feed in it is white space: in a string it is escaped.
        raw.iter_mut().filter(|b| **b == b'\n').for_each(|b| *b = b' ');
        raw.push(b'\n');
        raw.extend_from_slice(&lines.raw);
        let (first, last) = lines.span(at);
        let packed = Self::compress(&raw, lines.count, first, last)?;
        Ok(Self { head: FrameHead { start, ..packed.head }, ..packed })
    }

    pub(super) fn compress(raw: &[u8], observations: usize, first: At, last: At) -> Result<Self, RecordError> {
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

    /// Bytes of memory that the payload takes; in the file a header of less than 100 bytes is added.
    pub fn size(&self) -> usize {
        self.payload.len()
    }

    /// The latest of each clock in it.
    pub fn last(&self) -> At {
        self.head.last
    }
}

/// A decoded frame.
#[derive(Debug)]
pub struct Frame {
    /// The point that the keyframe holds for.
    pub at: At,
    /// The state at that point, before the first of the observations.
    pub keyframe: Box<RawValue>,
    /// The payload; everything before `lines` is the keyframe.
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
        let OwnedKeyLine { at, keyframe } = serde_json::from_slice(line).map_err(|_| FrameFault::Keyframe)?;
        let frame = Self { at, keyframe, lines: end + 1, raw };
        if frame.observations().rest.iter().filter(|&&b| b == b'\n').count() != observations as usize
            || frame.raw.last() != Some(&b'\n')
        {
            return Err(FrameFault::Count);
        }
        Ok(frame)
    }

    /// The observations in order, decoded one by one: only one at a time is held in memory.
    pub fn observations(&self) -> Observations<'_> {
        self.observations_from(0)
    }

    /// The same behind the first `skipped` bytes of their lines, as [`Observations::read`] counts them.
    pub fn observations_from(&self, skipped: usize) -> Observations<'_> {
        let rest = self.raw.get(self.lines + skipped..).unwrap_or_default();
        Observations { len: skipped + rest.len(), rest, unknown: 0, malformed: 0 }
    }

    /// The keyframe, which is not held any longer.
    pub fn take_keyframe(&mut self) -> Box<RawValue> {
        std::mem::replace(&mut self.keyframe, RawValue::NULL.to_owned())
    }
}

/// The observations of one frame. What cannot be told is passed over and counted.
#[derive(Clone, Debug)]
pub struct Observations<'a> {
    /// Bytes of all lines.
    len: usize,
    rest: &'a [u8],
    unknown: u64,
    malformed: u64,
}

impl Observations<'_> {
    /// Bytes of the lines so far.
    pub fn read(&self) -> usize {
        self.len - self.rest.len()
    }

    /// Lines so far that a later version of the program wrote and this one does not know.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Lines so far that are no observations at all.
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
