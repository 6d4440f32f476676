//! The event loop: waits for events, applies them, draws what changed. It never blocks on terminal or feed.

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
use crate::tui::app::App;
use crate::tui::feed::Feed;
use crate::tui::feed_worker::{FeedRequest, FeedWorker, opens_or_closes};
use crate::tui::input::LoopAction;
use crate::tui::terminal::output::Output;
use crate::tui::terminal::paint::Painter;
use crate::tui::terminal::watch::{self, LoopEvent};
use crate::tui::terminal::{self, Terminal, clipboard};
use crate::tui::theme::Theme;
use crate::tui::{Options, TuiError};

/// Longest time between the clicks of a double click.
const DOUBLE: Duration = Duration::from_millis(400);
/// Longest sleep; other threads wake the loop.
const LONGEST: Duration = Duration::from_secs(3600);
/// How long the first frame waits for the first node view, to avoid flicker.
const FIRST: Duration = Duration::from_millis(100);
/// How long the feed thread may take to stop.
const FEED_ENDS: Duration = Duration::from_millis(100);
/// How long a frame may take to be written before the terminal is restored.
const SETTLE: Duration = Duration::from_millis(300);
/// File descriptors of the screen: the terminal twice, pipes for signals and keys.
const FILES: usize = 8;
/// Largest frame, columns and lines; the rest of a larger terminal stays empty.
const LARGEST: (u16, u16) = (1000, 400);

/// Shows a feed until `q`, a signal or a hang-up.
///
/// # Errors
/// Without a usable terminal, on terminal errors, on signals and hang-up.
pub fn run(feed: Box<dyn Feed + Send>, options: Options) -> Result<(), TuiError> {
    if !stdout().is_terminal() {
        return Err(TuiError::NotATerminal);
    }
    if env::var("TERM").is_ok_and(|term| term == "dumb") {
        return Err(TuiError::Dumb);
    }
    // The key reader does not report this cause.
    let files: Result<Vec<_>, _> = (0..FILES).map(|_| stdout().as_fd().try_clone_to_owned()).collect();
    if files.is_err() {
        return Err(TuiError::Files);
    }
    drop(files);
    let theme = Theme::from_env(options.ascii, |name| env::var(name).ok()).with(options.colors);
    let frame = Duration::from_secs(1) / u32::from(options.frames.clamp(1, 10));
    let ended = Arc::new(AtomicBool::new(false));
    let (to_loop, messages) = sync_channel(watch::WAITING);
    // Before the terminal is changed, so that a signal in between restores it.
    watch::start(&to_loop, &ended)?;
    let terminal = Terminal::new(options.mouse)?;
    let worker = FeedWorker::start(feed, to_loop.clone())?;
    let result = EventLoop::start(worker, App::new(theme, &options), frame, terminal, &to_loop, messages)
        .and_then(EventLoop::run);
    ended.store(true, Ordering::Release);
    result
}

struct EventLoop {
    worker: FeedWorker,
    /// A node view is requested.
    wants_node_view: bool,
    /// Log updates are requested.
    wants_log_updates: bool,
    /// Number of logs opened and closed.
    log: u64,
    /// Commands for the log reader that the feed thread has not taken yet.
    log_commands: VecDeque<LogCommand>,
    /// Log updates that arrived while the screen is paused.
    pending_updates: Vec<LogUpdate>,
    app: App,
    painter: Painter,
    output: Output,
    messages: Receiver<LoopEvent>,
    size: (u16, u16),
    /// Shortest time between two frames.
    frame: Duration,
    /// Time, column and row of the last click.
    clicked: Option<(Instant, u16, u16)>,
    started: Instant,
    drawn: Option<Instant>,
    dirty: bool,
    // Dropped last: nothing is written after the terminal is restored.
    terminal: Terminal,
}

impl EventLoop {
    fn start(
        worker: FeedWorker,
        app: App,
        frame: Duration,
        terminal: Terminal,
        to_loop: &SyncSender<LoopEvent>,
        messages: Receiver<LoopEvent>,
    ) -> Result<Self, TuiError> {
        let output = Output::start(to_loop.clone())?;
        let size = crossterm::terminal::size()?;
        let painter = Painter::new();
        let (wants_node_view, wants_log_updates, log, log_commands, pending_updates) =
            (false, false, 0, VecDeque::new(), Vec::new());
        let (clicked, drawn, dirty) = (None, None, true);
        Ok(Self {
            worker,
            wants_node_view,
            wants_log_updates,
            log,
            log_commands,
            pending_updates,
            app,
            painter,
            output,
            messages,
            size,
            frame,
            clicked,
            started: Instant::now(),
            drawn,
            dirty,
            terminal,
        })
    }

