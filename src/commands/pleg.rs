//! `kpodtrace pleg`: the exit code follows from the verdict of `view`.

use super::watch::WatchedView;
use super::{Failure, Outcome, input, out};
use crate::cli::{Input, PlegArgs, ReportFormat};
use crate::report::{PlegLines, pleg_json, pleg_text};

pub(super) fn run(input: &Input, args: &PlegArgs) -> Result<Outcome, Failure> {
    if args.watch {
        return watch(input, args);
    }
    let moment = input::moment(input)?;
    match args.output {
        ReportFormat::Json => out::json(&pleg_json(&moment))?,
        ReportFormat::Text => out::text(&pleg_text(&moment))?,
    }
    Ok(match moment.pleg().verdict(moment.now) {
        _ if !args.exit_code => Outcome::Done,
        "ok" => Outcome::Done,
        "stale" | "unknown" => Outcome::Unknown,
        _ => Outcome::Problems,
    })
}

/// Prints the report, then a line for each change; as JSON the whole report each time.
fn watch(input: &Input, args: &PlegArgs) -> Result<Outcome, Failure> {
    let (mut lines, mut first) = (PlegLines::default(), true);
    super::watch::watch(input, |WatchedView { moment, past, .. }| {
        if lines.needs_line(moment) {
            match args.output {
                ReportFormat::Json => out::json_line(&pleg_json(moment))?,
                ReportFormat::Text => {
                    // For a recording only the changes are printed.
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
