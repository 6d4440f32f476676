//! Opens the input of the flags at the requested time. A time outside the input is an error with the span of the input.

use std::sync::Arc;
use std::time::Duration;

use super::progress::Progress;
use super::session::NodeSession;
use super::{Failure, live, out, runbook};
use crate::cli::{At, Input};
use crate::observation::Time;
use crate::pipeline::human_duration;
use crate::record::import::Skipped;
use crate::runbook::Runbook;
use crate::session::RecordedSession;
use crate::time::TimeDelta;
use crate::view::NodeView;

/// Longest wait for the second sample of the machine, one second after the first.
const SAMPLE_WAIT: Duration = Duration::from_secs(2);

/// The requested view: of the input, or of this node once its sources have responded.
pub fn moment(input: &Input) -> Result<NodeView, Failure> {
    moment_with(input, runbook::own(input)?)
}

/// Like [`moment`]; of a live node with its CPU usage, for which two samples are needed.
pub fn moment_with_rates(input: &Input) -> Result<NodeView, Failure> {
    if input.from.is_some() {
        return moment(input);
    }
    let mut session = live::observe(input, runbook::own(input)?)?;
    session.wait_for_rates(SAMPLE_WAIT.min(input.live.wait))?;
    with_pods(session.moment())
}

/// Like [`moment`], diagnosed with this runbook.
pub fn moment_with(input: &Input, own: Option<Arc<Runbook>>) -> Result<NodeView, Failure> {
    let mut session = NodeSession::open(input, own)?;
    let moment = session.moment();
    if session.is_recorded() { Ok(moment) } else { with_pods(moment) }
}

/// The view, unless no source of pods has responded.
fn with_pods(moment: NodeView) -> Result<NodeView, Failure> {
    if live::sees_pods(&moment) { Ok(moment) } else { Err(live::blind(&moment)) }
}

/// Opens the input at `--at` or its end, and prints notes about damaged and skipped parts.
pub fn open_with(input: &Input, own: Option<Arc<Runbook>>) -> Result<RecordedSession, Failure> {
    let Some(path) = &input.from else {
        return Err(Failure::usage("this command needs an input", "--from PATH"));
    };
    let progress = Progress::new(path);
    let mut session = RecordedSession::open_within(path, input.max_memory)?;
    session.diagnose_with(own);
    if let Some(at) = input.at {
        let to = resolve(at, session.span())?;
        session.seek(to)?;
    }
    drop(progress);
    note_skipped(session.skipped());
    for problem in session.problems() {
        out::note(&problem.to_string());
    }
    let (unknown, unreadable) = session.unread_lines();
    if unknown + unreadable > 0 {
        out::note(&format!("skipped {unknown} observations of unknown kinds and {unreadable} unreadable lines"));
    }
    Ok(session)
}

/// Prints what an import skipped.
pub fn note_skipped(skipped: &[Skipped]) {
    for Skipped { path, what, count } in skipped {
        out::note(&format!("{path}: skipped {what} ({count})"));
    }
}

/// The time that a value of `--at` means for an input with that span.
///
/// # Errors
/// When it is outside the span.
pub fn resolve(at: At, span: (Time, Time)) -> Result<Time, Failure> {
    let (start, end) = span;
    let meant = match at {
        At::Time(time) => Some(time),
        At::After(span) => Some(start + span),
        // An input around midnight is on two days.
        At::Clock(clock) => {
            let on = |day: Time| day.at_clock(clock);
            Some(on(start))
                .filter(|t| within(*t, span))
                .or(Some(on(end)).filter(|t| within(*t, span)))
                .or(Some(on(start)))
        }
    };
    match meant {
        // Typed times have whole seconds, the span does not.
        Some(time) if within(time, span) => Ok(time.clamp(start, end)),
        _ => Err(outside(meant, span)),
    }
}

fn within(time: Time, (start, end): (Time, Time)) -> bool {
    let second = TimeDelta::seconds(1);
    time > start - second && time < end + second
}

fn outside(meant: Option<Time>, (start, end): (Time, Time)) -> Failure {
    let text = |t: Time| t.to_rfc3339_seconds();
    let meant = meant.map_or_else(|| "that".to_owned(), text);
    let length = human_duration(end - start);
    Failure::usage(
        format!("--at {meant} is outside the input, which spans {} to {} ({length})", text(start), text(end)),
        format!("--at {}, or --at +30s after the start", text(start + (end - start) / 2)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Time {
        text.parse().unwrap()
    }

    #[test]
    fn a_time_of_day_is_on_the_day_of_the_input() {
        let span = (time("2026-01-31T23:58:00.5Z"), time("2026-02-01T00:03:00Z"));
        let at = |h, m, s| {
            resolve(At::Clock(crate::time::ClockTime::parse(&format!("{h}:{m}:{s}"), "%H:%M:%S").unwrap()), span)
        };
        assert_eq!(at(23, 59, 0).unwrap(), time("2026-01-31T23:59:00Z"));
        assert_eq!(at(0, 1, 0).unwrap(), time("2026-02-01T00:01:00Z"));
        assert_eq!(at(23, 58, 0).unwrap(), span.0, "the second in which it starts");
        let error = at(12, 0, 0).unwrap_err();
        assert_eq!(error.code(), super::super::fail::USAGE);
        let text = error.to_string();
        assert!(text.contains("2026-01-31T23:58:00Z to 2026-02-01T00:03:00Z"), "{text}");
    }

    #[test]
    fn a_span_is_counted_from_the_start() {
        let span = (time("2026-01-31T12:00:00Z"), time("2026-01-31T12:06:00Z"));
        let at = |s| resolve(At::After(TimeDelta::seconds(s)), span);
        assert_eq!(at(90).unwrap(), time("2026-01-31T12:01:30Z"));
        assert!(at(400).is_err());
        assert!(resolve(At::After(TimeDelta::MAX), span).is_err(), "no overflow");
    }
}
