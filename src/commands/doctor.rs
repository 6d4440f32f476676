//! Owns `kpodtrace doctor`.
//! It must not repair anything: it says what to do.

use super::{Failure, Outcome, input, live, out};
use crate::cli::{DoctorArgs, Input, PlegFormat};
use crate::report::{doctor_json, doctor_text, is_enough};

pub(super) fn run(given: &Input, args: &DoctorArgs) -> Result<Outcome, Failure> {
    let (moment, looked) = match &given.from {
        Some(_) => (input::open(given)?.moment(), Vec::new()),
        None => {
            let mut observed = live::observe(given)?;
            (observed.moment(), observed.looked)
        }
    };
    match args.output {
        PlegFormat::Json => out::json(&doctor_json(&moment, &looked))?,
        PlegFormat::Text => out::text(&doctor_text(&moment, &looked))?,
    }
    Ok(if is_enough(&moment) { Outcome::Done } else { Outcome::Problems })
}
