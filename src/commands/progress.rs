//! Owns the line that says what is waited for: the reading of a large input, the first answers of a node.
//! It must not be seen where nobody waits at a terminal, nor for what takes no time.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::out;
use crate::text::Text;
use crate::view::bytes;

/// Before that nobody wonders.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often the line is written again.
const EVERY: Duration = Duration::from_millis(250);

/// A line on the terminal that is written again and again, and gone when it is dropped.
pub struct StatusLine {
    is_terminal: bool,
    told: bool,
}

impl StatusLine {
    /// Nothing is said yet.
    pub fn new() -> Self {
        Self { is_terminal: io::stderr().is_terminal(), told: false }
    }

    /// How long to wait before it says something, of what has already taken that long.
    pub fn next(&self, since: Duration) -> Duration {
        match (self.is_terminal, self.told) {
            (false, _) => Duration::MAX,
            (true, false) => PATIENCE.saturating_sub(since),
            (true, true) => EVERY,
        }
    }

    /// Says it; it is no output: nobody misses it.
    pub fn say(&mut self, text: &str) {
        if self.is_terminal {
            let room = out::columns(io::stderr()).unwrap_or(80).saturating_sub(1);
            let text: String = text.chars().take(room).collect();
            _ = write!(io::stderr().lock(), "\r\x1b[K{text}");
            self.told = true;
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        if self.told {
            _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// Told until it is dropped.
pub struct Progress {
    end: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins to tell of reading `path`.
    pub fn of(path: &Path) -> Self {
        if !io::stderr().is_terminal() {
            return Self { end: None };
        }
        let name = Text::new(&path.display().to_string()).one_line().into_owned();
        let size = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| file.len());
        let (end, ended) = channel();
        let begun = (Instant::now(), read_so_far());
        let tell = move || {
            let mut told = StatusLine::new();
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(told.next(begun.0.elapsed())) {
                let (read, seconds) = (read_so_far().saturating_sub(begun.1), begun.0.elapsed().as_secs());
                told.say(&line(&name, read, size, seconds));
            }
        };
        let thread = thread::Builder::new().name("progress".into()).spawn(tell);
        Self { end: thread.ok().map(|thread| (end, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.end.take() {
            drop(end);
            // Joined, so that the line is gone before anything else is written.
            _ = thread.join();
        }
    }
}

fn line(name: &str, read: u64, size: Option<u64>, seconds: u64) -> String {
    match size.filter(|size| *size > 0 && read <= *size) {
        Some(size) => format!("reading {name}: {}% of {}, {seconds}s", read * 100 / size, bytes(size)),
        None => format!("reading {name}: {}, {seconds}s", bytes(read)),
    }
}

/// Bytes that this process has read so far, as the kernel counts them.
fn read_so_far() -> u64 {
    let counts = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let count = counts.lines().find_map(|line| line.strip_prefix("rchar: "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_told_only_where_the_whole_is_known() {
        assert_eq!(line("x", 50, Some(200), 3), "reading x: 25% of 200B, 3s");
        assert_eq!(line("x", 2048, None, 1), "reading x: 2.0KiB, 1s");
        assert_eq!(line("x", 300, Some(200), 1), "reading x: 300B, 1s", "what is packed is read more than once");
    }

    #[test]
    fn the_kernel_counts_what_is_read() {
        let before = read_so_far();
        fs::read_to_string("/proc/self/status").unwrap();
        assert!(read_so_far() > before);
    }
}
