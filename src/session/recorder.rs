//! Owns a recording that grows while a node is observed.
//! It must not hold more than one frame in memory.

use std::fs::File;

use super::cutter::Cutter;
use crate::model::Model;
use crate::observation::Observation;
use crate::record::{RecordError, Writer};

/// Longest time that one frame covers, microseconds: what a crash loses at most.
const FRAME_US: u64 = 10_000_000;

/// Writes what is observed.
pub struct Recorder {
    writer: Writer<File>,
    cutter: Cutter,
}

impl Recorder {
    /// Records into a file whose header is written.
    pub fn new(writer: Writer<File>) -> Self {
        Self { writer, cutter: Cutter::new(FRAME_US) }
    }

    /// Keeps an observation; `model` is the state before it.
    ///
    /// # Errors
    /// When a frame is full and cannot be written.
    pub fn observe(&mut self, model: &Model, observation: &Observation) -> Result<(), RecordError> {
        self.cutter.observe(&mut self.writer, model, observation)
    }

    /// Writes what waits and the end; gives the number of frames and bytes.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn finish(mut self) -> Result<(u64, u64), RecordError> {
        self.cutter.flush(&mut self.writer)?;
        let (frames, bytes) = (self.writer.frames(), self.writer.bytes());
        self.writer.finish()?;
        Ok((frames, bytes))
    }
}
