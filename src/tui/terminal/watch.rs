//! Owns the threads that wait for keys, for signals, and for the terminal to go away.
//! It must not be joined: a read from a terminal that is gone may never return, or return for ever.

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

/// What the loop is woken for.
#[derive(Debug)]
pub enum Message {
    /// A key or a paste.
    Input(Event),
    /// Keys cannot be read any more.
    InputFailed(io::Error),
    /// A signal.
    Signal(i32),
    /// The terminal is gone.
    HangUp,
    /// A frame has been written.
    Written,
    /// The moment that was asked for, and what is shown.
    NodeView(Box<NodeView>, String),
    /// What is new of a log: how often logs were opened and closed until then, and the news.
    News(u64, Vec<LogUpdate>),
    /// The feed has failed: no moment will ever come any more.
    FeedEnded,
}

/// Messages that may wait for the loop; threads that have more wait themselves.
pub const WAITING: usize = 256;
/// The loop is given so long to end after a hang-up, and after a signal.
const LIMITS: (Duration, Duration) = (Duration::from_millis(700), Duration::from_millis(1500));

/// Starts all three. `ended` says that the loop has ended, and with it what they are for.
pub fn start(loop_: &SyncSender<Message>, ended: &Arc<AtomicBool>) -> io::Result<()> {
    let (to, end) = (loop_.clone(), ended.clone());
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH])?;
    spawn("signals", move || {
        for signal in signals.forever() {
            told_of(signal, &to, &end);
        }
    })?;
    let (to, end) = (loop_.clone(), ended.clone());
    spawn("hang-up", move || {
        wait_for_hang_up();
        let _ = to.try_send(Message::HangUp);
        give_up_after(LIMITS.0, SIGHUP, &end);
    })?;
    let to = loop_.clone();
    spawn("input", move || {
        loop {
            let message = match event::read() {
                // It is lost when a key comes at the same moment: the signal itself is not.
                Ok(Event::Resize(..)) => continue,
                Ok(event) => Message::Input(event),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) => Message::InputFailed(why),
            };
            let last = matches!(message, Message::InputFailed(_));
            if to.send(message).is_err() || last {
                return;
            }
        }
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(work).map(|_| ())
}

fn told_of(signal: i32, to: &SyncSender<Message>, ended: &Arc<AtomicBool>) {
    if ended.load(Ordering::Acquire) {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return;
    }
    if !matches!(signal, SIGTSTP | SIGCONT | SIGWINCH) {
        let ended = ended.clone();
        let _ = spawn("last resort", move || give_up_after(LIMITS.1, signal, &ended));
    }
    let _ = to.send(Message::Signal(signal));
}

/// A closed pseudo terminal is seen here at once, also where SIGHUP is ignored and a read would spin (crossterm#793).
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
