//! Credentials in HTTP headers: authorization and cookies. The name of a scheme in a sentence is kept.

use std::ops::Range;

use super::scan::{
    at_least, byte, is_base64, is_random, line_end, opening_quote, quoted_end, run, skip_blanks, starts_word,
};

/// Authentication schemes before the credential in a header.
const SCHEMES: [&str; 7] = ["bearer ", "basic ", "digest ", "negotiate ", "token ", "ntlm ", "aws4-hmac-sha256 "];
/// Minimum length of a credential that is distinguished from a word.
const MIN_LEN: usize = 8;

/// The value of an `Authorization` or `Proxy-Authorization` header without its scheme.
pub fn authorization(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let (start, end) = value(text, anchor.end)?;
    let value = text.get(start..end)?;
    let scheme = SCHEMES.iter().find(|s| value.get(..s.len()).is_some_and(|head| head.eq_ignore_ascii_case(s)));
    match scheme {
        Some(scheme) => {
            let from = skip_blanks(text, start + scheme.len());
            let is_one_word = matches!(*scheme, "bearer " | "basic " | "token " | "negotiate ");
            let to = if is_one_word {
                run(text, from, |b| !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b',' | b'\\' | b'}' | b']'))
            } else {
                end
            };
            let credential = text.get(from..to)?;
            (!is_placeholder(credential)).then_some(from..to.min(end))
        }
        None => {
            let to = run(text, start, is_base64).min(end);
            text.get(start..to)
                .filter(|value| value.len() >= 2 * MIN_LEN && value.bytes().any(|b| b.is_ascii_digit()))?;
            Some(start..to)
        }
    }
}

/// The token after `Bearer `.
pub fn bearer(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    scheme(text, anchor, |b| is_base64(b) || matches!(b, b'.' | b'~' | b':'))
}

/// User and password after `Basic `.
pub fn basic(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    scheme(text, anchor, |b| is_base64(b) && !matches!(b, b'-' | b'_'))
}

fn scheme(text: &str, anchor: Range<usize>, of: impl Fn(u8) -> bool) -> Option<Range<usize>> {
    if !starts_word(text, anchor.start) {
        return None;
    }
    let from = skip_blanks(text, anchor.end);
    let found = at_least(from..run(text, from, of), MIN_LEN)?;
    let value = text.get(found.clone())?.trim_end_matches([':', '.']);
    // `realm="...` is a parameter of the server's challenge.
    let is_parameter = value.contains('=') && !value.trim_end_matches('=').chars().all(|c| c != '=')
        || matches!(byte(text, found.end), b'"' | b'\'') && value.ends_with('=');
    let is_likely = is_random(value) || value.bytes().any(|b| b.is_ascii_digit()) || value.ends_with('=');
    (is_likely && !is_parameter).then_some(found.start..found.start + value.len())
}

/// The value of a cookie header.
pub fn cookie(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    if !starts_word(text, anchor.start) {
        return None;
    }
    let (start, end) = value(text, anchor.end)?;
    text.get(start..end)?.contains('=').then_some(start..end)
}

/// The range of the value of a header whose name ends at `from`: within its quotes, or to the end of the line.
fn value(text: &str, from: usize) -> Option<(usize, usize)> {
    let key = opening_quote(text, from);
    let mut at = key.map_or(from, |(slashes, _)| from + slashes + 1);
    at = skip_blanks(text, at);
    if !matches!(byte(text, at), b':' | b'=') {
        return None;
    }
    at = skip_blanks(text, at + 1);
    if byte(text, at) == b'[' && text.get(at..).is_some_and(|rest| !rest.starts_with(super::REDACTED)) {
        // Go prints headers as lists.
        at = skip_blanks(text, at + 1);
    }
    match opening_quote(text, at) {
        Some((slashes, quote)) => {
            let start = at + slashes + 1;
            Some((start, quoted_end(text, start, slashes, quote)))
        }
        None => {
            let end = line_end(text, at);
            // In a shell command: curl -H 'Cookie: a=b' URL.
            let within = text.get(at..end)?.find(['"', '\'']).map_or(end, |quote| at + quote);
            Some((at, within))
        }
    }
}

fn is_placeholder(value: &str) -> bool {
    value.is_empty() || value.starts_with(['$', '{', '<', '%', '*', '['])
}
