//! `kpodtrace doctor`: which sources work, and the fix for each of the others.

use super::session::NodeSession;
use super::watch::WatchedView;
use super::{Failure, Outcome, out, runbook};
use crate::cli::{DoctorArgs, Input, ReportFormat};
use crate::report::{DoctorVerdict, SourceChanges, doctor_json, doctor_text, doctor_verdict, source_text};
use crate::view::clock;

pub(super) fn run(given: &Input, args: &DoctorArgs) -> Result<Outcome, Failure> {
    if args.watch {
        return watch(given, args);
    }
    let mut session = NodeSession::open(given, runbook::own(given)?)?;
    let (moment, looked) = (session.moment(), session.discovery());
    match args.output {
        ReportFormat::Json => out::json(&doctor_json(&moment, &looked))?,
        ReportFormat::Text => out::text(&doctor_text(&moment, &looked))?,
    }
    Ok(if doctor_verdict(&moment) == DoctorVerdict::Complete { Outcome::Done } else { Outcome::Problems })
}

/// Prints the report, then each source that changes state; as JSON the whole report each time.
fn watch(given: &Input, args: &DoctorArgs) -> Result<Outcome, Failure> {
    let (mut sources, mut first) = (SourceChanges::default(), true);
    super::watch::watch(given, |WatchedView { looked, moment, past }| {
        let news = sources.update(moment);
        match args.output {
            _ if news.is_empty() => {}
            ReportFormat::Json => out::json_line(&doctor_json(moment, looked))?,
            ReportFormat::Text if first && !past => out::text(&format!("{}\n", doctor_text(moment, looked)))?,
            ReportFormat::Text => {
                let time = clock(moment.now);
                let lines = news.iter().map(|line| format!("{time}  {}", source_text(moment, line)));
                out::text(&lines.collect::<String>())?;
            }
        }
        first = false;
        Ok(None)
    })
}
