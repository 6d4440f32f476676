//! The memory limit of the process, the share of each source, and the account of what a source keeps. Weights are estimates
//! from [`Fact::weight`].

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::{Fact, Source};
use crate::weight::{DEFAULT_MEMORY, LEAST_MEMORY};

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// Memory limit of the process, bytes. It is divided into independent shares: a flooded source does not affect another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(u64);

impl Default for Budget {
    fn default() -> Self {
        Self(DEFAULT_MEMORY)
    }
}

impl Budget {
    /// The program with its runbook, its threads and one report that is printed, bytes.
    const PROGRAM: u64 = 56 * MIB;
    /// Number of parts of the rest; by default one is a MiB.
    const PARTS: u64 = 200;

    /// A limit of `bytes`, at least [`LEAST_MEMORY`].
    pub fn new(bytes: u64) -> Self {
        Self(bytes.max(LEAST_MEMORY))
    }

    /// The limit, bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }

    fn parts(self, parts: u64) -> u64 {
        self.0.saturating_sub(Self::PROGRAM) / Self::PARTS * parts
    }

    /// Most bytes of facts between the sources and the model. Above it, sources wait.
    pub fn in_flight(self) -> u64 {
        self.parts(12)
    }

    /// Most bytes that one source keeps, in itself and in the model. Above it, objects are left out.
    pub fn share(self, source: Source) -> u64 {
        self.parts(match source {
            // Events of the whole cluster.
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

/// A size as text in whole MiB, or KiB below 1 MiB.
pub fn size(bytes: u64) -> String {
    if bytes < MIB { format!("{}KiB", bytes >> 10) } else { format!("{}MiB", bytes / MIB) }
}

/// What happens to a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is reported.
    Keep,
    /// It is left out; its key has no value.
    LeaveOut,
    /// It is left out, and the value of its key is removed.
    Forget,
}

#[derive(Clone, Copy, Debug)]
struct LedgerEntry {
    weight: u64,
    epoch: u32,
}

/// Account of what the model keeps of one source, by key.
#[derive(Debug)]
pub struct Ledger {
    share: u64,
    kept: HashMap<u64, LedgerEntry>,
    /// Weight of everything kept, and of the facts in this epoch, bytes.
    total: u64,
    fresh: u64,
    epoch: u32,
    hasher: RandomState,
}

impl Ledger {
    /// An empty account with a limit of `share` bytes.
    pub fn new(share: u64) -> Self {
        Self { share, kept: HashMap::new(), total: 0, fresh: 0, epoch: 0, hasher: RandomState::new() }
    }

    /// The limit, bytes.
    pub fn share(&self) -> u64 {
        self.share
    }

    /// The weight of what is kept, bytes.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Starts a list: objects that it does not report are removed at its end.
    pub fn begin_epoch(&mut self) {
        self.epoch += 1;
        self.fresh = 0;
    }

    /// Ends the list.
    pub fn end_epoch(&mut self) {
        let epoch = self.epoch;
        self.kept.retain(|_, kept| kept.epoch >= epoch);
        self.kept.shrink_to_fit();
        self.total = self.fresh;
    }

    /// True if at least a quarter of the share is free.
    pub fn has_room(&self) -> bool {
        self.total <= self.share / 4 * 3
    }

    /// Adds a fact to the account if the share allows it. Objects that are not `near` get at most three quarters of the share.
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
        // During a list, old and new objects are kept at the same time.
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
    fn the_shares_add_up_to_less_than_the_limit() {
        for budget in [Budget::default(), Budget::new(0), Budget::new(1 << 40)] {
            let shares: u64 = Source::ALL.into_iter().map(|source| budget.share(source)).sum();
            // Besides, decoding a response needs memory: a line of each watch, the runtime's lists.
            let sum = shares + budget.in_flight() + Budget::PROGRAM;
            assert!(sum <= budget.bytes() - budget.parts(20), "{sum} of {}", budget.bytes());
        }
        assert_eq!(Budget::default().share(Source::ApiPods), 28 * MIB);
    }

    #[test]
    fn removed_objects_free_their_share_and_grown_ones_are_forgotten() {
        let one = pod("a", 1000).weight();
        let mut ledger = Ledger::new(2 * one + one / 2);
        ledger.begin_epoch();
        let admitted = |ledger: &mut Ledger, uid| ledger.admit(&pod(uid, 1000), true);
        assert_eq!(
            ["a", "b", "c"].map(|uid| admitted(&mut ledger, uid)),
            [Admission::Keep, Admission::Keep, Admission::LeaveOut]
        );
        assert_eq!(admitted(&mut ledger, "a"), Admission::Keep, "no larger than before");
        assert_eq!(ledger.admit(&pod("a", 9000), true), Admission::Forget);
        assert_eq!(admitted(&mut ledger, "c"), Admission::Keep, "there is room again");
        assert_eq!(ledger.admit(&Fact::PodGone("b".into()), true), Admission::Keep);
        ledger.end_epoch();
        assert!(ledger.has_room());
        assert_eq!(ledger.admit(&Fact::Alive, true), Admission::Keep);
    }

    #[test]
    fn near_objects_have_the_whole_share() {
        let one = pod("a", 1000).weight();
        let mut ledger = Ledger::new(4 * one);
        assert!(["a", "b", "c"].iter().all(|uid| ledger.admit(&pod(uid, 1000), false) == Admission::Keep));
        assert_eq!(ledger.admit(&pod("d", 1000), false), Admission::LeaveOut);
        assert_eq!(ledger.admit(&pod("d", 1000), true), Admission::Keep);
    }

    #[test]
    fn a_new_list_is_counted_separately() {
        let one = pod("a", 1000).weight();
        let mut ledger = Ledger::new(4 * one);
        ledger.begin_epoch();
        assert!(["a", "b", "c", "d"].iter().all(|uid| ledger.admit(&pod(uid, 1000), true) == Admission::Keep));
        ledger.end_epoch();
        ledger.begin_epoch();
        assert_eq!(ledger.admit(&pod("e", 1000), true), Admission::Keep, "the old ones can be removed");
        assert_eq!(ledger.admit(&pod("f", 1000), true), Admission::LeaveOut);
        ledger.end_epoch();
        assert_eq!(ledger.admit(&pod("f", 1000), true), Admission::Keep, "the old ones are gone");
    }
}
