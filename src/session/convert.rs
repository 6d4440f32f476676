//! Owns turning a row of observations into a recording.
//! It must not change an observation.

use std::io::Write;

use super::cutter::Cutter;
use crate::model::Model;
use crate::observation::Observation;
use crate::record::{RecordError, Writer};

/// Longest time that one frame covers, microseconds: an import is whole or nothing, and long frames pack better.
const FRAME_US: u64 = 30_000_000;

/// Writes `observations`, ordered by their `mono`. The writer is not finished. Gives how many were too long for a recording.
///
/// # Errors
/// What the writer says.
pub fn write_recording<W: Write>(writer: &mut Writer<W>, observations: &[Observation]) -> Result<u64, RecordError> {
    let (mut model, mut cutter) = (Model::default(), Cutter::new(FRAME_US));
    for observation in observations {
        cutter.observe(writer, &model, observation)?;
        model.apply(observation.clone());
    }
    cutter.flush(writer)?;
    Ok(cutter.left_out())
}
