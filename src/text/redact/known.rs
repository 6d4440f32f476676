//! Owns credentials that are known by how they begin: tokens of clouds and code hosts, and JSON in base64.
//! It must not take a name that begins so for one: each has its least length.

use std::ops::Range;

use super::scan::{at_least, before, begins_word, is_base64, is_random, is_word, run};

/// Least length of a token behind its prefix.
const TOKEN: usize = 10;
/// Least length of a key that begins with `sk-`, which names may do too.
const API_KEY: usize = 23;
/// Length of an AWS access key id.
const AWS: usize = 20;
/// Least length of a Google API key or token.
const GOOGLE: usize = 24;
/// Least length of JSON in base64: `{"alg":"none"}`.
const JSON: usize = 17;

/// JSON in base64 begins with `eyJ`, which is `{"`: a JWT, whole or cut, or a file of registry credentials.
pub fn json_in_base64(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let begin = anchor.start;
    if !text.get(anchor)?.starts_with("eyJ") || before(text, begin) == b'_' || !begins_word(text, begin) {
        return None;
    }
    let found = at_least(begin..run(text, begin, |b| is_base64(b) || b == b'.'), JSON)?;
    // Not the full stop behind it.
    let kept = text.get(found.clone())?.trim_end_matches('.').len();
    Some(begin..begin + kept)
}

/// `AKIA` or `ASIA` and sixteen capitals and digits.
pub fn aws_key_id(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let begin = anchor.start;
    let end = run(text, begin, |b| b.is_ascii_uppercase() || b.is_ascii_digit());
    (begins_word(text, begin) && end - begin >= AWS).then_some(begin..end)
}

/// `AIza` of an API key, `ya29.` of a token.
pub fn google(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let begin = anchor.start;
    let prefix = text.get(anchor)?;
    if !matches!(prefix, "AIza" | "ya29.") || !begins_word(text, begin) {
        return None;
    }
    at_least(begin..run(text, begin + prefix.len(), is_word), GOOGLE)
}

/// A prefix that nothing else has.
pub fn token(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let begin = anchor.start;
    if !begins_word(text, begin) || !text.get(anchor.clone())?.bytes().all(|b| !b.is_ascii_uppercase()) {
        return None;
    }
    let end = run(text, anchor.end, |b| is_word(b) || b == b'.');
    let kept = text.get(anchor.end..end)?.trim_end_matches('.');
    let plain = kept.len() >= TOKEN && kept.bytes().any(|b| b.is_ascii_digit());
    plain.then(|| begin..anchor.end + kept.len())
}

/// `sk-`, as several vendors begin theirs.
pub fn api_key(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let begin = anchor.start;
    if !text.get(anchor)?.starts_with("sk") || before(text, begin) == b'-' || !begins_word(text, begin) {
        return None;
    }
    let found = at_least(begin..run(text, begin, is_word), API_KEY)?;
    is_random(text.get(found.clone())?).then_some(found)
}
