//! The key bindings as documentation: `docs/keys.md` and the manual page.

use crate::tui::keys::keymap::Keymap;
use crate::tui::keys::{Binding, Context, KeyPress};
use crate::tui::pane_table::PaneId;

/// Text before the tables.
const HEAD: &str = "\
# Keys

Keys of each pane. `?` lists the keys of the open pane; the footer shows the most useful ones. The action is the name of
a command in the palette (`:`), and the name to bind other keys in the configuration (`kpodtrace config`).

Mouse: the wheel scrolls; a click selects a row, sorts by a column heading or opens a tab; a double click opens.
`--no-mouse` leaves the mouse to the terminal, to select text.
";

/// The keys of one context.
#[derive(Debug)]
pub struct KeySection {
    /// Name of the context.
    pub title: &'static str,
    /// One row for each binding.
    pub rows: Vec<KeyRow>,
}

/// One binding.
#[derive(Debug)]
pub struct KeyRow {
    /// Names of the keys.
    pub keys: Vec<String>,
    /// What they do.
    pub text: &'static str,
    /// Name of the action.
    pub action: &'static str,
}

impl KeyRow {
    fn new((binding, keys): (&'static Binding, &[KeyPress])) -> Self {
        let keys = keys.iter().copied().map(KeyPress::name).collect();
        Self { keys, text: binding.long, action: binding.action.name() }
    }
}

/// The keys of every pane, then those of each context.
pub fn key_sections(keymap: &Keymap) -> Vec<KeySection> {
    let first = Context::Pane(PaneId::Pods);
    let global = keymap.bindings(first).filter(|(b, _)| b.is_global()).map(KeyRow::new).collect();
    let own = |context: Context| {
        let own = |(b, _): &(&Binding, &[KeyPress])| context.is_typing() || !b.is_global();
        keymap.bindings(context).filter(own).map(KeyRow::new).collect()
    };
    let contexts = Context::all().map(|context| KeySection { title: context.title(), rows: own(context) });
    let all = [KeySection { title: "Every pane", rows: global }].into_iter().chain(contexts);
    all.filter(|section| !section.rows.is_empty()).collect()
}

/// The keys as Markdown.
pub fn keys_markdown(keymap: &Keymap) -> String {
    let mut out = String::from(HEAD);
    for section in key_sections(keymap) {
        out.push_str(&format!("\n## {}\n\n| keys | effect | action |\n|---|---|---|\n", section.title));
        for KeyRow { keys, text, action } in section.rows {
            let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            out.push_str(&format!("| {} | {text} | `{action}` |\n", keys.join(" ")));
        }
    }
    out
}
