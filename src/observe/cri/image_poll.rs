//! Owns the look at images that is under way: when it may begin, and that it is given up for the lists.
//! It must not run beside a list, nor before the first.

use std::time::Instant;

use super::call_error::CallError;
use super::images::{CallOutcome, ImageAnswer, ImageCall, ImageSchedule};
use super::pending::PendingFuture;
use super::runtime::ReadOnlyRuntime;
use super::timings::{CriTimings, ListTimes};

/// Looks of one attempt.
pub(super) struct ImagePoll {
    /// The look in flight.
    pub flight: PendingFuture<Result<ImageAnswer, CallError>>,
    /// It, or the last one, and when it began.
    last: (ImageCall, Instant),
    turns: ImageSchedule,
}

impl ImagePoll {
    pub fn new(now: Instant) -> Self {
        Self { flight: None, last: (ImageCall::Images, now), turns: ImageSchedule::new(now) }
    }

    /// When the next look is due: not in the first half of the runtime's rest after a slow list, and not at its end, when
    /// the next list comes.
    pub fn due(&self, listed: Option<ListTimes>, timings: &CriTimings) -> Option<Instant> {
        let (due, _) = self.turns.next()?;
        let rested = listed.map(|last| last.ended + timings.rest_after(last.ended.duration_since(last.began)) / 2);
        Some(rested.map_or(due, |rested| due.max(rested)))
    }

    /// An image or a container has come: images may have.
    pub fn woken(&mut self, timings: &CriTimings) {
        self.turns.woken(timings, Instant::now());
    }

    pub fn begin(&mut self, runtime: ReadOnlyRuntime, timings: &CriTimings) {
        let Some((_, look)) = self.turns.next() else { return };
        self.last = (look, Instant::now());
        self.flight = Some(Box::pin(runtime.look(look, timings.status_deadline)));
    }

    /// The lists are due: what is measured is they alone.
    pub fn give_up(&mut self, timings: &CriTimings) {
        if self.flight.take().is_some() {
            self.over(CallOutcome::Canceled, timings);
        }
    }

    /// Takes the answer in. That images cannot be had ends nothing.
    pub fn end(&mut self, answer: Result<ImageAnswer, CallError>, timings: &CriTimings) -> Option<ImageAnswer> {
        self.flight = None;
        match answer {
            Ok(seen) => {
                self.over(CallOutcome::Answered, timings);
                return Some(seen);
            }
            Err(error) if error.is_unimplemented() => self.over(CallOutcome::Unimplemented, timings),
            Err(_) => self.over(CallOutcome::Failed, timings),
        }
        None
    }

    fn over(&mut self, end: CallOutcome, timings: &CriTimings) {
        let (look, began) = self.last;
        self.turns.ended(look, end, began, Instant::now(), timings);
    }
}
