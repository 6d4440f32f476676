//! Owns a recording that grows while a node is observed.
//! It must not hold more than one frame in memory, nor keep what was observed from the file for longer than a second.

use std::fs::File;
use std::time::{Duration, Instant};

use super::cutter::Cutter;
use crate::model::Model;
use crate::observation::Observation;
use crate::record::{RecordError, Writer};

/// Time between two states in the file, microseconds: what seeking has to replay at most, and what a damaged frame costs.
const STATE_US: u64 = 10_000_000;
/// Longest time that an observation waits to be written: with the time between two looks at the clock it is less than the
/// second that may be lost when the program is killed.
const WAITS: Duration = Duration::from_millis(500);

/// What was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Frames written.
    pub frames: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Observations that were too long for a recording.
    pub left_out: u64,
}

/// Writes what is observed.
pub struct Recorder {
    writer: Writer<File>,
    cutter: Cutter,
    /// Since when an observation waits.
    since: Option<Instant>,
}

impl Recorder {
    /// Records into a file whose header is written.
    pub fn new(writer: Writer<File>) -> Self {
        Self { writer, cutter: Cutter::new(STATE_US), since: None }
    }

    /// Keeps an observation; `model` is the state before it.
    ///
    /// # Errors
    /// When a frame is full and cannot be written.
    pub fn observe(&mut self, model: &Model, observation: &Observation) -> Result<(), RecordError> {
        self.since.get_or_insert_with(Instant::now);
        self.cutter.observe(&mut self.writer, model, observation)
    }

    /// Writes what has waited long enough. To be called at least every few hundred milliseconds.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn write_due(&mut self) -> Result<(), RecordError> {
        if self.since.is_some_and(|since| since.elapsed() >= WAITS) {
            self.since = None;
            self.cutter.flush(&mut self.writer)?;
        }
        Ok(())
    }

    /// Writes what waits and the end, and what was written is there after a power cut.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn finish(mut self) -> Result<Recorded, RecordError> {
        self.cutter.flush(&mut self.writer)?;
        let (frames, left_out) = (self.writer.frames(), self.cutter.left_out());
        let bytes = self.writer.finish_synced()?;
        Ok(Recorded { frames, bytes, left_out })
    }
}
