//! Owns how far each source is with what it has to say at first: until that is said, absence means nothing.
//! It must not know how long that may take.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Model, SourceFacts};
use crate::observation::{Source, SourceState, Time};

/// A source that has not yet told all that it has to tell at first, and has not failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialList {
    /// It answers: only the list is not whole yet.
    pub live: bool,
    /// Objects so far, of a list that comes in pages; None before the first page.
    pub so_far: Option<usize>,
    /// How many are still to come, where the server says so.
    pub remaining: Option<u64>,
    /// When the call that is in flight began, of a source that times its calls.
    pub in_flight: Option<Time>,
    /// When the source was started.
    pub since: Time,
}

impl Model {
    /// Every source that has said anything.
    pub fn sources(&self) -> &BTreeMap<Source, Arc<SourceFacts>> {
        &self.sources
    }

    /// The sources whose first list is under way.
    pub fn initial_lists(&self) -> BTreeMap<Source, InitialList> {
        let mut out = BTreeMap::new();
        for (source, facts) in &self.sources {
            let live = match facts.state {
                SourceState::Connecting => false,
                SourceState::Live { .. } | SourceState::Degraded { .. } => true,
                _ => continue,
            };
            if live && self.has_listed(*source) {
                continue;
            }
            let so_far = match source {
                Source::ApiPods => self.api_pods.so_far(),
                Source::ApiUnbound => self.unbound_pods.so_far(),
                Source::ApiEvents => self.events.so_far(),
                Source::KubeletPods => self.kubelet_pods.so_far(),
                _ => None,
            };
            let in_flight = facts.calls.values().filter_map(|calls| calls.in_flight).min();
            let since = facts.begun.unwrap_or(facts.since);
            out.insert(*source, InitialList { live, so_far, remaining: facts.remaining, in_flight, since });
        }
        out
    }
}
