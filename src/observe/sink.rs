//! How a source emits what it learned: stamps, epochs, its state and its timed calls, within its share of the memory
//! budget.

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
    /// The source's share of the memory budget is used up.
    Budget,
    /// An object exceeds the size limit of one object.
    ObjectSize,
    /// A list exceeds the size limit of a list.
    ListSize,
}

/// The output of one source. Emitting waits when the channel is full: that slows the source down.
#[derive(Debug)]
pub struct ObservationSink {
    source: Source,
    sequencer: Sequencer,
    clock: Clock,
    tx: ObservationSender,
    state: Option<SourceState>,
    verified: bool,
    /// True while the channel has room for a backlog; None for a channel that drops nothing.
    backlog_room: Option<watch::Receiver<bool>>,
    budget: Budget,
    ledger: Ledger,
    left: Omitted,
}

/// What was left out.
#[derive(Debug, Default)]
struct Omitted {
    /// Facts beyond the budget, and objects of a watch that were too large, since the last list began.
    facts: u64,
    /// Objects of the last list, of a source that compares lists.
    listed: u64,
    why: Option<OmitReason>,
    /// The next count to report.
    next: u64,
}

impl Omitted {
    fn count(&self) -> u64 {
        self.facts.saturating_add(self.listed)
    }
}

impl ObservationSink {
    /// The output of `source`.
    pub fn new(source: Source, clock: Clock, tx: impl Into<ObservationSender>) -> Self {
        let budget = Budget::default();
        Self {
            source,
            sequencer: Sequencer::new(source),
            clock,
            tx: tx.into(),
            state: None,
            verified: true,
            backlog_room: None,
            budget,
            ledger: Ledger::new(budget.share(source)),
            left: Omitted::default(),
        }
    }

    /// With the channel's room for a backlog.
    #[must_use]
    pub fn with_room(self, room: watch::Receiver<bool>) -> Self {
        Self { backlog_room: Some(room), ..self }
    }

    /// With its share of another budget.
    #[must_use]
    pub fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ledger: Ledger::new(budget.share(self.source)), ..self }
    }

    /// Bytes that this source may keep.
    pub fn share(&self) -> u64 {
        self.ledger.share()
    }

    /// Completes when the receiver is gone.
    pub fn closed(&self) -> impl Future<Output = ()> + use<> {
        let tx = self.tx.clone();
        async move { tx.closed().await }
    }

    /// The source.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Emits a fact, stamped now. A fact beyond the source's share is left out, and the source is degraded.
    pub async fn emit(&mut self, fact: Fact) {
        self.emit_near(fact, true).await;
    }

    /// The same; `near` facts, about this node, are kept when the share does not suffice for all.
    pub async fn emit_near(&mut self, fact: Fact, near: bool) {
        match self.ledger.admit(&fact, near) {
            Admission::Keep => self.send(fact).await,
            Admission::LeaveOut => self.leave_out(1, OmitReason::Budget).await,
            Admission::Forget => {
                if let Some(gone) = fact.gone() {
                    self.send(gone).await;
                }
                self.leave_out(1, OmitReason::Budget).await;
            }
        }
    }

    async fn send(&mut self, fact: Fact) {
        let (mono, wall) = self.clock.now();
        let stamp = self.sequencer.stamp(mono, wall);
        self.tx.send(Observation { stamp, fact }).await;
    }

    /// Emits a line of a backlog, which is read faster than it is applied: waits for room, so that no line is dropped.
    pub async fn emit_backlog(&mut self, fact: Fact) {
        if let Some(room) = &mut self.backlog_room {
            // An error means that the receiver is gone: the program is exiting.
            _ = room.wait_for(|room| *room).await;
        }
        self.emit(fact).await;
    }

    /// Begins a full listing.
    pub async fn begin_epoch(&mut self) {
        self.ledger.begin_epoch();
        self.left = Omitted { listed: self.left.listed, why: self.left.why, ..Omitted::default() };
        let (mono, wall) = self.clock.now();
        let stamp = self.sequencer.next_epoch(mono, wall);
        self.tx.send(Observation { stamp, fact: Fact::EpochBegin }).await;
    }

    /// Ends the full listing.
    pub async fn end_epoch(&mut self) {
        self.ledger.end_epoch();
        self.update_degraded().await;
        self.send(Fact::EpochEnd).await;
    }

    /// Counts objects that the source left out.
    pub async fn leave_out(&mut self, count: u64, why: OmitReason) {
        self.left.facts = self.left.facts.saturating_add(count);
        self.left.why = Some(why);
        if count > 0 && self.left.count() >= self.left.next {
            self.update_degraded().await;
        }
    }

    /// Sets the number of objects left out of the last list, for a source that compares lists.
    pub async fn set_left_out_of_list(&mut self, count: u64, why: OmitReason) {
        if count > 0 {
            self.left.why = Some(why);
        }
        self.left.listed = count;
        self.update_degraded().await;
    }

    /// Number of facts left out since the last list began.
    pub fn left_out(&self) -> u64 {
        self.left.facts
    }

    /// True when objects were left out and the share has room now: another list would report them.
    pub fn needs_list(&self) -> bool {
        self.left.facts > 0 && self.ledger.has_room()
    }

    /// Updates the state to degraded or live, by what was left out; only while the source is live.
    async fn update_degraded(&mut self) {
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
            Some(OmitReason::Budget) | None => (
                format!("more than {share}, the share of {name} in --max-memory {budget}"),
                "raise --max-memory; find what creates that many objects".to_owned(),
            ),
            Some(OmitReason::ObjectSize) => {
                ("larger than the limit of one object".to_owned(), "find what creates such an object".to_owned())
            }
            Some(OmitReason::ListSize) => (
                "the list exceeds the limit of a list".to_owned(),
                "find what creates that many objects, and check that the address is the right server".to_owned(),
            ),
        };
        let tried = format!("{count} {objects} left out: {why}").into();
        SourceError { tried, kind: ErrorKind::TooLarge, fix: fix.into() }
    }

    /// Emits the source's state, if it changed.
    pub async fn set_state(&mut self, state: SourceState) {
        if self.state.as_ref() != Some(&state) {
            self.state = Some(state.clone());
            self.send(Fact::SourceState(state)).await;
        }
    }

    /// Emits whether the server's certificate is verified, if that changed.
    pub async fn set_verified(&mut self, verified: bool) {
        if std::mem::replace(&mut self.verified, verified) != verified {
            self.emit(Fact::Tls { verified }).await;
        }
    }

    /// Emits that the source is live, if it was not.
    pub async fn set_live(&mut self) {
        if !self.is_live() {
            let since = self.clock.now().1;
            self.set_state(SourceState::Live { since }).await;
        }
    }

    /// True after [`ObservationSink::set_live`].
    pub fn is_live(&self) -> bool {
        matches!(self.state, Some(SourceState::Live { .. } | SourceState::Degraded { .. }))
    }

    /// Emits that a timed call begins; returns the instant for [`ObservationSink::end_call`].
    pub async fn begin_call(&mut self, call: Call) -> Instant {
        self.emit(Fact::CallBegin(call)).await;
        Instant::now()
    }

    /// Emits the result of a timed call.
    pub async fn end_call(&mut self, call: Call, began: Instant, error: Option<SourceError>) {
        self.record_call(call, began.elapsed(), error).await;
    }

    /// Emits the duration and the result of a call that ends now.
    pub async fn record_call(&mut self, call: Call, took: Duration, error: Option<SourceError>) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.emit(Fact::CallEnd { call, took_us, error }).await;
    }
}
