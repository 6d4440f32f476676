//! Owns the look at images that is under way: when it may begin, and that it is given up for the lists.
//! It must not run beside a list, nor before the first.

use std::time::Instant;

use super::failure::CallError;
use super::pace::{Listed, Pace};
use super::runtime::ReadOnlyRuntime;
use super::shelf::{End, Look, Seen, Turns};
use super::waits::Pending;

/// Looks of one attempt.
pub(super) struct Looking {
    /// The look in flight.
    pub flight: Pending<Result<Seen, CallError>>,
    /// It, or the last one, and when it began.
    last: (Look, Instant),
    turns: Turns,
}

impl Looking {
    pub fn new(now: Instant) -> Self {
        Self { flight: None, last: (Look::Images, now), turns: Turns::new(now) }
    }

    /// When the next look is due: not in the first half of the runtime's rest after a slow list, and not at its end, when
    /// the next list comes.
    pub fn due(&self, listed: Option<Listed>, pace: &Pace) -> Option<Instant> {
        let (due, _) = self.turns.next()?;
        let rested = listed.map(|last| last.ended + pace.rest_after(last.ended.duration_since(last.began)) / 2);
        Some(rested.map_or(due, |rested| due.max(rested)))
    }

    /// An image or a container has come: images may have.
    pub fn woken(&mut self, pace: &Pace) {
        self.turns.woken(pace, Instant::now());
    }

    pub fn begin(&mut self, runtime: ReadOnlyRuntime, pace: &Pace) {
        let Some((_, look)) = self.turns.next() else { return };
        self.last = (look, Instant::now());
        self.flight = Some(Box::pin(runtime.look(look, pace.status_deadline)));
    }

    /// The lists are due: what is measured is they alone.
    pub fn give_up(&mut self, pace: &Pace) {
        if self.flight.take().is_some() {
            self.over(End::GivenUp, pace);
        }
    }

    /// Takes the answer in. That images cannot be had ends nothing.
    pub fn end(&mut self, answer: Result<Seen, CallError>, pace: &Pace) -> Option<Seen> {
        self.flight = None;
        match answer {
            Ok(seen) => {
                self.over(End::Answered, pace);
                return Some(seen);
            }
            Err(error) if error.is_unimplemented() => self.over(End::Never, pace),
            Err(_) => self.over(End::Late, pace),
        }
        None
    }

    fn over(&mut self, end: End, pace: &Pace) {
        let (look, began) = self.last;
        self.turns.ended(look, end, began, Instant::now(), pace);
    }
}
