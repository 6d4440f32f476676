//! The order of an import: facts are added source by source and become stamped observations ordered by time. The facts of one
//! source keep their order.

use std::collections::BTreeMap;
use std::path::Path;

use super::{ImportError, Imported, Skipped};
use crate::observation::{Fact, Observation, Sequencer, Source, SourceState, Time};
use crate::text::Text;

/// Most entries in the list of what was skipped.
const MAX_SKIPPED: usize = 100;

#[derive(Default)]
struct SourceTrack {
    facts: Vec<(Time, Fact)>,
    is_live: bool,
}

/// The facts of all sources, before they are stamped.
#[derive(Default)]
pub(super) struct Timeline {
    tracks: BTreeMap<Source, SourceTrack>,
    off: BTreeMap<Source, Text>,
    skipped: Vec<Skipped>,
    weight: u64,
    /// Most bytes of memory that all facts may take.
    limit: u64,
}

impl Timeline {
    /// An empty timeline that takes at most `limit` bytes of facts.
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Checks that every fact was taken.
    ///
    /// # Errors
    /// [`ImportError::TooMuch`] for `path` if the limit was exceeded.
    pub(super) fn check_limit(&self, path: &Path) -> Result<(), ImportError> {
        if self.weight > self.limit { Err(ImportError::TooMuch { path: path.to_owned() }) } else { Ok(()) }
    }

    /// Adds a fact, at the time of the source's last fact if that is later, and makes the source live.
    pub(super) fn push(&mut self, source: Source, at: Time, fact: Fact) {
        self.set_live(source, at);
        self.add(source, at, fact);
    }

    /// Makes the source live from `at` on, unless it already is.
    pub(super) fn set_live(&mut self, source: Source, at: Time) {
        let track = self.tracks.entry(source).or_default();
        if !track.is_live {
            track.is_live = true;
            self.add(source, at, Fact::SourceState(SourceState::Live { since: at }));
        }
    }

    /// Adds a fact without a change of the source's state: a call in flight, or one that failed.
    pub(super) fn add(&mut self, source: Source, at: Time, fact: Fact) {
        self.weight = self.weight.saturating_add(fact.weight());
        if self.weight > self.limit {
            return;
        }
        let facts = &mut self.tracks.entry(source).or_default().facts;
        let at = facts.last().map_or(at, |(last, _)| at.max(*last));
        facts.push((at, fact));
    }

    /// Marks the source as not part of the input. Has no effect on a source with facts.
    pub(super) fn set_off(&mut self, source: Source, why: impl Into<Text>) {
        self.off.insert(source, why.into());
    }

    /// Counts something that could not be used.
    pub(super) fn skip(&mut self, path: &str, what: impl Into<Text>, count: u64) {
        let (path, what) = (Text::name(path), what.into());
        if count == 0 {
            return;
        }
        let full = self.skipped.len() >= MAX_SKIPPED;
        match self.skipped.iter_mut().find(|s| s.path == path && s.what == what) {
            Some(same) => same.count += count,
            None if full => {
                if let Some(last) = self.skipped.last_mut() {
                    *last = Skipped { what: "this and others".into(), count: last.count + count, ..last.clone() };
                }
            }
            None => self.skipped.push(Skipped { path, what, count }),
        }
    }

    /// The most frequent reason for which something could not be used.
    pub(super) fn main_reason(&self) -> Option<&Text> {
        self.skipped.iter().max_by_key(|skipped| skipped.count).map(|skipped| &skipped.what)
    }

