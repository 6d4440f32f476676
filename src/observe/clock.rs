//! The two clocks of a stamp: a monotonic one and the wall clock.

use std::time::Instant;

use crate::observation::Time;

/// The start of the observation, as the origin of the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
}

impl Clock {
    /// The observation starts now.
    pub fn start() -> Self {
        Self { started: Instant::now() }
    }

    /// Microseconds since the start, and the wall clock.
    pub fn now(&self) -> (u64, Time) {
        (u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX), Time::now())
    }
}
