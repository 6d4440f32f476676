//! The state machine of a source: connecting, live, retrying with back-off, forbidden, off.

use std::time::{Duration, Instant};

use super::ObservationSink;
use crate::observation::{Source, SourceError, SourceState};
use crate::text::Text;
use crate::time::{Time, TimeDelta};

/// Why an attempt failed.
#[derive(Clone, Debug)]
pub enum SourceFailure {
    /// The source cannot work on this node; it is not retried.
    Off(Text),
    /// Retried after a back-off.
    Retry(SourceError),
    /// Retried no sooner than the server allows (`Retry-After`).
    RetryAfter(SourceError, Duration),
    /// A permission is missing; retried, since it may be granted.
    Forbidden(SourceError),
}

impl SourceFailure {
    /// The error, except for a source that is off.
    pub fn error(&self) -> Option<&SourceError> {
        match self {
            Self::Off(_) => None,
            Self::Retry(error) | Self::RetryAfter(error, _) | Self::Forbidden(error) => Some(error),
        }
    }
}

/// A source: one attempt connects, calls [`ObservationSink::set_live`] with the first response, and observes until it fails.
///
/// Every call inside has a deadline. A dropped attempt leaves nothing behind.
pub trait Attempt: Send {
    /// Connects and observes until something fails.
    fn attempt(&mut self, out: &mut ObservationSink) -> impl Future<Output = SourceFailure> + Send;
}

/// Longest delay before a retry, so that a repair is visible within half a minute. Only a server's own `Retry-After` may be
/// longer.
pub const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Delays between attempts.
#[derive(Clone, Copy, Debug)]
pub struct BackOff {
    /// First delay.
    pub first: Duration,
    /// Longest delay; it doubles until then.
    pub limit: Duration,
    /// Delay after a missing permission.
    pub forbidden: Duration,
}

impl Default for BackOff {
    fn default() -> Self {
        Self { first: Duration::from_millis(500), limit: Duration::from_secs(15), forbidden: LONGEST_RETRY }
    }
}

impl BackOff {
    /// The delays of a source. Those on this machine are retried sooner: connecting is cheap, and a runtime or kubelet that
    /// is up again must be shown as such.
    pub fn of(source: Source) -> Self {
        match source {
            Source::Cri | Source::Pulls | Source::KubeletHealth => {
                Self { limit: Duration::from_secs(4), ..Self::default() }
            }
            _ => Self::default(),
        }
    }
}

/// After an attempt that lasted this long, the next failure starts with the first delay.
const RESET_AFTER: Duration = Duration::from_secs(60);

impl BackOff {
    /// The delay after `failures` + 1 failures: between half and all of the doubled delay, with `jitter` in 0..=1.
    fn delay(&self, failures: u32, jitter: f64) -> Duration {
        let doubled = self.first.saturating_mul(1u32.checked_shl(failures.min(16)).unwrap_or(u32::MAX));
        doubled.min(self.limit).mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
    }

    /// Time until the next attempt.
    fn wait(&self, failure: &SourceFailure, failures: u32, jitter: f64) -> Duration {
        let own = match failure {
            SourceFailure::Off(_) => Duration::ZERO,
            SourceFailure::Retry(_) | SourceFailure::RetryAfter(..) => self.delay(failures, jitter),
            SourceFailure::Forbidden(_) => self.forbidden,
        };
        let least = if let SourceFailure::RetryAfter(_, time) = failure { *time } else { Duration::ZERO };
        own.min(LONGEST_RETRY).max(least)
    }
}

/// Runs a source until it is off, or the receiver is gone.
pub async fn supervise(source: impl Attempt, out: ObservationSink, back_off: BackOff) {
    let closed = out.closed();
    tokio::select! {
        () = run_attempts(source, out, back_off) => {}
        () = closed => {}
    }
}

