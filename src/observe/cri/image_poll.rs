//! The image call in flight: when one may start, and that it is cancelled for the lists.

use std::time::Instant;

use super::call_error::CallError;
use super::images::{CallOutcome, ImageCall, ImageResponse, ImageSchedule};
use super::pending::PendingFuture;
use super::runtime::ReadOnlyRuntime;
use super::timings::{CriTimings, ListTimes};

/// Image calls of one attempt.
pub(super) struct ImagePoll {
    /// The call in flight.
    pub flight: PendingFuture<Result<ImageResponse, CallError>>,
    /// That call or the last one, and its start.
    last: (ImageCall, Instant),
    schedule: ImageSchedule,
}

impl ImagePoll {
    pub fn new(now: Instant) -> Self {
        Self { flight: None, last: (ImageCall::Images, now), schedule: ImageSchedule::new(now) }
    }

    /// When the next call is due: after the first half of the runtime's rest after a slow list, at whose end the next list
    /// starts.
    pub fn due(&self, listed: Option<ListTimes>, timings: &CriTimings) -> Option<Instant> {
        let (due, _) = self.schedule.next()?;
        let rest_over = listed.map(|last| last.ended + timings.rest_after(last.ended.duration_since(last.began)) / 2);
        Some(rest_over.map_or(due, |rest_over| due.max(rest_over)))
    }

    /// An image or a container was created: the images may differ.
    pub fn woken(&mut self, timings: &CriTimings) {
        self.schedule.woken(timings, Instant::now());
    }

    pub fn begin(&mut self, runtime: ReadOnlyRuntime, timings: &CriTimings) {
        let Some((_, call)) = self.schedule.next() else { return };
        self.last = (call, Instant::now());
        self.flight = Some(Box::pin(runtime.image_call(call, timings.status_deadline)));
    }

    /// Cancels the call before a list, whose duration is measured.
    pub fn cancel(&mut self, timings: &CriTimings) {
        if self.flight.take().is_some() {
            self.finish(CallOutcome::Canceled, timings);
        }
    }

    /// Returns the response of a call that ended. A failed one does not fail the attempt.
    pub fn end(&mut self, response: Result<ImageResponse, CallError>, timings: &CriTimings) -> Option<ImageResponse> {
        self.flight = None;
        match response {
            Ok(response) => {
                self.finish(CallOutcome::Completed, timings);
                return Some(response);
            }
            Err(error) if error.is_unimplemented() => self.finish(CallOutcome::Unimplemented, timings),
            Err(_) => self.finish(CallOutcome::Failed, timings),
        }
        None
    }

    fn finish(&mut self, end: CallOutcome, timings: &CriTimings) {
        let (call, began) = self.last;
        self.schedule.finish(call, end, began, Instant::now(), timings);
    }
}
