//! `kpodtrace demo`: the screen on the embedded recording.

use super::session::NodeSession;
use super::{Failure, Outcome, config, input, runbook, screen};
use crate::cli::{At, DisplayArgs, Input};
use crate::session::RecordedSession;
use crate::time::TimeDelta;

/// Where the demo starts: before that, the recording shows an empty node.
const START: TimeDelta = TimeDelta::seconds(20);

pub(super) fn run(input: &Input, speed: Option<f64>, display: &DisplayArgs) -> Result<Outcome, Failure> {
    if input.from.is_some() {
        return Err(Failure::usage("demo with --from: demo plays its own recording", "kpodtrace --from PATH"));
    }
    let options = config::options(display)?;
    let mut session = RecordedSession::demo()?;
    session.diagnose_with(runbook::own(input)?);
    session.seek(input::resolve(input.at.unwrap_or(At::After(START)), session.span())?)?;
    session.set_speed(speed.unwrap_or(1.0));
    screen::show(NodeSession::Recorded(Box::new(session)), options)
}
