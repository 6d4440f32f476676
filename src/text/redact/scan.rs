//! Helper functions of the rules to scan a text; each is bounded.

use std::ops::Range;

/// Maximum length of a credential, bytes: more than a JWT with many claims.
pub const MAX_LEN: usize = 8192;

/// A letter, digit, `_` or `-`.
pub fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}

/// A character of base64, standard or URL-safe.
pub fn is_base64(b: u8) -> bool {
    is_word(b) || matches!(b, b'+' | b'/' | b'=')
}

/// The byte at an index, 0 after the end.
pub fn byte(text: &str, at: usize) -> u8 {
    text.as_bytes().get(at).copied().unwrap_or(0)
}

/// The byte before an index, 0 at the start.
pub fn before(text: &str, at: usize) -> u8 {
    at.checked_sub(1).map_or(0, |at| byte(text, at))
}

/// True if no letter or digit is directly before the index.
pub fn starts_word(text: &str, at: usize) -> bool {
    !before(text, at).is_ascii_alphanumeric()
}

/// The end of the sequence of matching bytes that starts at `from`.
pub fn run(text: &str, from: usize, of: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().take(MAX_LEN).take_while(|b| of(**b)).count()
}

/// The start of the sequence of at most `most` matching bytes that ends at `to`.
pub fn run_back(text: &str, to: usize, most: usize, of: impl Fn(u8) -> bool) -> usize {
    let head = text.as_bytes().get(..to).unwrap_or_default();
    to - head.iter().rev().take(most).take_while(|b| of(**b)).count()
}

/// The end of the spaces and tabs that start at `from`.
pub fn skip_blanks(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() && c != '\n').len()
}

/// The end of the line of `from`.
pub fn line_end(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
}

/// The end of the quoted text that starts at `from`, after `slashes` backslashes and a `quote`: before the same characters, or
/// the end of the line if the text was cut.
pub fn quoted_end(text: &str, from: usize, slashes: usize, quote: u8) -> usize {
    let line = text.as_bytes().get(from..line_end(text, from)).unwrap_or_default();
    let mut before = 0;
    for (i, b) in line.iter().enumerate() {
        match *b {
            b'\\' => before += 1,
            // Within plain quotes a backslash escapes the next character; escaped quotes have a fixed number of them.
            b if b == quote && (before == slashes || slashes == 0 && before % 2 == 0) => {
                return from + i - before.min(slashes);
            }
            _ => before = 0,
        }
    }
    from + line.len()
}

/// The number of backslashes at `from`, and the quote after them, if any.
pub fn opening_quote(text: &str, from: usize) -> Option<(usize, u8)> {
    let end = run(text, from, |b| b == b'\\');
    let quote = byte(text, end);
    matches!(quote, b'"' | b'\'' | b'`').then_some((end - from, quote))
}

/// Letters in both cases and digits, as in random strings.
pub fn is_random(value: &str) -> bool {
    let has = |of: fn(&u8) -> bool| value.as_bytes().iter().any(of);
    has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}

/// The range, if it has at least that many bytes.
pub fn at_least(range: Range<usize>, least: usize) -> Option<Range<usize>> {
    (range.len() >= least).then_some(range)
}
