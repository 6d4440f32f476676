//! Owns taking out of free text what looks like a credential, so that what is kept, shown and recorded has none.
//! It must not cost honest text more than one pass of an automaton, nor mark the names, digests and errors of Kubernetes.

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

/// What stands where a credential was.
pub const REDACTED: &str = "[redacted]";
/// How often a text is read again after something was taken out of it: what is left may end a line earlier.
const MOST_PASSES: usize = 8;

/// Finds the credential at an anchor: the bytes of it, of the text and the place of the anchor.
type Rule = fn(&str, Range<usize>) -> Option<Range<usize>>;

/// Parts of a text, in any case, at which a credential may stand, and what finds it. Of several at one place the longest.
const ANCHORS: &[(&str, Rule)] = &[
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

/// The text, which is safe to print, without credentials; None when there is none in it.
pub fn redact(text: &str) -> Option<String> {
    let mut out = once(text)?;
    for _ in 0..MOST_PASSES {
        // A line that became too long is cut, and a cut may end a credential elsewhere.
        let clean = match sanitize(&out) {
            Cow::Borrowed(_) => None,
            Cow::Owned(clean) => Some(clean).filter(|clean| *clean != out),
        };
        match (once(clean.as_deref().unwrap_or(&out)), clean) {
            (Some(again), _) if again != out => out = again,
            (_, Some(clean)) => out = clean,
            (_, None) => return Some(out),
        }
    }
    Some(REDACTED.to_owned())
}

/// One pass.
fn once(text: &str) -> Option<String> {
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
