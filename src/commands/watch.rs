//! `--watch`: a view after each change, until a signal, the end of the input, or the reader of the output closes it.

use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::session::NodeSession;
use super::{Failure, Outcome, live, out, runbook};
use crate::cli::Input;
use crate::observation::Time;
use crate::observe::guard;
use crate::report::DiscoveryResult;
use crate::view::NodeView;

/// Changes within this time are combined, so that a burst costs one view.
const WINDOW: Duration = Duration::from_millis(100);
/// How long the loop can take to end: it can be blocked in a write, or computing a view.
const MAX_SHUTDOWN: Duration = Duration::from_millis(100);

/// A view that is to be printed.
pub struct WatchedView<'a> {
    /// What was searched for the sources; empty for an input.
    pub looked: &'a [DiscoveryResult],
    /// The view.
    pub moment: &'a NodeView,
    /// It is of an input: its time must be printed.
    pub past: bool,
}

/// Passes one view after another to `show`, which returns the time at which it needs the next one even without a change. An input
/// is played from `--at` or its start, without waiting.
pub fn watch(
    input: &Input,
    mut show: impl FnMut(WatchedView<'_>) -> Result<Option<Time>, Failure>,
) -> Result<Outcome, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    listen(&stop).map_err(|why| Failure::unseen(format!("waiting for signals: {why}"), ""))?;
    let mut session = NodeSession::open(input, runbook::own(input)?)?;
    match &mut session {
        NodeSession::Recorded(recorded) if input.at.is_none() => recorded.rewind()?,
        NodeSession::Recorded(_) => {}
        NodeSession::Live(live) => {
            let moment = live.moment();
            if !live::sees_pods(&moment) {
                // A source can come up later.
                out::note(&format!("{}; waiting", live::blind(&moment)));
            }
        }
    }
    while !stop.load(Ordering::Acquire) {
        let moment = session.moment();
        let past = session.is_recorded();
        let wanted = show(WatchedView { looked: &session.discovery(), moment: &moment, past })?;
        if session.is_over() {
            break;
        }
        session.advance_to_change(wanted, WINDOW)?;
    }
    Ok(Outcome::Done)
}

/// Sets `stop` and wakes this thread on a signal, and when the reader of standard output closes it.
fn listen(stop: &Arc<AtomicBool>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let (stopped, main) = (Arc::clone(stop), thread::current());
    spawn("signals", move || {
        if signals.forever().next().is_some() {
            end(&stopped, &main);
        }
    })?;
    let (stopped, main) = (Arc::clone(stop), thread::current());
    spawn("reader", move || {
        if is_output_closed() {
            end(&stopped, &main);
        }
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(work).map(|_| ())
}

fn end(stop: &AtomicBool, main: &Thread) {
    stop.store(true, Ordering::Release);
    main.unpark();
    thread::sleep(MAX_SHUTDOWN);
    guard::kill_all();
    process::exit(0);
}

/// Waits until the reader of standard output closes it. False if that cannot be detected.
fn is_output_closed() -> bool {
    let stdout = io::stdout();
    loop {
        let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
        match poll(&mut fds, None) {
            Ok(_) if fds[0].revents().is_empty() => {}
            Ok(_) => return fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
