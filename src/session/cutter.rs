//! Owns where a recording's frames are cut, and the keyframe that each begins with.
//! It must not change an observation, nor hold more than one frame.

use std::io::Write;

use crate::model::Model;
use crate::observation::Observation;
use crate::record::{At, RecordError, Writer};

/// Most observations in one frame: what a reader holds at once.
const FRAME_OBSERVATIONS: usize = 4096;

/// The frame that is being filled.
pub(super) struct Cutter {
    /// Longest time that one frame covers, microseconds: what seeking has to replay at most.
    length: u64,
    /// The model as it was before the first observation that waits.
    keyframe: Option<(At, Model)>,
    waiting: Vec<Observation>,
}

impl Cutter {
    /// Cuts frames of at most `length` microseconds.
    pub fn new(length: u64) -> Self {
        Self { length, keyframe: None, waiting: Vec::new() }
    }

    /// Takes an observation; `model` is the state before it. A frame that it does not belong to any more is written.
    pub fn observe<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        model: &Model,
        observation: &Observation,
    ) -> Result<(), RecordError> {
        let mono = observation.stamp.mono;
        let full = self.keyframe.as_ref().is_some_and(|(at, _)| mono >= at.mono.saturating_add(self.length));
        if full || self.waiting.len() >= FRAME_OBSERVATIONS {
            self.flush(writer)?;
        }
        self.keyframe.get_or_insert_with(|| (At { mono, wall: observation.stamp.wall }, model.clone()));
        self.waiting.push(observation.clone());
        Ok(())
    }

    /// Writes what waits.
    pub fn flush<W: Write>(&mut self, writer: &mut Writer<W>) -> Result<(), RecordError> {
        if let Some((at, model)) = self.keyframe.take() {
            writer.frame(at, &model, &self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
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
        assert_eq!(frames(u64::MAX, FRAME_OBSERVATIONS as u64 + 1, 1), [0, FRAME_OBSERVATIONS as u64]);
        assert!(frames(10, 0, 1).is_empty());
    }
}
