//! The model of a live node: applies each received observation, and records it if requested. It never waits for a
//! source longer than the caller allows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::Receiver;
use tokio::sync::mpsc::error::TryRecvError;

use super::recorder::{Recorder, RecordingTotals};
use crate::diagnose::DiagnosisCache;
use crate::model::{InitialList, Model, Snapshot};
use crate::observation::{Observation, Source, SourceState, Time};
use crate::record::RecordError;
use crate::runbook::Runbook;
use crate::view::NodeView;

/// Most observations that are applied between two frames of the screen.
const BATCH: usize = 4096;

/// Wakes the waiting thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The model of a live node, and the channel that its sources write to.
pub struct LiveModel {
    rx: Receiver<Observation>,
    model: Model,
    rounds: DiagnosisCache,
    expected: Vec<Source>,
    recorder: Option<Recorder>,
    /// No source is left.
    is_closed: bool,
}

impl LiveModel {
    /// Applies the observations that are received from `rx`. `expected` are the sources that were started.
    pub fn new(rx: Receiver<Observation>, expected: Vec<Source>) -> Self {
        let (model, rounds) = (Model::default(), DiagnosisCache::default());
        Self { rx, model, rounds, expected, recorder: None, is_closed: false }
    }

    /// Sets the name of the node, whatever the sources report.
    pub fn set_node_name(&mut self, name: &str) {
        self.model.set_node_name(name.into());
    }

    /// Sets the runbook of the diagnosis; None for the embedded one.
    pub fn diagnose_with(&mut self, own: Option<Arc<Runbook>>) {
        self.rounds = own.map_or_else(DiagnosisCache::default, DiagnosisCache::with);
    }

    /// Records every further observation.
    pub fn record_to(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// Applies the observations that have been received. True if there were any.
    ///
    /// # Errors
    /// When the recording cannot be written.
    pub fn apply_received(&mut self) -> Result<bool, RecordError> {
        let mut changed = false;
        for _ in 0..BATCH {
            match self.rx.try_recv() {
                Ok(observation) => {
                    self.apply(observation)?;
                    changed = true;
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.is_closed = true;
                    break;
                }
            }
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.write_due()?;
        }
        Ok(changed)
    }

    /// Waits at most `limit` for an observation, or until this thread is unparked, and applies what was received. True if an
    /// observation was applied.
    ///
    /// # Errors
    /// When the recording cannot be written.
    pub fn wait(&mut self, limit: Duration) -> Result<bool, RecordError> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        match self.rx.poll_recv(&mut Context::from_waker(&waker)) {
            Poll::Ready(Some(observation)) => {
                self.apply(observation)?;
                self.apply_received()?;
                return Ok(true);
            }
            Poll::Ready(None) => self.is_closed = true,
            Poll::Pending => {}
        }
        thread::park_timeout(limit);
        self.apply_received()
    }

    fn apply(&mut self, observation: Observation) -> Result<(), RecordError> {
        if let Some(recorder) = &mut self.recorder {
            recorder.add(&self.model, &observation)?;
        }
        self.model.apply(observation);
        Ok(())
    }

    /// Applies observations until every source has responded or failed, at most for `limit`. False if some have not.
    ///
    /// # Errors
    /// When the recording cannot be written.
    pub fn wait_for_sources(&mut self, limit: Duration) -> Result<bool, RecordError> {
        let started = Instant::now();
        while started.elapsed() < limit && !self.is_closed {
            self.apply_received()?;
            if self.is_complete() {
                return Ok(true);
            }
            self.wait(limit.saturating_sub(started.elapsed()))?;
        }
        self.apply_received()?;
        Ok(self.is_closed || self.is_complete())
    }

    /// The sources whose first list is not complete, with its progress.
    pub fn pending_sources(&self) -> BTreeMap<Source, InitialList> {
        self.model.initial_lists()
    }

    /// True when each started source has completed its first list or has failed. An incomplete list would show pods without
    /// events, or a node without half of its pods.
    fn is_complete(&self) -> bool {
        let sources = self.model.sources();
        self.expected.iter().all(|source| {
            sources.get(source).is_some_and(|facts| match facts.state {
                SourceState::Connecting => false,
                SourceState::Live { .. } | SourceState::Degraded { .. } => self.model.has_listed(*source),
                _ => true,
            })
        })
    }

    /// The node at `now`.
    pub fn moment(&mut self, now: Time) -> NodeView {
        let snapshot: Snapshot = self.model.snapshot();
        NodeView::new(snapshot, &mut self.rounds, now)
    }

    /// Finishes the recording, if there is one.
    ///
    /// # Errors
    /// When the recording cannot be written.
    pub fn finish(self) -> Result<Option<RecordingTotals>, RecordError> {
        self.recorder.map(Recorder::finish).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Fact, Sequencer};

    #[test]
    fn a_first_list_is_awaited_until_it_is_complete() {
        let at = Time::from_timestamp(1_790_000_000, 0).unwrap();
        let (tx, rx) = tokio::sync::mpsc::channel(16);
        let mut live = LiveModel::new(rx, vec![Source::ApiEvents]);
        let mut seq = Sequencer::new(Source::ApiEvents);
        let mut send = |fact, epoch: bool| {
            let stamp = if epoch { seq.next_epoch(0, at) } else { seq.stamp(0, at) };
            tx.try_send(Observation { stamp, fact }).unwrap();
        };
        send(Fact::SourceState(SourceState::Live { since: at }), false);
        send(Fact::EpochBegin, true);
        live.apply_received().unwrap();
        assert!(!live.is_complete(), "the list is not complete");
        send(Fact::EpochEnd, false);
        live.apply_received().unwrap();
        assert!(live.is_complete());
    }
}
