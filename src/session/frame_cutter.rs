//! Divides observations into the frames of a recording, and decides which of them start with a state.

use std::io::Write;

use crate::model::Model;
use crate::observation::Observation;
use crate::record::{ObservationLines, PackedFrame, RecordError, RecordPoint, RecordWriter};

/// The frame that is being filled.
pub(super) struct FrameCutter {
    /// Longest time between two states, microseconds: how much a seek replays at most.
    interval: u64,
    /// The model before the first pending observation, if the frame starts with a state.
    state: Option<Model>,
    /// `mono` of the last state.
    state_at: Option<u64>,
    /// Time of the first pending observation.
    starts_at: Option<RecordPoint>,
    pending: ObservationLines,
    left_out: u64,
}

impl FrameCutter {
    /// Writes a state at least every `interval` microseconds.
    pub fn new(interval: u64) -> Self {
        let pending = ObservationLines::default();
        Self { interval, state: None, state_at: None, starts_at: None, pending, left_out: 0 }
    }

    /// Number of observations so far that were too long for a recording.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Adds an observation to the frame; `model` is the state before it. Writes the frame before it if that is full.
    ///
    /// # Errors
    /// When a frame cannot be written.
    pub fn add<W: Write>(
        &mut self,
        writer: &mut RecordWriter<W>,
        model: &Model,
        observation: &Observation,
    ) -> Result<(), RecordError> {
        let mono = observation.stamp.mono;
        let is_due = self.state_at.is_none_or(|at| mono >= at.saturating_add(self.interval));
        if is_due || self.pending.is_full() {
            self.flush(writer)?;
        }
        match self.pending.push(observation) {
            Ok(()) => {}
            // No reader accepts it: the recording continues without it.
            Err(RecordError::TooLarge { .. }) => {
                self.left_out += 1;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        if is_due {
            self.state = Some(model.clone());
            self.state_at = Some(mono);
        }
        self.starts_at.get_or_insert(RecordPoint { mono, wall: observation.stamp.wall });
        Ok(())
    }

    /// Writes the pending observations.
    ///
    /// # Errors
    /// When the frame cannot be written.
    pub fn flush<W: Write>(&mut self, writer: &mut RecordWriter<W>) -> Result<(), RecordError> {
        let Some(at) = self.starts_at.take() else { return Ok(()) };
        let pending = std::mem::take(&mut self.pending);
        let frames = match self.state.take().map(|model| PackedFrame::with_state(at, &model, &pending)) {
            Some(Ok(frames)) => frames,
            // A state above the size limit is not written: the frame builds on the last state, however old.
            Some(Err(RecordError::TooLarge { .. })) | None => vec![PackedFrame::without_state(at, &pending)?],
            Some(Err(error)) => return Err(error),
        };
        frames.iter().try_for_each(|frame| writer.write_packed(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Fact, Sequencer, Source, Time};
    use crate::record::{RecordHeader, RecordReader};

    #[test]
    fn a_frame_ends_at_the_interval_or_when_it_is_full() {
        let wall = Time::from_timestamp(1_790_000_000, 0).unwrap();
        let frames = |interval: u64, count: u64, step: u64| {
            let mut bytes = Vec::new();
            let mut writer = RecordWriter::create(&mut bytes, &RecordHeader::new("n".into(), wall)).unwrap();
            let (mut cutter, mut sequencer) = (FrameCutter::new(interval), Sequencer::new(Source::Cri));
            for i in 0..count {
                let observation = Observation { stamp: sequencer.stamp(i * step, wall), fact: Fact::Alive };
                cutter.add(&mut writer, &Model::default(), &observation).unwrap();
            }
            cutter.flush(&mut writer).unwrap();
            writer.finish().unwrap();
            let reader = RecordReader::from_bytes("test", bytes).unwrap();
            let first: Vec<u64> = reader.frames().iter().map(|f| f.first.mono).collect();
            let all: usize = (0..first.len()).map(|i| reader.frame(i).unwrap().observations().count()).sum();
            assert_eq!(all as u64, count, "nothing is lost");
            first
        };
        assert_eq!(frames(30, 7, 10), [0, 30, 60]);
        assert_eq!(frames(10, 3, 10), [0, 10, 20]);
        let full = crate::record::FRAME_OBSERVATIONS as u64;
        assert_eq!(frames(u64::MAX, full + 1, 1), [0, full]);
        assert!(frames(10, 0, 1).is_empty());
    }
}
