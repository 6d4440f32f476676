//! Owns how a source says what it learned: stamps, epochs, its state and its timed calls, within its share of memory.
//! It must not decide when to retry; the supervisor does.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::Clock;
use super::channel::ObservationSender;
use crate::observation::{
    Admission, Budget, Call, ErrorKind, Fact, Ledger, Observation, Sequencer, Source, SourceError, SourceState, size,
};

/// Why objects are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmitReason {
    /// The source's share of memory is full.
    Share,
    /// A single object is larger than is read.
    Object,
    /// A list is longer than is read.
    List,
}

/// One source's way out. Waits when the channel is full: a source reads no faster than the pump takes.
#[derive(Debug)]
pub struct ObservationSink {
    source: Source,
    sequencer: Sequencer,
    clock: Clock,
    tx: ObservationSender,
    state: Option<SourceState>,
    verified: bool,
    /// Whether more may come that would be dropped where it must wait; none says that nothing is dropped.
    room: Option<watch::Receiver<bool>>,
    budget: Budget,
    ledger: Ledger,
    left: Omitted,
}

/// What was left out.
#[derive(Debug, Default)]
struct Omitted {
    /// Facts that the share had no room for, and objects of a watch that were too large, since the last list began.
    facts: u64,
    /// Of the last list of a source that keeps its own.
    listed: u64,
    why: Option<OmitReason>,
    /// The count is reported again when it is this high.
    next: u64,
}

impl Omitted {
    fn count(&self) -> u64 {
        self.facts.saturating_add(self.listed)
    }
}

impl ObservationSink {
    /// The way out of `source`.
    pub fn new(source: Source, clock: Clock, tx: impl Into<ObservationSender>) -> Self {
        let budget = Budget::default();
        Self {
            source,
            sequencer: Sequencer::new(source),
            clock,
            tx: tx.into(),
            state: None,
            verified: true,
            room: None,
            budget,
            ledger: Ledger::new(budget.share(source)),
            left: Omitted::default(),
        }
    }

    /// The same into a pump that has [`super::ObservationChannel::room`] or has not.
    #[must_use]
    pub fn with_room(self, room: watch::Receiver<bool>) -> Self {
        Self { room: Some(room), ..self }
    }

