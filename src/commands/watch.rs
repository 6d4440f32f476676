//! Owns `--watch`: one moment after another, until somebody has seen enough or the input ends.
//! It must not look again where nothing can have changed: it waits for the model and for the next deadline.

use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::time::TimeDelta;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{Failure, Outcome, input, live, out, runbook};
use crate::cli::Input;
use crate::observation::Time;
use crate::observe::guard;
use crate::report::DiscoveryResult;
use crate::session::Session;
use crate::view::NodeView;

/// Changes that come within this time are told together, so that a burst costs one moment.
const TOGETHER: Duration = Duration::from_millis(100);
/// Longest time without a look: the wall clock, by which deadlines are kept, may have been set.
const LONGEST: Duration = Duration::from_secs(60);
/// How long the loop may take to end; it may hang in a write that nobody reads, or be
/// at work on a moment.
const LAST_RESORT: Duration = Duration::from_millis(100);

/// A moment to be told of.
pub struct Look<'a> {
    /// How the node was found; empty for an input.
    pub looked: &'a [DiscoveryResult],
    /// The moment.
    pub moment: &'a NodeView,
    /// It is of an input and not of now, so that its time must be told.
    pub past: bool,
}

/// Hands one moment after another to `show`, which gives the time at which it wants another one whatever changes.
pub fn watch(input: &Input, show: impl FnMut(Look<'_>) -> Result<Option<Time>, Failure>) -> Result<Outcome, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    listen(&stop).map_err(|why| Failure::unseen(format!("waiting for signals: {why}"), ""))?;
    match &input.from {
        Some(_) => played(input, &stop, show)?,
        None => observed(input, &stop, show)?,
    }
    Ok(Outcome::Done)
}

/// This node, until a signal comes or nobody reads any more.
fn observed(
    input: &Input,
    stop: &AtomicBool,
    mut show: impl FnMut(Look<'_>) -> Result<Option<Time>, Failure>,
) -> Result<(), Failure> {
    let mut observed = live::observe(input, runbook::own(input)?)?;
    let moment = observed.moment();
    if !live::sees_pods(&moment) {
        // Something may come up later: that is what is waited for.
        out::note(&format!("{}; waiting", live::blind(&moment)));
    }
    while !stop.load(Ordering::Acquire) {
        let shown = Instant::now();
        let moment = observed.moment();
        let wanted = show(Look { looked: &observed.looked(), moment: &moment, past: false })?;
        let next = [wanted, moment.next_change()].into_iter().flatten().min();
        let wait = next.map_or(LONGEST, |at| (at - Time::now()).to_duration() + Duration::from_millis(1));
        if observed.live.wait(wait.min(LONGEST))? {
            thread::sleep(TOGETHER.saturating_sub(shown.elapsed()));
            observed.live.pass()?;
        }
    }
    Ok(())
}

/// An input from the moment asked for, or its begin, to its end: without waiting, for it is over.
fn played(
    input: &Input,
    stop: &AtomicBool,
    mut show: impl FnMut(Look<'_>) -> Result<Option<Time>, Failure>,
) -> Result<(), Failure> {
    let mut session: Session = input::open(input)?;
    if input.at.is_none() {
        session.rewind()?;
    }
    while !stop.load(Ordering::Acquire) {
        let moment = session.moment();
        let wanted = show(Look { looked: &[], moment: &moment, past: true })?;
        if session.is_over() {
            break;
        }
        session.step(wanted.map(|at| at + TimeDelta::milliseconds(1)), TOGETHER)?;
    }
    Ok(())
}

/// Sets `stop` and wakes this thread on a signal, and when nobody reads standard output any more.
fn listen(stop: &Arc<AtomicBool>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let (told, main) = (Arc::clone(stop), thread::current());
    spawn("signals", move || {
        if signals.forever().next().is_some() {
            end(&told, &main);
        }
    })?;
    let (told, main) = (Arc::clone(stop), thread::current());
    spawn("reader", move || {
        if reader_is_gone() {
            end(&told, &main);
        }
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(work).map(|_| ())
}

fn end(stop: &AtomicBool, main: &Thread) {
    stop.store(true, Ordering::Release);
    main.unpark();
    thread::sleep(LAST_RESORT);
    guard::kill_all();
    process::exit(0);
}

/// Waits until the other end of standard output is closed; false when that cannot be known.
fn reader_is_gone() -> bool {
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
