//! The time type of the crate: wall-clock time from year 1 to year 9999 with saturating arithmetic, and its durations. Only
//! this module uses chrono.
//!
//! Times out of range:
//!
//! | where | result |
//! |---|---|
//! | JSON (objects of the API server, recordings, captures) | the nearest time in range: a field that is set stays set, and the order is kept |
//! | header of a recording's frame | the nearest time in range |
//! | prefix of a log line, certificate, HTTP header, CRI and span times | no time |
//! | a flag (`--at`, `--now`) | error |
//! | the result of `+` and `-` | the nearest time or duration in range |

mod delta;
mod duration;
mod parse;

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::SystemTime;

use chrono::{DateTime, Datelike, Local, SecondsFormat, SubsecRound, TimeZone, Utc};
use serde::Serialize;

pub use delta::TimeDelta;
pub use duration::parse_duration_seconds;
pub use parse::{ClockTime, OutOfRange};

/// A wall-clock time, UTC, from [`Time::MIN`] to [`Time::MAX`]: the years of RFC 3339 without the year 0, which the API
/// server does not print either.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Time(DateTime<Utc>);

/// 0001-01-01T00:00:00Z in Unix seconds, Go's zero time.
const MIN_S: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z in Unix seconds.
const MAX_S: i64 = 253_402_300_799;
/// Nanoseconds in a second.
const NANOS: u32 = 1_000_000_000;

impl Time {
    /// The earliest time, 0001-01-01T00:00:00Z.
    pub const MIN: Time = Time::nearest(MIN_S, 0);
    /// The latest time, 9999-12-31T23:59:59.999999999Z.
    pub const MAX: Time = Time::nearest(MAX_S, NANOS - 1);
    /// 1970-01-01T00:00:00Z.
    pub const UNIX_EPOCH: Time = Time(DateTime::UNIX_EPOCH);

    /// Unix seconds and nanoseconds; the nearest time in range.
    const fn nearest(seconds: i64, nanos: u32) -> Time {
        // With a leap second, chrono would compare two equal times as one second apart.
        let nanos = if nanos < NANOS { nanos } else { NANOS - 1 };
        let (seconds, nanos) = match seconds {
            s if s < MIN_S => (MIN_S, 0),
            s if s > MAX_S => (MAX_S, NANOS - 1),
            s => (s, nanos),
        };
        match DateTime::from_timestamp(seconds, nanos) {
            Some(time) => Time(time),
            None => Time(DateTime::UNIX_EPOCH),
        }
    }

    /// The current time. Pure modules take it as an argument instead.
    pub fn now() -> Time {
        Utc::now().into()
    }

    /// Unix seconds and nanoseconds; None out of range.
    pub fn from_timestamp(seconds: i64, nanos: u32) -> Option<Time> {
        (MIN_S..=MAX_S).contains(&seconds).then_some(())?;
        (nanos < NANOS).then(|| Time::nearest(seconds, nanos))
    }

    /// Unix milliseconds; None out of range.
    pub fn from_timestamp_millis(millis: i64) -> Option<Time> {
        Time::from_timestamp(millis.div_euclid(1000), millis.rem_euclid(1000) as u32 * 1_000_000)
    }

    /// Unix microseconds; None out of range.
    pub fn from_timestamp_micros(micros: i64) -> Option<Time> {
        Time::from_timestamp(micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000) as u32 * 1000)
    }

    /// Unix microseconds; the nearest time in range.
    pub fn nearest_to_micros(micros: i64) -> Time {
        Time::nearest(micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000) as u32 * 1000)
    }

    /// Unix nanoseconds; every `i64` is in range.
    pub fn from_timestamp_nanos(nanos: i64) -> Time {
        let second = i64::from(NANOS);
        Time::nearest(nanos.div_euclid(second), nanos.rem_euclid(second) as u32)
    }

    /// Unix seconds with a fraction, as in metrics; None out of range and for NaN.
    pub fn from_unix_seconds(seconds: f64) -> Option<Time> {
        // Above 2^53 microseconds (year 2255) the fraction is lost, as in the number itself.
        let micros = (seconds * 1e6).round();
        (micros.abs() < 1e18).then(|| Time::from_timestamp_micros(micros as i64)).flatten()
    }

    /// Unix seconds, rounded down.
    pub fn timestamp(self) -> i64 {
        self.0.timestamp()
    }

    /// Unix milliseconds, rounded down.
    pub fn timestamp_millis(self) -> i64 {
        self.0.timestamp_millis()
    }

    /// Unix microseconds, rounded down.
    pub fn timestamp_micros(self) -> i64 {
        self.0.timestamp_micros()
    }

    /// Milliseconds since the last full second, 0 to 999.
    pub fn timestamp_subsec_millis(self) -> u32 {
        self.0.timestamp_subsec_millis()
    }

    /// Nanoseconds since the last full second, 0 to 999,999,999.
    pub fn timestamp_subsec_nanos(self) -> u32 {
        self.0.timestamp_subsec_nanos()
    }

    /// The year, 1 to 9999.
    pub fn year(self) -> i32 {
        self.0.year()
    }

    /// True if both are on the same day, UTC.
    pub fn is_same_day(self, other: Time) -> bool {
        self.0.date_naive() == other.0.date_naive()
    }

    /// The same day at another time of day, UTC.
    pub fn at_clock(self, clock: ClockTime) -> Time {
        self.0.date_naive().and_time(clock.0).and_utc().into()
    }

    /// The same digits in this machine's time zone; unchanged if that local time does not exist.
    pub fn read_as_local(self) -> Time {
        Local.from_local_datetime(&self.0.naive_utc()).earliest().map_or(self, |t| t.to_utc().into())
    }

    /// The time in chrono's format language.
    pub fn format<'a>(&self, format: &'a str) -> impl fmt::Display + use<'a> {
        self.0.format(format)
    }

    /// RFC 3339 with whole seconds.
    pub fn to_rfc3339_seconds(self) -> String {
        self.0.to_rfc3339_opts(SecondsFormat::Secs, true)
    }

    /// RFC 3339 with milliseconds, rounded down.
    pub fn to_rfc3339_millis(self) -> String {
        self.0.to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    /// RFC 3339 with as many fractional digits as needed.
    pub fn to_rfc3339(self) -> String {
        self.0.to_rfc3339_opts(SecondsFormat::AutoSi, true)
    }

    /// Truncated to milliseconds.
    pub fn trunc_millis(self) -> Time {
        Time(self.0.trunc_subsecs(3))
    }
}

