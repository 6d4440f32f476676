//! Owns private keys in PEM: a whole block, one that was cut at either end, and one whose lines come one by one.
//! It must not take a certificate for a key.

use std::ops::Range;

use super::scan::{FAR, is_base64, line_end, run_back};
use crate::text::Text;

/// Least length of a line of a key's body that is not its last.
const LINE: usize = 40;
/// Longest header or footer, bytes: `-----BEGIN ENCRYPTED PRIVATE KEY-----`.
const MARK: usize = 64;
/// Most lines of one key that come one by one: 16384 bits have some 200.
const MOST_LINES: usize = 400;

/// What stands behind a key's header: up to its footer, or to the end where that was cut.
pub fn body(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let begin = mark_end(text, &anchor)?;
    let rest = text.get(begin..)?;
    let end = rest.find("-----END ").map_or(text.len(), |end| begin + end);
    // Line feeds at either end stay.
    let held = text.get(begin..end)?;
    let inner = held.trim();
    let from = begin + (held.len() - held.trim_start().len());
    (!inner.is_empty()).then_some(from..from + inner.len())
}

/// What stands before a key's footer whose header was cut off: all words of base64 that are as long as lines, and the
/// last, which may be shorter.
pub fn tail(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    mark_end(text, &anchor)?;
    let end = anchor.start;
    let (mut begin, mut at, mut words) = (end, end, 0);
    while end - at < FAR {
        let to = run_back(text, at, FAR, |b| b.is_ascii_whitespace());
        // In a JSON string line feeds are written.
        let to = if text.get(..to)?.ends_with("\\n") { to - 2 } else { to };
        let from = run_back(text, to, FAR, is_base64);
        // The n of a line feed that is written as `\n`.
        let escaped = text.get(..from)?.ends_with('\\') && text.get(from..to)?.starts_with('n');
        let from = if escaped { from + 1 } else { from };
        let at_begin = from == 0 && words > 0;
        if from == to || to - from < LINE && words > 0 && !at_begin {
            break;
        }
        (begin, at, words) = (from, from, words + 1);
        if escaped {
            at -= 2;
        }
    }
    let held = text.get(begin..end)?.trim_end().len();
    (held > 0).then_some(begin..begin + held)
}

/// Where the header or footer that begins with the anchor ends, if it is a private key's.
fn mark_end(text: &str, anchor: &Range<usize>) -> Option<usize> {
    let rest = text.get(anchor.end..)?;
    let name = rest.get(..rest.find("-----")?)?;
    (name.len() <= MARK && name.to_ascii_uppercase().contains("PRIVATE KEY")).then_some(anchor.end + name.len() + 5)
}

/// A log whose lines come one by one: what belongs to a private key is taken out of each.
#[derive(Clone, Debug, Default)]
pub struct PemLines {
    /// So many more lines may be of the key whose header was seen.
    open: usize,
}

impl PemLines {
    /// The next line as a text.
    pub fn line(&mut self, raw: &str) -> Text {
        let text = Text::new(raw);
        let (header, footer) = (is_mark(raw, "-----BEGIN "), is_mark(raw, "-----END "));
        if self.open > 0 && !header && !footer {
            if is_of_body(raw) {
                self.open -= 1;
                return Text::secret(raw);
            }
            self.open = 0;
        }
        if header || footer {
            self.open = if header && !footer { MOST_LINES } else { 0 };
        }
        text
    }

    /// The line is a footer, and `before` are the lines before it, last first, which came without their header: those of
    /// the key are taken out.
    pub fn close<'a>(raw: &str, before: impl Iterator<Item = &'a mut Text>) {
        if !is_mark(raw, "-----END ") || is_mark(raw, "-----BEGIN ") {
            return;
        }
        for (i, text) in before.take(MOST_LINES).enumerate() {
            let is_body = !text.is_empty() && text.bytes().all(is_base64) && (text.len() >= LINE || i == 0);
            if !is_body {
                break;
            }
            *text = Text::secret(text.as_str());
        }
    }
}

fn is_mark(raw: &str, begin: &str) -> bool {
    raw.find(begin).is_some_and(|at| mark_end(raw, &(at..at + begin.len())).is_some())
}

/// A line of base64, one of the headers that old keys have (`Proc-Type: 4,ENCRYPTED`), or the empty line behind those.
fn is_of_body(raw: &str) -> bool {
    let line = raw.get(..line_end(raw, 0)).unwrap_or(raw).trim();
    let is_header = line.split_once(": ").is_some_and(|(name, _)| matches!(name, "Proc-Type" | "DEK-Info"));
    line.bytes().all(is_base64) || is_header
}
