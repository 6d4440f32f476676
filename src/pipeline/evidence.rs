//! Owns the evidence for a statement: which source said what, and when.
//! It must not weigh evidence.

use std::sync::Arc;

use serde::Serialize;

use crate::model::PodFacts;
use crate::objects::Event;
use crate::observation::{Source, Time};
use crate::text::Text;

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Who said it.
    pub source: Source,
    /// When it happened, by the source's own times.
    pub at: Option<Time>,
    /// What it said.
    pub text: Text,
}

impl Evidence {
    /// Evidence from `source`.
    pub fn new(source: Source, at: Option<Time>, text: impl Into<Text>) -> Self {
        Self { source, at, text: text.into() }
    }

    /// An event, with its count.
    pub fn event(event: &Event) -> Self {
        let times = event.times();
        let count = if times > 1 { format!(" (x{times})") } else { String::new() };
        Self::new(Source::ApiEvents, event.last(), format!("{}{count}: {}", event.reason, event.message))
    }
}

/// The newest event whose reason is one of `reasons`, if no event with a reason of `unless` is newer.
pub fn last_event<'a>(facts: &'a PodFacts, reasons: &[&str], unless: &[&str]) -> Option<&'a Arc<Event>> {
    let found = facts.event(reasons)?;
    let newer = facts.event(unless).is_some_and(|e| e.last() > found.last());
    (!newer).then_some(found)
}

/// The earliest of times that different sources give of the same thing. The API's have whole seconds: a finer time inside
/// the same second is the better one.
pub(super) fn earliest(times: impl Iterator<Item = Time> + Clone) -> Option<Time> {
    let first = times.clone().min()?;
    let finer = times.filter(|t| t.timestamp() == first.timestamp() && t.timestamp_subsec_nanos() != 0).min();
    finer.or(Some(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finer_time_of_the_same_second_wins() {
        let at = |ms: i64| Time::from_timestamp_millis(ms).unwrap();
        assert_eq!(earliest([at(5000), at(5800), at(5300), at(9000)].into_iter()), Some(at(5300)));
        assert_eq!(earliest([at(5000), at(6100)].into_iter()), Some(at(5000)));
        assert_eq!(earliest([].into_iter()), None);
    }
}
