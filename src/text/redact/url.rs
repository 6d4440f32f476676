//! Passwords in URLs (`scheme://user:password@host`) and in data source names of Go drivers. Hosts and image digests are kept.

use std::ops::Range;

use super::scan::{MAX_LEN, byte, run, run_back};

/// Minimum length of a user with a digit and without a password to count as a token: `https://TOKEN@github.com`.
const TOKEN_USER_LEN: usize = 20;

/// The password of the URL after `://`.
pub fn password(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let start = anchor.end;
    let end = run(text, start, |b| !ends_url(b) && !matches!(b, b'/' | b'?' | b'#'));
    let authority = text.get(start..end)?;
    if let Some(at) = authority.rfind('@') {
        let (user, host) = (authority.get(..at)?, authority.get(at + 1..)?);
        if host.starts_with("sha256:") || host.starts_with("sha512:") {
            return None;
        }
        return match user.find(':') {
            Some(colon) => Some(start + colon + 1..start + at),
            None => {
                (user.len() >= TOKEN_USER_LEN && user.bytes().any(|b| b.is_ascii_digit())).then_some(start..start + at)
            }
        };
    }
    // A port is a number. Anything else is a password that contains a slash or was cut.
    let colon = authority.find(':').filter(|_| !authority.starts_with(['[', '{', '$', '<', '%']))?;
    let rest = authority.get(colon + 1..)?;
    if rest.is_empty() || rest.bytes().all(|b| b.is_ascii_digit()) || rest.starts_with(['$', '{', '<', '%', '*']) {
        return None;
    }
    let word = run(text, start, |b| !ends_url(b));
    let at = text.get(start..word)?.rfind('@').map(|at| start + at);
    let cut = word >= text.len() || text.get(word..)?.starts_with('…') || text.get(..word)?.ends_with('…');
    match at {
        Some(at) => Some(start + colon + 1..at),
        None => (cut && end == word).then_some(start + colon + 1..end),
    }
}

/// The password before `@tcp(` or `@unix(`.
pub fn data_source(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let start = run_back(text, anchor.start, MAX_LEN, |b| !ends_url(b) && b != b'=');
    let colon = text.get(start..anchor.start)?.find(':')?;
    Some(start + colon + 1..anchor.start)
}

/// A character that ends a URL.
fn ends_url(b: u8) -> bool {
    b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\' | b'|')
}

/// The URL without user and password, for display.
pub fn without_user(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let end = run(rest, 0, |b| !matches!(b, b'/' | b'?' | b'#'));
    // A password may contain a slash: the last `@` is the delimiter.
    let host = match rest.get(..end).and_then(|authority| authority.rfind('@')) {
        Some(at) => at + 1,
        None => match rest.find(':').filter(|colon| !byte(rest, colon + 1).is_ascii_digit()) {
            Some(_) => rest.rfind('@').map_or(0, |at| at + 1),
            None => 0,
        },
    };
    format!("{scheme}://{}", rest.get(host..).unwrap_or_default())
}
