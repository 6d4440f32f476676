//! Owns credentials in HTTP headers: authorization and cookies.
//! It must not take the name of a scheme in a sentence for one.

use std::ops::Range;

use super::scan::{at_least, begins_word, blanks, byte, is_base64, is_random, line_end, quote, quoted, run};

/// Schemes that may stand before the credential in a header.
const SCHEMES: [&str; 7] = ["bearer ", "basic ", "digest ", "negotiate ", "token ", "ntlm ", "aws4-hmac-sha256 "];
/// Shortest credential that is told from a word.
const SHORTEST: usize = 8;

/// What a header `Authorization` or `Proxy-Authorization` holds, but for its scheme.
pub fn authorization(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let (begin, end) = value(text, anchor.end)?;
    let held = text.get(begin..end)?;
    let scheme = SCHEMES.iter().find(|s| held.get(..s.len()).is_some_and(|head| head.eq_ignore_ascii_case(s)));
    match scheme {
        Some(scheme) => {
            let from = blanks(text, begin + scheme.len());
            let one = matches!(*scheme, "bearer " | "basic " | "token " | "negotiate ");
            let to = if one {
                run(text, from, |b| !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b',' | b'\\' | b'}' | b']'))
            } else {
                end
            };
            let named = text.get(from..to)?;
            (!is_placeholder(named)).then_some(from..to.min(end))
        }
        None => {
            let to = run(text, begin, is_base64).min(end);
            text.get(begin..to)
                .filter(|held| held.len() >= 2 * SHORTEST && held.bytes().any(|b| b.is_ascii_digit()))?;
            Some(begin..to)
        }
    }
}

/// The token behind `Bearer `.
pub fn bearer(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    scheme(text, anchor, |b| is_base64(b) || matches!(b, b'.' | b'~' | b':'))
}

/// User and password behind `Basic `.
pub fn basic(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    scheme(text, anchor, |b| is_base64(b) && !matches!(b, b'-' | b'_'))
}

fn scheme(text: &str, anchor: Range<usize>, of: impl Fn(u8) -> bool) -> Option<Range<usize>> {
    if !begins_word(text, anchor.start) {
        return None;
    }
    let from = blanks(text, anchor.end);
    let found = at_least(from..run(text, from, of), SHORTEST)?;
    let value = text.get(found.clone())?.trim_end_matches([':', '.']);
    // `realm="…` is what a server wants, not what a client has.
    let is_parameter = value.contains('=') && !value.trim_end_matches('=').chars().all(|c| c != '=')
        || matches!(byte(text, found.end), b'"' | b'\'') && value.ends_with('=');
    let looks = is_random(value) || value.bytes().any(|b| b.is_ascii_digit()) || value.ends_with('=');
    (looks && !is_parameter).then_some(found.start..found.start + value.len())
}

/// What a cookie holds.
pub fn cookie(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    if !begins_word(text, anchor.start) {
        return None;
    }
    let (begin, end) = value(text, anchor.end)?;
    text.get(begin..end)?.contains('=').then_some(begin..end)
}

/// Where the value of a header whose name ends at `from` stands: in its quotes, or on its line.
fn value(text: &str, from: usize) -> Option<(usize, usize)> {
    let key = quote(text, from);
    let mut at = key.map_or(from, |(slashes, _)| from + slashes + 1);
    at = blanks(text, at);
    if !matches!(byte(text, at), b':' | b'=') {
        return None;
    }
    at = blanks(text, at + 1);
    if byte(text, at) == b'[' && text.get(at..).is_some_and(|rest| !rest.starts_with(super::REDACTED)) {
        // Go prints headers as lists.
        at = blanks(text, at + 1);
    }
    match quote(text, at) {
        Some((slashes, quote)) => {
            let begin = at + slashes + 1;
            Some((begin, quoted(text, begin, slashes, quote)))
        }
        None => {
            let end = line_end(text, at);
            // In a shell's words: curl -H 'Cookie: a=b' URL.
            let within = text.get(at..end)?.find(['"', '\'']).map_or(end, |quote| at + quote);
            Some((at, within))
        }
    }
}

fn is_placeholder(value: &str) -> bool {
    value.is_empty() || value.starts_with(['$', '{', '<', '%', '*', '['])
}
