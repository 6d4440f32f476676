//! Owns turning a row of observations into a recording: where frames are cut, and their keyframes.
//! It must not change an observation.

use std::io::Write;

use crate::model::Model;
use crate::observation::Observation;
use crate::record::{At, RecordError, Writer};

/// Longest time that one frame covers, microseconds: what seeking has to replay at most.
const FRAME_US: u64 = 30_000_000;
/// Most observations in one frame.
const FRAME_OBSERVATIONS: usize = 4096;

/// Writes `observations`, ordered by their `mono`, as frames that stand alone. The writer is not finished.
///
/// # Errors
/// What the writer says.
pub fn write_recording<W: Write>(writer: &mut Writer<W>, observations: &[Observation]) -> Result<(), RecordError> {
    let mut model = Model::default();
    let mut rest = observations;
    while let Some(first) = rest.first() {
        let limit = first.stamp.mono.saturating_add(FRAME_US);
        let count = rest.iter().take(FRAME_OBSERVATIONS).take_while(|o| o.stamp.mono < limit).count().max(1);
        let (frame, later) = rest.split_at(count);
        writer.frame(At { mono: first.stamp.mono, wall: first.stamp.wall }, &model, frame)?;
        for observation in frame {
            model.apply(observation.clone());
        }
        rest = later;
    }
    Ok(())
}
