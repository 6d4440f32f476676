//! Owns the table of keys as documentation.
//! It must not know a key that the keymap does not.

use super::help::is_everywhere;
use super::keymap::Keymap;
use super::keys::{Binding, Context, Key};

/// What is said before the keys.
const HEAD: &str = "\
# Keys

What each key does, pane by pane. `?` shows the keys of the pane, the last line the most useful ones. The name of an
action is what `:` takes, and what the configuration binds to other keys (`kpodtrace config`).

The mouse: the wheel scrolls, a click selects a row, sorts by a heading or goes to a tab, a double click opens.
`--no-mouse` leaves it to the terminal, for selecting text.
";

/// The keys as Markdown: those of every pane, then each pane's own.
pub fn keys_text(keymap: &Keymap) -> String {
    let mut out = String::from(HEAD);
    let mut section = |title: &str, lines: Vec<(&'static Binding, &[Key])>| {
        if lines.is_empty() {
            return;
        }
        out.push_str(&format!("\n## {title}\n\n| keys | what they do | action |\n|---|---|---|\n"));
        for (line, keys) in lines {
            let keys: Vec<String> = keys.iter().map(|key| format!("`{}`", key.name())).collect();
            out.push_str(&format!("| {} | {} | `{}` |\n", keys.join(" "), line.long, line.action.name()));
        }
    };
    section("Every pane", keymap.lines(Context::List).filter(|(b, _)| is_everywhere(b)).collect());
    for context in Context::ALL {
        let own = |(b, _): &(&Binding, &[Key])| context.is_typing() || !is_everywhere(b);
        section(context.title(), keymap.lines(context).filter(own).collect());
    }
    out
}
