//! The duration between two times, with a sign and saturating arithmetic.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::time::Duration;

/// Seconds from [`Time::MIN`](super::Time::MIN) to [`Time::MAX`](super::Time::MAX), rounded down.
const MAX_S: i64 = super::MAX_S - super::MIN_S;

/// A signed duration. Its limit is the 9999 years from [`Time::MIN`](super::Time::MIN) to
/// [`Time::MAX`](super::Time::MAX); a longer duration is reduced to the limit.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeDelta(chrono::TimeDelta);

impl TimeDelta {
    /// The longest duration.
    pub const MAX: TimeDelta = TimeDelta::new(MAX_S, super::NANOS - 1);
    /// The longest negative duration.
    pub const MIN: TimeDelta = match TimeDelta::MAX.0.checked_mul(-1) {
        Some(duration) => TimeDelta(duration),
        None => TimeDelta::zero(),
    };

    const fn new(seconds: i64, nanos: u32) -> TimeDelta {
        match chrono::TimeDelta::new(seconds, nanos) {
            Some(duration) => TimeDelta(duration),
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

    /// A duration of 0.
    pub const fn zero() -> TimeDelta {
        TimeDelta(chrono::TimeDelta::zero())
    }

    /// A number of days.
    pub const fn days(days: i64) -> TimeDelta {
        TimeDelta::seconds(days.saturating_mul(86_400))
    }

    /// A number of hours.
    pub const fn hours(hours: i64) -> TimeDelta {
        TimeDelta::seconds(hours.saturating_mul(3600))
    }

    /// A number of minutes.
    pub const fn minutes(minutes: i64) -> TimeDelta {
        TimeDelta::seconds(minutes.saturating_mul(60))
    }

    /// A number of seconds.
    pub const fn seconds(seconds: i64) -> TimeDelta {
        TimeDelta::limited(seconds, 0)
    }

    /// A number of milliseconds.
    pub const fn milliseconds(millis: i64) -> TimeDelta {
        TimeDelta::limited(millis.div_euclid(1000), millis.rem_euclid(1000) as u32 * 1_000_000)
    }

    /// A number of microseconds.
    pub const fn microseconds(micros: i64) -> TimeDelta {
        TimeDelta::limited(micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000) as u32 * 1000)
    }

    /// A number of nanoseconds.
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

    /// Whole microseconds, rounded towards zero; the limit of 9999 years fits.
    pub const fn num_microseconds(self) -> i64 {
        self.0.num_seconds() * 1_000_000 + self.0.subsec_micros() as i64
    }

    /// The absolute value.
    pub const fn abs(self) -> TimeDelta {
        TimeDelta(self.0.abs())
    }

    /// The duration as a [`Duration`]; zero if it is negative.
    pub fn to_duration(self) -> Duration {
        self.0.to_std().unwrap_or_default()
    }
}

impl From<chrono::TimeDelta> for TimeDelta {
    /// At most [`TimeDelta::MAX`], at least [`TimeDelta::MIN`].
    fn from(duration: chrono::TimeDelta) -> TimeDelta {
        TimeDelta(duration.clamp(TimeDelta::MIN.0, TimeDelta::MAX.0))
    }
}

impl From<TimeDelta> for chrono::TimeDelta {
    fn from(duration: TimeDelta) -> chrono::TimeDelta {
        duration.0
    }
}

impl From<Duration> for TimeDelta {
    /// At most [`TimeDelta::MAX`].
    fn from(duration: Duration) -> TimeDelta {
        chrono::TimeDelta::from_std(duration).map_or(TimeDelta::MAX, TimeDelta::from)
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
        // The sum of two durations in range is within chrono's own range.
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
        let is_negative = (self < TimeDelta::zero()) != (times < 0);
        let limit = if is_negative { TimeDelta::MIN } else { TimeDelta::MAX };
        self.0.checked_mul(times).map_or(limit, TimeDelta::from)
    }
}

impl Div<i32> for TimeDelta {
    type Output = TimeDelta;

    /// Division by zero returns the duration unchanged.
    fn div(self, parts: i32) -> TimeDelta {
        self.0.checked_div(parts).map_or(self, TimeDelta::from)
    }
}

impl Sum for TimeDelta {
    fn sum<I: Iterator<Item = TimeDelta>>(durations: I) -> TimeDelta {
        durations.fold(TimeDelta::zero(), |sum, duration| sum + duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_limited() {
        for new in [TimeDelta::days, TimeDelta::hours, TimeDelta::minutes, TimeDelta::seconds, TimeDelta::milliseconds]
        {
            assert_eq!(new(i64::MAX), TimeDelta::MAX);
            assert_eq!(new(i64::MIN), TimeDelta::MIN);
            assert_eq!(new(0), TimeDelta::zero());
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
