//! Owns credentials that are named: `password=…`, `"token": "…"`, `secret: …`, `--api-key …`, in the syntax of shells, JSON,
//! YAML and URLs. It must not take a sentence that speaks of a password, or the name of a Secret, for one.

use std::ops::Range;

use super::scan::{before, blanks, byte, is_random, is_word, line_end, quote, quoted, run, run_back};

/// Longest name of a value, bytes.
const NAME: usize = 96;
/// Least length of a value in a sentence that is told from a word.
const SHORTEST: usize = 6;
/// Least length of base64 of a user and a password.
const AUTH: usize = 8;
/// How far behind a separator the name of the next value is looked for, bytes.
const NEXT: usize = 48;

/// What a name says of its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// A password; any value is one.
    Password,
    /// A token or a key.
    Token,
    /// A secret, or the Secret of that name.
    Secret,
    /// User and password in base64, as registries have it.
    Auth,
    /// A signature in a query.
    Signature,
}

/// How a value is told from its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `name=value`.
    Equals,
    /// `name: value`.
    Colon,
    /// `--name value`.
    Flag,
}

/// Words that are no password, though they stand where one would.
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
/// Ends of names that are those of Secret objects.
const OBJECTS: [&str; 5] = ["pullsecret", "imagesecret", "tlssecret", "existingsecret", "certsecret"];
/// Ends of names of keys that are kept secret.
const KEYS: [&str; 10] = [
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

/// The value that the name which ends with the anchor has.
pub fn value(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    if is_word(byte(text, anchor.end)) {
        return None;
    }
    let begin = run_back(text, anchor.start, NAME, |b| is_word(b) || b == b'.');
    let name = text.get(begin..anchor.end)?;
    let names = names(name)?;
    let key_quote = quote(text, anchor.end);
    let behind = key_quote.map_or(anchor.end, |(slashes, _)| anchor.end + slashes + 1);
    let at = blanks(text, behind);
    let (form, from) = match (byte(text, at), byte(text, at + 1)) {
        (b'=', b'=') => return None,
        (b':', b'=') | (b'=', b'>') => (Form::Equals, at + 2),
        (b'=', _) => (Form::Equals, at + 1),
        (b':', _) => (Form::Colon, at + 1),
        _ if name.starts_with("--") && key_quote.is_none() && at == behind + 1 => (Form::Flag, at),
        _ => return None,
    };
    let from = blanks(text, from);
    let value_quote = quote(text, from);
    let range = match value_quote {
        Some((slashes, quote)) => {
            let from = from + slashes + 1;
            from..quoted(text, from, slashes, quote)
        }
        None => from..bare_end(text, from, form),
    };
    let value = text.get(range.clone())?;
    if is_placeholder(value) || form == Form::Flag && value.starts_with('-') {
        return None;
    }
    let here =
        Here { text, begin, name, names, form, in_quotes: value_quote.is_some(), key_in_quotes: key_quote.is_some() };
    here.is_credential(value, &range).then_some(range)
}

/// A name and its value in their text.
struct Here<'a> {
    text: &'a str,
    begin: usize,
    name: &'a str,
    names: Names,
    form: Form,
    in_quotes: bool,
    key_in_quotes: bool,
}

