//! Records a node while it is observed. At most one frame is in memory, and an observation is written within a second.

use std::fs::File;
use std::time::{Duration, Instant};

use super::frame_cutter::FrameCutter;
use crate::model::Model;
use crate::observation::Observation;
use crate::record::{RecordError, RecordWriter};

/// Time between two states in the file, microseconds: how much a seek replays, and how much a damaged frame can cost.
const STATE_INTERVAL_US: u64 = 10_000_000;
/// Longest time that an observation is pending. With the interval of [`Recorder::write_due`] it is less than a second, which is
/// lost at most when the program is killed.
const MAX_PENDING: Duration = Duration::from_millis(500);

/// Totals of a finished recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingTotals {
    /// Frames written.
    pub frames: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Number of observations that were too long for a recording.
    pub left_out: u64,
}

/// Writes each received observation to a recording.
pub struct Recorder {
    writer: RecordWriter<File>,
    cutter: FrameCutter,
    /// When the first pending observation was added.
    pending_since: Option<Instant>,
}

impl Recorder {
    /// Records into a file that has its header.
    pub fn new(writer: RecordWriter<File>) -> Self {
        Self { writer, cutter: FrameCutter::new(STATE_INTERVAL_US), pending_since: None }
    }

    /// Adds an observation; `model` is the state before it.
    ///
    /// # Errors
    /// When a frame is full and cannot be written.
    pub fn add(&mut self, model: &Model, observation: &Observation) -> Result<(), RecordError> {
        self.pending_since.get_or_insert_with(Instant::now);
        self.cutter.add(&mut self.writer, model, observation)
    }

    /// Writes the observations that have been pending for long enough. Must be called every few hundred milliseconds.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write_due(&mut self) -> Result<(), RecordError> {
        if self.pending_since.is_some_and(|since| since.elapsed() >= MAX_PENDING) {
            self.pending_since = None;
            self.cutter.flush(&mut self.writer)?;
        }
        Ok(())
    }

    /// Writes the pending observations and the end record, and syncs the file.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn finish(mut self) -> Result<RecordingTotals, RecordError> {
        self.cutter.flush(&mut self.writer)?;
        let (frames, left_out) = (self.writer.frames(), self.cutter.left_out());
        let bytes = self.writer.finish_synced()?;
        Ok(RecordingTotals { frames, bytes, left_out })
    }
}
