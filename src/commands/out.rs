//! Writes to standard output and standard error, without a panic when a pipe is closed.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use serde::Serialize;

use super::Failure;
use crate::text::Text;

/// Writes text to standard output.
pub fn text(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|why| Failure::output(&why))
}

/// Writes a document to standard output, indented.
pub fn json(document: &impl Serialize) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, document)
        .map_err(io::Error::from)
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush())
        .map_err(|why| Failure::output(&why))
}

/// Writes a document to standard output as one line.
pub fn json_line(document: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(document).map_err(|why| Failure::output(&why.into()))?;
    text(&format!("{line}\n"))
}

/// Prints `note: …` to standard error.
pub fn note(text: &str) {
    error(&format!("note: {text}"));
}

/// Prints a line to standard error. A failure to do so is ignored.
pub fn error(text: &str) {
    // Paths and server responses can hold control sequences.
    _ = writeln!(io::stderr().lock(), "{}", Text::new(text));
}

/// Width of standard output in columns; none if it is not a terminal.
pub fn width() -> Option<usize> {
    columns(io::stdout())
}

/// Width of a stream in columns; none if it is not a terminal.
pub fn columns(stream: impl IsTerminal + AsFd) -> Option<usize> {
    let size = stream.is_terminal().then(|| rustix::termios::tcgetwinsize(&stream).ok()).flatten()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}
