//! Parses a configuration file. An unknown name or invalid value is an error with file, line and reason.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::{Config, ConfigError, ConfigValue, Origin};
use crate::tui::{ColorScheme, KeyPress, Keymap};
use crate::view::{Column, Filter, Sort};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    theme: Option<Spanned<String>>,
    ascii: Option<Spanned<bool>>,
    mouse: Option<Spanned<bool>>,
    frames: Option<Spanned<i64>>,
    columns: Option<Spanned<Vec<Spanned<String>>>>,
    sort: Option<Spanned<String>>,
    filter: Option<Spanned<String>>,
    failing: Option<Spanned<bool>>,
    #[serde(default)]
    keys: BTreeMap<String, Spanned<KeyList>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum KeyList {
    One(String),
    Many(Vec<String>),
}

/// A file and its content, to convert offsets to lines.
struct FilePosition<'a> {
    file: &'a str,
    content: &'a str,
}

impl FilePosition<'_> {
    fn line(&self, offset: usize) -> usize {
        self.content.get(..offset).map_or(1, |before| before.matches('\n').count() + 1)
    }

    fn refused(&self, span: Range<usize>, reason: String) -> ConfigError {
        ConfigError::Refused { file: self.file.to_owned(), line: self.line(span.start), reason }
    }

    fn set<T, U>(
        &self,
        into: &mut ConfigValue<U>,
        from: Option<Spanned<T>>,
        read: impl FnOnce(T) -> Result<U, String>,
    ) -> Result<(), ConfigError> {
        let Some(from) = from else { return Ok(()) };
        let span = from.span();
        let value = read(from.into_inner()).map_err(|reason| self.refused(span.clone(), reason))?;
        *into = ConfigValue { value, origin: Origin::File(self.file.to_owned(), self.line(span.start)) };
        Ok(())
    }
}

impl Config {
    /// Applies the values of a file.
    pub(super) fn take(&mut self, file: &str, content: &str) -> Result<(), ConfigError> {
        let position = FilePosition { file, content };
        let read: ConfigFile = toml::from_str(content)
            .map_err(|e| position.refused(e.span().unwrap_or(0..0), e.message().trim().replace('\n', "; ")))?;
        position.set(&mut self.theme, read.theme, |name| ColorScheme::parse(&name))?;
        position.set(&mut self.ascii, read.ascii, Ok)?;
        position.set(&mut self.mouse, read.mouse, Ok)?;
        position.set(&mut self.frames, read.frames, |n| match u8::try_from(n) {
            Ok(frames @ 1..=10) => Ok(frames),
            _ => Err(format!("frames = {n} is out of range; accepted: 1 to 10")),
        })?;
        if let Some(columns) = &read.columns {
            for (i, column) in columns.get_ref().iter().enumerate() {
                let twice = columns.get_ref()[..i].iter().any(|before| before.get_ref() == column.get_ref());
                let wrong = Column::parse(column.get_ref()).err();
                let wrong = wrong.or_else(|| twice.then(|| format!("duplicate column {:?}", column.get_ref())));
                if let Some(reason) = wrong {
                    return Err(position.refused(column.span(), reason));
                }
            }
        }
        position.set(&mut self.columns, read.columns, |names| match names.is_empty() {
            true => Err("columns is empty; name at least one column".to_owned()),
            false => names.iter().map(|name| Column::parse(name.get_ref())).collect(),
        })?;
        position.set(&mut self.sort, read.sort, |name| Sort::parse(&name))?;
        position.set(&mut self.filter, read.filter, |words| {
            let filter = Filter { words, ..Filter::default() };
            filter.problem().map_or(Ok(filter.words), Err)
        })?;
        position.set(&mut self.failing, read.failing, Ok)?;
        self.take_keys(&position, read.keys)
    }

    fn take_keys(
        &mut self,
        position: &FilePosition<'_>,
        keys: BTreeMap<String, Spanned<KeyList>>,
    ) -> Result<(), ConfigError> {
        let mut last = 0..0;
        for (name, keys) in keys {
            let span = keys.span();
            let Some((_, into)) = self.keys.iter_mut().find(|(action, _)| action.name() == name) else {
                let names: Vec<&str> = Keymap::actions().iter().map(|action| action.name()).collect();
                return Err(
                    position.refused(span, format!("unknown action {name:?} (available: {})", names.join(", ")))
                );
            };
            position.set(into, Some(keys), |keys| {
                let keys = match keys {
                    KeyList::One(key) => vec![key],
                    KeyList::Many(keys) => keys,
                };
                let read = |key: &String| KeyPress::parse(key).ok_or_else(|| unknown_key(key));
                keys.iter().map(read).collect()
            })?;
            if span.start >= last.start {
                last = span;
            }
        }
        match self.options().keymap.clash() {
            Some((key, one, other)) => {
                // The error names the last line that binds one of the two.
                let bound = [one, other].into_iter().filter_map(|a| self.keys.iter().find(|(b, _)| *b == a));
                let line = bound
                    .filter_map(|(_, set)| match &set.origin {
                        Origin::File(file, line) if file == position.file => Some(*line),
                        _ => None,
                    })
                    .max();
                let line = line.unwrap_or_else(|| position.line(last.start));
                let reason = format!(
                    "key {} is bound to both {} and {}; bind one of them to another key, or to [] for none",
                    key.name(),
                    one.name(),
                    other.name()
                );
                Err(ConfigError::Refused { file: position.file.to_owned(), line, reason })
            }
            None => Ok(()),
        }
    }
}

fn unknown_key(key: &str) -> String {
    format!(
        "unknown key {key:?}; examples: \"x\", \"X\", \"Ctrl-X\", \"F5\", \"Enter\", \"PgDn\", \"Shift-Tab\", \"Space\""
    )
}
