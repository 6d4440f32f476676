//! Owns the two clocks of a stamp: one that never jumps and the wall clock.
//! It must be the only place that reads them for stamps.

use std::time::Instant;

use crate::observation::Time;

/// When observing began, on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
}

impl Clock {
    /// Observing begins now.
    pub fn start() -> Self {
        Self { began: Instant::now() }
    }

    /// Microseconds since the begin, and the wall clock.
    pub fn now(&self) -> (u64, Time) {
        (u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX), Time::now())
    }
}
