//! Prints the configuration in effect as a complete, valid configuration file, with the origin of each value as a comment.

use super::{Config, Origin};
use crate::tui::{BINDINGS, ColorScheme};
use crate::view::Column;

/// Column of the comment with the origin, unless the value is longer.
const COMMENT_COLUMN: usize = 48;

/// The configuration as TOML.
pub fn toml_text(config: &Config) -> String {
    let mut out = String::new();
    let mut line = |value: String, origin: &Origin, about: &str| {
        if !about.is_empty() {
            out.push_str(&format!("# {about}\n"));
        }
        out.push_str(&format!("{value:COMMENT_COLUMN$} # {}\n", quoted_origin(origin)));
    };
    let themes = ColorScheme::ALL.map(ColorScheme::name).join(", ");
    let columns = |columns: &[Column]| list(columns.iter().map(|c| c.name().to_owned()));
    line(format!("theme = {}", quoted(config.theme.value.name())), &config.theme.origin, &themes);
    line(format!("ascii = {}", config.ascii.value), &config.ascii.origin, "use ASCII characters only, in every locale");
    line(format!("mouse = {}", config.mouse.value), &config.mouse.origin, "wheel, click, double click");
    line(format!("frames = {}", config.frames.value), &config.frames.origin, "maximum frames per second: 1 to 10");
    line(
        format!("columns = {}", columns(&config.columns.value)),
        &config.columns.origin,
        &format!("columns of the table, from left to right; available: {}", Column::ALL.map(Column::name).join(", ")),
    );
    line(
        format!("sort = {}", quoted(&config.sort.value.name())),
        &config.sort.origin,
        "severity or a column; a leading - reverses it",
    );
    line(
        format!("filter = {}", quoted(&config.filter.value)),
        &config.filter.origin,
        "initial filter, as typed after /",
    );
    line(format!("failing = {}", config.failing.value), &config.failing.origin, "start with only failing or slow pods");
    out.push_str("\n# one or more keys per action, [] for none; Ctrl-C always quits\n[keys]\n");
    for (action, keys) in &config.keys {
        let about = BINDINGS.iter().find(|b| b.action == *action).map_or("", |b| b.long);
        let value = format!("{} = {}", action.name(), list(keys.value.iter().map(|key| key.name())));
        out.push_str(&format!("{value:COMMENT_COLUMN$} # {} · {about}\n", quoted_origin(&keys.origin)));
    }
    out
}

fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.map(|value| quoted(&value)).collect::<Vec<_>>().join(", "))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// On one line, so that a path with a line break stays inside the comment.
fn quoted_origin(origin: &Origin) -> String {
    crate::text::Text::new(&origin.to_string()).one_line().into_owned()
}
