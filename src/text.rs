//! Owns the one way in which a string from the node becomes safe for a terminal, for JSON and for a recording.
//! It must not know where a string comes from, and nothing else may build a [`Text`].

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::weight::{Weigh, allocation};

/// Longest line kept, in characters; what follows on the line is cut and marked with `…`.
pub const MAX_LINE: usize = 4096;
/// Longest text kept, in characters.
pub const MAX_TEXT: usize = 16 * 1024;
/// Most combining marks kept on one base character.
const MAX_MARKS: usize = 4;

/// Foreign text that holds no control sequence, no control character but line feed and tab, and no bidirectional override.
///
/// Cheap to clone. Sanitizing is idempotent, so a text read back from a recording is unchanged.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Arc<str>);

impl Text {
    /// Sanitizes `raw`.
    pub fn new(raw: &str) -> Self {
        match sanitize(raw).as_ref() {
            "" => Self::default(),
            safe => Self(Arc::from(safe)),
        }
    }

    /// The safe text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True when nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text on one line: every run of white space becomes one space.
    pub fn one_line(&self) -> Cow<'_, str> {
        if !self.0.contains(['\n', '\t']) && !self.0.contains("  ") {
            return Cow::Borrowed(&self.0);
        }
        Cow::Owned(self.0.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

impl Weigh for Text {
    fn heap(&self) -> usize {
        // Two counts stand before the text.
        if self.0.is_empty() { 0 } else { allocation(self.0.len() + 2 * size_of::<usize>()) }
    }
}

impl Default for Text {
    /// Most texts of an object are empty: they share one allocation.
    fn default() -> Self {
        static EMPTY: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from(""));
        Self(Arc::clone(&EMPTY))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
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
        &self.0
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::ops::Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let raw = Cow::<'de, str>::deserialize(d)?;
        Ok(Self::new(&raw))
    }
}

/// Makes foreign text safe to print.
///
/// Whole escape sequences go, not only their first byte; a sequence that never ends is shown as text, so that nothing
/// behind it is hidden. Other control characters become their pictures (U+2400 block) or `\xNN`; bidirectional
/// controls and zero-width joiners are dropped; combining marks, lines and the whole are cut at fixed lengths.
pub fn sanitize(raw: &str) -> Cow<'_, str> {
    let plain = |c: char| matches!(c, ' '..='~');
    if raw.len() <= MAX_LINE && raw.chars().all(plain) {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len().min(MAX_TEXT));
    let (mut line, mut total, mut marks) = (0usize, 0usize, 0usize);
    let mut rest = raw;
    while let Some(c) = rest.chars().next() {
        if total >= MAX_TEXT {
            if !out.ends_with('…') {
                out.push('…');
            }
            break;
        }
        if let Some(len) = escape_len(rest) {
            rest = &rest[len..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        if c == '\r' && rest.starts_with('\n') {
            continue;
        }
        if c == '\n' {
            out.push('\n');
            total += 1;
            (line, marks) = (0, 0);
            continue;
        }
        if is_hidden(c) {
            continue;
        }
        if is_mark(c) {
            marks += 1;
            if marks > MAX_MARKS {
                continue;
            }
        } else {
            marks = 0;
        }
        line += 1;
        if line > MAX_LINE {
            if line == MAX_LINE + 1 && !out.ends_with('…') {
                out.pop();
                out.push('…');
            }
            continue;
        }
        total += 1;
        match c {
            '\t' => out.push('\t'),
            '\0'..='\x1f' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('?')),
            '\x7f' => out.push('\u{2421}'),
            '\u{80}'..='\u{9f}' => out.push_str(&format!("\\x{:02x}", c as u32)),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Length in bytes of the complete escape sequence at the beginning of `s`, if there is one.
fn escape_len(s: &str) -> Option<usize> {
    let mut chars = s.char_indices();
    let first = chars.next()?.1;
    let kind = match first {
        '\x1b' => chars.next()?.1,
        '\u{9b}' => '[',
        '\u{9d}' => ']',
        '\u{90}' => 'P',
        _ => return None,
    };
    match kind {
        '[' => chars
            .take_while(|(_, c)| matches!(c, ' '..='~'))
            .find(|(_, c)| matches!(c, '@'..='~'))
            .map(|(i, c)| i + c.len_utf8()),
        ']' | 'P' | 'X' | '^' | '_' => string_len(s),
        ' '..='/' => chars
            .take_while(|(_, c)| matches!(c, ' '..='~'))
            .find(|(_, c)| matches!(c, '0'..='~'))
            .map(|(i, c)| i + c.len_utf8()),
        '0'..='~' => Some(2),
        _ => None,
    }
}

/// Length of a control string up to and with its terminator: BEL, ESC `\`, or the one-character ST.
fn string_len(s: &str) -> Option<usize> {
    let mut escaped = false;
    for (i, c) in s.char_indices().skip(2) {
        match c {
            '\x07' | '\u{9c}' => return Some(i + c.len_utf8()),
            '\\' if escaped => return Some(i + 1),
            '\n' => return None,
            _ => escaped = c == '\x1b',
        }
    }
    None
}

/// Characters that change how others are shown and are not seen themselves.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}'
        | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn is_mark(c: char) -> bool {
    !c.is_control() && unicode_width::UnicodeWidthChar::width(c) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_sequences_go_and_text_stays() {
        assert_eq!(sanitize("a\x1b[31mred\x1b[0m b"), "ared b");
        assert_eq!(sanitize("a\x1b]52;c;aGk=\x07b"), "ab");
        assert_eq!(sanitize("a\x1b]0;title\x1b\\b"), "ab");
        assert_eq!(sanitize("a\u{9b}2Jb"), "ab");
        assert_eq!(sanitize("x\x1b(0y"), "xy");
    }

    #[test]
    fn an_endless_sequence_hides_nothing() {
        assert_eq!(sanitize("a\x1b]0;title and more"), "a␛]0;title and more");
        assert_eq!(sanitize("a\x1b"), "a␛");
    }

    #[test]
    fn controls_and_overrides() {
        assert_eq!(sanitize("a\rb\u{7}c\u{7f}\u{85}"), "a␍b␇c␡\\x85");
        assert_eq!(sanitize("a\u{202e}b\u{200d}c"), "abc");
        assert_eq!(sanitize("one\r\ntwo\tthree"), "one\ntwo\tthree");
    }

    #[test]
    fn lengths_are_capped() {
        let long = "é".repeat(MAX_LINE + 10);
        assert_eq!(sanitize(&long).chars().count(), MAX_LINE);
        assert!(sanitize(&long).ends_with('…'));
        let zalgo = format!("e{}", "\u{301}".repeat(50));
        assert_eq!(sanitize(&zalgo).chars().count(), 1 + MAX_MARKS);
        let many = "line\n".repeat(MAX_TEXT);
        assert!(sanitize(&many).chars().count() <= MAX_TEXT + 1);
    }

    proptest! {
        #[test]
        fn never_a_control_and_idempotent(raw in "\\PC*|[\\x00-\\xff\\u{202a}-\\u{202e}\\x1b\\[\\];a-z]{0,80}") {
            let once = sanitize(&raw).into_owned();
            prop_assert!(once.chars().all(|c| c == '\n' || c == '\t' || !c.is_control() && !is_hidden(c)), "{once:?}");
            let twice = sanitize(&once).into_owned();
            prop_assert_eq!(twice, once);
        }
    }
}
