//! Owns the small steps by which the rules walk through a text, each bounded.
//! It must not know what a credential is.

use std::ops::Range;

/// Longest credential that is walked over where nothing ends it, bytes: longer than a JWT with many claims.
pub const FAR: usize = 8192;

/// A letter, digit, `_`, `-`: part of an identifier.
pub fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}

/// Of base64, plain or for URLs.
pub fn is_base64(b: u8) -> bool {
    is_word(b) || matches!(b, b'+' | b'/' | b'=')
}

/// The byte at a place, 0 behind the end.
pub fn byte(text: &str, at: usize) -> u8 {
    text.as_bytes().get(at).copied().unwrap_or(0)
}

/// The byte before a place, 0 before the begin.
pub fn before(text: &str, at: usize) -> u8 {
    at.checked_sub(1).map_or(0, |at| byte(text, at))
}

/// No letter or digit stands directly before.
pub fn begins_word(text: &str, at: usize) -> bool {
    !before(text, at).is_ascii_alphanumeric()
}

/// Where a run of such bytes that begins at `from` ends.
pub fn run(text: &str, from: usize, of: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().take(FAR).take_while(|b| of(**b)).count()
}

/// Where a run of at most `most` such bytes that ends at `to` begins.
pub fn run_back(text: &str, to: usize, most: usize, of: impl Fn(u8) -> bool) -> usize {
    let head = text.as_bytes().get(..to).unwrap_or_default();
    to - head.iter().rev().take(most).take_while(|b| of(**b)).count()
}

/// Where the spaces and tabs that begin at `from` end.
pub fn blanks(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() && c != '\n').len()
}

/// Where the line of `from` ends.
pub fn line_end(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
}

/// Where a quoted text that begins at `from`, behind `slashes` backslashes and a `quote`, ends: before the same, or with
/// its line where that was cut.
pub fn quoted(text: &str, from: usize, slashes: usize, quote: u8) -> usize {
    let line = text.as_bytes().get(from..line_end(text, from)).unwrap_or_default();
    let mut before = 0;
    for (i, b) in line.iter().enumerate() {
        match *b {
            b'\\' => before += 1,
            // Inside of plain quotes a backslash takes the meaning from the next; of escaped ones as many count.
            b if b == quote && (before == slashes || slashes == 0 && before % 2 == 0) => {
                return from + i - before.min(slashes);
            }
            _ => before = 0,
        }
    }
    from + line.len()
}

/// How many backslashes stand at `from`, and the quote behind them, if there is one.
pub fn quote(text: &str, from: usize) -> Option<(usize, u8)> {
    let end = run(text, from, |b| b == b'\\');
    let quote = byte(text, end);
    matches!(quote, b'"' | b'\'' | b'`').then_some((end - from, quote))
}

/// Letters in both cases and digits, as what was drawn at random has and a word does not.
pub fn is_random(value: &str) -> bool {
    let has = |of: fn(&u8) -> bool| value.as_bytes().iter().any(of);
    has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}

/// The range, if it has so many bytes.
pub fn at_least(range: Range<usize>, least: usize) -> Option<Range<usize>> {
    (range.len() >= least).then_some(range)
}
