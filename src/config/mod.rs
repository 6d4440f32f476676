//! The screen's configuration: values, their precedence (flag, user file, system file, default) and their origin. Commands
//! that print do not read it, so that scripts do not depend on a user's file.

mod parse;
mod print;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use print::toml_text;

use crate::named_file;
use crate::tui::{Action, ColorScheme, KeyPress, Keymap, Options};
use crate::view::{Column, Filter, Sort};

/// Configuration for all users of the node.
const SYSTEM_FILE: &str = "/etc/kpodtrace/config.toml";
/// The user's file, relative to `$XDG_CONFIG_HOME` or `~/.config`.
const USER_FILE: &str = "kpodtrace/config.toml";

/// Why a configuration was refused.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file has an invalid value, an unknown name or invalid TOML.
    #[error("{file}:{line}: {reason}")]
    Refused {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The file exists and cannot be read.
    #[error("{file}: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        why: io::Error,
    },
    /// A flag has an invalid value.
    #[error("--{flag}: {reason}")]
    Flag {
        /// Its name.
        flag: &'static str,
        /// What is wrong.
        reason: String,
    },
}

/// Origin of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The program's default.
    #[default]
    Default,
    /// A file and a line, from 1.
    File(String, usize),
    /// A flag, without its dashes.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(file, line) => write!(f, "{file}:{line}"),
            Origin::Flag(name) => write!(f, "--{name}"),
        }
    }
}

/// A value and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValue<T> {
    /// The value.
    pub value: T,
    /// Its origin.
    pub origin: Origin,
}

impl<T> From<T> for ConfigValue<T> {
    fn from(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }
}

/// The configuration in effect.
#[derive(Clone, Debug)]
pub struct Config {
    /// Colour theme.
    pub theme: ConfigValue<ColorScheme>,
    /// Use ASCII characters only.
    pub ascii: ConfigValue<bool>,
    /// Handle mouse events.
    pub mouse: ConfigValue<bool>,
    /// Maximum frames per second, 1 to 10.
    pub frames: ConfigValue<u8>,
    /// Columns of the table, from left to right.
    pub columns: ConfigValue<Vec<Column>>,
    /// Sort order of the table.
    pub sort: ConfigValue<Sort>,
    /// Filter of the table, as typed after `/`.
    pub filter: ConfigValue<String>,
    /// Show only failing or slow pods.
    pub failing: ConfigValue<bool>,
    /// Keys of every action that can be bound.
    pub keys: Vec<(Action, ConfigValue<Vec<KeyPress>>)>,
    /// Files that were ignored because this user has no permission to read them.
    pub unreadable: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        let (options, keymap) = (Options::default(), Keymap::default());
        let keys = |action: Action| (action, keymap.keys(action).to_vec().into());
        Self {
            theme: options.colors.into(),
            ascii: options.ascii.into(),
            mouse: options.mouse.into(),
            frames: options.frames.into(),
            columns: options.columns.into(),
            sort: options.sort.into(),
            filter: options.filter.words.into(),
            failing: options.filter.failing.into(),
            keys: Keymap::actions().into_iter().map(keys).collect(),
            unreadable: Vec::new(),
        }
    }
}

/// Maximum size of a configuration file, bytes.
const MAX_FILE: u64 = 1 << 20;

impl Config {
    /// Reads the files; earlier ones override later ones. A missing file is skipped. A file without read permission is
    /// skipped with a note: `sudo -u` and `su` keep the HOME of another user.
    ///
    /// # Errors
    /// If a file cannot be read for another reason, or is invalid.
    pub fn read(files: &[PathBuf]) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for path in files.iter().rev() {
            let file = path.display().to_string();
            match named_file::text(path, MAX_FILE) {
                Ok(content) => config.take(&file, &content)?,
                Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(why) if why.kind() == io::ErrorKind::PermissionDenied => config.unreadable.push(file),
                Err(why) => return Err(ConfigError::Unreadable { file, why }),
            }
        }
        Ok(config)
    }

    /// Applies the flags.
    ///
    /// # Errors
    /// If a flag has an invalid value.
    pub fn flags(mut self, given: &ConfigFlags<'_>) -> Result<Self, ConfigError> {
        let wrong = |flag| move |reason| ConfigError::Flag { flag, reason };
        if let Some(name) = given.theme {
            self.theme = flag(ColorScheme::parse(name).map_err(wrong("theme"))?, "theme");
        }
        if let Some(name) = given.sort {
            self.sort = flag(Sort::parse(name).map_err(wrong("sort"))?, "sort");
        }
        if let Some(words) = given.filter {
            let filter = Filter { words: words.to_owned(), ..Filter::default() };
            if let Some(problem) = filter.problem() {
                return Err(wrong("filter")(problem));
            }
            self.filter = flag(filter.words, "filter");
        }
        if given.failing {
            self.failing = flag(true, "failing");
        }
        if given.ascii {
            self.ascii = flag(true, "ascii");
        }
        if given.no_mouse {
            self.mouse = flag(false, "no-mouse");
        }
        Ok(self)
    }

    /// The options of the screen.
    pub fn options(&self) -> Options {
        let mut keymap = Keymap::default();
        self.keys.iter().for_each(|(action, keys)| keymap.bind(*action, &keys.value));
        Options {
            ascii: self.ascii.value,
            colors: self.theme.value,
            mouse: self.mouse.value,
            frames: self.frames.value,
            filter: Filter { namespace: None, failing: self.failing.value, words: self.filter.value.clone() },
            sort: self.sort.value,
            columns: self.columns.value.clone(),
            keymap,
        }
    }
}

/// Values of the flags.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct ConfigFlags<'a> {
    pub theme: Option<&'a str>,
    pub sort: Option<&'a str>,
    pub filter: Option<&'a str>,
    pub failing: bool,
    pub ascii: bool,
    pub no_mouse: bool,
}

fn flag<T>(value: T, name: &'static str) -> ConfigValue<T> {
    ConfigValue { value, origin: Origin::Flag(name) }
}

/// The user's file, then the system file. `var` reads an environment variable.
pub fn files(var: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let absolute = |name: &str| var(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let own = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    own.map(|dir| dir.join(USER_FILE)).into_iter().chain([Path::new(SYSTEM_FILE).to_owned()]).collect()
}
