//! Owns reading a recording: what is in it, what is damaged, and any one of its frames.
//! It must not change the file, nor keep more of it in memory than the index and one frame.

use std::borrow::Cow;
use std::path::Path;

use super::format::{self, Beginning, MAX_FRAME_HEADER, MAX_PREAMBLE, Mark};
use super::scan::{self, FrameInfo, Scan};
use super::storage::Storage;
use super::{At, Damage, Frame, FrameFault, FrameStart, Header, MAX_STATE, Problem, RecordError};
use crate::observation::Time;
use crate::text::Text;

/// The state that a frame builds on.
#[derive(Debug)]
pub struct State {
    /// The point that it holds for.
    pub at: At,
    /// It, as JSON.
    pub json: String,
    /// Index of the frame whose observations come first behind it.
    pub next: usize,
}

/// A recording that is open for reading.
#[derive(Debug)]
pub struct Reader {
    storage: Storage,
    header: Header,
    frames: Vec<FrameInfo>,
    problems: Vec<Problem>,
}

impl Reader {
    /// Opens a file. What a writer adds to it later is not seen.
    ///
    /// # Errors
    /// [`RecordError::Open`], [`RecordError::NotAFile`], [`RecordError::Read`], and those of [`Reader::from_bytes`].
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        Self::from_storage(Storage::file(path)?)
    }

    /// Opens a recording in memory; `name` is what messages call it.
    ///
    /// # Errors
    /// [`RecordError::NotARecording`], [`RecordError::HeaderDamaged`] when no frame is left either, and
    /// [`RecordError::Newer`].
    pub fn from_bytes(name: &str, bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, RecordError> {
        Self::from_storage(Storage::memory(name.into(), bytes.into()))
    }

    fn from_storage(storage: Storage) -> Result<Self, RecordError> {
        let file = || storage.name.clone();
        let mut buffer = vec![0; MAX_PREAMBLE];
        let nothing = match format::decode_header(storage.read(0, &mut buffer)?) {
            Beginning::Header { header, len } => {
                let Scan { frames, problems } = scan::scan(&storage, len)?;
                return Ok(Self { storage, header, frames, problems });
            }
            Beginning::Newer { major, program } => return Err(RecordError::Newer { file: file(), major, program }),
            Beginning::Damaged => RecordError::HeaderDamaged { file: file() },
            Beginning::Foreign => RecordError::NotARecording { file: file() },
        };
        // The header is short and the frames stand alone: what was observed is worth more than the node's name.
        let Some(start) = scan::first_mark(&storage, MAX_PREAMBLE as u64)? else { return Err(nothing) };
        let Scan { frames, mut problems } = scan::scan(&storage, start)?;
        let Some(first) = frames.first() else { return Err(nothing) };
        let header = Header {
            program: Text::default(),
            node: Text::default(),
            began: first.first.wall,
            labels: Default::default(),
        };
        problems.insert(0, Problem { at: 0, len: start, what: Damage::Header });
        Ok(Self { storage, header, frames, problems })
    }

    /// What the recording says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The frames that are wholly there, in order.
    pub fn frames(&self) -> &[FrameInfo] {
        &self.frames
    }

    /// What is damaged or missing, in the order of the file.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// True when the end is in place and every frame that was written is here with its checksum right.
    pub fn complete(&self) -> bool {
        self.problems.is_empty()
    }

    /// Index of the frame that holds what was the case at `wall`: the last one that spans it, or else the last that
    /// begins before it, or else the first. None only if there are no frames.
    pub fn find(&self, wall: Time) -> Option<usize> {
        // A wall clock can be set back, so the frames need not be in its order.
        let spans = self.frames.iter().rposition(|f| f.first.wall <= wall && wall <= f.last.wall);
        let begins = || self.frames.iter().rposition(|f| f.first.wall <= wall);
        spans.or_else(begins).or(if self.frames.is_empty() { None } else { Some(0) })
    }

    /// The state that the frame of that index builds on.
    ///
    /// # Errors
    /// Those of [`Reader::frame`].
    pub fn state(&self, index: usize) -> Result<State, RecordError> {
        let back = self.frames.get(index).map_or(0, |f| f.start.back());
        let mut next = index.saturating_sub(back as usize);
        let begins = self.frame(next)?;
        let is_piece = |index: usize| matches!(self.frames.get(index).map(|f| f.start), Some(FrameStart::Piece { .. }));
        if !is_piece(next) {
            return Ok(State { at: begins.at, json: Box::<str>::from(begins.keyframe).into(), next });
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
                return Ok(State { at, json, next });
            }
            frame = self.frame(next)?;
        }
    }

    /// Decodes the frame of that index, alone.
    ///
    /// # Errors
    /// [`RecordError::NoFrame`], [`RecordError::Read`], and [`RecordError::Frame`] when it is not what it claims to be.
    pub fn frame(&self, index: usize) -> Result<Frame, RecordError> {
        let file = || self.storage.name.clone();
        let Some(info) = self.frames.get(index) else {
            return Err(RecordError::NoFrame { file: file(), index, frames: self.frames.len() });
        };
        let fault = |why| RecordError::Frame { file: file(), number: info.number, at: info.offset, why };
        let mut bytes = vec![0; usize::try_from(info.len).map_err(|_| fault(FrameFault::Compression))?];
        self.storage.read_exact(info.offset, &mut bytes)?;
        // The file may have changed since it was opened.
        let start = bytes.get(..bytes.len().min(MAX_FRAME_HEADER)).unwrap_or_default();
        let Mark::Frame { head, header_len, mut begun, crc } = format::decode_mark(start) else {
            return Err(fault(FrameFault::Checksum));
        };
        let payload = bytes.get(header_len as usize..).unwrap_or_default();
        begun.update(payload);
        if begun.finalize() != crc || head.number != info.number {
            return Err(fault(FrameFault::Checksum));
        }
        Frame::unpack(payload, head.raw, head.observations).map_err(fault)
    }
}
