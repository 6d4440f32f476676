//! Recordings: the file format, its writer and its reader, and imports of other files. The model is not known here: a keyframe
//! is opaque JSON.
//!
//! A recording is a header, then frames, then an end record (the bytes are in `format.rs`). A frame is one zstd frame and can be
//! decoded alone. Every few seconds a frame starts with a keyframe, the whole state before its first observation; the frames
//! after it build on it, so that a frame can be written every second without a state. A killed writer leaves at most one
//! incomplete frame at the end. A damaged part costs the frames in it, and those that build on them up to the next keyframe.

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
pub use frame::{FRAME_OBSERVATIONS, Frame, MAX_LINE_LEN, MAX_STATE, ObservationLines, Observations, PackedFrame};
pub use reader::{FrameState, RecordReader};
pub use scan::FrameInfo;
pub use writer::{RecordWriter, create_file, create_stdout};

use crate::observation::Time;
use crate::text::Text;

/// A point in the recording, on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordPoint {
    /// Microseconds since the start of observation, on the monotonic clock.
    pub mono: u64,
    /// The wall clock.
    pub wall: Time,
}

/// The header of a recording. Fields are only added, never removed; unknown ones are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordHeader {
    /// Name and version of the program that wrote it; empty if the header is damaged.
    #[serde(default)]
    pub program: Text,
    /// Name of the observed node; empty if the header is damaged.
    #[serde(default)]
    pub node: Text,
    /// Start of observation: the wall clock at `mono` 0. With a damaged header, the start of the first frame.
    pub began: Time,
    /// Other properties, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<Text, Text>,
}

impl RecordHeader {
    /// The header of a recording by this program.
    pub fn new(node: Text, began: Time) -> Self {
        let program = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).into();
        Self { program, node, began, labels: BTreeMap::new() }
    }
}
