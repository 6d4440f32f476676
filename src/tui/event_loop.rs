//! Owns the loop: wait, take in what comes, draw what differs.
//! It must not block on the terminal or on the feed, nor draw more often than ten times a second.

use std::collections::VecDeque;
use std::env;
use std::io::{IsTerminal, stdout};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use crossterm::event::{Event, MouseEventKind};
use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};

use crate::container_log::{LogCommand, LogUpdate};
use crate::tui::app::{App, Flow};
use crate::tui::feed::Feed;
use crate::tui::feed_worker::{Request, Worker, opens_or_closes};
use crate::tui::terminal::output::Output;
use crate::tui::terminal::paint::Painter;
use crate::tui::terminal::watch::{self, Message};
use crate::tui::terminal::{self, Terminal, clipboard};
use crate::tui::theme::Theme;
use crate::tui::{Options, TuiError};

/// Longest time between the two clicks of a double click.
const DOUBLE: Duration = Duration::from_millis(400);
/// Longest sleep: the threads wake the loop.
const LONGEST: Duration = Duration::from_secs(3600);
/// How long the first frame waits for the first moment: most come sooner, and nothing flickers.
const FIRST: Duration = Duration::from_millis(100);
/// How long the feed's thread may take to end, with the programs that it follows. It may be at work on a moment.
const FEED_ENDS: Duration = Duration::from_millis(100);
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
pub fn run(feed: Box<dyn Feed + Send>, options: Options) -> Result<(), TuiError> {
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
    // Before the terminal is changed: a signal in between would leave it so.
    watch::start(&to_loop, &ended)?;
    let terminal = Terminal::new(options.mouse)?;
    let worker = Worker::start(feed, to_loop.clone())?;
    let result =
        Screen::start(worker, App::new(theme, &options), frame, terminal, &to_loop, messages).and_then(Screen::run);
    ended.store(true, Ordering::Release);
    result
}

struct Screen {
    worker: Worker,
    /// A moment was asked for, and has not come.
    wants_moment: bool,
    /// News of the open log were asked for, and have not come.
    wants_news: bool,
    /// How often logs were opened and closed.
    log: u64,
    /// What is to be asked of the log, as soon as the feed's thread takes it.
    asks: VecDeque<LogCommand>,
    /// News that came while the log is kept still.
    held: Vec<LogUpdate>,
    app: App,
    painter: Painter,
    output: Output,
    messages: Receiver<Message>,
    size: (u16, u16),
    /// Shortest time between two frames.
    frame: Duration,
    /// When and where the mouse was last pressed.
    clicked: Option<(Instant, u16, u16)>,
    begun: Instant,
    drawn: Option<Instant>,
    dirty: bool,
    // Dropped last, so that nothing is written behind the restoring.
    terminal: Terminal,
}

impl Screen {
    fn start(
        worker: Worker,
        app: App,
        frame: Duration,
        terminal: Terminal,
        to_loop: &SyncSender<Message>,
        messages: Receiver<Message>,
    ) -> Result<Self, TuiError> {
        let output = Output::start(to_loop.clone())?;
        let size = crossterm::terminal::size()?;
        let painter = Painter::new();
        let (wants_moment, wants_news, log, asks, held) = (false, false, 0, VecDeque::new(), Vec::new());
        let (clicked, drawn, dirty) = (None, None, true);
        Ok(Self {
            worker,
            wants_moment,
            wants_news,
            log,
            asks,
            held,
            app,
            painter,
            output,
            messages,
            size,
            frame,
            clicked,
            begun: Instant::now(),
            drawn,
            dirty,
            terminal,
        })
    }

    fn run(mut self) -> Result<(), TuiError> {
        // The first moment, before anything is drawn of none where it comes at once.
        self.ask_moment();
        let result = loop {
            if let Err(why) = self.draw() {
                break Err(why);
            }
            self.ask();
            match self.wait() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(why) => break Err(why),
            }
        };
        if !matches!(result, Err(TuiError::HangUp)) {
            self.output.settle(SETTLE);
        }
        // The terminal is given back before anything is waited for.
        drop(self.terminal);
        self.worker.end(FEED_ENDS);
        result
    }

    /// Asks for what is to be shown next: for a moment once the last one is drawn, so that none is made in vain.
    fn ask(&mut self) {
        self.asks.extend(self.app.take_asks());
        while let Some(ask) = self.asks.pop_front() {
            let counts = u64::from(opens_or_closes(&ask));
            match self.worker.ask(Request::Log(ask)) {
                Ok(()) if counts > 0 => {
                    self.log += counts;
                    self.held.clear();
                }
                Ok(()) => {}
                Err(Request::Log(ask)) => {
                    self.asks.push_front(ask);
                    break;
                }
                Err(_) => break,
            }
        }
        if !self.held.is_empty() && self.app.reads_log() {
            self.held.drain(..).for_each(|news| self.app.log_news(news));
            self.dirty = true;
        }
        if !self.wants_news && self.app.reads_log() {
            self.wants_news = self.worker.ask(Request::News).is_ok();
        }
        if !self.dirty {
            self.ask_moment();
        }
    }

    fn ask_moment(&mut self) {
        if !self.wants_moment && !self.app.paused {
            self.wants_moment = self.worker.ask(Request::NodeView).is_ok();
        }
    }

    fn until_frame(&self) -> Duration {
        match self.drawn {
            Some(at) => self.frame.saturating_sub(at.elapsed()),
            None if self.app.picture.is_none() => FIRST.saturating_sub(self.begun.elapsed()),
            None => Duration::ZERO,
        }
    }

    /// Waits for a message, or for time to change something; false when the user has had enough.
    fn wait(&mut self) -> Result<bool, TuiError> {
        // A frame under way tells when it is written.
        let timeout = if self.dirty && !self.output.is_busy() { self.until_frame() } else { LONGEST };
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
            Message::NodeView(moment, title) => {
                self.wants_moment = false;
                self.app.show(*moment, &title);
                self.dirty = true;
            }
            Message::News(log, news) => {
                self.wants_news = false;
                // Lines of a log that was closed meanwhile are nobody's.
                if log == self.log && self.asks.is_empty() {
                    self.held.extend(news);
                }
            }
            Message::FeedEnded => return Err(TuiError::Feed),
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
