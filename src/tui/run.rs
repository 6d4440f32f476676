//! Owns the loop: wait, let time pass, take the moment, draw what differs.
//! It must not block on the terminal, nor draw more often than ten times a second.

use std::env;
use std::io::{IsTerminal, stdout};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use crossterm::event::{Event, MouseEventKind};
use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};

use super::app::{App, Flow};
use super::clipboard;
use super::output::Output;
use super::paint::Painter;
use super::terminal::{self, Terminal};
use super::theme::Theme;
use super::watch::{self, Message};
use super::{Feed, Options, TuiError};

/// Longest time between the two clicks of a double click.
const DOUBLE: Duration = Duration::from_millis(400);
/// Shortest sleep: a feed in which something is always due does not make the loop spin.
const SHORTEST: Duration = Duration::from_millis(20);
/// How often an open log is looked at.
const LOG_EVERY: Duration = Duration::from_millis(100);
/// How long a frame under way may take to be written before the terminal is given back.
const SETTLE: Duration = Duration::from_millis(300);
/// Files that the screen opens: the terminal twice, and pipes for signals and keys.
const FILES: usize = 8;
/// Largest screen that is drawn; beyond, the rest stays empty.
const LARGEST: (u16, u16) = (1000, 400);

/// Shows a feed until `q`, a signal, or the end of the terminal.
///
/// # Errors
/// When there is no terminal that can show a screen, when it fails, and when something else than a key ended it.
pub fn run(session: &mut dyn Feed, options: Options) -> Result<(), TuiError> {
    if !stdout().is_terminal() {
        return Err(TuiError::NotATerminal);
    }
    if env::var("TERM").is_ok_and(|term| term == "dumb") {
        return Err(TuiError::Dumb);
    }
    // Those that wait for keys fail without saying that it is this.
    let files: Result<Vec<_>, _> = (0..FILES).map(|_| stdout().as_fd().try_clone_to_owned()).collect();
    if files.is_err() {
        return Err(TuiError::Files);
    }
    drop(files);
    let theme = Theme::from_env(options.ascii, |name| env::var(name).ok()).with(options.look);
    let frame = Duration::from_secs(1) / u32::from(options.frames.clamp(1, 10));
    let ended = Arc::new(AtomicBool::new(false));
    let (to_loop, messages) = sync_channel(watch::WAITING);
    let terminal = Terminal::new(options.mouse)?;
    let result = Screen::start(session, App::new(theme, &options), frame, terminal, &to_loop, &ended, messages)
        .and_then(|mut screen| screen.run());
    ended.store(true, Ordering::Release);
    result
}

struct Screen<'a> {
    feed: &'a mut dyn Feed,
    app: App,
    painter: Painter,
    output: Output,
    messages: Receiver<Message>,
    size: (u16, u16),
    /// Shortest time between two frames.
    frame: Duration,
    /// When and where the mouse was last pressed.
    clicked: Option<(Instant, u16, u16)>,
    /// Until when the feed has been told of time.
    passed: Instant,
    /// When the moment shown was taken.
    taken: Instant,
    drawn: Option<Instant>,
    dirty: bool,
    // Dropped last, so that nothing is written behind the restoring.
    terminal: Terminal,
}

impl<'a> Screen<'a> {
    fn start(
        feed: &'a mut dyn Feed,
        app: App,
        frame: Duration,
        terminal: Terminal,
        to_loop: &SyncSender<Message>,
        ended: &Arc<AtomicBool>,
        messages: Receiver<Message>,
    ) -> Result<Self, TuiError> {
        let output = Output::start(to_loop.clone())?;
        watch::start(to_loop, ended)?;
        let now = Instant::now();
        let size = crossterm::terminal::size()?;
        let painter = Painter::new();
        let (passed, taken, drawn, dirty) = (now, now, None, true);
        let clicked = None;
        Ok(Self { feed, app, painter, output, messages, size, frame, clicked, passed, taken, drawn, dirty, terminal })
    }

