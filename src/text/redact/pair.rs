//! Named credentials in shells, JSON, YAML and URLs: `password=...`, `"token": "..."`, `secret: ...`, `--api-key ...`.
//! Sentences about passwords and names of Secrets are kept.

use std::ops::Range;

use super::scan::{before, byte, is_random, is_word, line_end, opening_quote, quoted_end, run, run_back, skip_blanks};

/// Maximum length of a name, bytes.
const MAX_NAME: usize = 96;
/// Minimum length of a value in a sentence that is distinguished from a word.
const MIN_VALUE: usize = 6;
/// Minimum length of user and password in base64.
const MIN_AUTH: usize = 8;
/// How far after a separator the name of the next value is searched, bytes.
const NEXT_NAME: usize = 48;

/// The kind of credential that a name stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CredentialKind {
    /// A password; any value may be one.
    Password,
    /// A token or a key.
    Token,
    /// A secret, or the name of a Secret.
    Secret,
    /// User and password in base64, as in registry credentials.
    Auth,
    /// A signature in a URL query.
    Signature,
}

/// The syntax between name and value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PairSyntax {
    /// `name=value`.
    Equals,
    /// `name: value`.
    Colon,
    /// `--name value`.
    Flag,
}

/// Words in the position of a password that are not one.
const WORDS: [&str; 34] = [
    "true",
    "false",
    "yes",
    "no",
    "null",
    "none",
    "nil",
    "undefined",
    "empty",
    "unset",
    "set",
    "invalid",
    "required",
    "missing",
    "expired",
    "incorrect",
    "denied",
    "wrong",
    "unknown",
    "hidden",
    "masked",
    "is",
    "was",
    "not",
    "or",
    "and",
    "must",
    "flag",
    "flags",
    "option",
    "for",
    "to",
    "from",
    "has",
];
/// Suffixes of names whose value is the name of a Secret.
const OBJECT_SUFFIXES: [&str; 5] = ["pullsecret", "imagesecret", "tlssecret", "existingsecret", "certsecret"];
/// Suffixes of names of secret keys.
const KEY_SUFFIXES: [&str; 10] = [
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "accountkey",
    "encryptionkey",
    "signingkey",
    "masterkey",
    "authkey",
    "clientkey",
];

/// The value of the name that ends with the anchor.
pub fn value(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    if is_word(byte(text, anchor.end)) {
        return None;
    }
    let start = run_back(text, anchor.start, MAX_NAME, |b| is_word(b) || b == b'.');
    let name = text.get(start..anchor.end)?;
    let kind = credential_kind(name)?;
    let key_quote = opening_quote(text, anchor.end);
    let name_end = key_quote.map_or(anchor.end, |(slashes, _)| anchor.end + slashes + 1);
    let at = skip_blanks(text, name_end);
    let (form, from) = match (byte(text, at), byte(text, at + 1)) {
        (b'=', b'=') => return None,
        (b':', b'=') | (b'=', b'>') => (PairSyntax::Equals, at + 2),
        (b'=', _) => (PairSyntax::Equals, at + 1),
        (b':', _) => (PairSyntax::Colon, at + 1),
        _ if name.starts_with("--") && key_quote.is_none() && at == name_end + 1 => (PairSyntax::Flag, at),
        _ => return None,
    };
    let from = skip_blanks(text, from);
    let value_quote = opening_quote(text, from);
    let range = match value_quote {
        Some((slashes, quote)) => {
            let from = from + slashes + 1;
            from..quoted_end(text, from, slashes, quote)
        }
        None => from..bare_end(text, from, form),
    };
    let value = text.get(range.clone())?;
    if is_placeholder(value) || form == PairSyntax::Flag && value.starts_with('-') {
        return None;
    }
    let pair =
        Pair { text, start, name, kind, form, in_quotes: value_quote.is_some(), key_in_quotes: key_quote.is_some() };
    pair.is_credential(value, &range).then_some(range)
}

