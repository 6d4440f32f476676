//! Owns the span between two times: at most as long as from the first time to the last, its arithmetic saturates.
//! It must not know a clock.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::time::Duration;

/// Seconds from the first [`Time`](super::Time) to the last, rounded down.
const MAX_S: i64 = super::MAX_S - super::MIN_S;

/// A span of time with a sign, at most as long as from [`Time::MIN`](super::Time::MIN) to
/// [`Time::MAX`](super::Time::MAX), which is 9999 years: whatever is longer is taken for that long.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeDelta(chrono::TimeDelta);

impl TimeDelta {
    /// The longest span.
    pub const MAX: TimeDelta = TimeDelta::new(MAX_S, super::NANOS - 1);
    /// The longest span backwards.
    pub const MIN: TimeDelta = match TimeDelta::MAX.0.checked_mul(-1) {
        Some(span) => TimeDelta(span),
        None => TimeDelta::zero(),
    };

    const fn new(seconds: i64, nanos: u32) -> TimeDelta {
        match chrono::TimeDelta::new(seconds, nanos) {
            Some(span) => TimeDelta(span),
            None => TimeDelta::zero(),
        }
    }

    const fn limited(seconds: i64, nanos: u32) -> TimeDelta {
        match seconds {
            s if s > MAX_S => TimeDelta::MAX,
            s if s < -MAX_S => TimeDelta::MIN,
            s => TimeDelta::new(s, nanos),
        }
    }

    /// No time at all.
    pub const fn zero() -> TimeDelta {
        TimeDelta(chrono::TimeDelta::zero())
    }

    /// So many days.
    pub const fn days(days: i64) -> TimeDelta {
        TimeDelta::seconds(days.saturating_mul(86_400))
    }

    /// So many hours.
    pub const fn hours(hours: i64) -> TimeDelta {
        TimeDelta::seconds(hours.saturating_mul(3600))
    }

    /// So many minutes.
    pub const fn minutes(minutes: i64) -> TimeDelta {
        TimeDelta::seconds(minutes.saturating_mul(60))
    }

    /// So many seconds.
    pub const fn seconds(seconds: i64) -> TimeDelta {
        TimeDelta::limited(seconds, 0)
    }

    /// So many milliseconds.
    pub const fn milliseconds(millis: i64) -> TimeDelta {
        TimeDelta::limited(millis.div_euclid(1000), millis.rem_euclid(1000) as u32 * 1_000_000)
    }

    /// So many microseconds.
    pub const fn microseconds(micros: i64) -> TimeDelta {
        TimeDelta::limited(micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000) as u32 * 1000)
    }

    /// So many nanoseconds.
    pub const fn nanoseconds(nanos: i64) -> TimeDelta {
        let second = super::NANOS as i64;
        TimeDelta::limited(nanos.div_euclid(second), nanos.rem_euclid(second) as u32)
    }

    /// Whole seconds, rounded towards zero.
    pub const fn num_seconds(self) -> i64 {
        self.0.num_seconds()
    }

    /// Whole milliseconds, rounded towards zero.
    pub const fn num_milliseconds(self) -> i64 {
        self.0.num_milliseconds()
    }

    /// Whole microseconds, rounded towards zero: 9999 years of them fit.
    pub const fn num_microseconds(self) -> i64 {
        self.0.num_seconds() * 1_000_000 + self.0.subsec_micros() as i64
    }

    /// Without its sign.
    pub const fn abs(self) -> TimeDelta {
        TimeDelta(self.0.abs())
    }

    /// As the standard library has it; zero for a span backwards.
    pub fn to_duration(self) -> Duration {
        self.0.to_std().unwrap_or_default()
    }
}

impl From<chrono::TimeDelta> for TimeDelta {
    /// At most [`TimeDelta::MAX`], at least [`TimeDelta::MIN`].
    fn from(span: chrono::TimeDelta) -> TimeDelta {
        TimeDelta(span.clamp(TimeDelta::MIN.0, TimeDelta::MAX.0))
    }
}

impl From<TimeDelta> for chrono::TimeDelta {
    fn from(span: TimeDelta) -> chrono::TimeDelta {
        span.0
    }
}

