//! Owns what is said when a recording cannot be written or read: what was tried, where, and what to do.
//! It must not print, and must hold no text of a recording that was not made safe.

use std::fmt;
use std::io;

use super::format::{FORMAT_MAJOR, MAX_RAW};
use crate::text::Text;

/// Why a recording could not be written or read. The message is one line and complete; there is no source behind it.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The name is taken.
    #[error("{file} exists already and is not overwritten: choose another name, or remove it first")]
    Exists {
        /// The file.
        file: Text,
    },
    /// The file could not be created.
    #[error("cannot create {file}: {why}; choose a place that you may write to")]
    Create {
        /// The file.
        file: Text,
        /// The system's answer.
        why: io::Error,
    },
    /// Writing failed; what was written before stays readable.
    #[error(
        "cannot write {len} bytes at byte {at} of {file}: {why}; what was recorded until then can be replayed, free some space or record to another place"
    )]
    Write {
        /// The file.
        file: Text,
        /// Offset of what was being written, bytes.
        at: u64,
        /// Its length, bytes.
        len: u64,
        /// The system's answer.
        why: io::Error,
    },
    /// Standard output is a terminal.
    #[error("cannot record to standard output: it is a terminal; redirect it to a file or a pipe, or name a file")]
    Terminal,
    /// The reading end of a pipe was closed.
    #[error("{file} was closed by its reader after {at} bytes; what it received until then can be replayed")]
    Closed {
        /// What was written to.
        file: Text,
        /// Bytes that were written.
        at: u64,
    },
    /// A keyframe, an observation or a header could not be written as JSON or compressed.
    #[error("cannot encode {what} for a recording: {why}; this is a fault of the program, please report it")]
    Encode {
        /// What was being encoded.
        what: &'static str,
        /// Why not.
        why: Text,
    },
    /// A header, an observation or a frame is longer than a reader accepts.
    #[error("cannot record {what} of {len} bytes, the limit is {limit}: put fewer observations into one frame")]
    TooLarge {
        /// What was being encoded.
        what: &'static str,
        /// Its length as far as it was measured, bytes.
        len: u64,
        /// The limit, bytes.
        limit: u64,
    },
    /// The file could not be opened.
    #[error("cannot open the recording {file}: {why}; check its name and that you may read it")]
    Open {
        /// The file.
        file: Text,
        /// The system's answer.
        why: io::Error,
    },
    /// Not a file that can be read in any order.
    #[error("cannot read a recording from {file}: it is no regular file; copy it to one first")]
    NotAFile {
        /// The file.
        file: Text,
    },
    /// Reading failed.
    #[error("cannot read {file} at byte {at}: {why}; copy the recording to another disk and try again")]
    Read {
        /// The file.
        file: Text,
        /// Offset, bytes.
        at: u64,
        /// The system's answer.
        why: io::Error,
    },
    /// Neither header nor frames.
    #[error("{file} is not a recording: it does not begin like one; give a file that `kpodtrace record` wrote")]
    NotARecording {
        /// The file.
        file: Text,
    },
    /// It begins like a recording, and nothing behind that can be read.
    #[error(
        "the header of the recording {file} is damaged and no frame follows it: nothing can be read; copy it again"
    )]
    HeaderDamaged {
        /// The file.
        file: Text,
    },
    /// A later program wrote it, in a format that this one does not read.
    #[error(
        "{file} was written by {program} in format {major}, this program reads up to format {FORMAT_MAJOR}: use {program} or later"
    )]
    Newer {
        /// The file.
        file: Text,
        /// Its major format version.
        major: u16,
        /// Name and version of the program that wrote it.
        program: Text,
    },
    /// There is no such frame.
    #[error("there is no frame {index} in {file}, it has {frames}: ask for a lower one")]
    NoFrame {
        /// The file.
        file: Text,
        /// Index asked for.
        index: usize,
        /// Number of frames.
        frames: usize,
    },
    /// A frame cannot be decoded.
    #[error("cannot decode frame {number} at byte {at} of {file}: {why}; the other frames do not depend on it")]
    Frame {
        /// The file.
        file: Text,
        /// The frame's own number.
        number: u64,
        /// Offset, bytes.
        at: u64,
        /// What is wrong.
        why: FrameFault,
    },
}

/// What is wrong with a frame whose header is in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameFault {
    /// It changed after the recording was opened.
    #[error("its checksum is wrong")]
    Checksum,
    /// The compressed data cannot be decompressed to the length that the header says.
    #[error("it does not decompress to the length it claims")]
    Compression,
    /// The first line is no keyframe.
    #[error("it does not begin with a keyframe")]
    Keyframe,
    /// The pieces of its state make up no JSON text, or a longer one than any program writes.
    #[error("the pieces of its state do not fit together")]
    Pieces,
    /// It holds more or fewer lines than its header says.
    #[error("it does not hold the number of observations it claims")]
    Count,
}

/// A part of a recording that cannot be used, or that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Offset of the part, bytes.
    pub at: u64,
    /// Its length in bytes; 0 for something that is missing.
    pub len: u64,
    /// What is wrong.
    pub what: Damage,
}

/// What is wrong with a part of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The header: node and program are unknown.
    Header,
    /// Bytes that are no part of a recording.
    Garbage,
    /// A frame or an end record whose checksum is wrong.
    Checksum,
    /// A frame that stops before its end, as a killed writer leaves it.
    Torn,
    /// Frames that should stand here.
    Missing {
        /// Number of the first.
        first: u64,
        /// How many.
        count: u64,
    },
    /// A frame whose number was passed already.
    OutOfOrder {
        /// Its number.
        number: u64,
    },
    /// Frames that go on from one that is damaged or missing, so that they cannot be used.
    NoState {
        /// Number of the first.
        first: u64,
        /// How many.
        count: u64,
    },
    /// An end record with frames behind it.
    EarlyEnd,
    /// There is no end record: the writer was stopped, or is still at work.
    NoEnd,
    /// The end record's totals are not those of the frames.
    Totals {
        /// Frames the writer wrote.
        frames: u64,
        /// Observations in them.
        observations: u64,
    },
    /// Too much looks like a frame and is none; the search was given up.
    GivenUp,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Header => f.write_str("the header is damaged, node and program are unknown"),
            Damage::Garbage => f.write_str("no part of a recording"),
            Damage::Checksum => f.write_str("a frame with a wrong checksum"),
            Damage::Torn => f.write_str("a frame that stops before its end"),
            Damage::Missing { first, count: 1 } => write!(f, "frame {first} is missing"),
            Damage::Missing { first, count } => {
                write!(f, "frames {first} to {} are missing", first.saturating_add(count.saturating_sub(1)))
            }
            Damage::OutOfOrder { number } => write!(f, "frame {number} once more, or out of order"),
            Damage::NoState { first, count: 1 } => write!(f, "frame {first} builds on one that is not here"),
            Damage::NoState { first, count } => {
                let last = first.saturating_add(count.saturating_sub(1));
                write!(f, "frames {first} to {last} build on one that is not here")
            }
            Damage::EarlyEnd => f.write_str("an end with frames behind it"),
            Damage::NoEnd => f.write_str("no end: the writer was stopped, or is still at work"),
            Damage::Totals { frames, observations } => {
                write!(f, "{frames} frames with {observations} observations were written, others are here")
            }
            Damage::GivenUp => f.write_str("too much looks like a frame and is none, the search was given up"),
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
    pub(super) fn too_large_frame(len: usize) -> Self {
        RecordError::TooLarge { what: "a frame", len: len as u64, limit: u64::from(MAX_RAW) }
    }
}
