//! Owns the one way in which a string from the node becomes safe for a terminal, for JSON and for a recording.
//! It must not know where a string comes from, and nothing else may build a [`Text`].

mod clean;
mod message;
mod redact;
#[cfg(test)]
mod tests;

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::weight::{Weigh, allocation};

/// Longest line kept, in characters; what follows on the line is cut and marked with `…`.
pub const MAX_LINE: usize = 4096;
/// Longest text kept, in characters.
pub const MAX_TEXT: usize = 16 * 1024;
pub use message::Message;
pub use redact::{PemLines, REDACTED, without_user};

/// Foreign text that holds no control sequence, no control character but line feed and tab, nothing that is not seen, and
/// nothing that looks like a credential.
///
/// A name is decoded as one ([`Text::name`], and so is whatever is deserialized): it has one line. Free text is decoded as
/// a [`Message`]. Cheap to clone. Sanitizing is idempotent, so a text read back from a recording is unchanged.
#[derive(Clone, Default)]
pub struct Text {
    safe: Arc<str>,
    /// The text with its credentials, where some were taken out: for the screen, never printed, compared or serialized.
    whole: Option<Arc<Whole>>,
}

/// A text with its credentials. It is not `Debug`.
struct Whole(Box<str>);

impl Text {
    /// Free text: made safe to print, and without credentials.
    pub fn new(raw: &str) -> Self {
        let clean = clean::sanitize(raw);
        match redact::redact(&clean) {
            Some(safe) => Self { safe: shared(&safe), whole: Some(Arc::new(Whole(clean.into()))) },
            None => Self { safe: shared(&clean), whole: None },
        }
    }

    /// A name, a word, an id or a key: one line, in which no character is dropped or takes no room.
    pub fn name(raw: &str) -> Self {
        let clean = clean::name(raw);
        let safe =
            if clean.contains("://") { redact::redact(&clean).map(|safe| clean::name(&safe).into()) } else { None };
        Self { safe: safe.unwrap_or_else(|| shared(&clean)), whole: None }
    }

    /// A text that is a credential as a whole.
    fn secret(raw: &str) -> Self {
        Self { safe: REDACTED.into(), whole: Some(Arc::new(Whole(clean::sanitize(raw).into()))) }
    }

    /// The safe text.
    pub fn as_str(&self) -> &str {
        &self.safe
    }

    /// The text with the credentials that were taken out of it: for the screen alone, when the user asks for it.
    pub fn unredacted(&self) -> &str {
        self.whole.as_ref().map_or(&self.safe, |whole| &whole.0)
    }

    /// The text as the screen shows it: with its credentials or without.
    pub fn shown(&self, secrets: bool) -> &str {
        if secrets { self.unredacted() } else { &self.safe }
    }

    /// A credential was taken out that [`Text::unredacted`] shows.
    pub fn is_redacted(&self) -> bool {
        self.whole.is_some()
    }

    /// True when nothing is left.
    pub fn is_empty(&self) -> bool {
        self.safe.is_empty()
    }

    /// The text on one line: every run of white space becomes one space.
    pub fn one_line(&self) -> Cow<'_, str> {
        one_line(&self.safe)
    }
}

/// Most texts of an object are empty: they share one allocation.
fn shared(text: &str) -> Arc<str> {
    if text.is_empty() { Arc::default() } else { Arc::from(text) }
}

/// A text on one line: every run of white space becomes one space.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\t']) && !text.contains("  ") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.safe == other.safe
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.safe.cmp(&other.safe)
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.safe.hash(state);
    }
}

impl Weigh for Text {
    fn heap(&self) -> usize {
        // Two counts are before the text.
        let of = |len: usize| if len == 0 { 0 } else { allocation(len + 2 * size_of::<usize>()) };
        of(self.safe.len()) + self.whole.as_ref().map_or(0, |whole| of(size_of::<Whole>()) + allocation(whole.0.len()))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.safe)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.safe, f)
    }
}

impl From<&str> for Text {
    fn from(raw: &str) -> Self {
        Self::new(raw)
    }
}

impl From<String> for Text {
    fn from(raw: String) -> Self {
        Self::new(&raw)
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        &self.safe
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.safe
    }
}

impl std::ops::Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.safe
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        &*self.safe == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        &*self.safe == *other
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.safe)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let raw = Cow::<'de, str>::deserialize(d)?;
        Ok(Self::name(&raw))
    }
}
