//! Owns finding the frames of a recording: by their headers and checksums, past whatever is damaged.
//! It must not decompress anything, and its work must be bounded by the length of the file, whatever is in it.

use super::format::{self, FrameHead, MARK, MAX_FRAME_HEADER, MAX_RAW, Mark};
use super::storage::Storage;
use super::{At, Damage, FrameStart, Problem, RecordError};

/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;
/// How many times the length of the file may be checksummed. One pass is the rule; frames that overlap need more.
const PASSES: u64 = 4;

/// What is known of a frame without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameInfo {
    /// Its number, as the writer counted; one higher than the one before unless frames are missing.
    pub number: u64,
    /// Offset in the file, bytes.
    pub offset: u64,
    /// Length in the file with its header, bytes.
    pub len: u64,
    /// Length of the payload before compression, bytes.
    pub raw_len: u32,
    /// Number of observations.
    pub observations: u32,
    /// Where the state comes from that its observations build on: that frame is in the same list.
    pub start: FrameStart,
    /// The earliest of each clock, to the microsecond: the keyframe's, as a rule.
    pub first: At,
    /// The latest of each clock, to the microsecond.
    pub last: At,
}

/// Frames that are indexed: two months at one a ten seconds.
const MAX_FRAMES: usize = 1 << 19;
/// Problems that are told; a file with more is given up.
const MAX_PROBLEMS: usize = 1 << 12;

/// Everything that opening a recording finds out.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub frames: Vec<FrameInfo>,
    pub problems: Vec<Problem>,
}

/// Finds all frames from offset `start` on.
///
/// # Errors
/// [`RecordError::Read`]; damage is no error.
pub(super) fn scan(storage: &Storage, start: u64) -> Result<Scan, RecordError> {
    let budget = storage.len.saturating_mul(PASSES).saturating_add(u64::from(MAX_RAW));
    let mut walk = Walk { window: Window::new(storage), found: Scan::default(), bad: None, end: None, budget };
    let mut at = start;
    while at < storage.len {
        let step = match walk.is_full() {
            true => Err(Damage::GivenUp),
            false => walk.step(at)?,
        };
        at = match step {
            Ok(next) => next,
            Err(Damage::GivenUp) => {
                walk.close(at);
                walk.bad = Some((at, Damage::GivenUp));
                break;
            }
            Err(damage) => {
                walk.bad.get_or_insert((at, damage));
                walk.window.find_mark(at + 1, storage.len)?.unwrap_or(storage.len)
            }
        };
    }
    walk.finish(storage.len);
    Ok(walk.found)
}

/// Offset of the first place that begins like a frame or an end record, before `limit`.
///
/// # Errors
/// [`RecordError::Read`].
pub(super) fn first_mark(storage: &Storage, limit: u64) -> Result<Option<u64>, RecordError> {
    Window::new(storage).find_mark(0, limit.min(storage.len))
}

struct Walk<'a> {
    window: Window<'a>,
    found: Scan,
    /// Where the damage began that is being passed, and what it was at first.
    bad: Option<(u64, Damage)>,
    /// The last end record, as long as no frame was found behind it.
    end: Option<EndRecord>,
    /// Bytes that may still be checksummed.
    budget: u64,
}

/// Consecutive frames that build on one state.
#[derive(Default)]
struct Group {
    /// Number of the frame in which the state begins, and of the one that must come next.
    numbers: Option<(u64, u64)>,
    /// The state is whole.
    whole: bool,
    /// Pieces of a state that is not whole yet.
    pieces: Vec<FrameInfo>,
    /// Frames that can be read.
    ready: Vec<FrameInfo>,
}

impl Group {
    fn begin(frame: FrameInfo) -> Self {
        let numbers = Some((frame.number, frame.number.saturating_add(1)));
        let mut group = Self { numbers, ..Self::default() };
        group.take(frame);
        group
    }

    /// Takes the next frame, or gives it back where it does not belong here.
    fn add(&mut self, frame: FrameInfo) -> Result<(), FrameInfo> {
        let is_piece = matches!(frame.start, FrameStart::Piece { .. });
        let base = frame.number.checked_sub(u64::from(frame.start.back()));
        match self.numbers {
            Some((first, next)) if base == Some(first) && frame.number == next && is_piece != self.whole => {
                self.numbers = Some((first, next.saturating_add(1)));
                self.take(frame);
                Ok(())
            }
            _ => {
                self.numbers = None;
                Err(frame)
            }
        }
    }

    fn take(&mut self, frame: FrameInfo) {
        self.pieces.push(frame);
        self.whole |= !matches!(frame.start, FrameStart::Piece { last: false, .. });
        if self.whole {
            self.ready.append(&mut self.pieces);
        }
    }

    /// The pieces that are left over.
    fn close(&mut self) -> Vec<FrameInfo> {
        std::mem::take(&mut self.pieces)
    }
}

struct EndRecord {
    at: u64,
    len: u64,
    frames: u64,
    observations: u64,
}

