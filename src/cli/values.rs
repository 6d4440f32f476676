//! Parsers of flag values: times, durations, speeds, sizes, `NAME=FILE`.

use std::path::PathBuf;
use std::time::Duration;

use crate::time::{ClockTime, Time, TimeDelta, parse_duration_seconds};

use crate::weight::LEAST_MEMORY;

/// A time in the input, as `--at` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// An absolute time.
    Time(Time),
    /// A time of day in UTC, on the day of the input.
    Clock(ClockTime),
    /// A span after the start of the input.
    After(TimeDelta),
}

pub(super) fn parse_at(text: &str) -> Result<At, String> {
    if let Some(span) = text.strip_prefix('+') {
        return parse_span(span).map(At::After).ok_or_else(|| "expected a span such as +90s or +1m30s".into());
    }
    if let Some(time) = Time::parse_rfc3339(text) {
        return Ok(At::Time(time));
    }
    let clock = ["%H:%M:%S%.f", "%H:%M"].iter().find_map(|format| ClockTime::parse(text, format));
    clock.map(At::Clock).ok_or_else(|| "expected 2026-01-31T12:42:10Z, 12:42:10 or +90s".into())
}

pub(super) fn parse_now(text: &str) -> Result<Time, String> {
    Time::parse_rfc3339(text).ok_or_else(|| "expected 2026-01-31T12:42:10Z, in the years 1 to 9999".into())
}

pub(super) fn parse_named(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_owned(), file.into())),
        _ => Err("expected NAME=FILE, such as app=app.log".into()),
    }
}

/// Longest span after the start of an input that is accepted, seconds.
const MAX_SPAN_S: f64 = 1e9;
/// Longest wait that is accepted, seconds.
const MAX_WAIT_S: f64 = 3600.0;

/// `90s`, `1m30s`, `1.5s`, `2h`.
fn parse_span(text: &str) -> Option<TimeDelta> {
    let seconds = parse_duration_seconds(text).filter(|s| (0.0..MAX_SPAN_S).contains(s))?;
    Some(TimeDelta::milliseconds((seconds * 1000.0).round() as i64))
}

pub(super) fn parse_speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if speed > 0.0 && speed <= 1000.0 => Ok(speed),
        _ => Err("expected a number above 0, at most 1000".into()),
    }
}

/// Bytes: `256MiB`, `1GiB`, `512M`, or a Kubernetes quantity such as `256Mi`; all units are powers of 1024. At least
/// [`LEAST_MEMORY`].
pub(super) fn parse_memory(text: &str) -> Result<u64, String> {
    let expected = || format!("expected a size of at least {}MiB, such as 512MiB or 2GiB", LEAST_MEMORY >> 20);
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "M" | "Mi" | "MiB" | "MB" => 1 << 20,
        "G" | "Gi" | "GiB" | "GB" => 1 << 30,
        _ => return Err(expected()),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit));
    bytes.filter(|bytes| *bytes >= LEAST_MEMORY).ok_or_else(expected)
}

/// `3s`, `500ms`, `1m`; a number without a unit is in seconds.
pub(super) fn parse_wait(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().or_else(|| parse_duration_seconds(text));
    let seconds = seconds.filter(|s| (0.0..=MAX_WAIT_S).contains(s));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "expected a duration such as 3s, 500ms or 1m, at most 1h".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let clock = |h, m, s| At::Clock(ClockTime::parse(&format!("{h}:{m}:{s}"), "%H:%M:%S").unwrap());
        assert_eq!(parse_at("12:42:10"), Ok(clock(12, 42, 10)));
        assert_eq!(parse_at("12:42"), Ok(clock(12, 42, 0)));
        assert_eq!(parse_at("+1m30s"), Ok(At::After(TimeDelta::seconds(90))));
        assert_eq!(parse_at("+1.5s"), Ok(At::After(TimeDelta::milliseconds(1500))));
        let utc = parse_at("2026-01-31T13:42:10+01:00");
        assert_eq!(utc, Ok(At::Time("2026-01-31T12:42:10Z".parse().unwrap())));
        for wrong in ["", "+", "+90", "+s", "+1d", "noon", "25:00", "2026-01-31", "+é"] {
            assert!(parse_at(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn waits() {
        let ms = |text| parse_wait(text).map(|d| d.as_millis()).ok();
        assert_eq!([ms("3s"), ms("500ms"), ms("1m"), ms("2")], [Some(3000), Some(500), Some(60_000), Some(2000)]);
        for wrong in ["", "s", "-1s", "1d", "2h", "NaNs"] {
            assert_eq!(ms(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn memory() {
        assert_eq!(parse_memory("256MiB"), Ok(256 << 20));
        assert_eq!([parse_memory("96M"), parse_memory("2Gi")], [Ok(96 << 20), Ok(2 << 30)]);
        for wrong in ["", "256", "95MiB", "1KiB", "-1GiB", "99999999999GiB", "MiB", "1.5GiB"] {
            assert!(parse_memory(wrong).is_err_and(|why| why.contains("at least 96MiB")), "{wrong}");
        }
    }

    #[test]
    fn speeds() {
        assert_eq!(parse_speed("10"), Ok(10.0));
        for wrong in ["0", "-1", "NaN", "inf", "fast"] {
            assert!(parse_speed(wrong).is_err(), "{wrong}");
        }
    }
}
