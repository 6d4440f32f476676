//! Owns writing to the terminal without ever waiting for it longer than is asked: through an opening of its own that does not
//! block, so that nothing changes for who shares the terminal. It must not know what is written.

use std::fs;
use std::io::stdout;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{Action, QueueSelector, tcflow, tcflush};

/// How often a terminal that takes nothing is asked whether this is still wanted.
const LOOK: Duration = Duration::from_millis(20);

/// The terminal, opened once more.
static OWN: OnceLock<Option<OwnedFd>> = OnceLock::new();

/// Why not all was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritten {
    /// The terminal took no more until nobody wanted it any longer.
    Stopped,
    /// The terminal is gone.
    Gone,
}

/// Writes all of it; between two looks at the terminal `wanted` says whether to go on.
pub fn write(mut bytes: &[u8], wanted: impl Fn() -> bool) -> Result<(), Unwritten> {
    let stdout = stdout();
    let terminal = terminal(&stdout);
    while !bytes.is_empty() {
        // Without an opening of its own a write may block: not before the terminal takes something.
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

/// Writes all of it within `limit`, while `wanted` says so.
pub fn write_within(bytes: &[u8], limit: Duration) -> Result<(), Unwritten> {
    let end = Instant::now() + limit;
    write(bytes, || Instant::now() < end)
}

/// Makes room in a terminal that takes nothing: what was written to it and not shown is thrown away, and a stop by Ctrl-S ends.
pub fn make_room() {
    let stdout = stdout();
    let terminal = terminal(&stdout);
    // What fails here leaves the terminal as it was.
    _ = tcflow(terminal, Action::OOn);
    _ = tcflush(terminal, QueueSelector::OFlush);
}

/// The opening that does not block, or standard output where the terminal cannot be opened again.
fn terminal(stdout: &std::io::Stdout) -> BorrowedFd<'_> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let own = OWN.get_or_init(|| {
        let path = fs::read_link("/proc/self/fd/1").ok()?;
        let own = rustix::fs::open(&path, flags, Mode::empty()).ok()?;
        // Another terminal of that name may be there: a container has names of its own.
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
