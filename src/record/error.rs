//! Errors of writing and reading a recording: what failed, where, why, and the remedy.

use std::fmt;
use std::io;

use super::format::{FORMAT_MAJOR, MAX_RAW};
use crate::text::Text;

/// Why a recording could not be written or read. The message is complete, without a `source`; [`RecordError::remedy`] is apart.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file exists.
    #[error("{file} already exists and is not overwritten")]
    Exists {
        /// The file.
        file: Text,
    },
    /// The file could not be created.
    #[error("cannot create {file}: {why}")]
    Create {
        /// The file.
        file: Text,
        /// The error of the system.
        why: io::Error,
    },
    /// Writing failed; what was written before is readable.
    #[error("cannot write {len} bytes at byte {at} of {file}: {why}")]
    Write {
        /// The file.
        file: Text,
        /// Offset of the write, bytes.
        at: u64,
        /// Its length, bytes.
        len: u64,
        /// The error of the system.
        why: io::Error,
    },
    /// Standard output is a terminal.
    #[error("cannot record to standard output: it is a terminal")]
    Terminal,
    /// The reader closed the pipe.
    #[error("{file} was closed by its reader after {at} bytes")]
    Closed {
        /// The output.
        file: Text,
        /// Bytes written.
        at: u64,
    },
    /// A keyframe, an observation or a header could not be encoded as JSON or compressed.
    #[error("cannot encode {what} for a recording: {why}")]
    Encode {
        /// What was being encoded.
        what: &'static str,
        /// The error of the encoder.
        why: Text,
    },
    /// A header, an observation or a frame is longer than a reader accepts.
    #[error("cannot record {what} of {len} bytes, the limit is {limit}")]
    TooLarge {
        /// What was being encoded.
        what: &'static str,
        /// Its length, bytes; a lower bound if encoding stopped at the limit.
        len: u64,
        /// The limit, bytes.
        limit: u64,
    },
    /// The file could not be opened.
    #[error("cannot open the recording {file}: {why}")]
    Open {
        /// The file.
        file: Text,
        /// The error of the system.
        why: io::Error,
    },
    /// Not a regular file: a recording is read in any order.
    #[error("cannot read a recording from {file}: not a regular file")]
    NotAFile {
        /// The file.
        file: Text,
    },
    /// Reading failed.
    #[error("cannot read {file} at byte {at}: {why}")]
    Read {
        /// The file.
        file: Text,
        /// Offset, bytes.
        at: u64,
        /// The error of the system.
        why: io::Error,
    },
    /// Neither a header nor frames.
    #[error("{file} is not a recording: its header is missing")]
    NotARecording {
        /// The file.
        file: Text,
    },
    /// The start is that of a recording, and neither header nor frames are readable.
    #[error("the header of the recording {file} is damaged and no frame follows it")]
    HeaderDamaged {
        /// The file.
        file: Text,
    },
    /// A later version wrote it, in a format that this version does not read.
    #[error("{file} was written by {program} in format {major}, this version reads up to format {FORMAT_MAJOR}")]
    Newer {
        /// The file.
        file: Text,
        /// Its major format version.
        major: u16,
        /// Name and version of the program that wrote it.
        program: Text,
    },
    /// There is no such frame.
    #[error("no frame {index} in {file}, it has {frames}")]
    NoFrame {
        /// The file.
        file: Text,
        /// Requested index.
        index: usize,
        /// Number of frames.
        frames: usize,
    },
    /// A frame cannot be decoded.
    #[error("cannot decode frame {number} at byte {at} of {file}: {why}")]
    Frame {
        /// The file.
        file: Text,
        /// Number of the frame.
        number: u64,
        /// Offset, bytes.
        at: u64,
        /// What is wrong.
        why: FrameFault,
    },
}

/// What is wrong with a frame that has a valid header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameFault {
    /// It changed after the recording was opened.
    #[error("wrong checksum")]
    Checksum,
    /// The data cannot be decompressed to the length in the header.
    #[error("decompressed length differs from the header")]
    Compression,
    /// The first line is not a keyframe.
    #[error("no keyframe at the start")]
    Keyframe,
    /// The pieces of its state are not JSON text together, or exceed the size limit.
    #[error("pieces of the state do not fit together")]
    Pieces,
    /// Its number of lines differs from the header.
    #[error("number of observations differs from the header")]
    Count,
}