    /// The same with its share of another budget.
    #[must_use]
    pub fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ledger: Ledger::new(budget.share(self.source)), ..self }
    }

    /// Bytes that this source may keep.
    pub fn share(&self) -> u64 {
        self.ledger.share()
    }

    /// Ends when nobody listens any more.
    pub fn closed(&self) -> impl Future<Output = ()> + use<> {
        let tx = self.tx.clone();
        async move { tx.closed().await }
    }

    /// Which source speaks.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Says a fact, stamped now; what there is no room for in the source's share is left out, and the source degraded.
    pub async fn emit(&mut self, fact: Fact) {
        self.emit_near(fact, true).await;
    }

    /// The same of what is about this node, or is not: where there is not room for all, the former is kept.
    pub async fn emit_near(&mut self, fact: Fact, near: bool) {
        match self.ledger.admit(&fact, near) {
            Admission::Keep => self.send(fact).await,
            Admission::LeaveOut => self.leave_out(1, OmitReason::Share).await,
            Admission::Forget => {
                if let Some(gone) = fact.gone() {
                    self.send(gone).await;
                }
                self.leave_out(1, OmitReason::Share).await;
            }
        }
    }

    async fn send(&mut self, fact: Fact) {
        let (mono, wall) = self.clock.now();
        let stamp = self.sequencer.stamp(mono, wall);
        self.tx.send(Observation { stamp, fact }).await;
    }

    /// Says a line of a backlog, which is read faster than anybody takes it: it waits until there is room, and is not dropped.
    pub async fn emit_backlog(&mut self, fact: Fact) {
        if let Some(room) = &mut self.room {
            // Nobody listens any more: the program is ending.
            _ = room.wait_for(|room| *room).await;
        }
        self.emit(fact).await;
    }

    /// A full listing begins.
    pub async fn begin_epoch(&mut self) {
        self.ledger.begin_epoch();
        self.left = Omitted { listed: self.left.listed, why: self.left.why, ..Omitted::default() };
        let (mono, wall) = self.clock.now();
        let stamp = self.sequencer.next_epoch(mono, wall);
        self.tx.send(Observation { stamp, fact: Fact::EpochBegin }).await;
    }

    /// The full listing is complete, but for what was left out.
    pub async fn end_epoch(&mut self) {
        self.ledger.end_epoch();
        self.state_of_share().await;
        self.send(Fact::EpochEnd).await;
    }

    /// So many objects were left out for a reason that is not the share's.
    pub async fn leave_out(&mut self, count: u64, why: OmitReason) {
        self.left.facts = self.left.facts.saturating_add(count);
        self.left.why = Some(why);
        if count > 0 && self.left.count() >= self.left.next {
            self.state_of_share().await;
        }
    }

    /// So many objects of the last list were left out: of a source that lists again and again and compares by itself.
    pub async fn set_left_out_of_list(&mut self, count: u64, why: OmitReason) {
        if count > 0 {
            self.left.why = Some(why);
        }
        self.left.listed = count;
        self.state_of_share().await;
    }

    /// How many facts were left out since the last list began.
    pub fn left_out(&self) -> u64 {
        self.left.facts
    }

    /// Objects were left out for which there would be room now: another list would report them.
    pub fn needs_list(&self) -> bool {
        self.left.facts > 0 && self.ledger.has_room()
    }

    /// Says that the source is degraded, and by how much, or no longer; nothing while it does not answer.
    async fn state_of_share(&mut self) {
        let count = self.left.count();
        let since = match &self.state {
            Some(SourceState::Live { since } | SourceState::Degraded { since, .. }) => *since,
            _ => return,
        };
        if count == 0 {
            return self.set_state(SourceState::Live { since }).await;
        }
        self.left.next = count.saturating_mul(2);
        let error = self.degraded(count);
        self.set_state(SourceState::Degraded { since, error }).await;
    }

    fn degraded(&self, count: u64) -> SourceError {
        let (name, share, budget) = (self.source.name(), size(self.share()), size(self.budget.bytes()));
        let objects = if count == 1 { "object" } else { "objects" };
        let (why, fix) = match self.left.why {
            Some(OmitReason::Share) | None => (
                format!("more than {share}, the share of {name} in --max-memory {budget}"),
                "raise --max-memory; find out what creates so many objects".to_owned(),
            ),
            Some(OmitReason::Object) => {
                ("larger than a single object is read".to_owned(), "find out what creates such an object".to_owned())
            }
            Some(OmitReason::List) => (
                "the list is longer than is read".to_owned(),
                "check what answers there; find out what creates so many objects".to_owned(),
            ),
        };
        let tried = format!("{count} {objects} left out: {why}").into();
        SourceError { tried, kind: ErrorKind::TooLarge, fix: fix.into() }
    }

    /// Says the source's state, if it is news.
    pub async fn set_state(&mut self, state: SourceState) {
        if self.state.as_ref() != Some(&state) {
            self.state = Some(state.clone());
            self.send(Fact::SourceState(state)).await;
        }
    }

    /// Says whether the certificate of who answers is verified, if it is news.
    pub async fn set_verified(&mut self, verified: bool) {
        if std::mem::replace(&mut self.verified, verified) != verified {
            self.emit(Fact::Tls { verified }).await;
        }
    }

    /// Says that the source answers, if it did not before.
    pub async fn set_live(&mut self) {
        if !self.is_live() {
            let since = self.clock.now().1;
            self.set_state(SourceState::Live { since }).await;
        }
    }

    /// True since [`ObservationSink::set_live`] was said.
    pub fn is_live(&self) -> bool {
        matches!(self.state, Some(SourceState::Live { .. } | SourceState::Degraded { .. }))
    }

    /// Says that a timed call begins; the instant goes to [`ObservationSink::end_call`].
    pub async fn begin_call(&mut self, call: Call) -> Instant {
        self.emit(Fact::CallBegin(call)).await;
        Instant::now()
    }

    /// Says how a timed call ended.
    pub async fn end_call(&mut self, call: Call, began: Instant, error: Option<SourceError>) {
        self.record_call(call, began.elapsed(), error).await;
    }

    /// Says how long a call took that ended now.
    pub async fn record_call(&mut self, call: Call, took: Duration, error: Option<SourceError>) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.emit(Fact::CallEnd { call, took_us, error }).await;
    }
}
