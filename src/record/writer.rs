//! Writes a recording: header, numbered frames, end record.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;

use super::format::{self, FrameHead, FrameStart};
use super::{PackedFrame, RecordError, RecordHeader, RecordPoint};
use crate::observation::Observation;
use crate::text::Text;

/// Writes a recording.
///
/// Each frame is one write followed by a flush: a killed writer leaves at most one incomplete frame at the end. Without
/// [`RecordWriter::finish`] the recording is readable and reported as incomplete.
#[derive(Debug)]
pub struct RecordWriter<W: Write> {
    sink: W,
    name: Text,
    at: u64,
    frames: u64,
    observations: u64,
    /// Number of the frame with the start of the last state.
    state: u64,
}

/// Creates the file of a recording, readable only by its owner: it lists what runs on the node.
///
/// # Errors
/// [`RecordError::Exists`], [`RecordError::Create`], and those of [`RecordWriter::create`].
pub fn create_file(path: &Path, header: &RecordHeader) -> Result<RecordWriter<File>, RecordError> {
    let file = Text::name(&path.to_string_lossy());
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(sink) => RecordWriter::start(sink, file, header),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(RecordError::Exists { file }),
        Err(why) => Err(RecordError::Create { file, why }),
    }
}

/// Starts a recording on standard output, which must not be a terminal.
///
/// # Errors
/// [`RecordError::Terminal`], [`RecordError::Create`], and those of [`RecordWriter::create`].
pub fn create_stdout(header: &RecordHeader) -> Result<RecordWriter<File>, RecordError> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        return Err(RecordError::Terminal);
    }
    let file = Text::from("standard output");
    match stdout.as_fd().try_clone_to_owned() {
        Ok(sink) => RecordWriter::start(sink.into(), file, header),
        Err(why) => Err(RecordError::Create { file, why }),
    }
}

impl RecordWriter<File> {
    /// Writes the end record and syncs the file, if it is one. Returns the length of the recording, bytes.
    ///
    /// # Errors
    /// [`RecordError::Write`].
    pub fn finish_synced(mut self) -> Result<u64, RecordError> {
        self.put(&format::encode_end(self.frames, self.observations))?;
        let is_file = self.sink.metadata().is_ok_and(|m| m.is_file());
        let synced = if is_file { self.sink.sync_all() } else { Ok(()) };
        synced.map(|()| self.at).map_err(|why| RecordError::Write { file: self.name, at: self.at, len: 0, why })
    }
}

impl<W: Write> RecordWriter<W> {
    /// Starts a recording on `sink`.
    ///
    /// # Errors
    /// [`RecordError::Write`]; [`RecordError::TooLarge`] and [`RecordError::Encode`] for the header.
    pub fn create(sink: W, header: &RecordHeader) -> Result<Self, RecordError> {
        Self::start(sink, "the recording".into(), header)
    }

    fn start(sink: W, name: Text, header: &RecordHeader) -> Result<Self, RecordError> {
        let mut writer = Self { sink, name, at: 0, frames: 0, observations: 0, state: 0 };
        writer.put(&format::encode_header(header)?)?;
        Ok(writer)
    }

    /// Writes a frame: `keyframe`, the state at `at`, and the observations after it, in order.
    ///
    /// # Errors
    /// Those of [`PackedFrame::new`], with nothing written, and of [`RecordWriter::write_packed`].
    pub fn write_frame<K: Serialize + ?Sized>(
        &mut self,
        at: RecordPoint,
        keyframe: &K,
        observations: &[Observation],
    ) -> Result<(), RecordError> {
        self.write_packed(&PackedFrame::new(at, keyframe, observations)?)
    }

    /// Writes a packed frame.
    ///
    /// # Errors
    /// [`RecordError::Write`]. Further frames can be written; readers report the missing one.
    pub fn write_packed(&mut self, frame: &PackedFrame) -> Result<(), RecordError> {
        if frame.head.start.back() == 0 {
            self.state = self.frames;
        }
        let back = u32::try_from(self.frames - self.state).unwrap_or(u32::MAX);
        let start = match frame.head.start {
            FrameStart::Before { .. } => FrameStart::Before { back },
            start => start,
        };
        self.write_numbered(&FrameHead { start, ..frame.head }, &frame.payload)
    }

    /// Writes a frame without setting the distance to its state.
    #[cfg(test)]
    pub(super) fn write_unchecked(&mut self, frame: &PackedFrame) -> Result<(), RecordError> {
        self.write_numbered(&frame.head, &frame.payload)
    }

    fn write_numbered(&mut self, head: &FrameHead, payload: &[u8]) -> Result<(), RecordError> {
        let mut bytes = format::encode_frame_head(&FrameHead { number: self.frames, ..*head }, payload);
        bytes.extend_from_slice(payload);
        self.frames += 1;
        self.observations += u64::from(head.observations);
        self.put(&bytes)
    }

    /// Writes the end record, which makes the recording complete, and returns the sink.
    ///
    /// # Errors
    /// [`RecordError::Write`].
    pub fn finish(mut self) -> Result<W, RecordError> {
        self.put(&format::encode_end(self.frames, self.observations))?;
        Ok(self.sink)
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.at
    }

    /// Frames written so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        let (at, len) = (self.at, bytes.len() as u64);
        self.sink.write_all(bytes).and_then(|()| self.sink.flush()).map_err(|why| match why.kind() {
            io::ErrorKind::BrokenPipe => RecordError::Closed { file: self.name.clone(), at },
            _ => RecordError::Write { file: self.name.clone(), at, len, why },
        })?;
        self.at += len;
        Ok(())
    }
}
