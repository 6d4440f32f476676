//! Owns what must be said beside a table and would make it hard to search: the node's faults, and sources that say nothing.
//! It must not repeat what a row says.

use crate::observation::{Source, SourceState};
use crate::view::Moment;

/// Sentences for standard error, what is worst first.
pub fn notes(moment: &Moment) -> Vec<String> {
    let header = moment.header();
    let mut notes: Vec<String> = header.faults.iter().map(ToString::to_string).collect();
    if matches!(header.ready, "NotReady" | "Unknown") {
        notes.push(format!("the node is {}", header.ready));
    }
    notes.extend(header.conditions.into_iter().map(|c| format!("node condition {c}")));
    let failing = header.sources.iter().filter(|s| matches!(s.word, "retrying" | "forbidden"));
    notes.extend(failing.map(|s| format!("{}: {}", s.source.name(), s.text)));
    for dropped in header.sources.iter().filter(|s| s.dropped > 0) {
        notes.push(format!("{}: {} lines were dropped", dropped.source.name(), dropped.dropped));
    }
    let missing: Vec<&str> = Source::ALL.into_iter().filter(|s| is_missing(moment, *s)).map(Source::name).collect();
    if !missing.is_empty() {
        notes.push(format!("nothing is known from {}", missing.join(", ")));
    }
    notes
}

fn is_missing(moment: &Moment, source: Source) -> bool {
    moment.snapshot.sources.get(&source).is_none_or(|facts| matches!(facts.state, SourceState::Off { .. }))
}
