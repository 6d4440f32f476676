//! A key press: the key of a terminal event and its name.

use KeyPress::{Ctrl, Plain};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key, without the modifiers that make no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPress {
    /// A key alone.
    Plain(KeyCode),
    /// A letter with Ctrl.
    Ctrl(char),
}

/// The key of a character.
pub const fn char_key(c: char) -> KeyPress {
    Plain(KeyCode::Char(c))
}

/// Default keys of `back`.
pub const BACK: &[KeyPress] = &[Plain(KeyCode::Esc), char_key('h'), Plain(KeyCode::Backspace), Plain(KeyCode::Left)];
/// Default keys of `open`.
pub const OPEN: &[KeyPress] = &[Plain(KeyCode::Enter), Plain(KeyCode::Right)];
/// Default keys of `log`.
pub const LOG: &[KeyPress] = &[char_key('l'), char_key('L')];

impl KeyPress {
    /// The key of an event; None for combinations that cannot be bound.
    pub fn of(event: &KeyEvent) -> Option<Self> {
        let modifiers = event.modifiers - KeyModifiers::SHIFT;
        match event.code {
            KeyCode::Char(c) if modifiers == KeyModifiers::CONTROL => Some(Ctrl(c.to_ascii_lowercase())),
            code if modifiers.is_empty() => Some(Plain(code)),
            _ => None,
        }
    }

    /// Name in footer, help and configuration.
    pub fn name(self) -> String {
        match self {
            Ctrl(c) => format!("Ctrl-{}", c.to_ascii_uppercase()),
            Plain(KeyCode::Char(' ')) => "Space".into(),
            Plain(KeyCode::Char(c)) => c.to_string(),
            Plain(KeyCode::PageDown) => "PgDn".into(),
            Plain(KeyCode::PageUp) => "PgUp".into(),
            Plain(KeyCode::BackTab) => "Shift-Tab".into(),
            Plain(KeyCode::F(n)) => format!("F{n}"),
            Plain(code) => format!("{code:?}"),
        }
    }

    /// Parses a name; None if it is not a key.
    pub fn parse(name: &str) -> Option<Self> {
        const NAMED: [KeyCode; 14] = [
            KeyCode::Enter,
            KeyCode::Esc,
            KeyCode::Tab,
            KeyCode::BackTab,
            KeyCode::Backspace,
            KeyCode::Left,
            KeyCode::Right,
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::Home,
            KeyCode::End,
            KeyCode::PageUp,
            KeyCode::PageDown,
            KeyCode::Delete,
        ];
        let only = |text: &str| Some(text.chars().next()?).filter(|c| text.len() == c.len_utf8() && !c.is_control());
        if let Some(c) = name.strip_prefix("Ctrl-").and_then(only) {
            return c.is_ascii_alphabetic().then(|| Ctrl(c.to_ascii_lowercase()));
        }
        if let Some(n) = name.strip_prefix('F').and_then(|n| n.parse().ok()).filter(|n| (1..=12).contains(n)) {
            return Some(Plain(KeyCode::F(n)));
        }
        let named = NAMED.into_iter().map(Plain).chain([char_key(' ')]).find(|key| key.name() == name);
        named.or_else(|| only(name).filter(|c| *c != ' ').map(char_key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shift_makes_no_difference_and_alt_is_not_bound() {
        let event = |c, m| KeyEvent::new(KeyCode::Char(c), m);
        assert_eq!(KeyPress::of(&event('G', KeyModifiers::SHIFT)), Some(char_key('G')));
        assert_eq!(KeyPress::of(&event('F', KeyModifiers::CONTROL)), Some(Ctrl('f')));
        assert_eq!(KeyPress::of(&event('q', KeyModifiers::ALT)), None);
    }

    #[test]
    fn wrong_names_are_not_keys() {
        assert_eq!(KeyPress::parse("Space"), Some(char_key(' ')));
        assert_eq!(KeyPress::parse("F5"), Some(Plain(KeyCode::F(5))));
        assert_eq!(KeyPress::parse("F"), Some(char_key('F')));
        for wrong in ["", "ctrl-c", "Ctrl-", "Ctrl-é", "Ctrl-cc", "Alt-x", "F0", "F13", "enter", "ab", "\x1b", " "] {
            assert_eq!(KeyPress::parse(wrong), None, "{wrong:?}");
        }
    }
}
