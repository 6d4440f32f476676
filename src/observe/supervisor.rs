//! Owns the state machine of a source: connecting, live, retrying with back-off, forbidden, off.
//! It must not know what a source does while it is up.

use std::time::{Duration, Instant};

use super::ObservationSink;
use crate::observation::{Source, SourceError, SourceState};
use crate::text::Text;
use crate::time::{Time, TimeDelta};

/// Why an attempt ended.
#[derive(Clone, Debug)]
pub enum SourceFailure {
    /// Cannot work here; will not be tried again.
    Off(Text),
    /// Failed; tried again after a while.
    Retry(SourceError),
    /// Failed, and told how long to wait at least.
    RetryAfter(SourceError, Duration),
    /// Refused for lack of a permission; tried again, because it may be granted.
    Forbidden(SourceError),
}

/// A source: one attempt connects, says [`ObservationSink::live`] once it has an answer, and observes until it fails.
///
/// Every call inside has a deadline. A dropped attempt leaves nothing behind.
pub trait Attempt: Send {
    /// Connects and observes until something fails.
    fn attempt(&mut self, out: &mut ObservationSink) -> impl Future<Output = SourceFailure> + Send;
}

/// Longest delay before something that failed is tried again: whoever repairs a node sees within half a minute that it
/// works. Only a server that says so itself (`Retry-After`) is given longer.
pub const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Delays between attempts.
#[derive(Clone, Copy, Debug)]
pub struct BackOff {
    /// First delay.
    pub first: Duration,
    /// Longest delay; it doubles until then.
    pub limit: Duration,
    /// Delay after a refusal.
    pub forbidden: Duration,
}

impl Default for BackOff {
    fn default() -> Self {
        Self { first: Duration::from_millis(500), limit: Duration::from_secs(15), forbidden: LONGEST_RETRY }
    }
}

impl BackOff {
    /// That of a source. A socket on this machine is cheap to try: a runtime or a kubelet that is back must not be called
    /// away for long.
    pub fn of(source: Source) -> Self {
        match source {
            Source::Cri | Source::Pulls | Source::KubeletHealth => {
                Self { limit: Duration::from_secs(4), ..Self::default() }
            }
            _ => Self::default(),
        }
    }
}

/// An attempt that was live for so long proves that the next failure is a new one.
const STABLE: Duration = Duration::from_secs(60);

impl BackOff {
    /// The delay before attempt number `failures` + 1, between half and all of the doubled delay: `jitter` in 0..=1.
    fn delay(&self, failures: u32, jitter: f64) -> Duration {
        let doubled = self.first.saturating_mul(1u32.checked_shl(failures.min(16)).unwrap_or(u32::MAX));
        doubled.min(self.limit).mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
    }

    /// How long to wait after the failure with that number.
    fn wait(&self, failure: &SourceFailure, failures: u32, jitter: f64) -> Duration {
        let own = match failure {
            SourceFailure::Off(_) => Duration::ZERO,
            SourceFailure::Retry(_) | SourceFailure::RetryAfter(..) => self.delay(failures, jitter),
            SourceFailure::Forbidden(_) => self.forbidden,
        };
        let asked = if let SourceFailure::RetryAfter(_, least) = failure { *least } else { Duration::ZERO };
        own.min(LONGEST_RETRY).max(asked)
    }
}

/// Runs a source until it says that it cannot work here, or nobody listens any more.
pub async fn supervise(source: impl Attempt, out: ObservationSink, back_off: BackOff) {
    let closed = out.closed();
    tokio::select! {
        () = try_again(source, out, back_off) => {}
        () = closed => {}
    }
}

async fn try_again(mut source: impl Attempt, mut out: ObservationSink, back_off: BackOff) {
    let mut failures = 0;
    out.set_state(SourceState::Connecting).await;
    loop {
        let began = Instant::now();
        let failure = source.attempt(&mut out).await;
        if out.is_live() && began.elapsed() >= STABLE {
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

/// Nodes must not knock in step; the clock's fraction is random enough for that.
fn jitter() -> f64 {
    f64::from(Time::now().timestamp_subsec_nanos() / 1000 % 1000) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::ErrorKind;
    use crate::observe::{Clock, ObservationChannel, observation_channel};

    #[test]
    fn delays_double_to_a_limit_and_never_vanish() {
        let back_off = BackOff::default();
        let ms = |failures, jitter| back_off.delay(failures, jitter).as_millis();
        assert_eq!([ms(0, 1.0), ms(1, 1.0), ms(4, 1.0), ms(5, 1.0), ms(99, 1.0)], [500, 1000, 8000, 15_000, 15_000]);
        assert_eq!([ms(0, 0.0), ms(99, 0.0)], [250, 7500]);
    }

    #[test]
    fn what_is_on_this_machine_is_tried_again_within_four_seconds() {
        let longest = |source: &Source| BackOff::of(*source).delay(99, 1.0).as_secs();
        let quick: Vec<_> = Source::ALL.into_iter().filter(|source| longest(source) == 4).collect();
        assert_eq!(quick, [Source::Cri, Source::Pulls, Source::KubeletHealth]);
        assert!(Source::ALL.iter().filter(|source| !quick.contains(source)).all(|source| longest(source) == 15));
    }

    #[test]
    fn no_source_waits_longer_than_half_a_minute_unless_the_server_says_so() {
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
    async fn a_source_ends_when_nobody_receives() {
        struct Forever;
        impl Attempt for Forever {
            async fn attempt(&mut self, _: &mut ObservationSink) -> SourceFailure {
                std::future::pending().await
            }
        }
        let (ObservationChannel { tx, mut rx, .. }, pumping) = observation_channel();
        let out = ObservationSink::new(Source::Cri, Clock::start(), tx);
        let tasks = [tokio::spawn(supervise(Forever, out, BackOff::default())), tokio::spawn(pumping)];
        assert!(rx.recv().await.is_some());
        drop(rx);
        for task in tasks {
            tokio::time::timeout(Duration::from_secs(20), task).await.unwrap().unwrap();
        }
    }
}
