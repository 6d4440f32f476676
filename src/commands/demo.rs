//! Owns `kpodtrace demo`, and the screen on an input of one's own.
//! It must not draw.

use std::time::Duration;

use chrono::TimeDelta;

use super::{Failure, Outcome, input};
use crate::cli::{At, Input, ScreenArgs};
use crate::session::{Session, SessionError};
use crate::tui::{self, Feed, Options};
use crate::view::Moment;

/// Before that the recording shows an empty node.
const FIRST_PODS: TimeDelta = TimeDelta::seconds(20);

/// The embedded recording.
pub(super) fn run(input: &Input, args: &ScreenArgs) -> Result<Outcome, Failure> {
    if input.from.is_some() {
        return Err(Failure::usage("demo with --from: it plays the recording that it brings", "kpodtrace --from PATH"));
    }
    let mut session = Session::demo()?;
    let at = input.at.unwrap_or(At::After(FIRST_PODS));
    session.seek(input::resolve(at, session.span())?)?;
    session.set_speed(args.speed);
    play(session, "demo".into(), args.ascii)
}

/// The screen on an input: at the moment asked for and on from there, or at its end.
pub(super) fn screen(input: &Input) -> Result<Outcome, Failure> {
    let session = input::open(input)?;
    let what = format!("recorded {}", session.span().0.format("%Y-%m-%d"));
    play(session, what, false)
}

fn play(session: Session, what: String, ascii: bool) -> Result<Outcome, Failure> {
    let mut player = Player { session, what, failed: None };
    let ended = tui::run(&mut player, Options { ascii, ..Options::default() });
    if let Some(error) = player.failed {
        return Err(error.into());
    }
    match ended {
        Ok(()) => Ok(Outcome::Done),
        Err(error) if error.is_quiet() => Err(Failure::quiet(u8::try_from(error.exit_code()).unwrap_or(u8::MAX))),
        Err(error) => Err(error.into()),
    }
}

/// A session as the screen wants it.
struct Player {
    session: Session,
    what: String,
    failed: Option<SessionError>,
}

impl Feed for Player {
    fn pass(&mut self, elapsed: Duration) -> bool {
        if self.failed.is_some() {
            return false;
        }
        match self.session.pass(elapsed) {
            Ok(changed) => changed,
            Err(error) => {
                // The screen stays at the last moment that could be read, and says so.
                self.failed = Some(error);
                true
            }
        }
    }

    fn moment(&mut self) -> Moment {
        self.session.moment()
    }

    fn wake_in(&mut self) -> Duration {
        self.session.wake_in()
    }

    fn title(&self) -> String {
        if let Some(error) = &self.failed {
            return format!("{}: stopped, {error}", self.what);
        }
        let speed = self.session.speed();
        if (speed - 1.0).abs() < 1e-9 { self.what.clone() } else { format!("{} x{speed}", self.what) }
    }
}
