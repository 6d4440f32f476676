//! Owns a frame's payload: a keyframe and the observations behind it, packed for a file and unpacked again.
//! It must not touch a file, and must hold no more of a hostile frame than the limit allows.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::format::{FrameHead, MAX_RAW};
use super::{At, FrameFault, RecordError};
use crate::observation::{Decoded, Observation};

/// Longest line of an observation, bytes: more than any API server stores. What one decodes to is many times as large,
/// so a longer one is taken for malformed.
pub const MAX_LINE_LEN: usize = 2 << 20;

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

/// A frame ready to be written, compressed and without its number: what a ring keeps until it is asked for.
#[derive(Clone, Debug)]
pub struct Packed {
    pub(super) head: FrameHead,
    pub(super) payload: Vec<u8>,
}

impl Packed {
    /// Packs `keyframe`, the state as it was at `at`, and what was observed from then on, in order.
    ///
    /// # Errors
    /// [`RecordError::Encode`] and [`RecordError::TooLarge`] (an observation above [`MAX_LINE_LEN`], all together above
    /// [`MAX_RAW`](super::MAX_RAW)).
    pub fn new<K: Serialize + ?Sized>(at: At, keyframe: &K, observations: &[Observation]) -> Result<Self, RecordError> {
        let encode = |what| move |e: serde_json::Error| RecordError::Encode { what, why: e.to_string().into() };
        let mut raw = serde_json::to_vec(&KeyLine { at, keyframe }).map_err(encode("a keyframe"))?;
        // Raw JSON inside a keyframe is copied as it is. A line feed in it is white space: in a string it is escaped.
        raw.iter_mut().filter(|b| **b == b'\n').for_each(|b| *b = b' ');
        raw.push(b'\n');
        let (mut first, mut last) = (at, at);
        for observation in observations {
            let line = observation.encode().map_err(encode("an observation"))?;
            if line.len() > MAX_LINE_LEN {
                let (len, limit) = (line.len() as u64, MAX_LINE_LEN as u64);
                return Err(RecordError::TooLarge { what: "an observation", len, limit });
            }
            raw.extend_from_slice(line.as_bytes());
            raw.push(b'\n');
            if raw.len() > MAX_RAW as usize {
                break;
            }
            let stamp = &observation.stamp;
            first = At { mono: first.mono.min(stamp.mono), wall: first.wall.min(stamp.wall) };
            last = At { mono: last.mono.max(stamp.mono), wall: last.wall.max(stamp.wall) };
        }
        Self::compress(&raw, observations.len(), first, last)
    }

    pub(super) fn compress(raw: &[u8], observations: usize, first: At, last: At) -> Result<Self, RecordError> {
        let too_large = || RecordError::too_large_frame(raw.len());
        let raw_len = u32::try_from(raw.len()).ok().filter(|&len| len <= MAX_RAW).ok_or_else(too_large)?;
        let observations = u32::try_from(observations).map_err(|_| too_large())?;
        let payload = zstd::bulk::compress(raw, LEVEL)
            .map_err(|e| RecordError::Encode { what: "a frame", why: e.to_string().into() })?;
        let compressed = u32::try_from(payload.len()).map_err(|_| too_large())?;
        Ok(Self { head: FrameHead { compressed, raw: raw_len, observations, number: 0, first, last }, payload })
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
