//! Owns the screen's configuration: what it can hold, which file or flag goes before which, and where each value came from.
//! It must not hold a credential, nor change what a command prints: scripts do not depend on somebody's file.

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

/// For everybody on the node.
const SYSTEM: &str = "/etc/kpodtrace/config.toml";
/// Below the user's folder of configurations.
const OWN: &str = "kpodtrace/config.toml";

/// Why a configuration was refused.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file holds what it must not.
    #[error("{file}:{line}: {reason}")]
    Refused {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The file is there and cannot be read.
    #[error("{file}: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        why: io::Error,
    },
    /// A flag was given what it does not take.
    #[error("--{flag}: {reason}")]
    Flag {
        /// Its name.
        flag: &'static str,
        /// What is wrong.
        reason: String,
    },
}

/// Where a value came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The program.
    #[default]
    Default,
    /// A line of a file.
    File(String, usize),
    /// The command line.
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

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
}

impl<T> From<T> for Set<T> {
    fn from(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }
}

/// The configuration in effect.
#[derive(Clone, Debug)]
pub struct Config {
    /// Colours.
    pub theme: Set<ColorScheme>,
    /// ASCII alone.
    pub ascii: Set<bool>,
    /// Take the mouse.
    pub mouse: Set<bool>,
    /// Frames a second, at most.
    pub frames: Set<u8>,
    /// Columns of the table, from left to right.
    pub columns: Set<Vec<Column>>,
    /// Order of the table.
    pub sort: Set<Sort>,
    /// Filter of the table.
    pub filter: Set<String>,
    /// Only what is failing or slow.
    pub failing: Set<bool>,
    /// Keys of every action that can be bound.
    pub keys: Vec<(Action, Set<Vec<KeyPress>>)>,
    /// Files that this user may not read, and which say nothing therefore.
    pub closed: Vec<String>,
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
            closed: Vec::new(),
        }
    }
}

/// Longest file of configuration, bytes.
const MAX_FILE: u64 = 1 << 20;

impl Config {
    /// What the files say, the first before the others; a file that is not there says nothing. One that this user may not
    /// read is none of his: `sudo -u` and `su` leave another one's HOME in place, and a node that is sick is no place to
    /// be refused for that.
    ///
    /// # Errors
    /// When a file breaks off in reading or holds what it must not.
    pub fn read(files: &[PathBuf]) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for path in files.iter().rev() {
            let file = path.display().to_string();
            match named_file::text(path, MAX_FILE) {
                Ok(content) => config.take(&file, &content)?,
                Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(why) if why.kind() == io::ErrorKind::PermissionDenied => config.closed.push(file),
                Err(why) => return Err(ConfigError::Unreadable { file, why }),
            }
        }
        Ok(config)
    }

    /// The same, with what the command line says.
    ///
    /// # Errors
    /// When a flag was given what it does not take.
    pub fn flags(mut self, given: &Flags<'_>) -> Result<Self, ConfigError> {
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

    /// As the screen takes it.
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

/// What the command line says.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Flags<'a> {
    pub theme: Option<&'a str>,
    pub sort: Option<&'a str>,
    pub filter: Option<&'a str>,
    pub failing: bool,
    pub ascii: bool,
    pub no_mouse: bool,
}

fn flag<T>(value: T, name: &'static str) -> Set<T> {
    Set { value, origin: Origin::Flag(name) }
}

/// The user's own file, and everybody's, with what the environment says of the first.
pub fn files(var: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let absolute = |name: &str| var(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let own = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    own.map(|dir| dir.join(OWN)).into_iter().chain([Path::new(SYSTEM).to_owned()]).collect()
}
