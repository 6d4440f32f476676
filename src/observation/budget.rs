//! Owns how much memory the process may use, and which part of it each source may keep.
//! It must not measure memory: what is kept is weighed where it is reported.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::{Fact, Source};
use crate::weight::{DEFAULT_MEMORY, LEAST_MEMORY};

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// Memory that the process may use, bytes. It is divided into parts that do not depend on each other: a source that is
/// flooded takes nothing from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(u64);

impl Default for Budget {
    fn default() -> Self {
        Self(DEFAULT_MEMORY)
    }
}

impl Budget {
    /// The program itself with its runbook, its threads and what one answer needs while it is printed, bytes.
    const PROGRAM: u64 = 56 * MIB;
    /// Parts that the rest is divided into; at the default one is a MiB.
    const PARTS: u64 = 200;

    /// So many bytes, at least [`LEAST_MEMORY`].
    pub fn new(bytes: u64) -> Self {
        Self(bytes.max(LEAST_MEMORY))
    }

    /// All of it, bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }

    fn parts(self, parts: u64) -> u64 {
        self.0.saturating_sub(Self::PROGRAM) / Self::PARTS * parts
    }

    /// What may be on its way from the sources to the model, bytes. Beyond it sources wait.
    pub fn in_flight(self) -> u64 {
        self.parts(12)
    }

    /// What one source may keep in itself and in the model, bytes. Beyond it objects are left out.
    pub fn share(self, source: Source) -> u64 {
        self.parts(match source {
            // Those of the whole cluster.
            Source::ApiEvents => 56,
            Source::ApiPods => 28,
            Source::KubeletPods | Source::Cri => 20,
            Source::ApiUnbound => 14,
            Source::Machine => 8,
            Source::Pulls | Source::ApiNode => 2,
            Source::ApiLease
            | Source::KubeletMetrics
            | Source::KubeletConfig
            | Source::KubeletHealth
            | Source::KubeletLog
            | Source::RuntimeLog
            | Source::Spans
            | Source::KernelLog
            | Source::ContainerLog
            | Source::OtherLog => 1,
        })
    }
}

/// So many bytes in whole MiB, or KiB below one.
pub fn size(bytes: u64) -> String {
    if bytes < MIB { format!("{}KiB", bytes >> 10) } else { format!("{}MiB", bytes / MIB) }
}

/// What becomes of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is reported.
    Keep,
    /// It is left out; nothing was known under its key.
    LeaveOut,
    /// It is left out, and what was known under its key no longer holds.
    Forget,
}

#[derive(Clone, Copy, Debug)]
struct LedgerEntry {
    weight: u64,
    epoch: u32,
}

/// What the model keeps of one source, by key, as the source's own facts and epochs say.
#[derive(Debug)]
pub struct Ledger {
    share: u64,
    kept: HashMap<u64, LedgerEntry>,
    /// Weight of all that is kept, and of what was reported in this epoch.
    total: u64,
    fresh: u64,
    epoch: u32,
    hasher: RandomState,
}

impl Ledger {
    /// Empty; so many bytes may be kept.
    pub fn new(share: u64) -> Self {
        Self { share, kept: HashMap::new(), total: 0, fresh: 0, epoch: 0, hasher: RandomState::new() }
    }

    /// What may be kept, bytes.
    pub fn share(&self) -> u64 {
        self.share
    }

    /// What is kept, bytes.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// A list began: what it does not report again goes at its end.
    pub fn begin_epoch(&mut self) {
        self.epoch += 1;
        self.fresh = 0;
    }

    /// The list ended.
    pub fn end_epoch(&mut self) {
        let epoch = self.epoch;
        self.kept.retain(|_, kept| kept.epoch >= epoch);
        self.kept.shrink_to_fit();
        self.total = self.fresh;
    }

    /// At least a quarter of the share is free.
    pub fn has_room(&self) -> bool {
        self.total <= self.share / 4 * 3
    }

