//! Threads that wait for keys, signals and hang-up. They are never joined: a read from a closed terminal may never
//! return.

use std::io::{self, stdout};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;

use crate::container_log::LogUpdate;
use crate::tui::terminal;
use crate::view::NodeView;

/// An event for the loop.
#[derive(Debug)]
pub enum LoopEvent {
    /// A key or a paste.
    Input(Event),
    /// Keys can no longer be read.
    InputFailed(io::Error),
    /// A signal.
    Signal(i32),
    /// The terminal was closed.
    HangUp,
    /// A frame has been written.
    Written,
    /// The requested node view, and the title.
    NodeView(Box<NodeView>, String),
    /// Log updates, and the number of logs opened and closed before them.
    LogUpdates(u64, Vec<LogUpdate>),
    /// The feed thread exited.
    FeedEnded,
}

/// Capacity of the event channel; senders block while it is full.
pub const WAITING: usize = 256;
/// How long the loop may take to exit after a hang-up, and after a signal.
const LIMITS: (Duration, Duration) = (Duration::from_millis(700), Duration::from_millis(1500));

/// Starts all three threads. `ended` is true once the loop has exited.
pub fn start(loop_: &SyncSender<LoopEvent>, ended: &Arc<AtomicBool>) -> io::Result<()> {
    let (to, end) = (loop_.clone(), ended.clone());
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH])?;
    spawn("signals", move || {
        for signal in signals.forever() {
            handle_signal(signal, &to, &end);
        }
    })?;
    let (to, end) = (loop_.clone(), ended.clone());
    spawn("hang-up", move || {
        wait_for_hang_up();
        let _ = to.try_send(LoopEvent::HangUp);
        give_up_after(LIMITS.0, SIGHUP, &end);
    })?;
    let to = loop_.clone();
    spawn("input", move || {
        loop {
            let message = match event::read() {
                // Resizes are handled by SIGWINCH, which is never lost.
                Ok(Event::Resize(..)) => continue,
                Ok(event) => LoopEvent::Input(event),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) => LoopEvent::InputFailed(why),
            };
            let last = matches!(message, LoopEvent::InputFailed(_));
            if to.send(message).is_err() || last {
                return;
            }
        }
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(work).map(|_| ())
}

fn handle_signal(signal: i32, to: &SyncSender<LoopEvent>, ended: &Arc<AtomicBool>) {
    if ended.load(Ordering::Acquire) {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return;
    }
    if !matches!(signal, SIGTSTP | SIGCONT | SIGWINCH) {
        let ended = ended.clone();
        let _ = spawn("last resort", move || give_up_after(LIMITS.1, signal, &ended));
    }
    let _ = to.send(LoopEvent::Signal(signal));
}

/// Detects a closed pseudo terminal at once, even if SIGHUP is ignored and a read would spin (crossterm#793).
fn wait_for_hang_up() {
    let stdout = stdout();
    loop {
        let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
        match poll(&mut fds, None) {
            Ok(_) if fds[0].revents().is_empty() => {}
            Ok(_) => return,
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn give_up_after(limit: Duration, signal: i32, ended: &AtomicBool) {
    thread::sleep(limit);
    if !ended.load(Ordering::Acquire) {
        terminal::restore();
        process::exit(128 + signal);
    }
}
