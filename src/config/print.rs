//! Owns the configuration as a file that is read back as the same, with where each value came from beside it.
//! It must not leave a value out.

use super::{Config, Origin};
use crate::tui::{BINDINGS, ColorScheme};
use crate::view::Column;

/// Column at which it is told where a value came from, if the value is not longer.
const BESIDE: usize = 48;

/// The configuration as TOML.
pub fn toml_text(config: &Config) -> String {
    let mut out = String::new();
    let mut line = |value: String, origin: &Origin, about: &str| {
        if !about.is_empty() {
            out.push_str(&format!("# {about}\n"));
        }
        out.push_str(&format!("{value:BESIDE$} # {}\n", quoted_origin(origin)));
    };
    let themes = ColorScheme::ALL.map(ColorScheme::name).join(", ");
    let columns = |columns: &[Column]| list(columns.iter().map(|c| c.name().to_owned()));
    line(format!("theme = {}", quoted(config.theme.value.name())), &config.theme.origin, &themes);
    line(format!("ascii = {}", config.ascii.value), &config.ascii.origin, "ASCII alone, whatever the locale");
    line(format!("mouse = {}", config.mouse.value), &config.mouse.origin, "wheel, click, double click");
    line(format!("frames = {}", config.frames.value), &config.frames.origin, "frames a second, at most: 1 to 10");
    line(
        format!("columns = {}", columns(&config.columns.value)),
        &config.columns.origin,
        &format!("columns of the table, from left to right, of {}", Column::ALL.map(Column::name).join(", ")),
    );
    line(
        format!("sort = {}", quoted(&config.sort.value.name())),
        &config.sort.origin,
        "trouble or a column; with - before it the other way round",
    );
    line(
        format!("filter = {}", quoted(&config.filter.value)),
        &config.filter.origin,
        "what / would be given at the begin",
    );
    line(format!("failing = {}", config.failing.value), &config.failing.origin, "only pods that are failing or slow");
    out.push_str("\n# one key or several for an action, [] for none; Ctrl-C quits in any case\n[keys]\n");
    for (action, keys) in &config.keys {
        let about = BINDINGS.iter().find(|b| b.action == *action).map_or("", |b| b.long);
        let value = format!("{} = {}", action.name(), list(keys.value.iter().map(|key| key.name())));
        out.push_str(&format!("{value:BESIDE$} # {} · {about}\n", quoted_origin(&keys.origin)));
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

/// A path may be named anything: on one line it stays a comment.
fn quoted_origin(origin: &Origin) -> String {
    crate::text::Text::new(&origin.to_string()).one_line().into_owned()
}