impl From<Duration> for TimeDelta {
    /// At most [`TimeDelta::MAX`].
    fn from(span: Duration) -> TimeDelta {
        chrono::TimeDelta::from_std(span).map_or(TimeDelta::MAX, TimeDelta::from)
    }
}

impl fmt::Debug for TimeDelta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Add for TimeDelta {
    type Output = TimeDelta;

    fn add(self, other: TimeDelta) -> TimeDelta {
        // The sum of two spans in range is far inside chrono's own range.
        self.0.checked_add(&other.0).map_or(TimeDelta::MAX, TimeDelta::from)
    }
}

impl Sub for TimeDelta {
    type Output = TimeDelta;

    fn sub(self, other: TimeDelta) -> TimeDelta {
        self + -other
    }
}

impl Neg for TimeDelta {
    type Output = TimeDelta;

    fn neg(self) -> TimeDelta {
        TimeDelta(-self.0)
    }
}

impl Mul<i32> for TimeDelta {
    type Output = TimeDelta;

    fn mul(self, times: i32) -> TimeDelta {
        let backwards = (self < TimeDelta::zero()) != (times < 0);
        let limit = if backwards { TimeDelta::MIN } else { TimeDelta::MAX };
        self.0.checked_mul(times).map_or(limit, TimeDelta::from)
    }
}

impl Div<i32> for TimeDelta {
    type Output = TimeDelta;

    /// Divided by zero it stays as long as it is.
    fn div(self, parts: i32) -> TimeDelta {
        self.0.checked_div(parts).map_or(self, TimeDelta::from)
    }
}

impl Sum for TimeDelta {
    fn sum<I: Iterator<Item = TimeDelta>>(spans: I) -> TimeDelta {
        spans.fold(TimeDelta::zero(), |sum, span| sum + span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_too_large() {
        for make in [TimeDelta::days, TimeDelta::hours, TimeDelta::minutes, TimeDelta::seconds, TimeDelta::milliseconds]
        {
            assert_eq!(make(i64::MAX), TimeDelta::MAX);
            assert_eq!(make(i64::MIN), TimeDelta::MIN);
            assert_eq!(make(0), TimeDelta::zero());
        }
        assert_eq!(TimeDelta::microseconds(i64::MAX), TimeDelta::MAX);
        assert_eq!(TimeDelta::nanoseconds(i64::MAX).num_seconds(), 9_223_372_036);
        assert_eq!(TimeDelta::milliseconds(-1500).num_seconds(), -1);
        assert_eq!(TimeDelta::milliseconds(-1500).num_microseconds(), -1_500_000);
        assert_eq!(TimeDelta::MAX.num_microseconds(), (MAX_S + 1) * 1_000_000 - 1);
        assert_eq!(TimeDelta::from(Duration::MAX), TimeDelta::MAX);
        assert_eq!(TimeDelta::from(chrono::TimeDelta::MIN), TimeDelta::MIN);
    }

    #[test]
    fn arithmetic_saturates() {
        let second = TimeDelta::seconds(1);
        assert_eq!(TimeDelta::MAX + TimeDelta::MAX, TimeDelta::MAX);
        assert_eq!(TimeDelta::MIN - TimeDelta::MAX, TimeDelta::MIN);
        assert_eq!(-TimeDelta::MAX, TimeDelta::MIN);
        assert_eq!(TimeDelta::MIN.abs(), TimeDelta::MAX);
        assert_eq!(TimeDelta::MAX * i32::MAX, TimeDelta::MAX);
        assert_eq!(TimeDelta::MAX * i32::MIN, TimeDelta::MIN);
        assert_eq!(TimeDelta::MIN * -2, TimeDelta::MAX);
        assert_eq!(second * -3, TimeDelta::seconds(-3));
        assert_eq!(second / 2, TimeDelta::milliseconds(500));
        assert_eq!(second / 0, second);
        assert_eq!([TimeDelta::MAX; 3].into_iter().sum::<TimeDelta>(), TimeDelta::MAX);
        assert_eq!(TimeDelta::seconds(-1).to_duration(), Duration::ZERO);
    }
}
