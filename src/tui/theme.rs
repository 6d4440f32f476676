//! Owns how a role looks: the terminal's 16 colours on its own background, or bold, reverse and underline alone.
//! It must not let colour carry a meaning by itself: whatever has a role also has a word or a glyph.

use ratatui::style::{Color, Modifier, Style};

use crate::pipeline::StageState;
use crate::view::Trouble;

/// What a piece of the screen is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Text.
    Plain,
    /// Something failed, or does not answer.
    Trouble,
    /// Something takes long.
    Slow,
    /// All is well.
    Good,
    /// Under way.
    Active,
    /// Less important.
    Muted,
    /// Names and headings.
    Heading,
    /// The row the keys act on.
    Selected,
    /// A key in the footer or the help.
    Key,
}

/// Looks and glyphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    colour: bool,
    /// Only ASCII is drawn.
    pub ascii: bool,
}

impl Theme {
    /// A theme with or without colour, with or without glyphs beyond ASCII.
    pub fn new(colour: bool, ascii: bool) -> Self {
        Self { colour, ascii }
    }

    /// What the environment asks for: `NO_COLOR` that is not empty takes the colours, a locale that is not UTF-8 the glyphs.
    pub fn from_env(ascii: bool, var: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| var(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default().to_lowercase();
        let utf8 = locale.contains("utf-8") || locale.contains("utf8");
        Self { colour: set("NO_COLOR").is_none(), ascii: ascii || !utf8 }
    }

    /// How a role looks.
    pub fn style(&self, role: Role) -> Style {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        match (role, self.colour) {
            (Role::Plain, _) => plain,
            (Role::Trouble, true) => bold.fg(Color::Red),
            (Role::Slow, true) => plain.fg(Color::Yellow),
            (Role::Good, true) => plain.fg(Color::Green),
            (Role::Active, true) => plain.fg(Color::Cyan),
            (Role::Muted, true) => plain.add_modifier(Modifier::DIM),
            (Role::Key, true) => bold.fg(Color::Cyan),
            (Role::Trouble | Role::Key | Role::Heading, _) => bold,
            (Role::Slow, false) => plain.add_modifier(Modifier::UNDERLINED),
            (Role::Good | Role::Active | Role::Muted, false) => plain,
            (Role::Selected, _) => plain.add_modifier(Modifier::REVERSED),
        }
    }

    /// The glyph of a stage's state, and its role.
    pub fn stage(&self, state: StageState) -> (&'static str, Role) {
        match state {
            StageState::Done => ("●", Role::Good),
            StageState::Active => ("◐", Role::Active),
            StageState::Waiting => ("○", Role::Muted),
            StageState::Failed => ("✗", Role::Trouble),
            StageState::Skipped => ("·", Role::Muted),
            StageState::Unknown => ("?", Role::Muted),
        }
    }

    /// The role of a row's STATUS.
    pub fn trouble(&self, trouble: Trouble) -> Role {
        match trouble {
            Trouble::Failed => Role::Trouble,
            Trouble::Slow | Trouble::Unsteady => Role::Slow,
            Trouble::Moving => Role::Active,
            Trouble::Well => Role::Good,
            Trouble::Done | Trouble::Unknown => Role::Muted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theme(vars: &[(&str, &str)]) -> Theme {
        let vars: Vec<_> = vars.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        Theme::from_env(false, move |name| vars.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone()))
    }

    #[test]
    fn the_first_locale_variable_that_is_set_decides() {
        assert!(!theme(&[("LANG", "en_US.UTF-8")]).ascii);
        assert!(!theme(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")]).ascii);
        assert!(theme(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]).ascii);
        assert!(theme(&[("LANG", "POSIX")]).ascii);
        assert!(theme(&[]).ascii);
    }

    #[test]
    fn an_empty_no_color_is_none() {
        assert!(theme(&[("NO_COLOR", "")]).colour);
        assert!(!theme(&[("NO_COLOR", "1")]).colour);
    }
}