    fn run(mut self) -> Result<(), TuiError> {
        // Usually the first node view arrives before the first frame.
        self.request_node_view();
        let result = loop {
            if let Err(why) = self.draw() {
                break Err(why);
            }
            self.send_requests();
            match self.wait() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(why) => break Err(why),
            }
        };
        if !matches!(result, Err(TuiError::HangUp)) {
            self.output.settle(SETTLE);
        }
        // Restore the terminal before waiting for a thread.
        drop(self.terminal);
        self.worker.end(FEED_ENDS);
        result
    }

    /// Requests the next updates. A node view is requested only after the last one is drawn.
    fn send_requests(&mut self) {
        self.log_commands.extend(self.app.take_log_commands());
        while let Some(ask) = self.log_commands.pop_front() {
            let counts = u64::from(opens_or_closes(&ask));
            match self.worker.request(FeedRequest::Log(ask)) {
                Ok(()) if counts > 0 => {
                    self.log += counts;
                    self.pending_updates.clear();
                }
                Ok(()) => {}
                Err(FeedRequest::Log(ask)) => {
                    self.log_commands.push_front(ask);
                    break;
                }
                Err(_) => break,
            }
        }
        if !self.pending_updates.is_empty() && self.app.reads_log() {
            self.pending_updates.drain(..).for_each(|updates| self.app.apply_log_update(updates));
            self.dirty = true;
        }
        if !self.wants_log_updates && self.app.reads_log() {
            self.wants_log_updates = self.worker.request(FeedRequest::LogUpdates).is_ok();
        }
        if !self.dirty {
            self.request_node_view();
        }
    }

    fn request_node_view(&mut self) {
        if !self.wants_node_view && !self.app.paused {
            self.wants_node_view = self.worker.request(FeedRequest::NodeView).is_ok();
        }
    }

    fn until_frame(&self) -> Duration {
        match self.drawn {
            Some(at) => self.frame.saturating_sub(at.elapsed()),
            None if self.app.screen.is_none() => FIRST.saturating_sub(self.started.elapsed()),
            None => Duration::ZERO,
        }
    }

    /// Waits for an event; false to quit.
    fn wait(&mut self) -> Result<bool, TuiError> {
        // The output thread reports a written frame.
        let timeout = if self.dirty && !self.output.is_busy() { self.until_frame() } else { LONGEST };
        let mut next = match self.messages.recv_timeout(timeout) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Err(TuiError::HangUp),
        };
        // At most one channel of events, so that many keys do not delay updates.
        for _ in 0..watch::WAITING {
            let Some(message) = next else { break };
            if !self.message(message)? {
                return Ok(false);
            }
            next = self.messages.try_recv().ok();
        }
        Ok(true)
    }

    fn message(&mut self, message: LoopEvent) -> Result<bool, TuiError> {
        match message {
            LoopEvent::Input(event) => match self.input(&event) {
                LoopAction::Idle => {}
                LoopAction::Draw => self.dirty = true,
                LoopAction::Redraw => self.redraw(),
                LoopAction::Suspend => self.suspend()?,
                LoopAction::Quit => return Ok(false),
            },
            LoopEvent::InputFailed(why) => return Err(why.into()),
            LoopEvent::Signal(SIGWINCH) => {
                // Redraw even for the same size: the terminal may have changed its content.
                self.size = crossterm::terminal::size()?;
                self.redraw();
            }
            LoopEvent::Signal(SIGTSTP) => self.suspend()?,
            LoopEvent::Signal(SIGCONT) => self.resume()?,
            LoopEvent::Signal(signal) => return Err(TuiError::Signal(signal)),
            LoopEvent::HangUp => return Err(TuiError::HangUp),
            LoopEvent::Written => {}
            LoopEvent::NodeView(view, title) => {
                self.wants_node_view = false;
                self.app.show(*view, &title);
                self.dirty = true;
            }
            LoopEvent::LogUpdates(log, updates) => {
                self.wants_log_updates = false;
                // Drop updates of a log that was closed.
                if log == self.log && self.log_commands.is_empty() {
                    self.pending_updates.extend(updates);
                }
            }
            LoopEvent::FeedEnded => return Err(TuiError::Feed),
        }
        Ok(true)
    }

    fn input(&mut self, event: &Event) -> LoopAction {
        let Event::Mouse(mouse) = event else { return self.app.event(event) };
        let mut double = false;
        if let MouseEventKind::Down(_) = mouse.kind {
            let at = (mouse.column, mouse.row);
            let before = self.clicked.take();
            double = before.is_some_and(|(when, x, y)| (x, y) == at && when.elapsed() < DOUBLE);
            // A third click starts a new double click.
            self.clicked = (!double).then(|| (Instant::now(), at.0, at.1));
        }
        self.app.mouse(mouse, double)
    }

    fn redraw(&mut self) {
        self.painter.forget();
        self.dirty = true;
    }

    /// Restores the terminal and stops the process; continues here after SIGCONT.
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

/// A shell with job control gives each job a process group. Without one, as in `ssh -t node kpodtrace`, a stopped
/// process would never be continued.
fn has_job_control() -> bool {
    rustix::process::getsid(None).is_ok_and(|session| session != rustix::process::getpgrp())
}
