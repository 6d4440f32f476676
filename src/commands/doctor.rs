//! Owns `kpodtrace doctor`.
//! It must not repair anything: it says what to do.

use super::watch::Look;
use super::{Failure, Outcome, input, live, out, runbook};
use crate::cli::{DoctorArgs, Input, PlegFormat};
use crate::report::{SourceChanges, doctor_json, doctor_text, is_enough, source_text};
use crate::view::clock;

pub(super) fn run(given: &Input, args: &DoctorArgs) -> Result<Outcome, Failure> {
    if args.watch {
        return watch(given, args);
    }
    let (moment, looked) = match &given.from {
        Some(_) => (input::open(given)?.moment(), Vec::new()),
        None => {
            let mut observed = live::observe(given, runbook::own(given)?)?;
            (observed.moment(), observed.looked())
        }
    };
    match args.output {
        PlegFormat::Json => out::json(&doctor_json(&moment, &looked))?,
        PlegFormat::Text => out::text(&doctor_text(&moment, &looked))?,
    }
    Ok(if is_enough(&moment) { Outcome::Done } else { Outcome::Problems })
}

/// The report once, then every source whose state changes; as JSON the report each time.
fn watch(given: &Input, args: &DoctorArgs) -> Result<Outcome, Failure> {
    let (mut sources, mut first) = (SourceChanges::default(), true);
    super::watch::watch(given, |Look { looked, moment, past }| {
        let news = sources.update(moment);
        match args.output {
            _ if news.is_empty() => {}
            PlegFormat::Json => out::json_line(&doctor_json(moment, looked))?,
            PlegFormat::Text if first && !past => out::text(&format!("{}\n", doctor_text(moment, looked)))?,
            PlegFormat::Text => {
                let time = clock(moment.now);
                let lines = news.iter().map(|line| format!("{time}  {}", source_text(moment, line)));
                out::text(&lines.collect::<String>())?;
            }
        }
        first = false;
        Ok(None)
    })
}
