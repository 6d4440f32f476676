//! Finds the frames of a recording by their headers and checksums, and skips damaged parts. Nothing is decompressed, and the
//! work is bounded by the length of the file.

use super::format::{self, FrameHead, MARK, MAX_FRAME_HEADER, MAX_RAW, Mark};
use super::storage::Storage;
use super::{Damage, FrameStart, Problem, RecordError, RecordPoint};

/// Size of one read, bytes.
const CHUNK: usize = 64 << 10;
/// Most bytes that are checksummed, in lengths of the file. One is normal; overlapping frames of a damaged file need more.
const PASSES: u64 = 4;

/// What the header of a frame contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameInfo {
    /// Number in the order of writing; one higher than the frame before unless frames are missing.
    pub number: u64,
    /// Offset in the file, bytes.
    pub offset: u64,
    /// Length in the file with its header, bytes.
    pub len: u64,
    /// Length of the payload before compression, bytes.
    pub raw_len: u32,
    /// Number of observations.
    pub observations: u32,
    /// The state on which its observations build; that frame is in the same list.
    pub start: FrameStart,
    /// The earliest value of each clock, in microseconds; usually that of the keyframe.
    pub first: RecordPoint,
    /// The latest value of each clock, in microseconds.
    pub last: RecordPoint,
}

/// Most frames in the index: two months at one every ten seconds.
const MAX_FRAMES: usize = 1 << 19;
/// Most problems in the list; the scan stops at more.
const MAX_PROBLEMS: usize = 1 << 12;

/// The result of a scan.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub frames: Vec<FrameInfo>,
    pub problems: Vec<Problem>,
}

/// Finds all frames after offset `start`.
///
/// # Errors
/// [`RecordError::Read`]. Damage is not an error.
pub(super) fn scan(storage: &Storage, start: u64) -> Result<Scan, RecordError> {
    let budget = storage.len.saturating_mul(PASSES).saturating_add(u64::from(MAX_RAW));
    let mut walk = Walk { window: Window::new(storage), found: Scan::default(), damage: None, end: None, budget };
    let mut at = start;
    while at < storage.len {
        let step = match walk.is_full() {
            true => Err(Damage::GivenUp),
            false => walk.step(at)?,
        };
        at = match step {
            Ok(next) => next,
            Err(Damage::GivenUp) => {
                walk.end_damage(at);
                walk.damage = Some((at, Damage::GivenUp));
                break;
            }
            Err(damage) => {
                walk.damage.get_or_insert((at, damage));
                walk.window.find_mark(at + 1, storage.len)?.unwrap_or(storage.len)
            }
        };
    }
    walk.finish(storage.len);
    Ok(walk.found)
}

/// Offset of the first mark of a frame or an end record before `limit`.
///
/// # Errors
/// [`RecordError::Read`].
pub(super) fn first_mark(storage: &Storage, limit: u64) -> Result<Option<u64>, RecordError> {
    Window::new(storage).find_mark(0, limit.min(storage.len))
}

struct Walk<'a> {
    window: Window<'a>,
    found: Scan,
    /// Start and kind of the damage that is being skipped.
    damage: Option<(u64, Damage)>,
    /// The last end record, unless a frame follows it.
    end: Option<EndRecord>,
    /// Bytes that can still be checksummed.
    budget: u64,
}

/// Consecutive frames that build on one state.
#[derive(Default)]
struct FrameGroup {
    /// Number of the frame with the start of the state, and of the next frame.
    numbers: Option<(u64, u64)>,
    /// The state is complete.
    is_complete: bool,
    /// Pieces of a state that is not complete.
    pieces: Vec<FrameInfo>,
    /// Frames that are readable.
    ready: Vec<FrameInfo>,
}

impl FrameGroup {
    fn start_with(frame: FrameInfo) -> Self {
        let numbers = Some((frame.number, frame.number.saturating_add(1)));
        let mut group = Self { numbers, ..Self::default() };
        group.take(frame);
        group
    }

