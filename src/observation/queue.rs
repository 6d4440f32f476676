//! The queue between the sources and the model. State is coalesced to its latest value and never dropped; log lines and spans
//! are dropped above a limit. The order of one source is kept.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::{Fact, Observation, Source};

/// Most pending log lines and spans of all sources; more are dropped and counted.
pub const QUEUE_LOSSY_CAPACITY: usize = 4096;

/// Number of unused slots and keys, beyond twice those in use, that triggers a compaction.
const SPARE: usize = 1024;

type QueueKey = (Source, u32, &'static str, String);

/// A queue whose length is bounded by the number of objects, not by the rate of changes.
///
/// A later value of a key replaces a pending earlier one, and moves to the end. The end of a list is a barrier: no value moves
/// past it, or the list would lack it. The start of an epoch removes the pending state of the older epochs of the source, but not
/// log lines and spans.
///
/// `T` is a value that is queued and dropped with an observation.
#[derive(Debug)]
pub struct Queue<T = ()> {
    slots: VecDeque<Option<(Observation, T)>>,
    /// Index of the first slot since the creation of the queue.
    base: usize,
    latest: HashMap<QueueKey, usize>,
    /// Number of slots that are not empty.
    filled: usize,
    lossy: usize,
    capacity: usize,
    dropped: BTreeMap<Source, u64>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self::with_lossy_capacity(QUEUE_LOSSY_CAPACITY)
    }
}

impl Queue {
    /// Adds an observation.
    pub fn push(&mut self, observation: Observation) {
        self.push_with(observation, ());
    }

    /// Removes and returns the oldest observation.
    pub fn pop(&mut self) -> Option<Observation> {
        self.pop_with().map(|(observation, ())| observation)
    }
}

impl<T> Queue<T> {
    /// A queue with at most `capacity` log lines and spans.
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

    /// Adds an observation with its value.
    pub fn push_with(&mut self, observation: Observation, with: T) {
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
        self.slots.push_back(Some((observation, with)));
        self.filled += 1;
        if self.slots.len().max(self.latest.len()) > SPARE + 2 * self.filled {
            self.compact();
        }
    }

    /// Removes empty slots and unused keys: neither must grow with the number of changes while the model is slow.
    fn compact(&mut self) {
        let mut moved = Vec::with_capacity(self.slots.len());
        let mut to = 0;
        for slot in &self.slots {
            moved.push(slot.is_some().then_some(self.base + to));
            to += usize::from(slot.is_some());
        }
        let base = self.base;
        let at = |old: usize| old.checked_sub(base).and_then(|i| moved.get(i).copied().flatten());
        self.latest.retain(|_, index| at(*index).map(|new| *index = new).is_some());
        self.slots.retain(Option::is_some);
    }

    /// Takes the oldest observation that waits, and what belongs to it.
    pub fn pop_with(&mut self) -> Option<(Observation, T)> {
        while let Some(slot) = self.slots.pop_front() {
            self.base += 1;
            if let Some(slot) = slot {
                self.filled -= 1;
                if slot.0.fact.may_be_dropped() {
                    self.lossy -= 1;
                }
                return Some(slot);
            }
        }
        self.latest.clear();
        None
    }

    /// Takes the numbers of dropped observations since the last call, for [`Fact::Dropped`].
    pub fn take_dropped(&mut self) -> BTreeMap<Source, u64> {
        std::mem::take(&mut self.dropped)
    }

    /// Number of pending observations.
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Number of pending log lines and spans.
    pub fn lossy(&self) -> usize {
        self.lossy
    }

    /// True without pending observations.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    fn forget_older(&mut self, source: Source) {
        self.latest.retain(|key, _| key.0 != source);
        for slot in &mut self.slots {
            let older = |o: &Observation| o.stamp.source == source && !o.fact.may_be_dropped() && is_listed(&o.fact);
            if slot.as_ref().is_some_and(|(observation, _)| older(observation)) {
                *slot = None;
                self.filled -= 1;
            }
        }
    }
}

/// True for state that a new list reports again; calls and scrapes are history and are kept.
fn is_listed(fact: &Fact) -> bool {
    fact.key().is_some_and(|(kind, _)| !matches!(kind, "state" | "tls"))
        || matches!(fact, Fact::EpochBegin | Fact::EpochEnd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Pod;
    use crate::observation::{LogLevel, LogRecord, Sequencer, Time};

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
        Fact::LogRecord(Box::new(LogRecord::new(at(0), LogLevel::Info, "SyncLoop DELETE")))
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
    fn the_latest_value_is_kept() {
        let mut queue = Queue::with_lossy_capacity(1);
        let facts = vec![pod("a", "1"), pod("b", "1"), pod("a", "2"), pod("a", "3"), Fact::PodGone("b".into())];
        assert_eq!(run(facts, &mut queue), vec![pod("a", "3"), Fact::PodGone("b".into())]);
        assert!(queue.take_dropped().is_empty());
    }

    #[test]
    fn frequent_changes_do_not_grow_the_queue() {
        let mut queue = Queue::default();
        let mut seq = Sequencer::new(Source::ApiPods);
        for n in 0..10_000 {
            for uid in ["a", "b"] {
                queue.push(Observation { stamp: seq.stamp(0, at(0)), fact: pod(uid, &n.to_string()) });
            }
            // New keys, which are removed at once.
            queue.push(Observation { stamp: seq.stamp(0, at(0)), fact: pod(&format!("new-{n}"), "") });
            queue.pop();
        }
        assert!(queue.slots.len() <= 2 * SPARE && queue.latest.len() <= 3 * SPARE, "{}", queue.latest.len());
        let all: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|o| o.fact).collect();
        let last = |uid: &str| all.iter().filter(|f| **f == pod(uid, "9999")).count();
        assert_eq!((last("a"), last("b"), all.iter().filter(|f| f.key() == Some(("pod", "a"))).count()), (1, 1, 1));
    }

    #[test]
    fn no_value_moves_past_the_end_of_a_list() {
        let facts = vec![Fact::EpochBegin, pod("a", "1"), Fact::EpochEnd, pod("a", "2"), pod("a", "3")];
        let kept = vec![Fact::EpochBegin, pod("a", "1"), Fact::EpochEnd, pod("a", "3")];
        assert_eq!(run(facts, &mut Queue::default()), kept);
    }

    #[test]
    fn a_new_epoch_removes_the_pending_state_of_the_old() {
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
