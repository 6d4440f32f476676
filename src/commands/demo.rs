//! Owns `kpodtrace demo`, and the screen on an input of one's own.
//! It must not draw.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use super::live::Observed;
use super::{Failure, Outcome, config, input, live, runbook};
use crate::cli::{At, Input, LookArgs, ScreenArgs};
use crate::container_log::{LogCommand, LogUpdate};
use crate::observe::OpenLog;
use crate::session::{RecordedLog, Session};
use crate::time::TimeDelta;
use crate::tui::{self, Feed, Options};
use crate::view::NodeView;

/// Before that the recording shows an empty node.
const FIRST_PODS: TimeDelta = TimeDelta::seconds(20);

/// The embedded recording.
pub(super) fn run(input: &Input, speed: Option<f64>, look: &LookArgs) -> Result<Outcome, Failure> {
    if input.from.is_some() {
        return Err(Failure::usage("demo with --from: it plays the recording that it brings", "kpodtrace --from PATH"));
    }
    let options = config::options(look)?;
    let mut session = Session::demo()?;
    session.diagnose_with(runbook::own(input)?);
    let at = input.at.unwrap_or(At::After(FIRST_PODS));
    session.seek(input::resolve(at, session.span())?)?;
    session.set_speed(speed.unwrap_or(1.0));
    play(session, "demo".into(), options)
}

/// The screen on this node, or on an input: at the moment asked for and on from there, or at its end; with a speed from its
/// begin.
pub(super) fn screen(input: &Input, args: &ScreenArgs) -> Result<Outcome, Failure> {
    let options = config::options(&args.look)?;
    if input.from.is_none() {
        if args.speed.is_some() {
            return Err(Failure::usage(
                "--speed without --from: a live node goes at its own pace",
                "leave --speed away",
            ));
        }
        if input.at.is_some() {
            return Err(Failure::usage("--at without --from: a live node shows now", "leave --at away"));
        }
        let own = runbook::own(input)?;
        let (failed, failure) = sync_channel(1);
        let mut watcher = Watcher { observed: live::begin(input)?, log: None, failed, stopped: false };
        watcher.observed.live.diagnose_with(own);
        let ended = show(Box::new(watcher), options);
        return failure.try_recv().map_or(ended, Err);
    }
    let mut session = input::open(input)?;
    let begin = session.span().0;
    if let Some(speed) = args.speed {
        session.set_speed(speed);
        if input.at.is_none() {
            session.rewind()?;
        }
    }
    play(session, format!("recorded {}", begin.format("%Y-%m-%d")), options)
}

fn play(session: Session, what: String, options: Options) -> Result<Outcome, Failure> {
    let (failed, failure) = sync_channel(1);
    let ended = show(Box::new(Player { session, what, log: None, failed, stopped: None }), options);
    failure.try_recv().map_or(ended, Err)
}

fn show(feed: Box<dyn Feed + Send>, options: Options) -> Result<Outcome, Failure> {
    match tui::run(feed, options) {
        Ok(()) => Ok(Outcome::Done),
        Err(error) if error.is_quiet() => Err(Failure::quiet(u8::try_from(error.exit_code()).unwrap_or(u8::MAX))),
        Err(error) => Err(error.into()),
    }
}

/// A session as the screen wants it.
struct Player {
    session: Session,
    what: String,
    log: Option<RecordedLog>,
    /// Takes why the input could not be read on, for the end.
    failed: SyncSender<Failure>,
    /// The same in words.
    stopped: Option<String>,
}

impl Feed for Player {
    fn pass(&mut self, elapsed: Duration) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        match self.session.pass(elapsed) {
            Ok(changed) => changed,
            Err(error) => {
                // The screen stays at the last moment that could be read, and says so.
                self.stopped = Some(error.to_string());
                _ = self.failed.try_send(error.into());
                true
            }
        }
    }

    fn moment(&mut self) -> NodeView {
        let moment = self.session.moment();
        self.log.iter_mut().for_each(|log| log.look(&moment));
        moment
    }

    fn wake_in(&mut self) -> Duration {
        self.session.wake_in()
    }

    fn title(&self) -> String {
        if let Some(error) = &self.stopped {
            return format!("{}: stopped, {error}", self.what);
        }
        let speed = self.session.speed();
        if (speed - 1.0).abs() < 1e-9 { self.what.clone() } else { format!("{} x{speed}", self.what) }
    }

    fn log(&mut self, ask: LogCommand) {
        match ask {
            LogCommand::Open(request) => {
                let mut log = RecordedLog::new(*request);
                log.look(&self.session.moment());
                self.log = Some(log);
            }
            // What a recording has is told at once.
            LogCommand::Older => {}
            LogCommand::Close => self.log = None,
        }
    }

    fn log_news(&mut self) -> Vec<LogUpdate> {
        self.log.as_mut().map(RecordedLog::take).unwrap_or_default()
    }
}

/// How often a live node is looked at for news, at least.
const LIVE_WAKE: Duration = Duration::from_millis(200);

/// A live node as the screen wants it.
struct Watcher {
    observed: Observed,
    log: Option<OpenLog>,
    /// Takes why nothing more could be taken in, for the end.
    failed: SyncSender<Failure>,
    stopped: bool,
}

impl Feed for Watcher {
    fn pass(&mut self, _: Duration) -> bool {
        if self.stopped {
            return false;
        }
        match self.observed.live.pass() {
            Ok(changed) => changed,
            Err(error) => {
                self.stopped = true;
                _ = self.failed.try_send(error.into());
                true
            }
        }
    }

    fn moment(&mut self) -> NodeView {
        self.observed.moment()
    }

    fn wake_in(&mut self) -> Duration {
        LIVE_WAKE
    }

    fn title(&self) -> String {
        if self.observed.node.is_empty() { "live".into() } else { format!("live: {}", self.observed.node) }
    }

    fn log(&mut self, ask: LogCommand) {
        match ask {
            LogCommand::Open(request) => self.log = Some(self.observed.logs.open(*request)),
            LogCommand::Older => self.log.iter().for_each(OpenLog::older),
            LogCommand::Close => self.log = None,
        }
    }

    fn log_news(&mut self) -> Vec<LogUpdate> {
        self.log.as_ref().map(OpenLog::take).unwrap_or_default()
    }
}
