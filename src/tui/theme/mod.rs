//! Owns how a role looks: the terminal's 16 colours on its own background, or bold, reverse and underline alone.
//! It must not let colour carry a meaning by itself: whatever has a role also has a word or a glyph.

pub mod glyphs;

use ratatui::style::{Color, Modifier, Style};

use crate::pipeline::StageState;
use crate::view::PodHealth;

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

/// Which colours a role has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// The 16 colours, on any background.
    #[default]
    Default,
    /// For a light background, on which yellow and cyan are hard to read.
    Light,
    /// Bright and bold, nothing dimmed.
    HighContrast,
    /// Yellow against blue, which most people who do not tell red from green do tell.
    ColourBlind,
}

impl Look {
    /// All.
    pub const ALL: [Look; 4] = [Look::Default, Look::Light, Look::HighContrast, Look::ColourBlind];

    /// As `--theme` and the configuration name it.
    pub fn name(self) -> &'static str {
        match self {
            Look::Default => "default",
            Look::Light => "light",
            Look::HighContrast => "high-contrast",
            Look::ColourBlind => "colour-blind",
        }
    }

    /// The one of that name.
    ///
    /// # Errors
    /// The names there are.
    pub fn read(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|look| look.name() == name);
        found.ok_or_else(|| format!("no theme {name:?}; they are {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Looks and glyphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    look: Look,
    colour: bool,
    /// Only ASCII is drawn.
    pub ascii: bool,
}

impl Theme {
    /// The default theme with or without colour, with or without glyphs beyond ASCII.
    pub fn new(colour: bool, ascii: bool) -> Self {
        Self { look: Look::Default, colour, ascii }
    }

    /// The same with other colours.
    #[must_use]
    pub fn with(self, look: Look) -> Self {
        Self { look, ..self }
    }

    /// What the environment asks for: `NO_COLOR` that is not empty takes the colours, a locale that is not UTF-8 the glyphs.
    pub fn from_env(ascii: bool, var: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| var(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default().to_lowercase();
        let utf8 = locale.contains("utf-8") || locale.contains("utf8");
        Self::new(set("NO_COLOR").is_none(), ascii || !utf8)
    }

    /// How a role looks.
    pub fn style(&self, role: Role) -> Style {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        match role {
            Role::Plain => return plain,
            Role::Selected => return plain.add_modifier(Modifier::REVERSED),
            Role::Heading if self.look == Look::HighContrast => return bold.add_modifier(Modifier::UNDERLINED),
            Role::Heading => return bold,
            _ if !self.colour => {
                return match role {
                    Role::Trouble | Role::Key => bold,
                    Role::Slow => plain.add_modifier(Modifier::UNDERLINED),
                    _ => plain,
                };
            }
            Role::Trouble | Role::Slow | Role::Good | Role::Active | Role::Muted | Role::Key => {}
        }
        let muted = plain.add_modifier(Modifier::DIM);
        match (self.look, role) {
            (Look::Default, Role::Trouble) => bold.fg(Color::Red),
            (Look::Default, Role::Slow) => plain.fg(Color::Yellow),
            (Look::Default, Role::Good) => plain.fg(Color::Green),
            (Look::Default, Role::Active) => plain.fg(Color::Cyan),
            (Look::Default, Role::Key) => bold.fg(Color::Cyan),
            (Look::Light, Role::Trouble) => bold.fg(Color::Red),
            (Look::Light, Role::Slow) => plain.fg(Color::Magenta),
            (Look::Light, Role::Good) => plain.fg(Color::Green),
            (Look::Light, Role::Active) => plain.fg(Color::Blue),
            (Look::Light, Role::Key) => bold.fg(Color::Blue),
            (Look::HighContrast, Role::Trouble) => bold.fg(Color::LightRed),
            (Look::HighContrast, Role::Slow) => bold.fg(Color::LightYellow),
            (Look::HighContrast, Role::Good) => bold.fg(Color::LightGreen),
            (Look::HighContrast, Role::Active) => bold.fg(Color::LightCyan),
            (Look::HighContrast, Role::Key) => bold.fg(Color::LightMagenta),
            (Look::HighContrast, _) => plain,
            (Look::ColourBlind, Role::Trouble) => bold.fg(Color::LightYellow),
            (Look::ColourBlind, Role::Slow) => plain.fg(Color::Yellow).add_modifier(Modifier::UNDERLINED),
            (Look::ColourBlind, Role::Good) => plain.fg(Color::LightBlue),
            (Look::ColourBlind, Role::Active) => plain.fg(Color::Cyan),
            (Look::ColourBlind, Role::Key) => bold.fg(Color::Cyan),
            (Look::Default | Look::Light | Look::ColourBlind, _) => muted,
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
    pub fn trouble(&self, health: PodHealth) -> Role {
        match health {
            PodHealth::Failed => Role::Trouble,
            PodHealth::Slow | PodHealth::Unsteady => Role::Slow,
            PodHealth::Moving => Role::Active,
            PodHealth::Healthy => Role::Good,
            PodHealth::Done | PodHealth::Unknown => Role::Muted,
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
    fn roles_differ_in_every_theme_and_names_are_read() {
        let roles = [Role::Trouble, Role::Slow, Role::Good, Role::Active];
        for look in Look::ALL {
            assert_eq!(Look::read(look.name()), Ok(look));
            let theme = Theme::new(true, false).with(look);
            for (i, role) in roles.iter().enumerate() {
                assert!(roles[..i].iter().all(|other| theme.style(*other) != theme.style(*role)), "{look:?} {role:?}");
            }
            let plain = Theme::new(false, false).with(look);
            assert!(roles.iter().all(|role| plain.style(*role).fg.is_none()));
        }
        assert!(Look::read("dark").is_err());
    }

    #[test]
    fn an_empty_no_color_is_none() {
        assert!(theme(&[("NO_COLOR", "")]).colour);
        assert!(!theme(&[("NO_COLOR", "1")]).colour);
    }
}
