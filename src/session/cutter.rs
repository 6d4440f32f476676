//! Owns where a recording's frames are cut, and which of them begin with a state.
//! It must not change an observation, nor hold more than one frame.

use std::io::Write;

use crate::model::Model;
use crate::observation::Observation;
use crate::record::{At, Lines, Packed, RecordError, Writer};

/// The frame that is being filled.
pub(super) struct Cutter {
    /// Longest time between two states, microseconds: what seeking has to replay at most.
    length: u64,
    /// The model as it was before the first observation that waits, where a state is due.
    state: Option<Model>,
    /// When the last state was.
    state_at: Option<u64>,
    /// When the first observation that waits was.
    begins: Option<At>,
    waiting: Lines,
    left_out: u64,
}

impl Cutter {
    /// Keeps a state every `length` microseconds.
    pub fn new(length: u64) -> Self {
        Self { length, state: None, state_at: None, begins: None, waiting: Lines::default(), left_out: 0 }
    }

    /// Observations so far that were too long for a recording.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Takes an observation; `model` is the state before it. What it does not belong to any more is written.
    pub fn observe<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        model: &Model,
        observation: &Observation,
    ) -> Result<(), RecordError> {
        let mono = observation.stamp.mono;
        let is_due = self.state_at.is_none_or(|at| mono >= at.saturating_add(self.length));
        if is_due || self.waiting.is_full() {
            self.flush(writer)?;
        }
        match self.waiting.push(observation) {
            Ok(()) => {}
            // The recording goes on without what no reader would take.
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
        self.begins.get_or_insert(At { mono, wall: observation.stamp.wall });
        Ok(())
    }

    /// Writes what waits.
    pub fn flush<W: Write>(&mut self, writer: &mut Writer<W>) -> Result<(), RecordError> {
        let Some(at) = self.begins.take() else { return Ok(()) };
        let waiting = std::mem::take(&mut self.waiting);
        let frames = match self.state.take().map(|model| Packed::state(at, &model, &waiting)) {
            Some(Ok(frames)) => frames,
            // What is too long for a state is recorded from the last one on, as far back as that may be.
            Some(Err(RecordError::TooLarge { .. })) | None => vec![Packed::after(at, &waiting)?],
            Some(Err(error)) => return Err(error),
        };
        frames.iter().try_for_each(|frame| writer.packed(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Fact, Sequencer, Source, Time};
    use crate::record::{Header, Reader};

    #[test]
    fn a_frame_is_as_long_as_it_may_be_and_no_longer() {
        let wall = Time::from_timestamp(1_790_000_000, 0).unwrap();
        let frames = |length: u64, count: u64, step: u64| {
            let mut bytes = Vec::new();
            let mut writer = Writer::create(&mut bytes, &Header::new("n".into(), wall)).unwrap();
            let (mut cutter, mut sequencer) = (Cutter::new(length), Sequencer::new(Source::Cri));
            for i in 0..count {
                let observation = Observation { stamp: sequencer.stamp(i * step, wall), fact: Fact::Alive };
                cutter.observe(&mut writer, &Model::default(), &observation).unwrap();
            }
            cutter.flush(&mut writer).unwrap();
            writer.finish().unwrap();
            let reader = Reader::from_bytes("test", bytes).unwrap();
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
