//! Owns `kpodtrace events`.
//! It must not be silent when no source of events was heard: nothing is then not none.

use super::{Failure, Outcome, out, session};
use crate::cli::{EventsArgs, Input, PlegFormat};
use crate::observation::Source;
use crate::report::{events_json, events_table};
use crate::view::events;

pub(super) fn run(input: &Input, args: &EventsArgs) -> Result<Outcome, Failure> {
    let moment = session::requested_view(input)?;
    let words = args.words.join(" ");
    let found: Vec<_> = events(&moment).into_iter().filter(|e| e.matches(&words)).collect();
    let heard = moment.snapshot.sources.get(&Source::ApiEvents).is_some_and(|facts| facts.last_answer.is_some());
    match args.output {
        PlegFormat::Json => out::json(&events_json(&moment, &found, heard))?,
        PlegFormat::Text => {
            out::text(&events_table(&moment, &found, out::width()))?;
            if !heard {
                out::note("no source of events was heard: a kubelet's own credential may not list them");
            }
        }
    }
    Ok(if heard || !found.is_empty() { Outcome::Done } else { Outcome::Unknown })
}
