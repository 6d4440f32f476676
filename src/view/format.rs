//! Numbers, durations and states as every consumer prints them.

use crate::model::{Alarm, InitialList};
use crate::observation::{Call, SourceState, Time};
use crate::pipeline::{Next, NextKind, human_duration};
use crate::time::TimeDelta;

/// `1 relist`, `2 relists`: a count and its noun in the right number; the plural adds an `s`.
pub fn plural(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{s}")
}

/// Seconds as milliseconds or seconds, in at most four digits: `0.40ms`, `12ms`, `1.25s`, `34.2s`.
pub fn milliseconds(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "-".into(),
        s if s < 0.000_95 => format!("{:.2}ms", s * 1e3),
        s if s < 0.009_5 => format!("{:.1}ms", s * 1e3),
        s if s < 0.999_5 => format!("{:.0}ms", s * 1e3),
        s if s < 9.995 => format!("{s:.2}s"),
        s if s < 99.95 => format!("{s:.1}s"),
        s => format!("{s:.0}s"),
    }
}

/// A quantile in seconds, with `at_least` for one above the last bucket bound: `~12ms` is interpolated within a bucket, `≥10.0s`
/// is above the last bound, `-` is unknown.
pub fn quantile(value: Option<(f64, bool)>) -> String {
    value.map_or_else(
        || "-".into(),
        |(seconds, at_least)| format!("{}{}", if at_least { "≥" } else { "~" }, milliseconds(seconds)),
    )
}

/// A share as a whole percentage: `42%`.
pub fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.0}%", (share * 100.0).clamp(-9999.0, 9999.0)) } else { "-".into() }
}

/// Bytes in at most four digits: `999B`, `3.3MiB`, `120GiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (count as f64, 0);
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 || value >= 9.95 { format!("{value:.0}{}", UNITS[unit]) } else { format!("{value:.1}{}", UNITS[unit]) }
}

/// Time of day, UTC.
pub fn clock(at: Time) -> String {
    at.format("%H:%M:%S").to_string()
}

/// Time since `then`, as kubectl prints durations; `0s` for a time to come.
pub fn age(now: Time, then: Time) -> String {
    human_duration(since(now, then))
}

/// Time since `then`; zero for a time to come.
pub(super) fn since(now: Time, then: Time) -> TimeDelta {
    (now - then).max(TimeDelta::zero())
}

/// A source's state in one word.
pub fn source_state_word(state: &SourceState) -> &'static str {
    match state {
        SourceState::Off { .. } => "off",
        SourceState::Connecting => "connecting",
        SourceState::Live { .. } => "live",
        SourceState::Degraded { .. } => "degraded",
        SourceState::Retrying { .. } => "retrying",
        SourceState::Forbidden { .. } => "forbidden",
        SourceState::Ended => "ended",
    }
}

/// A source's state with its reason and its time.
pub fn source_state_text(state: &SourceState, now: Time) -> String {
    match state {
        SourceState::Off { why } => format!("off: {}", why.one_line()),
        SourceState::Connecting => "connecting".into(),
        SourceState::Live { since } => format!("live for {}", age(now, *since)),
        SourceState::Degraded { error, .. } => format!("degraded: {}", error.tried.one_line()),
        SourceState::Retrying { at: Some(at), error } => {
            format!("retrying in {}: {}", age(*at, now), error.tried.one_line())
        }
        SourceState::Retrying { at: None, error } => format!("retrying: {}", error.tried.one_line()),
        SourceState::Forbidden { error } => format!("forbidden: {}", error.tried.one_line()),
        SourceState::Ended => "ended".into(),
    }
}

/// Progress of a source's first list: `connecting 2s`, `1500 of 7000 so far, 3s`.
pub fn first_text(first: &InitialList, now: Time) -> String {
    let waited = age(now, first.since);
    match (first.so_far, first.remaining, first.in_flight) {
        (Some(count), Some(more), _) => format!("{count} of {} so far, {waited}", (count as u64).saturating_add(more)),
        (Some(count), None, _) => format!("{count} so far, {waited}"),
        (None, _, Some(started)) => format!("call in flight {}", age(now, started)),
        (None, ..) if first.live => format!("first list {waited}"),
        (None, ..) => format!("connecting {waited}"),
    }
}

