//! Owns the table of keys as documentation.
//! It must not know a key that the keymap does not.

use crate::tui::help::is_everywhere;
use crate::tui::keys::keymap::Keymap;
use crate::tui::keys::{Binding, Context, Key};

/// What is said before the keys.
const HEAD: &str = "\
# Keys

What each key does, pane by pane. `?` shows the keys of the pane, the last line the most useful ones. The name of an
action is what `:` takes, and what the configuration binds to other keys (`kpodtrace config`).

The mouse: the wheel scrolls, a click selects a row, sorts by a heading or goes to a tab, a double click opens.
`--no-mouse` leaves it to the terminal, for selecting text.
";

/// The keys of one place.
#[derive(Debug)]
pub struct Place {
    /// Where they are pressed.
    pub title: &'static str,
    /// What each does.
    pub lines: Vec<Line>,
}

/// What some keys do.
#[derive(Debug)]
pub struct Line {
    /// Names of the keys.
    pub keys: Vec<String>,
    /// What they do.
    pub what: &'static str,
    /// Name of the action.
    pub action: &'static str,
}

impl Line {
    fn of((line, keys): (&'static Binding, &[Key])) -> Self {
        let keys = keys.iter().copied().map(Key::name).collect();
        Self { keys, what: line.long, action: line.action.name() }
    }
}

/// The keys of every pane, then each pane's own.
pub fn places(keymap: &Keymap) -> Vec<Place> {
    let everywhere = keymap.lines(Context::List).filter(|(b, _)| is_everywhere(b)).map(Line::of).collect();
    let own = |context: Context| {
        let own = |(b, _): &(&Binding, &[Key])| context.is_typing() || !is_everywhere(b);
        keymap.lines(context).filter(own).map(Line::of).collect()
    };
    let places = Context::ALL.map(|context| Place { title: context.title(), lines: own(context) });
    let all = [Place { title: "Every pane", lines: everywhere }].into_iter().chain(places);
    all.filter(|place| !place.lines.is_empty()).collect()
}

/// The keys as Markdown.
pub fn keys_text(keymap: &Keymap) -> String {
    let mut out = String::from(HEAD);
    for place in places(keymap) {
        out.push_str(&format!("\n## {}\n\n| keys | what they do | action |\n|---|---|---|\n", place.title));
        for Line { keys, what, action } in place.lines {
            let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            out.push_str(&format!("| {} | {what} | `{action}` |\n", keys.join(" ")));
        }
    }
    out
}
