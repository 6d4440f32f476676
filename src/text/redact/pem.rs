//! Private keys in PEM: a complete block, one cut at either end, and one read line by line. Certificates are kept.

use std::ops::Range;

use super::scan::{MAX_LEN, is_base64, line_end, run_back};
use crate::text::Text;

/// Minimum length of a line of a key's body, except the last.
const MIN_LINE: usize = 40;
/// Maximum length of a header or footer, bytes: `-----BEGIN ENCRYPTED PRIVATE KEY-----`.
const MAX_MARK: usize = 64;
/// Maximum number of lines of one key that is read line by line; 16384 bits have about 200.
const MAX_LINES: usize = 400;

/// The text after the header of a key, up to its footer, or to the end if that was cut.
pub fn body(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let start = mark_end(text, &anchor)?;
    let rest = text.get(start..)?;
    let end = rest.find("-----END ").map_or(text.len(), |end| start + end);
    // Line feeds at both ends are kept.
    let held = text.get(start..end)?;
    let inner = held.trim();
    let from = start + (held.len() - held.trim_start().len());
    (!inner.is_empty()).then_some(from..from + inner.len())
}

/// The text before the footer of a key whose header was cut: all words of base64 that are as long as a line, and the last
/// one, which may be shorter.
pub fn tail(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    mark_end(text, &anchor)?;
    let end = anchor.start;
    let (mut start, mut at, mut words) = (end, end, 0);
    while end - at < MAX_LEN {
        let to = run_back(text, at, MAX_LEN, |b| b.is_ascii_whitespace());
        // JSON strings have escaped line feeds.
        let to = if text.get(..to)?.ends_with("\\n") { to - 2 } else { to };
        let from = run_back(text, to, MAX_LEN, is_base64);
        // The `n` of an escaped line feed `\n`.
        let escaped = text.get(..from)?.ends_with('\\') && text.get(from..to)?.starts_with('n');
        let from = if escaped { from + 1 } else { from };
        let is_at_start = from == 0 && words > 0;
        if from == to || to - from < MIN_LINE && words > 0 && !is_at_start {
            break;
        }
        (start, at, words) = (from, from, words + 1);
        if escaped {
            at -= 2;
        }
    }
    let held = text.get(start..end)?.trim_end().len();
    (held > 0).then_some(start..start + held)
}

/// The end of the header or footer that starts with the anchor, if it is one of a private key.
fn mark_end(text: &str, anchor: &Range<usize>) -> Option<usize> {
    let rest = text.get(anchor.end..)?;
    let name = rest.get(..rest.find("-----")?)?;
    (name.len() <= MAX_MARK && name.to_ascii_uppercase().contains("PRIVATE KEY")).then_some(anchor.end + name.len() + 5)
}

/// Redacts the lines of private keys in a log that is read line by line.
#[derive(Clone, Debug, Default)]
pub struct PemLines {
    /// How many more lines may belong to the key whose header was read.
    remaining: usize,
}

impl PemLines {
    /// The next line as a text.
    pub fn line(&mut self, raw: &str) -> Text {
        let text = Text::new(raw);
        let (header, footer) = (is_mark(raw, "-----BEGIN "), is_mark(raw, "-----END "));
        if self.remaining > 0 && !header && !footer {
            if is_body_line(raw) {
                self.remaining -= 1;
                return Text::secret(raw);
            }
            self.remaining = 0;
        }
        if header || footer {
            self.remaining = if header && !footer { MAX_LINES } else { 0 };
        }
        text
    }

    /// Redacts the lines of a key before its footer `raw`, given those lines in reverse order: their header was not read.
    pub fn close<'a>(raw: &str, before: impl Iterator<Item = &'a mut Text>) {
        if !is_mark(raw, "-----END ") || is_mark(raw, "-----BEGIN ") {
            return;
        }
        for (i, text) in before.take(MAX_LINES).enumerate() {
            let is_body = !text.is_empty() && text.bytes().all(is_base64) && (text.len() >= MIN_LINE || i == 0);
            if !is_body {
                break;
            }
            *text = Text::secret(text.as_str());
        }
    }
}

fn is_mark(raw: &str, start: &str) -> bool {
    raw.find(start).is_some_and(|at| mark_end(raw, &(at..at + start.len())).is_some())
}

/// A line of base64, a header of an old key (`Proc-Type: 4,ENCRYPTED`), or the empty line after those.
fn is_body_line(raw: &str) -> bool {
    let line = raw.get(..line_end(raw, 0)).unwrap_or(raw).trim();
    let is_header = line.split_once(": ").is_some_and(|(name, _)| matches!(name, "Proc-Type" | "DEK-Info"));
    line.bytes().all(is_base64) || is_header
}
