//! Owns the live model: what the sources say, folded as it comes, and written to a recording where one is wanted.
//! It must not wait for a source: whoever draws decides how long a moment may take.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::Receiver;
use tokio::sync::mpsc::error::TryRecvError;

use super::recorder::{Recorded, Recorder};
use crate::diagnose::Rounds;
use crate::model::{InitialList, Model, Snapshot};
use crate::observation::{Observation, Source, SourceState, Time};
use crate::record::RecordError;
use crate::runbook::Runbook;
use crate::view::NodeView;

/// Observations applied at most before a frame is due again.
const BATCH: usize = 4096;

/// Wakes the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A node that is being observed.
pub struct Live {
    rx: Receiver<Observation>,
    model: Model,
    rounds: Rounds,
    expected: Vec<Source>,
    recorder: Option<Recorder>,
    ended: bool,
}

impl Live {
    /// Folds what comes out of `rx`. `expected` are the sources that were started.
    pub fn new(rx: Receiver<Observation>, expected: Vec<Source>) -> Self {
        let (model, rounds) = (Model::default(), Rounds::default());
        Self { rx, model, rounds, expected, recorder: None, ended: false }
    }

    /// The node is called so, whatever sources say.
    pub fn set_node_name(&mut self, name: &str) {
        self.model.set_node_name(name.into());
    }

    /// Diagnoses with this runbook from now on, where there is one besides the embedded one.
    pub fn diagnose_with(&mut self, own: Option<Arc<Runbook>>) {
        self.rounds = own.map_or_else(Rounds::default, Rounds::with);
    }

    /// Writes all that is observed from now on.
    pub fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// Takes in what has come. True when anything has.
    ///
    /// # Errors
    /// When the recording cannot be written.
    pub fn pass(&mut self) -> Result<bool, RecordError> {
        let mut changed = false;
        for _ in 0..BATCH {
            match self.rx.try_recv() {
                Ok(observation) => {
                    self.take(observation)?;
                    changed = true;
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.ended = true;
                    break;
                }
            }
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.write_due()?;
        }
        Ok(changed)
    }

    /// Waits until something comes, at most for `limit`, and takes it in. Who unparks this thread ends the wait. True when
    /// anything has come.
    ///
    /// # Errors
    /// When the recording cannot be written.
    pub fn wait(&mut self, limit: Duration) -> Result<bool, RecordError> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        match self.rx.poll_recv(&mut Context::from_waker(&waker)) {
            Poll::Ready(Some(observation)) => {
                self.take(observation)?;
                self.pass()?;
                return Ok(true);
            }
            Poll::Ready(None) => self.ended = true,
            Poll::Pending => {}
        }
        thread::park_timeout(limit);
        self.pass()
    }

    fn take(&mut self, observation: Observation) -> Result<(), RecordError> {
        if let Some(recorder) = &mut self.recorder {
            recorder.observe(&self.model, &observation)?;
        }
        self.model.apply(observation);
        Ok(())
    }

    /// Takes in what comes until every source has answered or given up, at most for `limit`. False when some have not.
    ///
    /// # Errors
    /// When the recording cannot be written.
    pub fn settle(&mut self, limit: Duration) -> Result<bool, RecordError> {
        let begin = Instant::now();
        while begin.elapsed() < limit && !self.ended {
            self.pass()?;
            if self.is_settled() {
                return Ok(true);
            }
            self.wait(limit.saturating_sub(begin.elapsed()))?;
        }
        self.pass()?;
        Ok(self.ended || self.is_settled())
    }

    /// The sources that are still waited for, and how far they are.
    pub fn awaited(&self) -> BTreeMap<Source, InitialList> {
        self.model.initial_lists()
    }

    /// Every source that was started has told all that it had to tell at first, or has said why not. A list that is still
    /// coming in would be shown as pods without events, or as a node without half of its pods.
    fn is_settled(&self) -> bool {
        let sources = self.model.sources();
        self.expected.iter().all(|source| {
            sources.get(source).is_some_and(|facts| match facts.state {
                SourceState::Connecting => false,
                SourceState::Live { .. } | SourceState::Degraded { .. } => self.model.has_listed(*source),
                _ => true,
            })
        })
    }

    /// The node as it is known at `now`.
    pub fn moment(&mut self, now: Time) -> NodeView {
        let snapshot: Snapshot = self.model.snapshot();
        NodeView::new(snapshot, &mut self.rounds, now)
    }

    /// Ends the recording, if there is one.
    ///
    /// # Errors
    /// When the recording cannot be written.
    pub fn finish(self) -> Result<Option<Recorded>, RecordError> {
        self.recorder.map(Recorder::finish).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Fact, Sequencer};

    #[test]
    fn a_list_that_is_still_coming_in_is_waited_for() {
        let at = Time::from_timestamp(1_790_000_000, 0).unwrap();
        let (tx, rx) = tokio::sync::mpsc::channel(16);
        let mut live = Live::new(rx, vec![Source::ApiEvents]);
        let mut seq = Sequencer::new(Source::ApiEvents);
        let mut say = |fact, epoch: bool| {
            let stamp = if epoch { seq.next_epoch(0, at) } else { seq.stamp(0, at) };
            tx.try_send(Observation { stamp, fact }).unwrap();
        };
        say(Fact::SourceState(SourceState::Live { since: at }), false);
        say(Fact::EpochBegin, true);
        live.pass().unwrap();
        assert!(!live.is_settled(), "the list has only begun");
        say(Fact::EpochEnd, false);
        live.pass().unwrap();
        assert!(live.is_settled());
    }
}
