//! Owns what waits between the sources and a model that is slow: state coalesced to its latest value, never dropped.
//! It must not reorder one source's observations, nor drop anything but log lines and spans.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::{Fact, Observation, Source};

/// Log lines and spans that may wait, over all sources; what comes beyond is dropped and counted.
pub const QUEUE_LOSSY_CAPACITY: usize = 4096;

type Key = (Source, u32, &'static str, String);

/// A queue whose length is bounded by what there is to know, not by how fast it changes.
///
/// A later value of the same key replaces an earlier one that still waits, and takes its place at the end. The end of a
/// listing is a barrier: nothing moves past it, or the listing would seem to lack what it had. The begin of a new epoch
/// throws away what still waits of the source's older epochs, log lines and spans apart.
#[derive(Debug)]
pub struct Queue {
    slots: VecDeque<Option<Observation>>,
    /// Index of the first slot, counted from the beginning of time.
    base: usize,
    latest: HashMap<Key, usize>,
    /// Slots that are not empty.
    filled: usize,
    lossy: usize,
    capacity: usize,
    dropped: BTreeMap<Source, u64>,
}

impl Default for Queue {
    fn default() -> Self {
        Self::with_lossy_capacity(QUEUE_LOSSY_CAPACITY)
    }
}

impl Queue {
    /// A queue that holds at most `capacity` log lines and spans.
    pub fn with_lossy_capacity(capacity: usize) -> Self {
        Self {
            slots: VecDeque::new(),
            base: 0,
            latest: HashMap::new(),
            filled: 0,
            lossy: 0,
            capacity,
            dropped: BTreeMap::new(),
        }
    }

    /// Adds an observation.
    pub fn push(&mut self, observation: Observation) {
        let source = observation.stamp.source;
        if observation.fact.may_be_dropped() {
            if self.lossy >= self.capacity {
                *self.dropped.entry(source).or_default() += 1;
                return;
            }
            self.lossy += 1;
        }
        match &observation.fact {
            Fact::EpochBegin => self.forget_older(source),
            Fact::EpochEnd => self.latest.retain(|key, _| key.0 != source),
            fact => {
                if let Some((kind, key)) = fact.key() {
                    let key = (source, observation.stamp.epoch, kind, key.to_owned());
                    if let Some(old) = self.latest.insert(key, self.base + self.slots.len())
                        && let Some(slot) = old.checked_sub(self.base).and_then(|i| self.slots.get_mut(i))
                        && slot.take().is_some()
                    {
                        self.filled -= 1;
                    }
                }
            }
        }
        self.slots.push_back(Some(observation));
        self.filled += 1;
    }

    /// Takes the oldest observation that waits.
    pub fn pop(&mut self) -> Option<Observation> {
        while let Some(slot) = self.slots.pop_front() {
            self.base += 1;
            if let Some(observation) = slot {
                self.filled -= 1;
                if observation.fact.may_be_dropped() {
                    self.lossy -= 1;
                }
                return Some(observation);
            }
        }
        self.latest.clear();
        None
    }

    /// Takes the counts of what was dropped since the last call, to be told as [`Fact::Dropped`].
    pub fn take_dropped(&mut self) -> BTreeMap<Source, u64> {
        std::mem::take(&mut self.dropped)
    }

    /// Observations that wait.
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Log lines and spans that wait.
    pub fn lossy(&self) -> usize {
        self.lossy
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    fn forget_older(&mut self, source: Source) {
        self.latest.retain(|key, _| key.0 != source);
        for slot in &mut self.slots {
            if slot.as_ref().is_some_and(|o| o.stamp.source == source && !o.fact.may_be_dropped() && is_listed(&o.fact))
            {
                *slot = None;
                self.filled -= 1;
            }
        }
    }
}

/// State that a new listing says again; a call's begin and end, and scrapes, are history and stay.
fn is_listed(fact: &Fact) -> bool {
    fact.key().is_some_and(|(kind, _)| !matches!(kind, "state" | "tls"))
        || matches!(fact, Fact::EpochBegin | Fact::EpochEnd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Pod;
    use crate::observation::{LogEntry, LogKind, Sequencer, Time};

    fn at(s: i64) -> Time {
        Time::from_timestamp(s, 0).unwrap()
    }

    fn pod(uid: &str, phase: &str) -> Fact {
        let mut pod = Pod::default();
        pod.metadata.uid = uid.into();
        pod.status.phase = phase.into();
        Fact::Pod(Box::new(pod))
    }

    fn log() -> Fact {
        Fact::Log(Box::new(LogEntry {
            at: at(0),
            severe: false,
            pod: "".into(),
            uid: "".into(),
            what: LogKind::PodDelete,
        }))
    }

    fn run(facts: Vec<Fact>, queue: &mut Queue) -> Vec<Fact> {
        let mut seq = Sequencer::new(Source::ApiPods);
        for fact in facts {
            let stamp = if fact == Fact::EpochBegin { seq.next_epoch(0, at(0)) } else { seq.stamp(0, at(0)) };
            queue.push(Observation { stamp, fact });
        }
        std::iter::from_fn(|| queue.pop()).map(|o| o.fact).collect()
    }

    #[test]
    fn the_latest_value_stays_and_is_never_dropped() {
        let mut queue = Queue::with_lossy_capacity(1);
        let facts = vec![pod("a", "1"), pod("b", "1"), pod("a", "2"), pod("a", "3"), Fact::PodGone("b".into())];
        assert_eq!(run(facts, &mut queue), vec![pod("a", "3"), Fact::PodGone("b".into())]);
        assert!(queue.take_dropped().is_empty());
    }

    #[test]
    fn nothing_passes_the_end_of_a_listing() {
        let facts = vec![Fact::EpochBegin, pod("a", "1"), Fact::EpochEnd, pod("a", "2"), pod("a", "3")];
        let kept = vec![Fact::EpochBegin, pod("a", "1"), Fact::EpochEnd, pod("a", "3")];
        assert_eq!(run(facts, &mut Queue::default()), kept);
    }

    #[test]
    fn a_new_epoch_replaces_what_waits_of_the_old() {
        let facts = vec![Fact::EpochBegin, pod("a", "1"), Fact::EpochEnd, log(), Fact::EpochBegin, pod("b", "1")];
        assert_eq!(run(facts, &mut Queue::default()), vec![log(), Fact::EpochBegin, pod("b", "1")]);
    }

    #[test]
    fn only_logs_are_dropped_and_they_are_counted() {
        let mut queue = Queue::with_lossy_capacity(2);
        let kept = run(vec![log(), log(), log(), pod("a", "1")], &mut queue);
        assert_eq!(kept, vec![log(), log(), pod("a", "1")]);
        assert_eq!(queue.take_dropped(), BTreeMap::from([(Source::ApiPods, 1)]));
    }
}
