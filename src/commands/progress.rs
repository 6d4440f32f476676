//! The status line on a terminal: the progress of reading a large input, or the sources that a command waits for.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::out;
use crate::text::Text;
use crate::view::bytes;

/// Shorter work has no status line.
const DELAY: Duration = Duration::from_millis(500);
/// Time between two updates of the line.
const INTERVAL: Duration = Duration::from_millis(250);

/// A line on the terminal that is updated in place and cleared on drop.
pub struct StatusLine {
    is_terminal: bool,
    is_shown: bool,
}

impl StatusLine {
    /// A line that is not shown yet.
    pub fn new() -> Self {
        Self { is_terminal: io::stderr().is_terminal(), is_shown: false }
    }

    /// Time until the next update of a line for work that started `since` ago.
    pub fn next_update(&self, since: Duration) -> Duration {
        match (self.is_terminal, self.is_shown) {
            (false, _) => Duration::MAX,
            (true, false) => DELAY.saturating_sub(since),
            (true, true) => INTERVAL,
        }
    }

    /// Shows the text, on a terminal only. Errors are ignored: the line is not part of the output.
    pub fn show(&mut self, text: &str) {
        if self.is_terminal {
            let room = out::columns(io::stderr()).unwrap_or(80).saturating_sub(1);
            let text: String = text.chars().take(room).collect();
            _ = write!(io::stderr().lock(), "\r\x1b[K{text}");
            self.is_shown = true;
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        if self.is_shown {
            _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// Shows the progress of reading a file until it is dropped.
pub struct Progress {
    end: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts to show the progress of reading `path`.
    pub fn new(path: &Path) -> Self {
        if !io::stderr().is_terminal() {
            return Self { end: None };
        }
        let name = Text::new(&path.display().to_string()).one_line().into_owned();
        let size = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| file.len());
        let (end, dropped) = channel();
        let start = (Instant::now(), bytes_read());
        let update = move || {
            let mut status = StatusLine::new();
            while let Err(RecvTimeoutError::Timeout) = dropped.recv_timeout(status.next_update(start.0.elapsed())) {
                let (read, seconds) = (bytes_read().saturating_sub(start.1), start.0.elapsed().as_secs());
                status.show(&line(&name, read, size, seconds));
            }
        };
        let thread = thread::Builder::new().name("progress".into()).spawn(update);
        Self { end: thread.ok().map(|thread| (end, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.end.take() {
            drop(end);
            // Joined, so that the line is cleared before other output.
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

/// Bytes that this process has read so far (`rchar` in `/proc/self/io`).
fn bytes_read() -> u64 {
    let counts = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let count = counts.lines().find_map(|line| line.strip_prefix("rchar: "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_shown_only_with_a_known_size() {
        assert_eq!(line("x", 50, Some(200), 3), "reading x: 25% of 200B, 3s");
        assert_eq!(line("x", 2048, None, 1), "reading x: 2.0KiB, 1s");
        assert_eq!(line("x", 300, Some(200), 1), "reading x: 300B, 1s", "compressed input is read more than once");
    }

    #[test]
    fn the_kernel_counts_bytes_read() {
        let before = bytes_read();
        fs::read_to_string("/proc/self/status").unwrap();
        assert!(bytes_read() > before);
    }
}
