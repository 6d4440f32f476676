//! Credentials with a known prefix: tokens of clouds and code hosts, and JSON in base64. Minimum lengths exclude names.

use std::ops::Range;

use super::scan::{at_least, before, is_base64, is_random, is_word, run, starts_word};

/// Minimum length of a token after its prefix.
const TOKEN_LEN: usize = 10;
/// Minimum length of a key with the prefix `sk-`, which names also have.
const API_KEY_LEN: usize = 23;
/// Length of an AWS access key id.
const AWS_KEY_ID_LEN: usize = 20;
/// Minimum length of a Google API key or token.
const GOOGLE_LEN: usize = 24;
/// Minimum length of JSON in base64: `{"alg":"none"}`.
const JSON_LEN: usize = 17;

/// JSON in base64 starts with `eyJ`, which is `{"`: a JWT, complete or cut, or a file of registry credentials.
pub fn json_in_base64(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let start = anchor.start;
    if !text.get(anchor)?.starts_with("eyJ") || before(text, start) == b'_' || !starts_word(text, start) {
        return None;
    }
    let found = at_least(start..run(text, start, |b| is_base64(b) || b == b'.'), JSON_LEN)?;
    // Without the full stop of the sentence.
    let kept = text.get(found.clone())?.trim_end_matches('.').len();
    Some(start..start + kept)
}

/// `AKIA` or `ASIA` and 16 capitals and digits.
pub fn aws_key_id(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let start = anchor.start;
    let end = run(text, start, |b| b.is_ascii_uppercase() || b.is_ascii_digit());
    (starts_word(text, start) && end - start >= AWS_KEY_ID_LEN).then_some(start..end)
}

/// A Google API key (`AIza`) or token (`ya29.`).
pub fn google(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let start = anchor.start;
    let prefix = text.get(anchor)?;
    if !matches!(prefix, "AIza" | "ya29.") || !starts_word(text, start) {
        return None;
    }
    at_least(start..run(text, start + prefix.len(), is_word), GOOGLE_LEN)
}

/// A token with a unique prefix.
pub fn token(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let start = anchor.start;
    if !starts_word(text, start) || !text.get(anchor.clone())?.bytes().all(|b| !b.is_ascii_uppercase()) {
        return None;
    }
    let end = run(text, anchor.end, |b| is_word(b) || b == b'.');
    let kept = text.get(anchor.end..end)?.trim_end_matches('.');
    let plain = kept.len() >= TOKEN_LEN && kept.bytes().any(|b| b.is_ascii_digit());
    plain.then(|| start..anchor.end + kept.len())
}

/// An API key with the prefix `sk-`, which several vendors use.
pub fn api_key(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let start = anchor.start;
    if !text.get(anchor)?.starts_with("sk") || before(text, start) == b'-' || !starts_word(text, start) {
        return None;
    }
    let found = at_least(start..run(text, start, is_word), API_KEY_LEN)?;
    is_random(text.get(found.clone())?).then_some(found)
}
