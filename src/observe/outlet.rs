//! Owns how a source says what it learned: stamps, epochs, its state and its timed calls.
//! It must not decide when to retry; the supervisor does.

use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::Clock;
use crate::observation::{Call, Fact, Observation, Sequencer, Source, SourceError, SourceState};

/// One source's way out. Waits when the channel is full: a source reads no faster than the pump takes.
#[derive(Debug)]
pub struct Outlet {
    source: Source,
    sequencer: Sequencer,
    clock: Clock,
    tx: mpsc::Sender<Observation>,
    state: Option<SourceState>,
    verified: bool,
    /// Whether more may come that would be dropped where it must wait; none says that nothing is dropped.
    room: Option<watch::Receiver<bool>>,
}

impl Outlet {
    /// The way out of `source`.
    pub fn new(source: Source, clock: Clock, tx: mpsc::Sender<Observation>) -> Self {
        Self { source, sequencer: Sequencer::new(source), clock, tx, state: None, verified: true, room: None }
    }

    /// The same into a pump that has [`super::Pump::room`] or has not.
    #[must_use]
    pub fn with_room(self, room: watch::Receiver<bool>) -> Self {
        Self { room: Some(room), ..self }
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

    /// Says a fact, stamped now.
    pub async fn say(&mut self, fact: Fact) {
        let (mono, wall) = self.clock.now();
        let stamp = self.sequencer.stamp(mono, wall);
        // Nobody listens any more: the program is ending.
        _ = self.tx.send(Observation { stamp, fact }).await;
    }

    /// Says a line of a backlog, which is read faster than anybody takes it: it waits until there is room, and is not dropped.
    pub async fn say_backlog(&mut self, fact: Fact) {
        if let Some(room) = &mut self.room {
            // Nobody listens any more: the program is ending.
            _ = room.wait_for(|room| *room).await;
        }
        self.say(fact).await;
    }

    /// A full listing begins.
    pub async fn begin_epoch(&mut self) {
        let (mono, wall) = self.clock.now();
        let stamp = self.sequencer.next_epoch(mono, wall);
        _ = self.tx.send(Observation { stamp, fact: Fact::EpochBegin }).await;
    }

    /// The full listing is complete.
    pub async fn end_epoch(&mut self) {
        self.say(Fact::EpochEnd).await;
    }

    /// Says the source's state, if it is news.
    pub async fn state(&mut self, state: SourceState) {
        if self.state.as_ref() != Some(&state) {
            self.state = Some(state.clone());
            self.say(Fact::SourceState(state)).await;
        }
    }

    /// Says whether the certificate of who answers is verified, if it is news.
    pub async fn verified(&mut self, verified: bool) {
        if std::mem::replace(&mut self.verified, verified) != verified {
            self.say(Fact::Tls { verified }).await;
        }
    }

    /// Says that the source answers, if it did not before.
    pub async fn live(&mut self) {
        if !matches!(self.state, Some(SourceState::Live { .. })) {
            let since = self.clock.now().1;
            self.state(SourceState::Live { since }).await;
        }
    }

    /// True since [`Outlet::live`] was said.
    pub fn is_live(&self) -> bool {
        matches!(self.state, Some(SourceState::Live { .. }))
    }

    /// Says that a timed call begins; the instant goes to [`Outlet::call_end`].
    pub async fn call_begin(&mut self, call: Call) -> Instant {
        self.say(Fact::CallBegin(call)).await;
        Instant::now()
    }

    /// Says how a timed call ended.
    pub async fn call_end(&mut self, call: Call, began: Instant, error: Option<SourceError>) {
        self.call_took(call, began.elapsed(), error).await;
    }

    /// Says how long a call took that ended now.
    pub async fn call_took(&mut self, call: Call, took: Duration, error: Option<SourceError>) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.say(Fact::CallEnd { call, took_us, error }).await;
    }
}