async fn run_attempts(mut source: impl Attempt, mut out: ObservationSink, back_off: BackOff) {
    let mut failures = 0;
    out.set_state(SourceState::Connecting).await;
    loop {
        let began = Instant::now();
        let failure = source.attempt(&mut out).await;
        if out.is_live() && began.elapsed() >= RESET_AFTER {
            failures = 0;
        }
        let wait = back_off.wait(&failure, failures, jitter());
        match failure {
            SourceFailure::Off(why) => return out.set_state(SourceState::Off { why: why.into() }).await,
            SourceFailure::Retry(error) | SourceFailure::RetryAfter(error, _) => {
                out.set_state(retrying(error, wait)).await
            }
            SourceFailure::Forbidden(error) => out.set_state(SourceState::Forbidden { error }).await,
        }
        failures = failures.saturating_add(1);
        tokio::time::sleep(wait).await;
    }
}

fn retrying(error: SourceError, wait: Duration) -> SourceState {
    SourceState::Retrying { at: Some(Time::now() + TimeDelta::from(wait)), error }
}

/// Nodes must not retry in step; the fraction of the clock is random enough for that.
fn jitter() -> f64 {
    f64::from(Time::now().timestamp_subsec_nanos() / 1000 % 1000) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::ErrorKind;
    use crate::observe::{Clock, ObservationChannel, observation_channel};

    #[test]
    fn delays_double_up_to_a_limit_and_are_never_zero() {
        let back_off = BackOff::default();
        let ms = |failures, jitter| back_off.delay(failures, jitter).as_millis();
        assert_eq!([ms(0, 1.0), ms(1, 1.0), ms(4, 1.0), ms(5, 1.0), ms(99, 1.0)], [500, 1000, 8000, 15_000, 15_000]);
        assert_eq!([ms(0, 0.0), ms(99, 0.0)], [250, 7500]);
    }

    #[test]
    fn sources_on_this_machine_are_retried_within_four_seconds() {
        let longest = |source: &Source| BackOff::of(*source).delay(99, 1.0).as_secs();
        let quick: Vec<_> = Source::ALL.into_iter().filter(|source| longest(source) == 4).collect();
        assert_eq!(quick, [Source::Cri, Source::Pulls, Source::KubeletHealth]);
        assert!(Source::ALL.iter().filter(|source| !quick.contains(source)).all(|source| longest(source) == 15));
    }

    #[test]
    fn no_source_waits_longer_than_half_a_minute_without_retry_after() {
        let error = || SourceError { tried: "x".into(), kind: ErrorKind::Other, fix: "".into() };
        let seconds = |back_off: BackOff, failure| back_off.wait(&failure, 99, 1.0).as_secs();
        for source in Source::ALL {
            let of = BackOff::of(source);
            for failure in [SourceFailure::Retry(error()), SourceFailure::Forbidden(error())] {
                assert!((1..=30).contains(&seconds(of, failure.clone())), "{source:?} {failure:?}");
            }
            assert_eq!(seconds(of, SourceFailure::RetryAfter(error(), Duration::from_secs(45))), 45, "{source:?}");
        }
        let hour = Duration::from_secs(3600);
        let slow = BackOff { first: hour, limit: hour, forbidden: hour };
        assert_eq!(seconds(slow, SourceFailure::Retry(error())), 30);
        assert_eq!(seconds(slow, SourceFailure::Forbidden(error())), 30);
        assert_eq!(seconds(slow, SourceFailure::RetryAfter(error(), Duration::from_secs(1))), 30);
    }

    #[tokio::test]
    async fn a_source_stops_when_the_receiver_is_gone() {
        struct Forever;
        impl Attempt for Forever {
            async fn attempt(&mut self, _: &mut ObservationSink) -> SourceFailure {
                std::future::pending().await
            }
        }
        let (ObservationChannel { tx, mut rx, .. }, running) = observation_channel();
        let out = ObservationSink::new(Source::Cri, Clock::start(), tx);
        let tasks = [tokio::spawn(supervise(Forever, out, BackOff::default())), tokio::spawn(running)];
        assert!(rx.recv().await.is_some());
        drop(rx);
        for task in tasks {
            tokio::time::timeout(Duration::from_secs(20), task).await.unwrap().unwrap();
        }
    }
}