/// A name and its value in their text.
struct Pair<'a> {
    text: &'a str,
    start: usize,
    name: &'a str,
    kind: CredentialKind,
    form: PairSyntax,
    in_quotes: bool,
    key_in_quotes: bool,
}

impl Pair<'_> {
    fn is_credential(&self, value: &str, range: &Range<usize>) -> bool {
        match (self.kind, self.form) {
            (CredentialKind::Auth, _) => {
                self.key_in_quotes && self.in_quotes && value.len() >= MIN_AUTH && !value.contains(' ')
            }
            (CredentialKind::Signature, form) => {
                form == PairSyntax::Equals && matches!(before(self.text, self.start), b'?' | b'&' | b';')
            }
            (CredentialKind::Secret | CredentialKind::Token, _) if is_path(value) => false,
            (CredentialKind::Secret, _) if self.is_secret_name(value) => false,
            (CredentialKind::Password, PairSyntax::Equals)
                if value.starts_with('/') && self.name.to_ascii_lowercase().ends_with("pwd") =>
            {
                false
            }
            (_, PairSyntax::Equals | PairSyntax::Flag) => true,
            // `{"password":"..."}`; in the JSON of an error the value may be a sentence.
            (kind, PairSyntax::Colon) if self.key_in_quotes && self.in_quotes => {
                kind == CredentialKind::Password || !value.contains(' ')
            }
            (kind, PairSyntax::Colon) => {
                self.is_line(range)
                    || self.is_in_braces()
                    || (kind == CredentialKind::Password && self.in_quotes)
                    || self.is_unlike_word(value, range)
            }
        }
    }

    /// The value is the name of a Secret: by its key, as `namespace/name`, or in a kubelet line about pull secrets.
    fn is_secret_name(&self, value: &str) -> bool {
        let name = normalize(self.name);
        let is_name = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.'))
        };
        let namespaced = value.split_once('/').is_some_and(|(namespace, name)| is_name(namespace) && is_name(name));
        let pulls = name == "secret" && is_name(value) && self.text.contains("pull secret");
        OBJECT_SUFFIXES.iter().any(|end| name.ends_with(end)) || namespaced || pulls
    }

    /// Name and value are alone on their line, as in YAML.
    fn is_line(&self, range: &Range<usize>) -> bool {
        let head = self.text.get(..self.start).unwrap_or_default();
        let head = head.rsplit('\n').next().unwrap_or_default().trim_matches([' ', '\t', '-', '"', '\'']);
        let end = range.end + usize::from(self.in_quotes);
        let rest = self.text.get(end..line_end(self.text, end)).unwrap_or_default().trim();
        head.is_empty() && (rest.is_empty() || rest.starts_with('#') || rest == "…")
    }

    /// Name and value are within braces.
    fn is_in_braces(&self) -> bool {
        let head = self.text.get(..self.start).unwrap_or_default().trim_end_matches([' ', '"', '\'', '\\']);
        let open = head.bytes().rev().take(MAX_NAME).find(|b| matches!(b, b'{' | b'}'));
        head.ends_with('{') || head.ends_with(',') && open == Some(b'{')
    }

    /// In a sentence: the value is not a word, and no error text follows it.
    fn is_unlike_word(&self, value: &str, range: &Range<usize>) -> bool {
        let bare = value.trim_end_matches(['.', '!', '?']);
        let continues = value.ends_with(':') || byte(self.text, range.end) == b':';
        let last = self.text.get(range.end..line_end(self.text, range.end)).is_some_and(|rest| rest.trim().is_empty());
        let digit = bare.bytes().any(|b| b.is_ascii_digit());
        let letter = bare.bytes().any(|b| b.is_ascii_alphabetic());
        if continues || self.key_in_quotes && !is_random(bare) {
            return false;
        }
        match self.kind {
            CredentialKind::Password => letter && (digit || last || !bare.bytes().all(|b| b.is_ascii_alphabetic())),
            CredentialKind::Token => digit && letter && bare.len() >= MIN_VALUE && !bare.contains(['/', '(']),
            _ => is_random(bare) && bare.len() >= 2 * MIN_VALUE && !bare.contains('/'),
        }
    }
}

