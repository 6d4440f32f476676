//! Strings from the node, made safe for a terminal, for JSON and for recordings. Only this module creates a [`Text`].

pub mod cells;
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

/// Maximum length of a line, characters; the rest of the line is cut and marked with `…`.
pub const MAX_LINE: usize = 4096;
/// Maximum length of a text, characters.
pub const MAX_TEXT: usize = 16 * 1024;

pub use message::Message;
pub use redact::{PemLines, REDACTED, without_user};

/// Text from the node without control sequences, control characters except line feed and tab, invisible characters, and
/// anything that looks like a credential.
///
/// Deserialization gives a name of one line, as [`Text::name`] does. Free text is deserialized as a [`Message`]. Cheap to
/// clone. Sanitizing is idempotent, so a text read from a recording is unchanged.
#[derive(Clone, Default)]
pub struct Text {
    safe: Arc<str>,
    /// The text with its credentials, if any were redacted: only for the screen, never printed, compared or serialized.
    unredacted: Option<Arc<Unredacted>>,
}

/// A text with its credentials. Without `Debug`, so that it cannot be logged.
struct Unredacted(Box<str>);

impl Text {
    /// Free text: made safe to print, credentials redacted.
    pub fn new(raw: &str) -> Self {
        let clean = clean::sanitize(raw);
        match redact::redact(&clean) {
            Some(safe) => Self { safe: shared(&safe), unredacted: Some(Arc::new(Unredacted(clean.into()))) },
            None => Self { safe: shared(&clean), unredacted: None },
        }
    }

    /// A name, a word, an id or a key: one line, in which every character is visible and none is dropped.
    pub fn name(raw: &str) -> Self {
        let clean = clean::name(raw);
        let safe =
            if clean.contains("://") { redact::redact(&clean).map(|safe| clean::name(&safe).into()) } else { None };
        Self { safe: safe.unwrap_or_else(|| shared(&clean)), unredacted: None }
    }

    /// A text that is entirely a credential.
    fn secret(raw: &str) -> Self {
        Self { safe: REDACTED.into(), unredacted: Some(Arc::new(Unredacted(clean::sanitize(raw).into()))) }
    }

    /// The safe text.
    pub fn as_str(&self) -> &str {
        &self.safe
    }

    /// The text with its credentials: only for the screen, when the user enables it.
    pub fn unredacted(&self) -> &str {
        self.unredacted.as_ref().map_or(&self.safe, |text| &text.0)
    }

    /// The text for the screen, with its credentials if `secrets` is set.
    pub fn shown(&self, secrets: bool) -> &str {
        if secrets { self.unredacted() } else { &self.safe }
    }

    /// True if a credential was redacted, which [`Text::unredacted`] contains.
    pub fn is_redacted(&self) -> bool {
        self.unredacted.is_some()
    }

    /// True if the text is empty.
    pub fn is_empty(&self) -> bool {
        self.safe.is_empty()
    }

    /// The text on one line: each sequence of white space becomes one space.
    pub fn one_line(&self) -> Cow<'_, str> {
        one_line(&self.safe)
    }
}

/// Most texts of an object are empty: they share one allocation.
fn shared(text: &str) -> Arc<str> {
    if text.is_empty() { Arc::default() } else { Arc::from(text) }
}

/// A text on one line: each sequence of white space becomes one space.
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
        // An `Arc` allocates two counters before the text.
        let of = |len: usize| if len == 0 { 0 } else { allocation(len + 2 * size_of::<usize>()) };
        of(self.safe.len())
            + self.unredacted.as_ref().map_or(0, |text| of(size_of::<Unredacted>()) + allocation(text.0.len()))
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
