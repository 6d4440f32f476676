//! Owns the file that observations are kept in: its format, which is for good, writing it, and reading what is left of it.
//! It must not know the model: a keyframe is JSON that it carries and never looks into.
//!
//! A recording is a header, then frames, then an end record (`format.rs` has the bytes). A frame is one zstd frame and can
//! be decoded alone. Every few seconds one begins with a keyframe, the whole state as it was before the frame's first
//! observation; those that follow go on from it, so that a frame can be written every second and costs no state. A writer
//! that is killed leaves at most one torn frame at the end; a damaged part costs the frames it touches, and those that go on
//! from them up to the next keyframe.

mod error;
mod format;
mod frame;
pub mod import;
mod reader;
mod scan;
mod storage;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use error::{Damage, FrameFault, Problem, RecordError};
pub use format::{FORMAT_MAJOR, FORMAT_MINOR, FrameStart, MAX_RAW, is_recording};
pub use frame::{FRAME_OBSERVATIONS, Frame, Lines, MAX_LINE_LEN, MAX_STATE, Observations, Packed};
pub use reader::{Reader, State};
pub use scan::FrameInfo;
pub use writer::{Writer, create_file, create_stdout};

use crate::observation::Time;
use crate::text::Text;

/// A point in the recording, on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct At {
    /// Microseconds since observing began, on a clock that never jumps.
    pub mono: u64,
    /// The wall clock.
    pub wall: Time,
}

/// What a recording says of itself as a whole. Fields are only ever added; unknown ones are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Name and version of the program that wrote it; empty when the header is damaged.
    #[serde(default)]
    pub program: Text,
    /// The node that was observed; empty when the header is damaged.
    #[serde(default)]
    pub node: Text,
    /// When observing began: the wall clock at `mono` 0. With a damaged header, when the first frame began.
    pub began: Time,
    /// Anything else that is worth saying, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<Text, Text>,
}

impl Header {
    /// The header of a recording that this program begins now.
    pub fn new(node: Text, began: Time) -> Self {
        let program = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).into();
        Self { program, node, began, labels: BTreeMap::new() }
    }
}