    fn run(&mut self) -> Result<(), TuiError> {
        self.take_moment();
        let result = loop {
            if let Err(why) = self.draw() {
                break Err(why);
            }
            match self.wait() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(why) => break Err(why),
            }
            let now = Instant::now();
            let changed = self.feed.pass(now - self.passed);
            self.passed = now;
            if changed || self.until_second().is_zero() {
                self.take_moment();
            }
            self.take_log();
        };
        if !matches!(result, Err(TuiError::HangUp)) {
            self.output.settle(SETTLE);
        }
        result
    }

    fn take_moment(&mut self) {
        self.taken = Instant::now();
        if !self.app.paused {
            self.app.show(self.feed.moment(), &self.feed.title());
            self.dirty = true;
        }
    }

    /// Hands on what is asked of a log, and takes in what is new of it.
    fn take_log(&mut self) {
        self.app.take_asks().into_iter().for_each(|ask| self.feed.log(ask));
        if self.app.reads_log() {
            for news in self.feed.log_news() {
                self.app.log_news(news);
                self.dirty = true;
            }
        }
    }

    /// Real time until the clock that is shown moves on.
    fn until_second(&self) -> Duration {
        if self.app.paused {
            return Duration::from_secs(3600);
        }
        let shown = self.app.picture.as_ref().map_or(0, |p| p.moment.now.timestamp_subsec_millis() % 1000);
        Duration::from_millis(u64::from(1000 - shown)).saturating_sub(self.taken.elapsed())
    }

    fn until_frame(&self) -> Duration {
        self.drawn.map_or(Duration::ZERO, |at| self.frame.saturating_sub(at.elapsed()))
    }

    /// Waits for a message, or for time to change something; false when the user has had enough.
    fn wait(&mut self) -> Result<bool, TuiError> {
        let mut timeout = self.feed.wake_in().min(self.until_second()).max(SHORTEST);
        if self.app.reads_log() {
            timeout = timeout.min(LOG_EVERY);
        }
        if self.dirty {
            // A frame under way tells when it is written.
            timeout = if self.output.is_busy() { timeout } else { timeout.min(self.until_frame()) };
        }
        let mut next = match self.messages.recv_timeout(timeout) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Err(TuiError::HangUp),
        };
        // No more than the channel holds, so that a flood of keys does not keep time from passing.
        for _ in 0..watch::WAITING {
            let Some(message) = next else { break };
            if !self.message(message)? {
                return Ok(false);
            }
            next = self.messages.try_recv().ok();
        }
        Ok(true)
    }

    fn message(&mut self, message: Message) -> Result<bool, TuiError> {
        match message {
            Message::Input(event) => match self.input(&event) {
                Flow::Idle => {}
                Flow::Draw => self.dirty = true,
                Flow::Redraw => self.redraw(),
                Flow::Suspend => self.suspend()?,
                Flow::Quit => return Ok(false),
            },
            Message::InputFailed(why) => return Err(why.into()),
            Message::Signal(SIGWINCH) => {
                // Even to the same size: what the terminal did with its content on the way there is not known.
                self.size = crossterm::terminal::size()?;
                self.redraw();
            }
            Message::Signal(SIGTSTP) => self.suspend()?,
            Message::Signal(SIGCONT) => self.resume()?,
            Message::Signal(signal) => return Err(TuiError::Signal(signal)),
            Message::HangUp => return Err(TuiError::HangUp),
            Message::Written => {}
        }
        Ok(true)
    }

    fn input(&mut self, event: &Event) -> Flow {
        let Event::Mouse(mouse) = event else { return self.app.event(event) };
        let mut double = false;
        if let MouseEventKind::Down(_) = mouse.kind {
            let at = (mouse.column, mouse.row);
            let before = self.clicked.take();
            double = before.is_some_and(|(when, x, y)| (x, y) == at && when.elapsed() < DOUBLE);
            // The third click begins anew.
            self.clicked = (!double).then(|| (Instant::now(), at.0, at.1));
        }
        self.app.mouse(mouse, double)
    }

    fn redraw(&mut self) {
        self.painter.forget();
        self.dirty = true;
    }

    /// Gives the terminal back and stops; goes on here once somebody continues the process.
    fn suspend(&mut self) -> Result<(), TuiError> {
        if !has_job_control() {
            return Ok(());
        }
        self.output.settle(SETTLE);
        terminal::restore();
        signal_hook::low_level::emulate_default_handler(SIGTSTP)?;
        self.resume()
    }

    fn resume(&mut self) -> Result<(), TuiError> {
        self.output.settle(SETTLE);
        self.terminal.again()?;
        self.size = crossterm::terminal::size()?;
        self.redraw();
        Ok(())
    }

    fn draw(&mut self) -> Result<(), TuiError> {
        if !self.dirty || self.output.is_busy() || !self.until_frame().is_zero() {
            return Ok(());
        }
        let (width, height) = (self.size.0.min(LARGEST.0), self.size.1.min(LARGEST.1));
        let frame = self.app.draw(width, height);
        self.dirty = false;
        self.drawn = Some(Instant::now());
        let mut bytes = self.app.take_copied().map(|text| clipboard::sequence(&text)).unwrap_or_default();
        bytes.extend(self.painter.paint(frame).unwrap_or_default());
        let sent = bytes.is_empty() || self.output.send(bytes);
        if sent { Ok(()) } else { Err(TuiError::HangUp) }
    }
}

/// A shell with job control gives every job a process group of its own. Without one, as in `ssh -t node kpodtrace`,
/// nobody would ever continue a process that has stopped.
fn has_job_control() -> bool {
    rustix::process::getsid(None).is_ok_and(|session| session != rustix::process::getpgrp())
}
