//! Owns `kpodtrace demo`, and the screen on an input of one's own.
//! It must not draw.

use std::time::Duration;

use super::{Failure, Outcome, input};
use crate::cli::{Input, ScreenArgs};
use crate::session::Session;
use crate::tui::{self, Feed, Options};
use crate::view::Moment;

pub(super) fn run(input: &Input, args: &ScreenArgs) -> Result<Outcome, Failure> {
    let (mut session, name) = match &input.from {
        Some(path) => (input::open(input)?, path.display().to_string()),
        None => (Session::demo()?, "demo".to_owned()),
    };
    session.set_speed(args.speed);
    show(session, name, Options { ascii: args.ascii, ..Options::default() })
}

pub(super) fn screen(input: &Input) -> Result<Outcome, Failure> {
    let name = input.from.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    show(input::open(input)?, name, Options::default())
}

fn show(session: Session, name: String, options: Options) -> Result<Outcome, Failure> {
    let mut playing = Playing { session, name };
    match tui::run(&mut playing, options) {
        Ok(()) => Ok(Outcome::Done),
        // There is nobody to be told, and a shell expects the signal in the exit code.
        Err(why) if why.is_quiet() => std::process::exit(why.exit_code()),
        Err(why) => Err(why.into()),
    }
}

/// A session as the screen plays it.
struct Playing {
    session: Session,
    name: String,
}

impl Feed for Playing {
    fn pass(&mut self, elapsed: Duration) -> bool {
        // A frame that cannot be read ends the recording there: what was read before is still shown.
        self.session.pass(elapsed).unwrap_or(false)
    }

    fn moment(&mut self) -> Moment {
        self.session.moment()
    }

    fn wake_in(&mut self) -> Duration {
        self.session.wake_in()
    }

    fn title(&self) -> String {
        let day = self.session.span().0.format("%Y-%m-%d");
        format!("{}: recorded {day}, ×{}", self.name, self.session.speed())
    }
}