impl From<DateTime<Utc>> for Time {
    /// The nearest time in range.
    fn from(time: DateTime<Utc>) -> Time {
        Time::nearest(time.timestamp(), time.timestamp_subsec_nanos())
    }
}

impl From<SystemTime> for Time {
    /// The nearest time in range: a file may have any time.
    fn from(time: SystemTime) -> Time {
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => Time::UNIX_EPOCH + TimeDelta::from(after),
            Err(before) => Time::UNIX_EPOCH - TimeDelta::from(before.duration()),
        }
    }
}

impl fmt::Display for Time {
    /// RFC 3339 with as many fractional digits as needed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Add<TimeDelta> for Time {
    type Output = Time;

    fn add(self, duration: TimeDelta) -> Time {
        match self.0.checked_add_signed(duration.into()) {
            Some(time) => time.into(),
            None if duration < TimeDelta::zero() => Time::MIN,
            None => Time::MAX,
        }
    }
}

impl Sub<TimeDelta> for Time {
    type Output = Time;

    fn sub(self, duration: TimeDelta) -> Time {
        self + -duration
    }
}

impl Sub for Time {
    type Output = TimeDelta;

    fn sub(self, other: Time) -> TimeDelta {
        self.0.signed_duration_since(other.0).into()
    }
}

impl AddAssign<TimeDelta> for Time {
    fn add_assign(&mut self, duration: TimeDelta) {
        *self = *self + duration;
    }
}

impl SubAssign<TimeDelta> for Time {
    fn sub_assign(&mut self, duration: TimeDelta) {
        *self = *self - duration;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_year_1_and_year_9999() {
        assert_eq!(Time::MIN.to_rfc3339(), "0001-01-01T00:00:00Z");
        assert_eq!(Time::MAX.to_rfc3339(), "9999-12-31T23:59:59.999999999Z");
        assert_eq!(Time::from_timestamp(MIN_S - 1, 0), None);
        assert_eq!(Time::from_timestamp(MAX_S + 1, 0), None);
        assert_eq!(Time::from_timestamp(0, NANOS), None);
        assert_eq!(Time::from_timestamp_micros(i64::MIN), None);
        assert_eq!(Time::nearest_to_micros(i64::MIN), Time::MIN);
        assert_eq!(Time::nearest_to_micros(i64::MAX), Time::MAX);
        assert_eq!(Time::from_timestamp_nanos(i64::MAX).year(), 2262);
        assert_eq!(Time::from(DateTime::<Utc>::MAX_UTC), Time::MAX);
        assert_eq!(Time::from(DateTime::<Utc>::MIN_UTC), Time::MIN);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e12, -1e12, f64::MAX] {
            assert_eq!(Time::from_unix_seconds(bad), None, "{bad}");
        }
        assert_eq!(Time::from_unix_seconds(0.25), Time::from_timestamp_millis(250));
    }

    #[test]
    fn arithmetic_saturates() {
        let epoch = Time::UNIX_EPOCH;
        assert_eq!(epoch + TimeDelta::MAX, Time::MAX);
        assert_eq!(epoch - TimeDelta::MAX, Time::MIN);
        assert_eq!(Time::MAX + TimeDelta::seconds(1), Time::MAX);
        assert_eq!(Time::MIN - TimeDelta::seconds(i64::MAX), Time::MIN);
        assert_eq!(Time::MAX - Time::MIN, TimeDelta::MAX);
        assert_eq!(Time::MIN - Time::MAX, TimeDelta::MIN);
        assert_eq!((epoch + TimeDelta::seconds(90) - epoch).num_seconds(), 90);
        let mut time = Time::MAX;
        time += TimeDelta::days(1);
        time -= TimeDelta::seconds(1);
        assert_eq!(time.to_rfc3339_seconds(), "9999-12-31T23:59:58Z");
    }
}
