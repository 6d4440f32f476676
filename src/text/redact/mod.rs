//! Redacts credentials in free text before it is stored, shown or recorded. A text without credentials costs one pass of an
//! automaton; names, digests and errors of Kubernetes are kept.

mod header;
mod known;
mod pair;
mod pem;
mod scan;
mod url;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::clean::sanitize;
pub use pem::PemLines;
pub use url::without_user;

/// The replacement of a credential.
pub const REDACTED: &str = "[redacted]";
/// Maximum number of passes over a text: redacting may shorten a line, and so reveal another credential.
const MAX_PASSES: usize = 8;

/// Finds the byte range of a credential, given a text and the range of an anchor in it.
type RedactRule = fn(&str, Range<usize>) -> Option<Range<usize>>;

/// Anchors near which a credential may be, in any case, and the rule that finds it. The longest anchor at a position applies.
const ANCHORS: &[(&str, RedactRule)] = &[
    ("://", url::password),
    ("@tcp(", url::data_source),
    ("@unix(", url::data_source),
    ("-----begin ", pem::body),
    ("-----end ", pem::tail),
    ("authorization", header::authorization),
    ("bearer ", header::bearer),
    ("basic ", header::basic),
    ("set-cookie", header::cookie),
    ("cookie", header::cookie),
    ("eyj", known::json_in_base64),
    ("akia", known::aws_key_id),
    ("asia", known::aws_key_id),
    ("aiza", known::google),
    ("ya29.", known::google),
    ("ghp_", known::token),
    ("gho_", known::token),
    ("ghu_", known::token),
    ("ghs_", known::token),
    ("ghr_", known::token),
    ("github_pat_", known::token),
    ("glpat-", known::token),
    ("xoxa-", known::token),
    ("xoxb-", known::token),
    ("xoxp-", known::token),
    ("xoxr-", known::token),
    ("xoxs-", known::token),
    ("dckr_pat_", known::token),
    ("npm_", known::token),
    ("hvs.", known::token),
    ("sk_live_", known::token),
    ("rk_live_", known::token),
    ("sk-", known::api_key),
    ("password", pair::value),
    ("passwd", pair::value),
    ("passphrase", pair::value),
    ("pass", pair::value),
    ("pwd", pair::value),
    ("token", pair::value),
    ("secret", pair::value),
    ("key", pair::value),
    ("key-data", pair::value),
    ("auth", pair::value),
    ("sig", pair::value),
    ("signature", pair::value),
];

static AUTOMATON: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest);
    builder.build(ANCHORS.iter().map(|(anchor, _)| anchor)).ok()
});

/// The text with its credentials redacted; None if it has none. The text must be safe to print.
pub fn redact(text: &str) -> Option<String> {
    let mut out = redact_once(text)?;
    for _ in 0..MAX_PASSES {
        // A line that has become too long is cut, and the cut may end another credential.
        let clean = match sanitize(&out) {
            Cow::Borrowed(_) => None,
            Cow::Owned(clean) => Some(clean).filter(|clean| *clean != out),
        };
        match (redact_once(clean.as_deref().unwrap_or(&out)), clean) {
            (Some(again), _) if again != out => out = again,
            (_, Some(clean)) => out = clean,
            (_, None) => return Some(out),
        }
    }
    Some(REDACTED.to_owned())
}

/// One pass over the text.
fn redact_once(text: &str) -> Option<String> {
    let Some(automaton) = AUTOMATON.as_ref() else { return Some(REDACTED.to_owned()) };
    let mut out = String::new();
    let mut done = 0;
    for found in automaton.find_iter(text) {
        let Some((_, rule)) = ANCHORS.get(found.pattern().as_usize()).filter(|_| found.start() >= done) else {
            continue;
        };
        let Some(secret) = rule(text, found.range()).filter(|secret| secret.start >= done && !secret.is_empty()) else {
            continue;
        };
        if text.get(secret.clone()) == Some(REDACTED) {
            continue;
        }
        out.push_str(text.get(done..secret.start).unwrap_or_default());
        out.push_str(REDACTED);
        done = secret.end;
    }
    if done == 0 {
        return None;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Some(out)
}