/// A damaged or missing part of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Offset of the part, bytes.
    pub at: u64,
    /// Its length, bytes; 0 for a missing part.
    pub len: u64,
    /// What is wrong.
    pub what: Damage,
}

/// What is wrong with a part of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The header is damaged: node and program are unknown.
    Header,
    /// Bytes that do not belong to a recording.
    Garbage,
    /// A frame or an end record whose checksum is wrong.
    Checksum,
    /// An incomplete frame, as a killed writer leaves it.
    Torn,
    /// Missing frames.
    Missing {
        /// Number of the first.
        first: u64,
        /// How many.
        count: u64,
    },
    /// A frame with a number that is not higher than the last one.
    OutOfOrder {
        /// Its number.
        number: u64,
    },
    /// Frames that build on a damaged or missing one, so that they cannot be used.
    NoState {
        /// Number of the first.
        first: u64,
        /// How many.
        count: u64,
    },
    /// An end record followed by frames.
    EarlyEnd,
    /// No end record: the writer was killed, or is still running.
    NoEnd,
    /// The totals in the end record differ from the frames.
    Totals {
        /// Frames that the writer wrote.
        frames: u64,
        /// Observations in them.
        observations: u64,
    },
    /// Too many false frame marks: the scan was stopped.
    GivenUp,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Header => f.write_str("damaged header, node and program are unknown"),
            Damage::Garbage => f.write_str("bytes that do not belong to a recording"),
            Damage::Checksum => f.write_str("frame with a wrong checksum"),
            Damage::Torn => f.write_str("incomplete frame"),
            Damage::Missing { first, count: 1 } => write!(f, "frame {first} is missing"),
            Damage::Missing { first, count } => {
                write!(f, "frames {first} to {} are missing", first.saturating_add(count.saturating_sub(1)))
            }
            Damage::OutOfOrder { number } => write!(f, "frame {number} is repeated or out of order"),
            Damage::NoState { first, count: 1 } => write!(f, "frame {first} builds on a missing frame"),
            Damage::NoState { first, count } => {
                let last = first.saturating_add(count.saturating_sub(1));
                write!(f, "frames {first} to {last} build on a missing frame")
            }
            Damage::EarlyEnd => f.write_str("end record followed by frames"),
            Damage::NoEnd => f.write_str("no end record: the writer was killed, or is still running"),
            Damage::Totals { frames, observations } => {
                write!(f, "end record counts {frames} frames and {observations} observations, the file has others")
            }
            Damage::GivenUp => f.write_str("too many false frame marks, scan stopped"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.len {
            0 => write!(f, "at byte {}: {}", self.at, self.what),
            len => write!(f, "{len} bytes at byte {}: {}", self.at, self.what),
        }
    }
}

impl RecordError {
    /// What the user can do about it; empty if nothing.
    pub fn remedy(&self) -> String {
        match self {
            RecordError::Exists { .. } => "choose another name, or delete the file".into(),
            RecordError::Create { .. } => "choose a folder with write permission".into(),
            RecordError::Write { .. } => {
                "free disk space or record to another disk; the recording is readable up to that byte".into()
            }
            RecordError::Terminal => "redirect it to a file or a pipe, or give a file name".into(),
            RecordError::Closed { .. } => "".into(),
            RecordError::Encode { .. } => "report this bug in kpodtrace".into(),
            RecordError::TooLarge { .. } => "write fewer observations per frame".into(),
            RecordError::Open { .. } => "check the path and its permissions".into(),
            RecordError::NotAFile { .. } => "copy it to a regular file".into(),
            RecordError::Read { .. } => "copy the recording to another disk and retry".into(),
            RecordError::NotARecording { .. } => "give a file that `kpodtrace record` wrote".into(),
            RecordError::HeaderDamaged { .. } => "copy the file again".into(),
            RecordError::NoFrame { .. } => "use a lower index".into(),
            RecordError::Frame { .. } => "other frames are readable: choose another time".into(),
            RecordError::Newer { program, .. } => format!("use {program} or later"),
        }
    }

    pub(super) fn too_large_frame(len: usize) -> Self {
        RecordError::TooLarge { what: "a frame", len: len as u64, limit: u64::from(MAX_RAW) }
    }
}