/// What happens next, as a countdown: `restart in 12s`; there is none while the kubelet is down.
pub fn next_text(next: &Next, now: Time) -> String {
    let Some(at) = next.at else { return "when kubelet is back".into() };
    let left = at - now;
    // Rounded up, so that the countdown reaches zero when the time has come.
    let left = TimeDelta::seconds((left.num_milliseconds() + 999).div_euclid(1000));
    let is_due = left <= TimeDelta::zero();
    let left = format!("{}{}", if next.estimated { "~" } else { "" }, human_duration(left));
    match next.kind {
        NextKind::Restart if is_due => "restarting now (back-off over)".into(),
        NextKind::Restart => format!("restart in {left}"),
        NextKind::Pull if is_due => "retrying pull now".into(),
        NextKind::Pull => format!("pull in {left}"),
        NextKind::GraceEnds if is_due => "kill due".into(),
        NextKind::GraceEnds => format!("kill in {left}"),
        NextKind::StartupDeadline if is_due => "kill due (startup probe)".into(),
        NextKind::StartupDeadline => format!("killed if startup probe not passing in {left}"),
    }
}

/// An alarm in a sentence.
pub fn alarm_text(alarm: &Alarm, now: Time) -> String {
    let waited = age(now, alarm.since());
    match alarm {
        Alarm::Unanswered { call: Call::CriList, in_flight, .. } => {
            let flight = in_flight.map(|at| format!(", call in flight for {}", age(now, at)));
            format!("the container runtime has not responded for {waited}{}", flight.unwrap_or_default())
        }
        Alarm::Unanswered { source, .. } => format!("{} has not responded for {waited}", source.name()),
        Alarm::PlegStale { as_of, .. } => {
            let read = as_of.map(|at| format!(" (metrics read {} ago)", age(now, at))).unwrap_or_default();
            format!("PLEG has not started a relist for {waited}{read}")
        }
        Alarm::PullStalled { reference, .. } => {
            format!("an image pull has made no progress for {waited}: {}", reference.one_line())
        }
    }
}

/// The node's lease, `age` after its last renewal.
pub fn lease_text(age: TimeDelta, expired: Option<bool>) -> String {
    let age = human_duration(age);
    match expired {
        Some(true) => format!("lease expired: not renewed for {age}"),
        Some(false) => format!("lease renewed {age} ago"),
        None => format!("lease renewed {age} ago (last known)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_agree_with_their_count() {
        assert_eq!((plural(0, "relist"), plural(1, "relist")), ("0 relists".into(), "1 relist".into()));
        assert_eq!(plural(2usize, "pod"), "2 pods");
    }

    #[test]
    fn milliseconds_in_few_digits() {
        let cases = [
            (0.0004, "0.40ms"),
            (0.0042, "4.2ms"),
            (0.012, "12ms"),
            (0.9996, "1.00s"),
            (1.254, "1.25s"),
            (34.2, "34.2s"),
            (120.0, "120s"),
        ];
        for (seconds, text) in cases {
            assert_eq!(milliseconds(seconds), text);
        }
    }

    #[test]
    fn quantiles_show_their_precision() {
        assert_eq!((quantile(Some((0.012, false))), quantile(Some((10.0, true)))), ("~12ms".into(), "≥10.0s".into()));
        assert_eq!(quantile(Some((0.0042, false))), "~4.2ms");
        assert_eq!(quantile(None), "-");
    }

    #[test]
    fn shares_are_whole_percentages() {
        assert_eq!((percent(0.675), percent(f64::INFINITY)), ("68%".into(), "-".into()));
    }

    #[test]
    fn bytes_in_few_digits() {
        let cases = [(0, "0B"), (999, "999B"), (1000, "1.0KiB"), (3_493_888, "3.3MiB"), (128 << 30, "128GiB")];
        for (count, text) in cases {
            assert_eq!(bytes(count), text);
        }
        assert_eq!(bytes(u64::MAX), "16777216TiB");
    }

    #[test]
    fn the_lease_shows_its_age() {
        let text = |expired| lease_text(TimeDelta::seconds(43), expired);
        assert_eq!(text(Some(false)), "lease renewed 43s ago");
        assert_eq!(text(Some(true)), "lease expired: not renewed for 43s");
        assert_eq!(text(None), "lease renewed 43s ago (last known)");
    }

    #[test]
    fn a_countdown_reaches_zero_at_its_time() {
        let at = |ms: i64| Time::from_timestamp_millis(1_000_000 + ms).unwrap();
        let next = Next { kind: NextKind::Restart, at: Some(at(2500)), estimated: false };
        assert_eq!(next_text(&next, at(0)), "restart in 3s");
        assert_eq!(next_text(&next, at(2499)), "restart in 1s");
        assert_eq!(next_text(&next, at(2500)), "restarting now (back-off over)");
        assert_eq!(next_text(&next, at(99_000)), "restarting now (back-off over)");
    }
}
