//! Owns the way from the flags to a session that stands where it was asked to.
//! It must not guess: a moment outside the input is an error that names what there is.

use std::sync::Arc;
use std::time::Duration;

use super::progress::Progress;
use super::{Failure, live, out, runbook};
use crate::cli::{At, Input};
use crate::observation::Time;
use crate::pipeline::human_duration;
use crate::runbook::Runbook;
use crate::session::Session;
use crate::time::TimeDelta;
use crate::view::NodeView;

/// Longest wait for the second look at a machine, which follows the first after a second.
const RATES: Duration = Duration::from_secs(2);

/// The moment that was asked for: of the input, or of the node once its sources have answered.
pub fn moment(input: &Input) -> Result<NodeView, Failure> {
    moment_with(input, runbook::own(input)?)
}

/// The same; of a live node with what is used of its processors, which takes two looks.
pub fn moment_with_rates(input: &Input) -> Result<NodeView, Failure> {
    if input.from.is_some() {
        return moment(input);
    }
    let mut observed = live::observe(input, runbook::own(input)?)?;
    observed.pass_until_rates(RATES.min(input.live.wait))?;
    seen(observed.moment())
}

/// The same, diagnosed with this runbook.
pub fn moment_with(input: &Input, own: Option<Arc<Runbook>>) -> Result<NodeView, Failure> {
    match input.from {
        Some(_) => Ok(read(input, own)?.moment()),
        None => seen(live::observe(input, own)?.moment()),
    }
}

fn seen(moment: NodeView) -> Result<NodeView, Failure> {
    if live::sees_pods(&moment) { Ok(moment) } else { Err(live::blind(&moment)) }
}

/// Opens the input at the moment that was asked for, or at its end.
pub fn open(input: &Input) -> Result<Session, Failure> {
    read(input, runbook::own(input)?)
}

fn read(input: &Input, own: Option<Arc<Runbook>>) -> Result<Session, Failure> {
    let Some(path) = &input.from else {
        return Err(Failure::usage("an input is needed here", "--from PATH"));
    };
    let progress = Progress::of(path);
    let mut session = Session::open_within(path, input.max_memory)?;
    session.diagnose_with(own);
    if let Some(at) = input.at {
        let to = resolve(at, session.span())?;
        session.seek(to)?;
    }
    drop(progress);
    for skipped in session.skipped() {
        out::note(&format!("not read of {}: {} ({} times)", skipped.path, skipped.what, skipped.count));
    }
    for problem in session.problems() {
        out::note(&problem.to_string());
    }
    let (unknown, unreadable) = session.not_understood();
    if unknown + unreadable > 0 {
        out::note(&format!("{unknown} observations of kinds unknown to this version, {unreadable} unreadable lines"));
    }
    Ok(session)
}

/// The moment that was meant.
pub fn resolve(at: At, span: (Time, Time)) -> Result<Time, Failure> {
    let (begin, end) = span;
    let meant = match at {
        At::Time(time) => Some(time),
        At::After(span) => Some(begin + span),
        // An input around midnight has two days.
        At::Clock(clock) => {
            let on = |day: Time| day.at_clock(clock);
            Some(on(begin))
                .filter(|t| within(*t, span))
                .or(Some(on(end)).filter(|t| within(*t, span)))
                .or(Some(on(begin)))
        }
    };
    match meant {
        // What is written by hand has whole seconds, the span has not.
        Some(time) if within(time, span) => Ok(time.clamp(begin, end)),
        _ => Err(outside(meant, span)),
    }
}

fn within(time: Time, (begin, end): (Time, Time)) -> bool {
    let second = TimeDelta::seconds(1);
    time > begin - second && time < end + second
}

fn outside(meant: Option<Time>, (begin, end): (Time, Time)) -> Failure {
    let text = |t: Time| t.to_rfc3339_seconds();
    let meant = meant.map_or_else(|| "that".to_owned(), text);
    let length = human_duration(end - begin);
    Failure::usage(
        format!("--at {meant} is outside the input, which spans {} to {} ({length})", text(begin), text(end)),
        format!("--at {}, or --at +30s counted from the begin", text(begin + (end - begin) / 2)),
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
        assert_eq!(at(23, 58, 0).unwrap(), span.0, "the second in which it begins");
        let error = at(12, 0, 0).unwrap_err();
        assert_eq!(error.code(), super::super::fail::USAGE);
        let text = error.to_string();
        assert!(text.contains("2026-01-31T23:58:00Z to 2026-02-01T00:03:00Z"), "{text}");
    }

    #[test]
    fn counted_from_the_begin() {
        let span = (time("2026-01-31T12:00:00Z"), time("2026-01-31T12:06:00Z"));
        let at = |s| resolve(At::After(TimeDelta::seconds(s)), span);
        assert_eq!(at(90).unwrap(), time("2026-01-31T12:01:30Z"));
        assert!(at(400).is_err());
        assert!(resolve(At::After(TimeDelta::MAX), span).is_err(), "no overflow");
    }
}
