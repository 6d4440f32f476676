//! Owns passwords in addresses: `scheme://user:password@host`, and the data source names of Go's drivers.
//! It must not take the host or the digest of an image for one.

use std::ops::Range;

use super::scan::{FAR, byte, run, run_back};

/// A user without a password that is so long and has a digit is a token: `https://TOKEN@github.com`.
const TOKEN: usize = 20;

/// The password of the address behind `://`.
pub fn password(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let begin = anchor.end;
    let end = run(text, begin, |b| !ends_word(b) && !matches!(b, b'/' | b'?' | b'#'));
    let authority = text.get(begin..end)?;
    if let Some(at) = authority.rfind('@') {
        let (user, host) = (authority.get(..at)?, authority.get(at + 1..)?);
        if host.starts_with("sha256:") || host.starts_with("sha512:") {
            return None;
        }
        return match user.find(':') {
            Some(colon) => Some(begin + colon + 1..begin + at),
            None => (user.len() >= TOKEN && user.bytes().any(|b| b.is_ascii_digit())).then_some(begin..begin + at),
        };
    }
    // A port is a number; what is none is a password, in which a slash stands or which was cut.
    let colon = authority.find(':').filter(|_| !authority.starts_with(['[', '{', '$', '<', '%']))?;
    let rest = authority.get(colon + 1..)?;
    if rest.is_empty() || rest.bytes().all(|b| b.is_ascii_digit()) || rest.starts_with(['$', '{', '<', '%', '*']) {
        return None;
    }
    let word = run(text, begin, |b| !ends_word(b));
    let at = text.get(begin..word)?.rfind('@').map(|at| begin + at);
    let cut = word >= text.len() || text.get(word..)?.starts_with('…') || text.get(..word)?.ends_with('…');
    match at {
        Some(at) => Some(begin + colon + 1..at),
        None => (cut && end == word).then_some(begin + colon + 1..end),
    }
}

/// The password before `@tcp(` or `@unix(`.
pub fn data_source(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let begin = run_back(text, anchor.start, FAR, |b| !ends_word(b) && b != b'=');
    let colon = text.get(begin..anchor.start)?.find(':')?;
    Some(begin + colon + 1..anchor.start)
}

/// No address goes on behind it.
fn ends_word(b: u8) -> bool {
    b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\' | b'|')
}

/// The address without what stands before its host, however that is written: for an address that is shown.
pub fn without_user(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let end = run(rest, 0, |b| !matches!(b, b'/' | b'?' | b'#'));
    // A slash may stand in a password: the last `@` of the address is the one that counts.
    let host = match rest.get(..end).and_then(|authority| authority.rfind('@')) {
        Some(at) => at + 1,
        None => match rest.find(':').filter(|colon| !byte(rest, colon + 1).is_ascii_digit()) {
            Some(_) => rest.rfind('@').map_or(0, |at| at + 1),
            None => 0,
        },
    };
    format!("{scheme}://{}", rest.get(host..).unwrap_or_default())
}
