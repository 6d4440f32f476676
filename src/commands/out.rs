//! Owns standard output and standard error.
//! It must not panic when nobody reads them.

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

/// Writes a document to standard output.
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

/// Says something beside the output.
pub fn note(text: &str) {
    error(&format!("note: {text}"));
}

/// A line on standard error; there is no place left to say that this failed.
pub fn error(text: &str) {
    // It may name a path or an answer of a server.
    _ = writeln!(io::stderr().lock(), "{}", Text::new(text));
}

/// Width of the terminal that standard output is, if it is one.
pub fn width() -> Option<usize> {
    columns(io::stdout())
}

/// Width of the terminal that a stream is, if it is one.
pub fn columns(stream: impl IsTerminal + AsFd) -> Option<usize> {
    let size = stream.is_terminal().then(|| rustix::termios::tcgetwinsize(&stream).ok()).flatten()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}
