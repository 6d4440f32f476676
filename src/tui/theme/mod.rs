//! Colors and text styles of each role. Every role also has a word or a glyph, for terminals without color.

pub mod glyphs;

use ratatui::style::{Color, Modifier, Style};

use crate::pipeline::StageState;
use crate::view::{PlegVerdict, PodHealth};

/// The meaning of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Text.
    Plain,
    /// Failed, or does not respond.
    Error,
    /// Slow, or close to a limit.
    Warning,
    /// Ready, healthy.
    Ok,
    /// In progress.
    Active,
    /// Secondary text.
    Muted,
    /// Names and headings.
    Heading,
    /// The selected row.
    Selected,
    /// A key in the footer or the help.
    Key,
}

/// The colors of the roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorScheme {
    /// The 16 terminal colors, for any background.
    #[default]
    Default,
    /// For a light background: no yellow, no cyan.
    Light,
    /// Bright and bold, without dim text.
    HighContrast,
    /// Yellow and blue, for readers who cannot distinguish red from green.
    ColourBlind,
}

impl ColorScheme {
    /// All.
    pub const ALL: [ColorScheme; 4] =
        [ColorScheme::Default, ColorScheme::Light, ColorScheme::HighContrast, ColorScheme::ColourBlind];

    /// Name for `--theme` and the configuration.
    pub fn name(self) -> &'static str {
        match self {
            ColorScheme::Default => "default",
            ColorScheme::Light => "light",
            ColorScheme::HighContrast => "high-contrast",
            ColorScheme::ColourBlind => "colour-blind",
        }
    }

    /// Parses a name.
    ///
    /// # Errors
    /// Unknown names, with those that exist.
    pub fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|look| look.name() == name);
        found.ok_or_else(|| format!("unknown theme {name:?} (available: {})", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Colors and glyphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    scheme: ColorScheme,
    colour: bool,
    /// ASCII characters only.
    pub ascii: bool,
}

impl Theme {
    /// The default colors, or none; Unicode glyphs, or ASCII.
    pub fn new(colour: bool, ascii: bool) -> Self {
        Self { scheme: ColorScheme::Default, colour, ascii }
    }

    /// The theme with other colors.
    #[must_use]
    pub fn with(self, scheme: ColorScheme) -> Self {
        Self { scheme, ..self }
    }

    /// Reads the environment: a non-empty `NO_COLOR` disables colors, a locale other than UTF-8 the glyphs.
    pub fn from_env(ascii: bool, var: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| var(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default().to_lowercase();
        let utf8 = locale.contains("utf-8") || locale.contains("utf8");
        Self::new(set("NO_COLOR").is_none(), ascii || !utf8)
    }

    /// Style of a role.
    pub fn style(&self, role: Role) -> Style {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        match role {
            Role::Plain => return plain,
            Role::Selected => return plain.add_modifier(Modifier::REVERSED),
            Role::Heading if self.scheme == ColorScheme::HighContrast => {
                return bold.add_modifier(Modifier::UNDERLINED);
            }
            Role::Heading => return bold,
            _ if !self.colour => {
                return match role {
                    Role::Error | Role::Key => bold,
                    Role::Warning => plain.add_modifier(Modifier::UNDERLINED),
                    _ => plain,
                };
            }
            Role::Error | Role::Warning | Role::Ok | Role::Active | Role::Muted | Role::Key => {}
        }
        let muted = plain.add_modifier(Modifier::DIM);
        match (self.scheme, role) {
            (ColorScheme::Default, Role::Error) => bold.fg(Color::Red),
            (ColorScheme::Default, Role::Warning) => plain.fg(Color::Yellow),
            (ColorScheme::Default, Role::Ok) => plain.fg(Color::Green),
            (ColorScheme::Default, Role::Active) => plain.fg(Color::Cyan),
            (ColorScheme::Default, Role::Key) => bold.fg(Color::Cyan),
            (ColorScheme::Light, Role::Error) => bold.fg(Color::Red),
            (ColorScheme::Light, Role::Warning) => plain.fg(Color::Magenta),
            (ColorScheme::Light, Role::Ok) => plain.fg(Color::Green),
            (ColorScheme::Light, Role::Active) => plain.fg(Color::Blue),
            (ColorScheme::Light, Role::Key) => bold.fg(Color::Blue),
            (ColorScheme::HighContrast, Role::Error) => bold.fg(Color::LightRed),
            (ColorScheme::HighContrast, Role::Warning) => bold.fg(Color::LightYellow),
            (ColorScheme::HighContrast, Role::Ok) => bold.fg(Color::LightGreen),
            (ColorScheme::HighContrast, Role::Active) => bold.fg(Color::LightCyan),
            (ColorScheme::HighContrast, Role::Key) => bold.fg(Color::LightMagenta),
            (ColorScheme::HighContrast, _) => plain,
            (ColorScheme::ColourBlind, Role::Error) => bold.fg(Color::LightYellow),
            (ColorScheme::ColourBlind, Role::Warning) => plain.fg(Color::Yellow).add_modifier(Modifier::UNDERLINED),
            (ColorScheme::ColourBlind, Role::Ok) => plain.fg(Color::LightBlue),
            (ColorScheme::ColourBlind, Role::Active) => plain.fg(Color::Cyan),
            (ColorScheme::ColourBlind, Role::Key) => bold.fg(Color::Cyan),
            (ColorScheme::Default | ColorScheme::Light | ColorScheme::ColourBlind, _) => muted,
        }
    }

    /// Glyph and role of a stage state.
    pub fn stage(&self, state: StageState) -> (&'static str, Role) {
        match state {
            StageState::Done => ("●", Role::Ok),
            StageState::Active => ("◐", Role::Active),
            StageState::Waiting => ("○", Role::Muted),
            StageState::Failed => ("✗", Role::Error),
            StageState::Skipped => ("·", Role::Muted),
            StageState::Unknown => ("?", Role::Muted),
        }
    }

    /// The role of PLEG's verdict.
    pub fn verdict(&self, verdict: PlegVerdict) -> Role {
        match verdict {
            PlegVerdict::Ok => Role::Ok,
            PlegVerdict::Slow | PlegVerdict::Stale => Role::Warning,
            PlegVerdict::Unknown => Role::Muted,
            PlegVerdict::Silent | PlegVerdict::Hanging | PlegVerdict::Down => Role::Error,
        }
    }

    /// Role of a STATUS.
    pub fn health(&self, health: PodHealth) -> Role {
        match health {
            PodHealth::Failed => Role::Error,
            PodHealth::Slow | PodHealth::Unsteady => Role::Warning,
            PodHealth::Moving => Role::Active,
            PodHealth::Healthy => Role::Ok,
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
        let roles = [Role::Error, Role::Warning, Role::Ok, Role::Active];
        for scheme in ColorScheme::ALL {
            assert_eq!(ColorScheme::parse(scheme.name()), Ok(scheme));
            let theme = Theme::new(true, false).with(scheme);
            for (i, role) in roles.iter().enumerate() {
                assert!(
                    roles[..i].iter().all(|other| theme.style(*other) != theme.style(*role)),
                    "{scheme:?} {role:?}"
                );
            }
            let plain = Theme::new(false, false).with(scheme);
            assert!(roles.iter().all(|role| plain.style(*role).fg.is_none()));
        }
        assert!(ColorScheme::parse("dark").is_err());
    }

    #[test]
    fn an_empty_no_color_is_none() {
        assert!(theme(&[("NO_COLOR", "")]).colour);
        assert!(!theme(&[("NO_COLOR", "1")]).colour);
    }
}
