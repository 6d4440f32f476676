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
