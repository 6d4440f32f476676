//! Writes to the terminal with a time limit, through its own non-blocking file descriptor.

use std::fs;
use std::io::stdout;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{Action, QueueSelector, tcflow, tcflush};

/// How often a blocked write checks whether to continue.
const LOOK: Duration = Duration::from_millis(20);

/// The terminal, opened a second time without blocking.
static OWN: OnceLock<Option<OwnedFd>> = OnceLock::new();

/// Why the output is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritten {
    /// The terminal accepted no more until the write was stopped.
    Stopped,
    /// The terminal was closed.
    Gone,
}

/// Writes all bytes, while `wanted` is true.
pub fn write(mut bytes: &[u8], wanted: impl Fn() -> bool) -> Result<(), Unwritten> {
    let stdout = stdout();
    let terminal = terminal(&stdout);
    while !bytes.is_empty() {
        // Standard output may block: write only when the terminal is ready.
        match is_ready(terminal) {
            Ok(true) => match rustix::io::write(terminal, bytes) {
                Ok(0) => return Err(Unwritten::Gone),
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return Err(Unwritten::Gone),
            },
            Ok(false) => {}
            Err(_) => return Err(Unwritten::Gone),
        }
        if !bytes.is_empty() && !wanted() {
            return Err(Unwritten::Stopped);
        }
    }
    Ok(())
}

/// Writes all bytes within `limit`.
pub fn write_within(bytes: &[u8], limit: Duration) -> Result<(), Unwritten> {
    let end = Instant::now() + limit;
    write(bytes, || Instant::now() < end)
}

/// Flushes the output queue of a blocked terminal and resumes output that Ctrl-S stopped.
pub fn make_room() {
    let stdout = stdout();
    let terminal = terminal(&stdout);
    // On failure the terminal is unchanged.
    _ = tcflow(terminal, Action::OOn);
    _ = tcflush(terminal, QueueSelector::OFlush);
}

/// The non-blocking file descriptor, or standard output if the terminal cannot be opened again.
fn terminal(stdout: &std::io::Stdout) -> BorrowedFd<'_> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let own = OWN.get_or_init(|| {
        let path = fs::read_link("/proc/self/fd/1").ok()?;
        let own = rustix::fs::open(&path, flags, Mode::empty()).ok()?;
        // In a container the path may name another terminal.
        let is_same = |a: &rustix::fs::Stat, b: &rustix::fs::Stat| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino);
        let (is, should) = (rustix::fs::fstat(&own).ok()?, rustix::fs::fstat(stdout).ok()?);
        is_same(&is, &should).then_some(own)
    });
    own.as_ref().map_or(stdout.as_fd(), AsFd::as_fd)
}

fn is_ready(terminal: BorrowedFd<'_>) -> Result<bool, Errno> {
    let look = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
    let mut fds = [PollFd::new(&terminal, PollFlags::OUT)];
    match poll(&mut fds, Some(&look)) {
        Ok(0) | Err(Errno::INTR) => Ok(false),
        Ok(_) => Ok(true),
        Err(other) => Err(other),
    }
}