impl Walk<'_> {
    /// Takes what stands at `at`, and returns where the next thing should stand.
    fn step(&mut self, at: u64) -> Result<Result<u64, Damage>, RecordError> {
        Ok(match format::decode_mark(self.window.get(at, MAX_FRAME_HEADER)?) {
            Mark::Frame { head, header_len, begun, crc } => {
                let len = header_len + u64::from(head.compressed);
                if at + len > self.window.storage.len {
                    return Ok(Err(Damage::Torn));
                }
                let Some(budget) = self.budget.checked_sub(len) else { return Ok(Err(Damage::GivenUp)) };
                self.budget = budget;
                if self.window.checksum(begun, at + header_len, u64::from(head.compressed))? != crc {
                    return Ok(Err(Damage::Checksum));
                }
                self.frame(at, len, &head);
                Ok(at + len)
            }
            Mark::End { frames, observations, len } => {
                self.close(at);
                self.early_end();
                self.end = Some(EndRecord { at, len, frames, observations });
                Ok(at + len)
            }
            Mark::Damaged => Err(Damage::Checksum),
            Mark::Short => Err(Damage::Torn),
            Mark::None => Err(Damage::Garbage),
        })
    }

    /// The index has as much as it may.
    fn is_full(&self) -> bool {
        self.found.frames.len() >= MAX_FRAMES || self.found.problems.len() >= MAX_PROBLEMS
    }

    fn frame(&mut self, at: u64, len: u64, head: &FrameHead) {
        self.close(at);
        self.early_end();
        let FrameHead { number, raw, observations, start, first, last, .. } = *head;
        let expected = self.found.frames.last().map_or(0, |f| f.number.saturating_add(1));
        if number < expected {
            return self.problem(at, len, Damage::OutOfOrder { number });
        }
        if number > expected {
            self.problem(at, 0, Damage::Missing { first: expected, count: number - expected });
        }
        self.found.frames.push(FrameInfo { number, offset: at, len, raw_len: raw, observations, start, first, last });
    }

    fn early_end(&mut self) {
        if let Some(end) = self.end.take() {
            self.problem(end.at, end.len, Damage::EarlyEnd);
        }
    }

    /// The damage that is being passed ends at `at`.
    fn close(&mut self, at: u64) {
        if let Some((begin, damage)) = self.bad.take() {
            self.problem(begin, at - begin, damage);
        }
    }

    fn finish(&mut self, len: u64) {
        self.close(len);
        let frames = self.found.frames.len() as u64;
        let observations = self.found.frames.iter().map(|f| u64::from(f.observations)).sum::<u64>();
        match self.end.take() {
            None => self.problem(len, 0, Damage::NoEnd),
            Some(end) if end.frames != frames || end.observations != observations => {
                let totals = Damage::Totals { frames: end.frames, observations: end.observations };
                self.problem(end.at, end.len, totals);
            }
            Some(_) => {}
        }
        self.keep_what_has_a_state();
        self.found.problems.sort_by_key(|p| p.at);
    }

    /// Leaves out the frames whose state, or a frame on the way from it, is not there.
    fn keep_what_has_a_state(&mut self) {
        let mut group = Group::default();
        let all = std::mem::take(&mut self.found.frames);
        let (mut left_out, mut kept) = (Vec::new(), Vec::with_capacity(all.len()));
        for frame in all {
            if frame.start.back() == 0 {
                left_out.append(&mut group.close());
                group = Group::begin(frame);
            } else if let Err(frame) = group.add(frame) {
                left_out.push(frame);
            }
            kept.append(&mut group.ready);
        }
        left_out.append(&mut group.close());
        self.found.frames = kept;
        for run in left_out.chunk_by(|a, b| a.offset + a.len == b.offset) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let len = last.offset + last.len - first.offset;
            self.problem(first.offset, len, Damage::NoState { first: first.number, count: run.len() as u64 });
        }
    }

    fn problem(&mut self, at: u64, len: u64, what: Damage) {
        self.found.problems.push(Problem { at, len, what });
    }
}

/// The part of the storage that is looked at. It is read again only where looking moves out of it, so that each byte is
/// read about once however many things seem to begin there.
struct Window<'a> {
    storage: &'a Storage,
    begin: u64,
    filled: usize,
    buffer: Vec<u8>,
}

impl<'a> Window<'a> {
    fn new(storage: &'a Storage) -> Self {
        Self { storage, begin: 0, filled: 0, buffer: vec![0; CHUNK] }
    }

    /// What stands from `at` on: at least `want` bytes where the storage has that many, and at most a chunk.
    fn get(&mut self, at: u64, want: usize) -> Result<&[u8], RecordError> {
        let want = (want as u64).min(self.storage.len.saturating_sub(at));
        if at < self.begin || at + want > self.begin + self.filled as u64 {
            self.filled = 0;
            self.filled = self.storage.read(at, &mut self.buffer)?.len();
            self.begin = at;
        }
        let skip = usize::try_from(at - self.begin).unwrap_or(usize::MAX);
        Ok(self.buffer.get(skip..self.filled).unwrap_or_default())
    }

    fn find_mark(&mut self, mut at: u64, limit: u64) -> Result<Option<u64>, RecordError> {
        while at < limit {
            let bytes = self.get(at, MARK.len())?;
            if let Some(i) = bytes.windows(MARK.len()).position(|w| w == MARK) {
                return Ok(Some(at + i as u64).filter(|&found| found < limit));
            }
            // A mark may begin in the last bytes; at the end of the storage this still moves on.
            at += bytes.len().saturating_sub(MARK.len() - 1).max(1) as u64;
        }
        Ok(None)
    }

    fn checksum(&mut self, mut crc: crc32fast::Hasher, mut at: u64, mut len: u64) -> Result<u32, RecordError> {
        while len > 0 {
            let bytes = self.get(at, 1)?;
            let take = usize::try_from(len).map_or(bytes.len(), |len| len.min(bytes.len()));
            crc.update(bytes.get(..take).unwrap_or_default());
            if take == 0 {
                break;
            }
            at += take as u64;
            len -= take as u64;
        }
        Ok(crc.finalize())
    }
}