    /// Stamps every fact. `end` is the end of the input: later facts are moved to it.
    pub(super) fn finish(self, end: Time, node: Text) -> Imported {
        let clamp = |at: Time| at.min(end);
        let begin = self.tracks.values().filter_map(|t| t.facts.first()).map(|(at, _)| clamp(*at)).min().unwrap_or(end);
        let mut all: Vec<(Time, Source, Fact)> = Vec::new();
        for (source, why) in self.off {
            if self.tracks.get(&source).is_none_or(|t| t.facts.is_empty()) {
                all.push((begin, source, Fact::SourceState(SourceState::Off { why: why.into() })));
            }
        }
        for (source, track) in self.tracks {
            all.extend(track.facts.into_iter().map(|(at, fact)| (clamp(at), source, fact)));
        }
        // A stable sort: facts of one source at one time keep their order.
        all.sort_by_key(|(at, source, _)| (*at, *source));
        let mut sequencers: BTreeMap<Source, Sequencer> = BTreeMap::new();
        let observations = all
            .into_iter()
            .map(|(at, source, fact)| {
                let mono = u64::try_from((at - begin).num_microseconds()).unwrap_or_default();
                let sequencer = sequencers.entry(source).or_insert_with(|| Sequencer::new(source));
                let stamp = match fact {
                    Fact::EpochBegin => sequencer.next_epoch(mono, at),
                    _ => sequencer.stamp(mono, at),
                };
                Observation { stamp, fact }
            })
            .collect();
        Imported { observations, begin, end, node, skipped: self.skipped }
    }
}

/// What only the lab formats need: sources that fail and recover.
#[cfg(feature = "lab-formats")]
impl Timeline {
    /// True while the source responds.
    pub(super) fn is_live(&self, source: Source) -> bool {
        self.tracks.get(&source).is_some_and(|t| t.is_live)
    }

    /// True once the source has a fact.
    pub(super) fn has_facts(&self, source: Source) -> bool {
        self.tracks.contains_key(&source)
    }

    /// Marks the source as failed.
    pub(super) fn fail(&mut self, source: Source, at: Time, error: crate::observation::SourceError) {
        self.tracks.entry(source).or_default().is_live = false;
        self.add(source, at, Fact::SourceState(SourceState::Retrying { at: None, error }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: i64) -> Time {
        Time::from_timestamp(s, 0).unwrap()
    }

    #[test]
    fn ordered_stamped_and_clamped() {
        let mut t = Timeline::new(u64::MAX);
        t.push(Source::Cri, at(12), Fact::EpochBegin);
        t.push(Source::Cri, at(11), Fact::EpochEnd);
        t.push(Source::Cri, at(99), Fact::Alive);
        t.push(Source::ApiPods, at(11), Fact::Alive);
        t.set_off(Source::Spans, "none");
        t.set_off(Source::Cri, "not so");
        let got = t.finish(at(20), Text::default());
        let seen: Vec<_> = got
            .observations
            .iter()
            .map(|o| (o.stamp.mono / 1_000_000, o.stamp.source, o.stamp.epoch, o.stamp.seq))
            .collect();
        use Source::{ApiPods, Cri, Spans};
        assert_eq!(
            seen,
            vec![
                (0, ApiPods, 0, 1),
                (0, ApiPods, 0, 2),
                (0, Spans, 0, 1),
                (1, Cri, 0, 1),
                (1, Cri, 1, 2),
                (1, Cri, 1, 3),
                (9, Cri, 1, 4)
            ]
        );
        assert_eq!((got.begin, got.end), (at(11), at(20)));
    }

    #[test]
    #[cfg(feature = "lab-formats")]
    fn a_failed_source_is_live_again_after_the_next_fact() {
        let mut t = Timeline::new(u64::MAX);
        t.push(Source::Cri, at(1), Fact::Alive);
        t.fail(Source::Cri, at(2), crate::decode::failure("list", "refused"));
        assert!(!t.is_live(Source::Cri));
        t.push(Source::Cri, at(3), Fact::Alive);
        let states = t.finish(at(3), Text::default()).observations;
        let live = |i: usize| matches!(states[i].fact, Fact::SourceState(SourceState::Live { .. }));
        assert!(live(0) && !live(2) && live(3));
    }
}
