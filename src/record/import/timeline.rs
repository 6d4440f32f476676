//! Owns the order of an import: facts go in source by source, stamped observations come out ordered by time.
//! It must not change a fact, nor reorder the facts of one source.

use std::collections::BTreeMap;
use std::path::Path;

use super::{ImportError, Imported, Skipped};
use crate::observation::{Fact, Observation, Sequencer, Source, SourceError, SourceState, Time};
use crate::text::Text;

/// Most different things that are told as skipped.
const MAX_SKIPPED: usize = 100;

#[derive(Default)]
struct Track {
    facts: Vec<(Time, Fact)>,
    live: bool,
}

/// Facts of all sources, not yet stamped.
#[derive(Default)]
pub(super) struct Timeline {
    tracks: BTreeMap<Source, Track>,
    off: BTreeMap<Source, Text>,
    skipped: Vec<Skipped>,
    weight: u64,
    /// What all facts may take, bytes.
    most: u64,
}

impl Timeline {
    /// Empty; at most `most` bytes of facts are taken.
    pub(super) fn within(most: u64) -> Self {
        Self { most, ..Self::default() }
    }

    /// Every fact was taken.
    ///
    /// # Errors
    /// [`ImportError::TooMuch`] of `path`.
    pub(super) fn fits(&self, path: &Path) -> Result<(), ImportError> {
        if self.weight > self.most { Err(ImportError::TooMuch { path: path.to_owned() }) } else { Ok(()) }
    }

    /// Adds a fact, not earlier than the source's last one. The source becomes live if it is not.
    pub(super) fn push(&mut self, source: Source, at: Time, fact: Fact) {
        self.live(source, at);
        self.put(source, at, fact);
    }

    /// The source answers from `at` on, if it did not before.
    pub(super) fn live(&mut self, source: Source, at: Time) {
        let track = self.tracks.entry(source).or_default();
        if !track.live {
            track.live = true;
            self.put(source, at, Fact::SourceState(SourceState::Live { since: at }));
        }
    }

    /// True while the source answers.
    pub(super) fn is_live(&self, source: Source) -> bool {
        self.tracks.get(&source).is_some_and(|t| t.live)
    }

    /// True once the source has said anything.
    pub(super) fn has_begun(&self, source: Source) -> bool {
        self.tracks.contains_key(&source)
    }

    /// The source failed.
    pub(super) fn fail(&mut self, source: Source, at: Time, error: SourceError) {
        self.tracks.entry(source).or_default().live = false;
        self.put(source, at, Fact::SourceState(SourceState::Retrying { at: None, error }));
    }

    /// Adds a fact of a source that is not made live by it: a call that is under way, or has failed.
    pub(super) fn put(&mut self, source: Source, at: Time, fact: Fact) {
        self.weight = self.weight.saturating_add(fact.weight());
        if self.weight > self.most {
            return;
        }
        let facts = &mut self.tracks.entry(source).or_default().facts;
        let at = facts.last().map_or(at, |(last, _)| at.max(*last));
        facts.push((at, fact));
    }

    /// The source is not part of the input. What it has said nevertheless counts more.
    pub(super) fn off(&mut self, source: Source, why: impl Into<Text>) {
        self.off.insert(source, why.into());
    }

    /// Something could not be used.
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
                    *last = Skipped { what: "this and other things".into(), count: last.count + count, ..last.clone() };
                }
            }
            None => self.skipped.push(Skipped { path, what, count }),
        }
    }

    /// Stamps everything. `end` is where the input ends: what seems later is moved there.
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
        // Stable: what one source said at one time keeps its order.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: i64) -> Time {
        Time::from_timestamp(s, 0).unwrap()
    }

    #[test]
    fn ordered_stamped_and_clamped() {
        let mut t = Timeline::within(u64::MAX);
        t.push(Source::Cri, at(12), Fact::EpochBegin);
        t.push(Source::Cri, at(11), Fact::EpochEnd);
        t.push(Source::Cri, at(99), Fact::Alive);
        t.push(Source::ApiPods, at(11), Fact::Alive);
        t.off(Source::Spans, "none");
        t.off(Source::Cri, "not so");
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
    fn a_failure_ends_live() {
        let mut t = Timeline::within(u64::MAX);
        t.push(Source::Cri, at(1), Fact::Alive);
        t.fail(Source::Cri, at(2), crate::decode::failure("list", "refused"));
        assert!(!t.is_live(Source::Cri));
        t.push(Source::Cri, at(3), Fact::Alive);
        let states = t.finish(at(3), Text::default()).observations;
        let live = |i: usize| matches!(states[i].fact, Fact::SourceState(SourceState::Live { .. }));
        assert!(live(0) && !live(2) && live(3));
    }
}