/// The kind of credential that the name stands for, if any.
fn credential_kind(name: &str) -> Option<CredentialKind> {
    let lower = name.to_ascii_lowercase();
    let bare = normalize(name);
    let ends_with = |suffixes: &[&str]| suffixes.iter().any(|suffix| bare.ends_with(suffix));
    if ends_with(&["password", "passwd", "passphrase", "pwd"])
        || lower == "pass"
        || lower.ends_with("_pass")
        || lower.ends_with("-pass")
    {
        return Some(CredentialKind::Password);
    }
    match () {
        () if ends_with(&["token"]) || ends_with(&KEY_SUFFIXES) || ends_with(&["keydata"]) => {
            Some(CredentialKind::Token)
        }
        () if bare == "secret" || ends_with(&OBJECT_SUFFIXES) => Some(CredentialKind::Secret),
        () if ends_with(&["secret"]) => Some(CredentialKind::Token),
        () if lower == "auth" => Some(CredentialKind::Auth),
        () if matches!(bare.as_str(), "sig" | "signature" | "xamzsignature" | "xgoogsignature") => {
            Some(CredentialKind::Signature)
        }
        () => None,
    }
}

/// The name in lower case, letters and digits only.
fn normalize(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Not a value: a word of a sentence, a reference, or already redacted.
fn is_placeholder(value: &str) -> bool {
    let bare = value.trim_end_matches(['.', ',', ')', '!', '?']);
    let word = WORDS.iter().any(|word| bare.eq_ignore_ascii_case(word));
    let reference =
        ["$(", "${", "{{", "{", "<", "[", "%s", "%v", "%q", "|"].iter().any(|start| value.starts_with(start));
    let variable = value.strip_prefix('$').is_some_and(|name| name.bytes().all(is_word));
    word || reference || variable || !value.chars().any(|c| c.is_alphanumeric())
}

/// The path of a token file.
fn is_path(value: &str) -> bool {
    ["/var/", "/run/", "/etc/", "/tmp/", "/secrets/", "file:"].iter().any(|start| value.starts_with(start))
}

/// The end of a value without quotes: a space, a quote, or a separator followed by the next name or by nothing.
fn bare_end(text: &str, from: usize, form: PairSyntax) -> usize {
    let mut at = from;
    loop {
        at = run(text, at, |b| {
            !b.is_ascii_whitespace()
                && !matches!(
                    b,
                    b'"' | b'\'' | b'`' | b'&' | b',' | b';' | b')' | b']' | b'}' | b'>' | b'<' | b'|' | b'\\'
                )
        });
        let rest = text.get(at..).unwrap_or_default();
        let next = rest.chars().nth(1).unwrap_or(' ');
        let continues = match rest.as_bytes().first() {
            Some(b'&' | b',' | b';') => next.is_alphanumeric() && !starts_pair(text, at + 1, form),
            Some(b')' | b']' | b'}' | b'>' | b'<' | b'|' | b'\\') => {
                next.is_alphanumeric() && form != PairSyntax::Colon
            }
            _ => false,
        };
        if !continues || at - from > super::scan::MAX_LEN {
            return at;
        }
        at += 1;
    }
}

/// A name and a separator start at the index.
fn starts_pair(text: &str, at: usize, form: PairSyntax) -> bool {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let name = rest.iter().take(NEXT_NAME).take_while(|b| is_word(**b) || **b == b'.').count();
    let separator = rest.get(name).copied().unwrap_or(0);
    name > 0 && (separator == b'=' || separator == b':' && form == PairSyntax::Colon)
}
