//! Writes a list of observations as a recording.

use std::io::Write;

use super::frame_cutter::FrameCutter;
use crate::model::Model;
use crate::observation::Observation;
use crate::record::{RecordError, RecordWriter};

/// Time between two states, microseconds. Longer than that of a live recording: an import is written as a whole, and long frames
/// compress better.
const STATE_INTERVAL_US: u64 = 30_000_000;

/// Writes `observations`, ordered by their `mono`, without the end record. Returns how many were too long for a recording.
///
/// # Errors
/// Those of the writer.
pub fn write_recording<W: Write>(
    writer: &mut RecordWriter<W>,
    observations: &[Observation],
) -> Result<u64, RecordError> {
    let (mut model, mut cutter) = (Model::default(), FrameCutter::new(STATE_INTERVAL_US));
    for observation in observations {
        cutter.add(writer, &model, observation)?;
        model.apply(observation.clone());
    }
    cutter.flush(writer)?;
    Ok(cutter.left_out())
}
