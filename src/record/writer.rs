//! Owns writing a recording: header, numbered frames, end.
//! It must not decide when a frame begins or what a keyframe holds, and never writes a part of a frame on purpose.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;

use super::format::{self, FrameHead, FrameStart};
use super::{At, Header, Packed, RecordError};
use crate::observation::Observation;
use crate::text::Text;

/// Writes a recording.
///
/// Each frame is handed over in one write and flushed, so that a writer that is killed leaves at most one torn frame at
/// the end. Without [`Writer::finish`] the recording can be read, and says that it is not complete.
#[derive(Debug)]
pub struct Writer<W: Write> {
    sink: W,
    name: Text,
    at: u64,
    frames: u64,
    observations: u64,
    /// Number of the frame in which the last state begins.
    state: u64,
}

/// Creates the file of a recording, readable by its owner alone: it tells what runs on the node.
///
/// # Errors
/// [`RecordError::Exists`] rather than overwrite anything, [`RecordError::Create`], and those of [`Writer::create`].
pub fn create_file(path: &Path, header: &Header) -> Result<Writer<File>, RecordError> {
    let file = Text::name(&path.to_string_lossy());
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(sink) => Writer::begin(sink, file, header),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(RecordError::Exists { file }),
        Err(why) => Err(RecordError::Create { file, why }),
    }
}

/// Begins a recording on standard output, which must not be a terminal.
///
/// # Errors
/// [`RecordError::Terminal`], [`RecordError::Create`], and those of [`Writer::create`].
pub fn create_stdout(header: &Header) -> Result<Writer<File>, RecordError> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        return Err(RecordError::Terminal);
    }
    let file = Text::from("standard output");
    match stdout.as_fd().try_clone_to_owned() {
        Ok(sink) => Writer::begin(sink.into(), file, header),
        Err(why) => Err(RecordError::Create { file, why }),
    }
}

impl Writer<File> {
    /// Ends the recording and syncs it, where it is a file, so that it is there after a power cut. Gives its length, bytes.
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

impl<W: Write> Writer<W> {
    /// Begins a recording on `sink`.
    ///
    /// # Errors
    /// [`RecordError::Write`]; [`RecordError::TooLarge`] and [`RecordError::Encode`] for the header.
    pub fn create(sink: W, header: &Header) -> Result<Self, RecordError> {
        Self::begin(sink, "the recording".into(), header)
    }

    fn begin(sink: W, name: Text, header: &Header) -> Result<Self, RecordError> {
        let mut writer = Self { sink, name, at: 0, frames: 0, observations: 0, state: 0 };
        writer.put(&format::encode_header(header)?)?;
        Ok(writer)
    }

    /// Writes a frame: `keyframe`, the state as it was at `at`, and what was observed from then on, in order.
    ///
    /// # Errors
    /// Those of [`Packed::new`], with nothing written, and of [`Writer::packed`].
    pub fn frame<K: Serialize + ?Sized>(
        &mut self,
        at: At,
        keyframe: &K,
        observations: &[Observation],
    ) -> Result<(), RecordError> {
        self.packed(&Packed::new(at, keyframe, observations)?)
    }

    /// Writes a frame that was packed before.
    ///
    /// # Errors
    /// [`RecordError::Write`]. The next frame may be written all the same; the recording will tell that one is missing.
    pub fn packed(&mut self, frame: &Packed) -> Result<(), RecordError> {
        if frame.head.start.back() == 0 {
            self.state = self.frames;
        }
        let back = u32::try_from(self.frames - self.state).unwrap_or(u32::MAX);
        let start = match frame.head.start {
            FrameStart::Before { .. } => FrameStart::Before { back },
            start => start,
        };
        self.numbered(&FrameHead { start, ..frame.head }, &frame.payload)
    }

    /// Writes a frame that starts as it says.
    #[cfg(test)]
    pub(super) fn raw(&mut self, frame: &Packed) -> Result<(), RecordError> {
        self.numbered(&frame.head, &frame.payload)
    }

    fn numbered(&mut self, head: &FrameHead, payload: &[u8]) -> Result<(), RecordError> {
        let mut bytes = format::encode_frame_head(&FrameHead { number: self.frames, ..*head }, payload);
        bytes.extend_from_slice(payload);
        self.frames += 1;
        self.observations += u64::from(head.observations);
        self.put(&bytes)
    }

    /// Ends the recording, which is what makes it complete, and gives the sink back, so that a file can be synced.
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
