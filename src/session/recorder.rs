//! Owns a recording that grows while a node is observed: when a frame is cut, and what is in it.
//! It must not hold more than one frame in memory.

use std::fs::File;

use crate::model::Model;
use crate::observation::Observation;
use crate::record::{At, RecordError, Writer};

/// Longest time that one frame covers, microseconds: what seeking has to replay at most, and what a crash loses.
const FRAME_US: u64 = 10_000_000;
/// Most observations in one frame.
const FRAME_OBSERVATIONS: usize = 4096;

/// Cuts what is observed into frames.
pub struct Recorder {
    writer: Writer<File>,
    /// The model as it was before the first observation that waits.
    keyframe: Option<(At, Model)>,
    waiting: Vec<Observation>,
}

impl Recorder {
    /// Records into a file whose header is written.
    pub fn new(writer: Writer<File>) -> Self {
        Self { writer, keyframe: None, waiting: Vec::new() }
    }

    /// Keeps an observation; `model` is the state before it.
    ///
    /// # Errors
    /// When a frame is full and cannot be written.
    pub fn observe(&mut self, model: &Model, observation: &Observation) -> Result<(), RecordError> {
        let mono = observation.stamp.mono;
        let full = self.keyframe.as_ref().is_some_and(|(at, _)| mono >= at.mono.saturating_add(FRAME_US));
        if full || self.waiting.len() >= FRAME_OBSERVATIONS {
            self.flush()?;
        }
        self.keyframe.get_or_insert_with(|| (At { mono, wall: observation.stamp.wall }, model.clone()));
        self.waiting.push(observation.clone());
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        if let Some((at, model)) = self.keyframe.take() {
            self.writer.frame(at, &model, &self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }

    /// Writes what waits and the end; gives the number of frames and bytes.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn finish(mut self) -> Result<(u64, u64), RecordError> {
        self.flush()?;
        let (frames, bytes) = (self.writer.frames(), self.writer.bytes());
        self.writer.finish()?;
        Ok((frames, bytes))
    }
}
