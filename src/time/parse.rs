//! Parsing of times: RFC 3339 and log formats. A time without a zone is UTC.

use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use serde::{Deserialize, Deserializer, de};

use super::Time;

/// The text is not a time, or is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 time in the years 1 to 9999")]
pub struct OutOfRange;

/// A time of day without a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockTime(pub(super) NaiveTime);

impl ClockTime {
    /// Parses a text in a format of chrono's language, such as `%H:%M:%S%.f`.
    pub fn parse(text: &str, format: &str) -> Option<ClockTime> {
        NaiveTime::parse_from_str(text, format).ok().map(ClockTime)
    }
}

fn in_range(time: DateTime<Utc>) -> Option<Time> {
    (super::MIN_S..=super::MAX_S).contains(&time.timestamp()).then(|| time.into())
}

impl Time {
    /// Parses RFC 3339; None for anything else and out of range.
    pub fn parse_rfc3339(text: &str) -> Option<Time> {
        in_range(DateTime::parse_from_rfc3339(text).ok()?.to_utc())
    }

    /// Parses the date of an HTTP header; None for anything else and out of range.
    pub fn parse_rfc2822(text: &str) -> Option<Time> {
        in_range(DateTime::parse_from_rfc2822(text).ok()?.to_utc())
    }

    /// Parses a format of chrono's language with a zone; None for anything else and out of range.
    pub fn parse_zoned(text: &str, format: &str) -> Option<Time> {
        in_range(DateTime::parse_from_str(text, format).ok()?.to_utc())
    }

    /// Parses a format of chrono's language without a zone as UTC; None for anything else and out of range.
    pub fn parse_utc(text: &str, format: &str) -> Option<Time> {
        in_range(NaiveDateTime::parse_from_str(text, format).ok()?.and_utc())
    }

    /// A day and a time of day, UTC; None for a day that does not exist and out of range.
    pub fn from_day(year: i32, month: u32, day: u32, clock: ClockTime) -> Option<Time> {
        in_range(NaiveDate::from_ymd_opt(year, month, day)?.and_time(clock.0).and_utc())
    }
}

impl FromStr for Time {
    type Err = OutOfRange;

    fn from_str(text: &str) -> Result<Time, OutOfRange> {
        Time::parse_rfc3339(text).ok_or(OutOfRange)
    }
}

impl<'de> Deserialize<'de> for Time {
    /// RFC 3339, also with a year of more than four digits. A time out of range becomes the nearest one in range, so that a pod
    /// with a `deletionTimestamp` in the far future is still being deleted.
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Time;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an RFC 3339 time")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
                let parsed = text.parse::<DateTime<Utc>>();
                parsed.map(Time::from).or_else(|error| limit_for_far_year(text).ok_or_else(|| E::custom(error)))
            }
        }

        d.deserialize_str(Visitor)
    }
}

/// [`Time::MIN`] or [`Time::MAX`] for a time whose year has too many digits for chrono.
fn limit_for_far_year(text: &str) -> Option<Time> {
    let (limit, digits) = match text.strip_prefix('-') {
        Some(rest) => (Time::MIN, rest),
        None => (Time::MAX, text.strip_prefix('+').unwrap_or(text)),
    };
    let (year, _) = digits.split_once('-')?;
    let is_far = year.len() > 4 && year.bytes().all(|b| b.is_ascii_digit());
    is_far.then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Option<Time> {
        serde_json::from_value(serde_json::Value::String(text.into())).ok()
    }

    #[test]
    fn json_gives_the_nearest_time_in_range() {
        let at = "2026-11-29T12:00:00.000000001Z";
        assert_eq!(json(at).map(Time::to_rfc3339).as_deref(), Some(at));
        assert_eq!(json("2026-11-29T14:00:00+02:00"), json("2026-11-29T12:00:00Z"));
        for far in ["+262142-12-31T23:59:59.999999999Z", "+10000-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00"] {
            assert_eq!(json(far), Some(Time::MAX), "{far}");
        }
        for far in ["99999999999999999999-01-01T00:00:00Z", "+999999-01-01T00:00:00Z"] {
            assert_eq!(json(far), Some(Time::MAX), "{far}");
        }
        for far in ["-262143-01-01T00:00:00Z", "0000-12-31T23:59:59Z", "0001-01-01T00:00:00+01:00", "-99999999-01-01T"]
        {
            assert_eq!(json(far), Some(Time::MIN), "{far}");
        }
        assert_eq!(
            json("2016-12-31T23:59:60Z").map(Time::to_rfc3339).as_deref(),
            Some("2016-12-31T23:59:59.999999999Z")
        );
        for bad in ["", "yesterday", "2026-13-01T00:00:00Z", "-", "12345", "+-"] {
            assert_eq!(json(bad), None, "{bad}");
        }
        assert!(serde_json::from_str::<Time>("5").is_err());
    }

    #[test]
    fn other_parsers_reject_times_out_of_range() {
        for far in ["+262142-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00"] {
            assert_eq!(far.parse::<Time>(), Err(OutOfRange), "{far}");
        }
        assert_eq!(Time::parse_utc("+99999 Mar 2 10:14:34", "%Y %b %e %H:%M:%S"), None);
        assert_eq!(Time::parse_zoned("+99999-03-02T10:14:34+0000", "%Y-%m-%dT%H:%M:%S%z"), None);
        let clock = ClockTime::parse("10:14", "%H:%M").unwrap();
        assert_eq!(Time::from_day(0, 1, 1, clock), None);
        assert_eq!(Time::from_day(10_000, 1, 1, clock), None);
        assert_eq!(Time::from_day(2026, 2, 29, clock), None);
        assert_eq!(Time::from_day(2026, 2, 28, clock), json("2026-02-28T10:14:00Z"));
        assert_eq!(json("2026-02-28T01:00:00Z").unwrap().at_clock(clock), json("2026-02-28T10:14:00Z").unwrap());
    }
}