impl Here<'_> {
    fn is_credential(&self, value: &str, range: &Range<usize>) -> bool {
        match (self.names, self.form) {
            (Names::Auth, _) => self.key_in_quotes && self.in_quotes && value.len() >= AUTH && !value.contains(' '),
            (Names::Signature, form) => {
                form == Form::Equals && matches!(before(self.text, self.begin), b'?' | b'&' | b';')
            }
            (Names::Secret | Names::Token, _) if is_path(value) => false,
            (Names::Secret, _) if self.is_object(value) => false,
            (Names::Password, Form::Equals)
                if value.starts_with('/') && self.name.to_ascii_lowercase().ends_with("pwd") =>
            {
                false
            }
            (_, Form::Equals | Form::Flag) => true,
            // `{"password":"…"}`; in an error's JSON a sentence may stand there.
            (names, Form::Colon) if self.key_in_quotes && self.in_quotes => {
                names == Names::Password || !value.contains(' ')
            }
            (names, Form::Colon) => {
                self.is_line(range)
                    || self.is_in_braces()
                    || (names == Names::Password && self.in_quotes)
                    || self.is_odd(value, range)
            }
        }
    }

    /// It names a Secret: by what it is called, by `namespace/name`, or in a line of the kubelet's about pulling.
    fn is_object(&self, value: &str) -> bool {
        let name = plain(self.name);
        let is_name = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.'))
        };
        let namespaced = value.split_once('/').is_some_and(|(namespace, name)| is_name(namespace) && is_name(name));
        let pulls = name == "secret" && is_name(value) && self.text.contains("pull secret");
        OBJECTS.iter().any(|end| name.ends_with(end)) || namespaced || pulls
    }

    /// Name and value stand on a line of their own, as in YAML.
    fn is_line(&self, range: &Range<usize>) -> bool {
        let head = self.text.get(..self.begin).unwrap_or_default();
        let head = head.rsplit('\n').next().unwrap_or_default().trim_matches([' ', '\t', '-', '"', '\'']);
        let end = range.end + usize::from(self.in_quotes);
        let rest = self.text.get(end..line_end(self.text, end)).unwrap_or_default().trim();
        head.is_empty() && (rest.is_empty() || rest.starts_with('#') || rest == "…")
    }

    /// They stand in `{…}`.
    fn is_in_braces(&self) -> bool {
        let head = self.text.get(..self.begin).unwrap_or_default().trim_end_matches([' ', '"', '\'', '\\']);
        let open = head.bytes().rev().take(NAME).find(|b| matches!(b, b'{' | b'}'));
        head.ends_with('{') || head.ends_with(',') && open == Some(b'{')
    }

    /// In a sentence: a value that is no word, and no error goes on behind it.
    fn is_odd(&self, value: &str, range: &Range<usize>) -> bool {
        let bare = value.trim_end_matches(['.', '!', '?']);
        let goes_on = value.ends_with(':') || byte(self.text, range.end) == b':';
        let last = self.text.get(range.end..line_end(self.text, range.end)).is_some_and(|rest| rest.trim().is_empty());
        let digit = bare.bytes().any(|b| b.is_ascii_digit());
        let letter = bare.bytes().any(|b| b.is_ascii_alphabetic());
        if goes_on || self.key_in_quotes && !is_random(bare) {
            return false;
        }
        match self.names {
            Names::Password => letter && (digit || last || !bare.bytes().all(|b| b.is_ascii_alphabetic())),
            Names::Token => digit && letter && bare.len() >= SHORTEST && !bare.contains(['/', '(']),
            _ => is_random(bare) && bare.len() >= 2 * SHORTEST && !bare.contains('/'),
        }
    }
}

/// What the name says, if it is one of a credential.
fn names(name: &str) -> Option<Names> {
    let lower = name.to_ascii_lowercase();
    let bare = plain(name);
    let ends = |ends: &[&str]| ends.iter().any(|end| bare.ends_with(end));
    if ends(&["password", "passwd", "passphrase", "pwd"])
        || lower == "pass"
        || lower.ends_with("_pass")
        || lower.ends_with("-pass")
    {
        return Some(Names::Password);
    }
    match () {
        () if ends(&["token"]) || ends(&KEYS) || ends(&["keydata"]) => Some(Names::Token),
        () if bare == "secret" || ends(&OBJECTS) => Some(Names::Secret),
        () if ends(&["secret"]) => Some(Names::Token),
        () if lower == "auth" => Some(Names::Auth),
        () if matches!(bare.as_str(), "sig" | "signature" | "xamzsignature" | "xgoogsignature") => {
            Some(Names::Signature)
        }
        () => None,
    }
}

/// A name in lower case without what joins its parts.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// No value: a word of a sentence, a reference to one, or what was taken out already.
fn is_placeholder(value: &str) -> bool {
    let bare = value.trim_end_matches(['.', ',', ')', '!', '?']);
    let word = WORDS.iter().any(|word| bare.eq_ignore_ascii_case(word));
    let reference =
        ["$(", "${", "{{", "{", "<", "[", "%s", "%v", "%q", "|"].iter().any(|begin| value.starts_with(begin));
    let variable = value.strip_prefix('$').is_some_and(|name| name.bytes().all(is_word));
    word || reference || variable || !value.chars().any(|c| c.is_alphanumeric())
}

/// Where a token lies, not the token.
fn is_path(value: &str) -> bool {
    ["/var/", "/run/", "/etc/", "/tmp/", "/secrets/", "file:"].iter().any(|begin| value.starts_with(begin))
}

/// Where a value without quotes ends: at a space, a quote, or a separator behind which the next value or nothing follows.
fn bare_end(text: &str, from: usize, form: Form) -> usize {
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
        let goes_on = match rest.as_bytes().first() {
            Some(b'&' | b',' | b';') => next.is_alphanumeric() && !begins_pair(text, at + 1, form),
            Some(b')' | b']' | b'}' | b'>' | b'<' | b'|' | b'\\') => next.is_alphanumeric() && form != Form::Colon,
            _ => false,
        };
        if !goes_on || at - from > super::scan::FAR {
            return at;
        }
        at += 1;
    }
}

/// A name and a separator stand there.
fn begins_pair(text: &str, at: usize, form: Form) -> bool {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let name = rest.iter().take(NEXT).take_while(|b| is_word(**b) || **b == b'.').count();
    let separator = rest.get(name).copied().unwrap_or(0);
    name > 0 && (separator == b'=' || separator == b':' && form == Form::Colon)
}
