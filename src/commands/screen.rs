//! The screen, on this node or on an input.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use super::live::LiveSession;
use super::session::NodeSession;
use super::{Failure, Outcome, config, input, runbook};
use crate::cli::{Input, ScreenArgs};
use crate::container_log::{LogCommand, LogUpdate};
use crate::tui::{self, Feed, Options};
use crate::view::NodeView;

/// Opens the screen. An input is shown at its end or played from `--at`; with `--speed` and without `--at` from its start.
pub(super) fn run(input: &Input, args: &ScreenArgs) -> Result<Outcome, Failure> {
    let options = config::options(&args.display)?;
    let own = runbook::own(input)?;
    if input.from.is_some() {
        let mut session = input::open_with(input, own)?;
        if let Some(speed) = args.speed {
            session.set_speed(speed);
            if input.at.is_none() {
                session.rewind()?;
            }
        }
        return show(NodeSession::Recorded(Box::new(session)), options);
    }
    if args.speed.is_some() {
        return Err(Failure::usage("--speed without --from: a live node has no speed", "omit --speed"));
    }
    if input.at.is_some() {
        return Err(Failure::usage("--at without --from: a live node shows only the present", "omit --at"));
    }
    let mut session = LiveSession::start(input)?;
    session.model.diagnose_with(own);
    show(NodeSession::Live(Box::new(session)), options)
}

/// Shows a session until the user quits.
pub(super) fn show(session: NodeSession, options: Options) -> Result<Outcome, Failure> {
    let (failures, failure) = sync_channel(1);
    let feed = SessionFeed { session, failures, stopped: None };
    let outcome = match tui::run(Box::new(feed), options) {
        Ok(()) => Ok(Outcome::Done),
        Err(error) if error.is_quiet() => Err(Failure::quiet(u8::try_from(error.exit_code()).unwrap_or(u8::MAX))),
        Err(error) => Err(error.into()),
    };
    failure.try_recv().map_or(outcome, Err)
}

/// A session as the feed of the screen. After a failure the screen stays at the last view, and the command fails at its end.
struct SessionFeed {
    session: NodeSession,
    /// Receives the failure for the end of the command.
    failures: SyncSender<Failure>,
    /// The failure, for the title.
    stopped: Option<String>,
}

impl Feed for SessionFeed {
    fn pass(&mut self, elapsed: Duration) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        self.session.advance(elapsed).unwrap_or_else(|failure| {
            self.stopped = Some(failure.what().to_owned());
            _ = self.failures.try_send(failure);
            true
        })
    }

    fn moment(&mut self) -> NodeView {
        self.session.moment()
    }

    fn wake_in(&mut self) -> Duration {
        self.session.wake_in()
    }

    fn title(&self) -> String {
        let title = self.session.title();
        self.stopped.as_ref().map_or(title.clone(), |failure| format!("{title}: stopped, {failure}"))
    }

    fn log(&mut self, ask: LogCommand) {
        self.session.handle_log(ask);
    }

    fn log_news(&mut self) -> Vec<LogUpdate> {
        self.session.log_news()
    }
}
