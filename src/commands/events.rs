//! `kpodtrace events`. An empty list without an event source is reported as missing data.

use super::{Failure, Outcome, input, out};
use crate::cli::{EventsArgs, Input, ReportFormat};
use crate::observation::Source;
use crate::report::{events_json, events_table};
use crate::view::events;

pub(super) fn run(input: &Input, args: &EventsArgs) -> Result<Outcome, Failure> {
    let moment = input::moment(input)?;
    let words = args.words.join(" ");
    let found: Vec<_> = events(&moment).into_iter().filter(|e| e.matches(&words)).collect();
    let heard = moment.snapshot.sources.get(&Source::ApiEvents).is_some_and(|facts| facts.last_answer.is_some());
    match args.output {
        ReportFormat::Json => out::json(&events_json(&moment, &found, heard))?,
        ReportFormat::Text => {
            out::text(&events_table(&moment, &found, out::width()))?;
            if !heard {
                out::note(
                    "no event source: the kubelet's own credential is not allowed to list events; set --kubeconfig",
                );
            }
        }
    }
    Ok(if heard || !found.is_empty() { Outcome::Done } else { Outcome::Unknown })
}
