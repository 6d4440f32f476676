//! A node for tests: a model that receives facts at a time that the test sets.

use std::collections::BTreeMap;

use crate::model::{Model, Snapshot};
use crate::observation::{ErrorKind, Fact, Observation, Sequencer, Source, SourceError, SourceState, Time};
use crate::pipeline::{LocatedPod, PodLocator};

/// A node whose sources report what the test passes in.
pub(crate) struct Node {
    model: Model,
    pub at: Time,
    sequencers: BTreeMap<Source, Sequencer>,
}

impl Node {
    pub fn new() -> Self {
        let at = Time::from_timestamp(1_790_000_000, 0).unwrap();
        Self { model: Model::default(), at, sequencers: BTreeMap::new() }
    }

    pub fn report(&mut self, source: Source, fact: Fact) {
        let sequencer = self.sequencers.entry(source).or_insert_with(|| Sequencer::new(source));
        let stamp = match fact {
            Fact::EpochBegin => sequencer.next_epoch(0, self.at),
            _ => sequencer.stamp(0, self.at),
        };
        self.model.apply(Observation { stamp, fact });
    }

    pub fn list(&mut self, source: Source, facts: Vec<Fact>) {
        let live = Fact::SourceState(SourceState::Live { since: self.at });
        let facts = [live, Fact::EpochBegin].into_iter().chain(facts).chain([Fact::EpochEnd]);
        facts.for_each(|fact| self.report(source, fact));
    }

    pub fn disconnect(&mut self, source: Source) {
        let error = SourceError { tried: "x".into(), kind: ErrorKind::Unreachable, fix: "".into() };
        self.report(source, Fact::SourceState(SourceState::Retrying { at: None, error }));
    }

    pub fn snapshot(&mut self) -> Snapshot {
        self.model.snapshot()
    }

    pub fn located(&mut self) -> LocatedPod {
        PodLocator::default().locate_all(&self.model.snapshot(), self.at).remove(0)
    }
}
