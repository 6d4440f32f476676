//! Progress of each source's initial list. Until it is complete, an object that is not listed is not known to be absent.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Model, SourceFacts};
use crate::observation::{Source, SourceState, Time};

/// The initial list of a source, which is not complete and has not failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialList {
    /// The source responds, only the list is incomplete.
    pub live: bool,
    /// Objects received, for a list in pages; None before the first page.
    pub so_far: Option<usize>,
    /// Objects still to come, if the server reports it (`remainingItemCount`).
    pub remaining: Option<u64>,
    /// Start of the call in flight, for a source that times its calls.
    pub in_flight: Option<Time>,
    /// When the source was started.
    pub since: Time,
}

impl Model {
    /// Every source that has sent an observation.
    pub fn sources(&self) -> &BTreeMap<Source, Arc<SourceFacts>> {
        &self.sources
    }

    /// The sources whose initial list is not complete.
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
                Source::ApiPods => self.api_pods.listed_so_far(),
                Source::ApiUnbound => self.unbound_pods.listed_so_far(),
                Source::ApiEvents => self.events.listed_so_far(),
                Source::KubeletPods => self.kubelet_pods.listed_so_far(),
                _ => None,
            };
            let in_flight = facts.calls.values().filter_map(|calls| calls.in_flight).min();
            let since = facts.first_seen.unwrap_or(facts.since);
            out.insert(*source, InitialList { live, so_far, remaining: facts.remaining, in_flight, since });
        }
        out
    }
}
