//! Owns the one time type: a wall-clock time from year 1 to year 9999 whose arithmetic cannot overflow, and its spans.
//! It must not let a time or a span out of their range exist, and no other module may use chrono.
//!
//! What is out of range, and where:
//!
//! | where | what happens |
//! |---|---|
//! | JSON (objects of the API server, recordings, captures) | the nearest time in range, so that what is set stays set and the order is kept |
//! | the header of a recording's frame | the nearest time in range |
//! | the prefix of a log line, a certificate, a header of HTTP, CRI and span times | no time at all |
//! | a flag (`--at`, `--now`) | an error |
//! | the result of `+` and `-` | the nearest time or span in range |

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

/// A point in time on the wall clock, UTC, from [`Time::MIN`] to [`Time::MAX`]: the years that RFC 3339 can express, without
/// the year 0, which the API server does not print either.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Time(DateTime<Utc>);

/// 0001-01-01T00:00:00Z in Unix seconds: the zero time of Go.
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

    /// The time in range that is nearest to these Unix seconds and nanoseconds.
    const fn nearest(seconds: i64, nanos: u32) -> Time {
        // A leap second would make two times a second apart that are none apart.
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

    /// The wall clock. Only what observes may ask.
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

    /// Unix nanoseconds: every one of them is in range.
    pub fn from_timestamp_nanos(nanos: i64) -> Time {
        let second = i64::from(NANOS);
        Time::nearest(nanos.div_euclid(second), nanos.rem_euclid(second) as u32)
    }

    /// Unix seconds with a fraction, as metrics have them; None out of range, and for what is no number.
    pub fn from_unix_seconds(seconds: f64) -> Option<Time> {
        // Beyond 2^53 microseconds (year 2255) the fraction is lost, as in the number itself.
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

    /// True when both are on the same day, UTC.
    pub fn is_same_day(self, other: Time) -> bool {
        self.0.date_naive() == other.0.date_naive()
    }

    /// That time of day on the day of this time, UTC.
    pub fn at_clock(self, clock: ClockTime) -> Time {
        self.0.date_naive().and_time(clock.0).and_utc().into()
    }

    /// The same digits read as this machine's local time; itself where there is no such local time.
    pub fn read_as_local(self) -> Time {
        Local.from_local_datetime(&self.0.naive_utc()).earliest().map_or(self, |t| t.to_utc().into())
    }

    /// Written in chrono's format language.
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

    /// RFC 3339 with as many digits as the time has.
    pub fn to_rfc3339(self) -> String {
        self.0.to_rfc3339_opts(SecondsFormat::AutoSi, true)
    }

    /// Without what is finer than a millisecond.
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
    /// The nearest time in range: a file system may hold any.
    fn from(time: SystemTime) -> Time {
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => Time::UNIX_EPOCH + TimeDelta::from(after),
            Err(before) => Time::UNIX_EPOCH - TimeDelta::from(before.duration()),
        }
    }
}

impl fmt::Display for Time {
    /// RFC 3339 with as many digits as the time has.
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

    fn add(self, span: TimeDelta) -> Time {
        match self.0.checked_add_signed(span.into()) {
            Some(time) => time.into(),
            None if span < TimeDelta::zero() => Time::MIN,
            None => Time::MAX,
        }
    }
}

impl Sub<TimeDelta> for Time {
    type Output = Time;

    fn sub(self, span: TimeDelta) -> Time {
        self + -span
    }
}

impl Sub for Time {
    type Output = TimeDelta;

    fn sub(self, other: Time) -> TimeDelta {
        self.0.signed_duration_since(other.0).into()
    }
}

impl AddAssign<TimeDelta> for Time {
    fn add_assign(&mut self, span: TimeDelta) {
        *self = *self + span;
    }
}

impl SubAssign<TimeDelta> for Time {
    fn sub_assign(&mut self, span: TimeDelta) {
        *self = *self - span;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_what_they_are_called() {
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
