//! Owns the words and numbers that both consumers print: states, alarms, countdowns, milliseconds.
//! It must not hold a sentence that only one of them uses.

use crate::model::{Alarm, InitialList};
use crate::observation::{Call, SourceState, Time};
use crate::pipeline::{Next, NextKind, human_duration};
use crate::time::TimeDelta;

/// Seconds as milliseconds or seconds, in at most four figures: `0.4ms`, `12ms`, `1.25s`, `34s`.
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

/// `~12ms`: on a straight line inside a bucket; `≥10.0s`: beyond the last bound; `-` for none.
pub fn quantile(value: Option<(f64, bool)>) -> String {
    value.map_or_else(
        || "-".into(),
        |(seconds, at_least)| format!("{}{}", if at_least { "≥" } else { "~" }, milliseconds(seconds)),
    )
}

/// Bytes in at most four figures: `999B`, `3.3MiB`, `120GiB`.
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

/// A source's state with why and when.
pub fn source_state_text(state: &SourceState, now: Time) -> String {
    match state {
        SourceState::Off { why } => format!("off: {}", why.one_line()),
        SourceState::Connecting => "connecting".into(),
        SourceState::Live { since } => format!("live for {}", human_duration(ago(now, *since))),
        SourceState::Degraded { error, .. } => format!("degraded: {}", error.tried.one_line()),
        SourceState::Retrying { at: Some(at), error } => {
            format!("retrying in {}: {}", human_duration(ago(*at, now)), error.tried.one_line())
        }
        SourceState::Retrying { at: None, error } => format!("retrying: {}", error.tried.one_line()),
        SourceState::Forbidden { error } => format!("forbidden: {}", error.tried.one_line()),
        SourceState::Ended => "ended".into(),
    }
}

/// How far a source is with its first list: `connecting 2s`, `1500 of 7000 so far, 3s`.
pub fn first_text(first: &InitialList, now: Time) -> String {
    let since = human_duration(ago(now, first.since));
    match (first.so_far, first.remaining, first.in_flight) {
        (Some(count), Some(more), _) => format!("{count} of {} so far, {since}", (count as u64).saturating_add(more)),
        (Some(count), None, _) => format!("{count} so far, {since}"),
        (None, _, Some(begun)) => format!("call in flight {}", human_duration(ago(now, begun))),
        (None, ..) if first.live => format!("first list {since}"),
        (None, ..) => format!("connecting {since}"),
    }
}

/// What comes next, as a countdown: `restart in 12s`, `restart due`; of a kubelet that is away there is none.
pub fn next_text(next: &Next, now: Time) -> String {
    let what = match next.kind {
        NextKind::Restart => "restart",
        NextKind::Pull => "pull",
        NextKind::GraceEnds => "kill",
        NextKind::StartupDeadline => "startup kill",
    };
    let Some(at) = next.at else { return "when kubelet is back".into() };
    let left = at - now;
    // Rounded up, so that the countdown ends when the time has come.
    let left = TimeDelta::seconds((left.num_milliseconds() + 999).div_euclid(1000));
    if left <= TimeDelta::zero() {
        return format!("{what} due");
    }
    let about = if next.estimated { "~" } else { "" };
    format!("{what} in {about}{}", human_duration(left))
}

/// An alarm in a sentence.
pub fn alarm_text(alarm: &Alarm, now: Time) -> String {
    let waited = human_duration(ago(now, alarm.since()));
    match alarm {
        Alarm::Unanswered { call: Call::CriList, in_flight, .. } => {
            let flight = in_flight.map(|at| format!(", call in flight for {}", human_duration(ago(now, at))));
            format!("the container runtime has not answered for {waited}{}", flight.unwrap_or_default())
        }
        Alarm::Unanswered { source, .. } => format!("{} has not answered for {waited}", source.name()),
        Alarm::PlegStale { as_of, .. } => {
            let read = as_of.map(|at| format!(" (read {} ago)", human_duration(ago(now, at)))).unwrap_or_default();
            format!("PLEG has not begun a relist for {waited}{read}")
        }
        Alarm::PullStalled { reference, .. } => {
            format!("a pull has not moved for {waited}: {}", reference.one_line())
        }
    }
}

/// The node's lease, so long after its last renewal.
pub fn lease_text(age: TimeDelta, expired: Option<bool>) -> String {
    let age = human_duration(age);
    match expired {
        Some(true) => format!("lease expired: not renewed for {age}"),
        Some(false) => format!("lease renewed {age} ago"),
        None => format!("lease renewed {age} ago, when it was last seen"),
    }
}

/// A time span that is never negative.
pub(super) fn ago(now: Time, then: Time) -> TimeDelta {
    (now - then).max(TimeDelta::zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_in_few_figures() {
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
    fn figures_say_how_they_are_known() {
        assert_eq!((quantile(Some((0.012, false))), quantile(Some((10.0, true)))), ("~12ms".into(), "≥10.0s".into()));
        assert_eq!(quantile(None), "-");
    }

    #[test]
    fn bytes_in_few_figures() {
        let cases = [(0, "0B"), (999, "999B"), (1000, "1.0KiB"), (3_493_888, "3.3MiB"), (128 << 30, "128GiB")];
        for (count, text) in cases {
            assert_eq!(bytes(count), text);
        }
        assert_eq!(bytes(u64::MAX), "16777216TiB");
    }

    #[test]
    fn a_lease_in_words() {
        let says = |expired| lease_text(TimeDelta::seconds(43), expired);
        assert_eq!(says(Some(false)), "lease renewed 43s ago");
        assert_eq!(says(Some(true)), "lease expired: not renewed for 43s");
        assert_eq!(says(None), "lease renewed 43s ago, when it was last seen");
    }

    #[test]
    fn a_countdown_ends_when_the_time_has_come() {
        let at = |ms: i64| Time::from_timestamp_millis(1_000_000 + ms).unwrap();
        let next = Next { kind: NextKind::Restart, at: Some(at(2500)), estimated: false };
        assert_eq!(next_text(&next, at(0)), "restart in 3s");
        assert_eq!(next_text(&next, at(2499)), "restart in 1s");
        assert_eq!(next_text(&next, at(2500)), "restart due");
        assert_eq!(next_text(&next, at(99_000)), "restart due");
    }
}