    /// Enters a fact into the account, if there is room for it. What is not `near` gets no more than three quarters of the
    /// share.
    pub fn admit(&mut self, fact: &Fact, near: bool) -> Admission {
        let Some(key) = fact.key().filter(|(kind, _)| !matches!(*kind, "state" | "alive" | "tls")) else {
            return Admission::Keep;
        };
        let key = self.hasher.hash_one(key);
        let known = self.remove(key);
        if fact.is_gone() {
            return Admission::Keep;
        }
        let weight = fact.weight();
        // During a list what is new stands beside what is about to go.
        let most = if near { self.share } else { self.share / 4 * 3 };
        let fits = self.fresh + weight <= most && self.total + weight <= self.share + self.share / 4;
        match (fits, known) {
            (true, _) => {
                self.kept.insert(key, LedgerEntry { weight, epoch: self.epoch });
                self.total += weight;
                self.fresh += weight;
                Admission::Keep
            }
            (false, true) => Admission::Forget,
            (false, false) => Admission::LeaveOut,
        }
    }

    fn remove(&mut self, key: u64) -> bool {
        let Some(kept) = self.kept.remove(&key) else { return false };
        self.total = self.total.saturating_sub(kept.weight);
        if kept.epoch == self.epoch {
            self.fresh = self.fresh.saturating_sub(kept.weight);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Pod;

    fn pod(uid: &str, message: usize) -> Fact {
        let mut pod = Pod::default();
        pod.metadata.uid = uid.into();
        // A line is cut at 4096 characters.
        pod.status.message = format!("{}\n", "x".repeat(999)).repeat(message / 1000).into();
        Fact::Pod(Box::new(pod))
    }

    #[test]
    fn the_parts_are_no_more_than_the_whole() {
        for budget in [Budget::default(), Budget::new(0), Budget::new(1 << 40)] {
            let shares: u64 = Source::ALL.into_iter().map(|source| budget.share(source)).sum();
            // What reading one answer takes besides: a line of each watch, the runtime's lists.
            let sum = shares + budget.in_flight() + Budget::PROGRAM;
            assert!(sum <= budget.bytes() - budget.parts(20), "{sum} of {}", budget.bytes());
        }
        assert_eq!(Budget::default().share(Source::ApiPods), 28 * MIB);
    }

    #[test]
    fn what_goes_makes_room_and_what_grows_beyond_it_is_forgotten() {
        let one = pod("a", 1000).weight();
        let mut ledger = Ledger::new(2 * one + one / 2);
        ledger.begin_epoch();
        let admitted = |ledger: &mut Ledger, uid| ledger.admit(&pod(uid, 1000), true);
        assert_eq!(
            ["a", "b", "c"].map(|uid| admitted(&mut ledger, uid)),
            [Admission::Keep, Admission::Keep, Admission::LeaveOut]
        );
        assert_eq!(admitted(&mut ledger, "a"), Admission::Keep, "no more than before");
        assert_eq!(ledger.admit(&pod("a", 9000), true), Admission::Forget);
        assert_eq!(admitted(&mut ledger, "c"), Admission::Keep, "there is room again");
        assert_eq!(ledger.admit(&Fact::PodGone("b".into()), true), Admission::Keep);
        ledger.end_epoch();
        assert!(ledger.has_room());
        assert_eq!(ledger.admit(&Fact::Alive, true), Admission::Keep);
    }

    #[test]
    fn what_is_near_has_room_where_the_rest_has_none() {
        let one = pod("a", 1000).weight();
        let mut ledger = Ledger::new(4 * one);
        assert!(["a", "b", "c"].iter().all(|uid| ledger.admit(&pod(uid, 1000), false) == Admission::Keep));
        assert_eq!(ledger.admit(&pod("d", 1000), false), Admission::LeaveOut);
        assert_eq!(ledger.admit(&pod("d", 1000), true), Admission::Keep);
    }

    #[test]
    fn a_new_list_is_measured_alone() {
        let one = pod("a", 1000).weight();
        let mut ledger = Ledger::new(4 * one);
        ledger.begin_epoch();
        assert!(["a", "b", "c", "d"].iter().all(|uid| ledger.admit(&pod(uid, 1000), true) == Admission::Keep));
        ledger.end_epoch();
        ledger.begin_epoch();
        assert_eq!(ledger.admit(&pod("e", 1000), true), Admission::Keep, "beside those that may go");
        assert_eq!(ledger.admit(&pod("f", 1000), true), Admission::LeaveOut);
        ledger.end_epoch();
        assert_eq!(ledger.admit(&pod("f", 1000), true), Admission::Keep, "the old ones are gone");
    }
}
