//! Owns `kpodtrace pleg`.
//! It must not decide what is a problem: the verdict says it.

use super::watch::Look;
use super::{Failure, Outcome, input, out};
use crate::cli::{Input, PlegArgs, PlegFormat};
use crate::report::{PlegLines, pleg_json, pleg_text};

pub(super) fn run(input: &Input, args: &PlegArgs) -> Result<Outcome, Failure> {
    if args.watch {
        return watch(input, args);
    }
    let moment = input::moment(input)?;
    match args.output {
        PlegFormat::Json => out::json(&pleg_json(&moment))?,
        PlegFormat::Text => out::text(&pleg_text(&moment))?,
    }
    Ok(match moment.pleg().verdict(moment.now) {
        _ if !args.exit_code => Outcome::Done,
        "ok" => Outcome::Done,
        "stale" | "unknown" => Outcome::Unknown,
        _ => Outcome::Problems,
    })
}

/// The report once, then a line for each news; as JSON the report each time.
fn watch(input: &Input, args: &PlegArgs) -> Result<Outcome, Failure> {
    let (mut lines, mut first) = (PlegLines::default(), true);
    super::watch::watch(input, |Look { moment, past, .. }| {
        if lines.needs_line(moment) {
            match args.output {
                PlegFormat::Json => out::json_line(&pleg_json(moment))?,
                PlegFormat::Text => {
                    // The begin of an input is not what anybody wants a report of.
                    if std::mem::take(&mut first) && !past {
                        out::text(&format!("{}\n", pleg_text(moment)))?;
                    }
                    out::text(&lines.line(moment))?;
                }
            }
        }
        Ok(lines.wake(moment))
    })
}