    /// Adds the next frame, or returns it if it does not belong to the group.
    fn add(&mut self, frame: FrameInfo) -> Result<(), FrameInfo> {
        let is_piece = matches!(frame.start, FrameStart::Piece { .. });
        let base = frame.number.checked_sub(u64::from(frame.start.back()));
        match self.numbers {
            Some((first, next)) if base == Some(first) && frame.number == next && is_piece != self.is_complete => {
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
        self.is_complete |= !matches!(frame.start, FrameStart::Piece { last: false, .. });
        if self.is_complete {
            self.ready.append(&mut self.pieces);
        }
    }

    /// Takes the pieces of an incomplete state.
    fn take_pieces(&mut self) -> Vec<FrameInfo> {
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
    /// Reads the mark at `at`, and returns the offset after it.
    fn step(&mut self, at: u64) -> Result<Result<u64, Damage>, RecordError> {
        Ok(match format::decode_mark(self.window.get(at, MAX_FRAME_HEADER)?) {
            Mark::Frame { head, header_len, partial_crc, crc } => {
                let len = header_len + u64::from(head.compressed);
                if at + len > self.window.storage.len {
                    return Ok(Err(Damage::Torn));
                }
                let Some(budget) = self.budget.checked_sub(len) else { return Ok(Err(Damage::GivenUp)) };
                self.budget = budget;
                if self.window.checksum(partial_crc, at + header_len, u64::from(head.compressed))? != crc {
                    return Ok(Err(Damage::Checksum));
                }
                self.add_frame(at, len, &head);
                Ok(at + len)
            }
            Mark::End { frames, observations, len } => {
                self.end_damage(at);
                self.report_early_end();
                self.end = Some(EndRecord { at, len, frames, observations });
                Ok(at + len)
            }
            Mark::Damaged => Err(Damage::Checksum),
            Mark::Short => Err(Damage::Torn),
            Mark::None => Err(Damage::Garbage),
        })
    }

    /// True when the index is at its limits.
    fn is_full(&self) -> bool {
        self.found.frames.len() >= MAX_FRAMES || self.found.problems.len() >= MAX_PROBLEMS
    }

    fn add_frame(&mut self, at: u64, len: u64, head: &FrameHead) {
        self.end_damage(at);
        self.report_early_end();
        let FrameHead { number, raw, observations, start, first, last, .. } = *head;
        let expected = self.found.frames.last().map_or(0, |f| f.number.saturating_add(1));
        if number < expected {
            return self.report(at, len, Damage::OutOfOrder { number });
        }
        if number > expected {
            self.report(at, 0, Damage::Missing { first: expected, count: number - expected });
        }
        self.found.frames.push(FrameInfo { number, offset: at, len, raw_len: raw, observations, start, first, last });
    }

    fn report_early_end(&mut self) {
        if let Some(end) = self.end.take() {
            self.report(end.at, end.len, Damage::EarlyEnd);
        }
    }

    /// Reports the damage that ends at `at`, if any.
    fn end_damage(&mut self, at: u64) {
        if let Some((begin, damage)) = self.damage.take() {
            self.report(begin, at - begin, damage);
        }
    }

    fn finish(&mut self, len: u64) {
        self.end_damage(len);
        let frames = self.found.frames.len() as u64;
        let observations = self.found.frames.iter().map(|f| u64::from(f.observations)).sum::<u64>();
        match self.end.take() {
            None => self.report(len, 0, Damage::NoEnd),
            Some(end) if end.frames != frames || end.observations != observations => {
                let totals = Damage::Totals { frames: end.frames, observations: end.observations };
                self.report(end.at, end.len, totals);
            }
            Some(_) => {}
        }
        self.keep_readable();
        self.found.problems.sort_by_key(|p| p.at);
    }

    /// Removes the frames without a complete chain of frames back to a state.
    fn keep_readable(&mut self) {
        let mut group = FrameGroup::default();
        let all = std::mem::take(&mut self.found.frames);
        let (mut left_out, mut kept) = (Vec::new(), Vec::with_capacity(all.len()));
        for frame in all {
            if frame.start.back() == 0 {
                left_out.append(&mut group.take_pieces());
                group = FrameGroup::start_with(frame);
            } else if let Err(frame) = group.add(frame) {
                left_out.push(frame);
            }
            kept.append(&mut group.ready);
        }
        left_out.append(&mut group.take_pieces());
        self.found.frames = kept;
        for run in left_out.chunk_by(|a, b| a.offset + a.len == b.offset) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let len = last.offset + last.len - first.offset;
            self.report(first.offset, len, Damage::NoState { first: first.number, count: run.len() as u64 });
        }
    }

    fn report(&mut self, at: u64, len: u64, what: Damage) {
        self.found.problems.push(Problem { at, len, what });
    }
}

/// A buffered part of the storage. It is read again only for an offset outside of it, so that each byte is read about once,
/// however many marks there are.
struct Window<'a> {
    storage: &'a Storage,
    start: u64,
    filled: usize,
    buffer: Vec<u8>,
}

impl<'a> Window<'a> {
    fn new(storage: &'a Storage) -> Self {
        Self { storage, start: 0, filled: 0, buffer: vec![0; CHUNK] }
    }

    /// The bytes from `at` on: at least `want` if the storage has that many, at most a chunk.
    fn get(&mut self, at: u64, want: usize) -> Result<&[u8], RecordError> {
        let want = (want as u64).min(self.storage.len.saturating_sub(at));
        if at < self.start || at + want > self.start + self.filled as u64 {
            self.filled = 0;
            self.filled = self.storage.read(at, &mut self.buffer)?.len();
            self.start = at;
        }
        let skip = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        Ok(self.buffer.get(skip..self.filled).unwrap_or_default())
    }

    fn find_mark(&mut self, mut at: u64, limit: u64) -> Result<Option<u64>, RecordError> {
        while at < limit {
            let bytes = self.get(at, MARK.len())?;
            if let Some(i) = bytes.windows(MARK.len()).position(|w| w == MARK) {
                return Ok(Some(at + i as u64).filter(|&found| found < limit));
            }
            // The last bytes can be the start of a mark. At least one byte, so that the loop ends.
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
