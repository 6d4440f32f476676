//! Free text from the node, such as messages, errors and log lines: several lines, credentials redacted.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize};

use super::Text;
use crate::weight::Weigh;

/// A [`Text`] that keeps its line feeds when it is deserialized.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Message(Text);

impl Message {
    /// Makes `raw` safe to print and redacts credentials.
    pub fn new(raw: &str) -> Self {
        Self(Text::new(raw))
    }

    /// True if the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text.
    pub fn text(&self) -> Text {
        self.0.clone()
    }
}

impl Weigh for Message {
    fn heap(&self) -> usize {
        self.0.heap()
    }
}

impl Deref for Message {
    type Target = Text;
    fn deref(&self) -> &Text {
        &self.0
    }
}

impl From<Text> for Message {
    fn from(text: Text) -> Self {
        Self(text)
    }
}

impl From<Message> for Text {
    fn from(message: Message) -> Self {
        message.0
    }
}

impl From<&str> for Message {
    fn from(raw: &str) -> Self {
        Self::new(raw)
    }
}

impl From<String> for Message {
    fn from(raw: String) -> Self {
        Self::new(&raw)
    }
}

impl PartialEq<str> for Message {
    fn eq(&self, other: &str) -> bool {
        self.0 == *other
    }
}

impl PartialEq<&str> for Message {
    fn eq(&self, other: &&str) -> bool {
        self.0 == **other
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Self::new(&Cow::<'de, str>::deserialize(d)?))
    }
}
