//! Reads a recording: its header, its frames, its damaged parts. At most the index and one frame are in memory.

use std::borrow::Cow;
use std::path::Path;

use super::format::{self, Beginning, MAX_FRAME_HEADER, MAX_PREAMBLE, Mark};
use super::scan::{self, FrameInfo, Scan};
use super::storage::Storage;
use super::{Damage, Frame, FrameFault, FrameStart, MAX_STATE, Problem, RecordError, RecordHeader, RecordPoint};
use crate::observation::Time;
use crate::text::Text;

/// The state on which a frame builds.
#[derive(Debug)]
pub struct FrameState {
    /// The point of the state.
    pub at: RecordPoint,
    /// The state as JSON.
    pub json: String,
    /// Index of the first frame with observations after it.
    pub next: usize,
}

/// A recording that is open for reading.
#[derive(Debug)]
pub struct RecordReader {
    storage: Storage,
    header: RecordHeader,
    frames: Vec<FrameInfo>,
    problems: Vec<Problem>,
}

impl RecordReader {
    /// Opens a file. What a writer adds later is not read.
    ///
    /// # Errors
    /// [`RecordError::Open`], [`RecordError::NotAFile`], [`RecordError::Read`], and those of [`RecordReader::from_bytes`].
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        Self::from_storage(Storage::file(path)?)
    }

    /// Opens a recording in memory; `name` is for messages.
    ///
    /// # Errors
    /// [`RecordError::NotARecording`], [`RecordError::HeaderDamaged`] if there is no frame either, and
    /// [`RecordError::Newer`].
    pub fn from_bytes(name: &str, bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, RecordError> {
        Self::from_storage(Storage::memory(name.into(), bytes.into()))
    }

    fn from_storage(storage: Storage) -> Result<Self, RecordError> {
        let file = || storage.name.clone();
        let mut buffer = vec![0; MAX_PREAMBLE];
        let error = match format::decode_header(storage.read(0, &mut buffer)?) {
            Beginning::Header { header, len } => {
                let Scan { frames, problems } = scan::scan(&storage, len)?;
                return Ok(Self { storage, header, frames, problems });
            }
            Beginning::Newer { major, program } => return Err(RecordError::Newer { file: file(), major, program }),
            Beginning::Damaged => RecordError::HeaderDamaged { file: file() },
            Beginning::Foreign => RecordError::NotARecording { file: file() },
        };
        // Frames are readable without the header: only the name of the node is lost.
        let Some(start) = scan::first_mark(&storage, MAX_PREAMBLE as u64)? else { return Err(error) };
        let Scan { frames, mut problems } = scan::scan(&storage, start)?;
        let Some(first) = frames.first() else { return Err(error) };
        let header = RecordHeader {
            program: Text::default(),
            node: Text::default(),
            began: first.first.wall,
            labels: Default::default(),
        };
        problems.insert(0, Problem { at: 0, len: start, what: Damage::Header });
        Ok(Self { storage, header, frames, problems })
    }

    /// The header.
    pub fn header(&self) -> &RecordHeader {
        &self.header
    }

    /// The readable frames, in order.
    pub fn frames(&self) -> &[FrameInfo] {
        &self.frames
    }

    /// Damaged and missing parts, in the order of the file.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// True when the end record and every frame that was written are present and undamaged.
    pub fn is_complete(&self) -> bool {
        self.problems.is_empty()
    }

    /// Index of the frame for the time `wall`: the last one that spans it, else the last one that starts before it, else the first.
    /// None only without frames.
    pub fn find_frame(&self, wall: Time) -> Option<usize> {
        // The wall clock can be set back: frames are not always in its order.
        let spans = self.frames.iter().rposition(|f| f.first.wall <= wall && wall <= f.last.wall);
        let begins = || self.frames.iter().rposition(|f| f.first.wall <= wall);
        spans.or_else(begins).or(if self.frames.is_empty() { None } else { Some(0) })
    }

    /// The state on which the frame with that index builds.
    ///
    /// # Errors
    /// Those of [`RecordReader::frame`].
    pub fn state(&self, index: usize) -> Result<FrameState, RecordError> {
        let back = self.frames.get(index).map_or(0, |f| f.start.back());
        let mut next = index.saturating_sub(back as usize);
        let begins = self.frame(next)?;
        let is_piece = |index: usize| matches!(self.frames.get(index).map(|f| f.start), Some(FrameStart::Piece { .. }));
        if !is_piece(next) {
            return Ok(FrameState { at: begins.at, json: Box::<str>::from(begins.keyframe).into(), next });
        }
        let (at, mut json) = (begins.at, String::new());
        let fault = |at: usize| RecordError::Frame {
            file: self.storage.name.clone(),
            number: self.frames.get(at).map_or(0, |f| f.number),
            at: self.frames.get(at).map_or(0, |f| f.offset),
            why: FrameFault::Pieces,
        };
        let mut frame = begins;
        loop {
            let piece: String = serde_json::from_str(frame.keyframe.get()).map_err(|_| fault(next))?;
            if json.len() + piece.len() > MAX_STATE {
                return Err(fault(next));
            }
            json += &piece;
            let is_last = matches!(self.frames.get(next).map(|f| f.start), Some(FrameStart::Piece { last: true, .. }));
            next += 1;
            if is_last {
                return Ok(FrameState { at, json, next });
            }
            frame = self.frame(next)?;
        }
    }

    /// Decodes the frame with that index.
    ///
    /// # Errors
    /// [`RecordError::NoFrame`], [`RecordError::Read`], and [`RecordError::Frame`] for a damaged frame.
    pub fn frame(&self, index: usize) -> Result<Frame, RecordError> {
        let file = || self.storage.name.clone();
        let Some(info) = self.frames.get(index) else {
            return Err(RecordError::NoFrame { file: file(), index, frames: self.frames.len() });
        };
        let fault = |why| RecordError::Frame { file: file(), number: info.number, at: info.offset, why };
        let mut bytes = vec![0; usize::try_from(info.len).map_err(|_| fault(FrameFault::Compression))?];
        self.storage.read_exact(info.offset, &mut bytes)?;
        // The file can have changed since it was opened.
        let start = bytes.get(..bytes.len().min(MAX_FRAME_HEADER)).unwrap_or_default();
        let Mark::Frame { head, header_len, mut partial_crc, crc } = format::decode_mark(start) else {
            return Err(fault(FrameFault::Checksum));
        };
        let payload = bytes.get(header_len as usize..).unwrap_or_default();
        partial_crc.update(payload);
        if partial_crc.finalize() != crc || head.number != info.number {
            return Err(fault(FrameFault::Checksum));
        }
        Frame::unpack(payload, head.raw, head.observations).map_err(fault)
    }
}
