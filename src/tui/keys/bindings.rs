//! All key bindings: those of each pane, then those of every pane and of the input lines.

use std::sync::LazyLock;

use crossterm::event::KeyCode;

use crate::tui::keys::KeyPress::{Ctrl, Plain};
use crate::tui::keys::press::BACK;
use crate::tui::keys::{Action, Binding, Context, KeyPress, Scope, char_key};
use crate::tui::pane_table::PaneId;
use crate::tui::panes::{events, kubelet, log, node, pod, pods, runbook};

/// All bindings. Two bindings of one action describe it in different contexts.
pub static BINDINGS: LazyLock<Vec<Binding>> = LazyLock::new(|| {
    let panes = [pods::KEYS, pod::KEYS, log::KEYS, kubelet::KEYS, node::KEYS, events::KEYS, runbook::KEYS].concat();
    let number = |id: &PaneId| global(Action::Go(*id), id.keys(), Scope::Panes, "", id.help());
    let numbers = PaneId::ALL.iter().map(number);
    panes.into_iter().chain(MOVE).chain(numbers).chain(OTHERS).chain(INPUT).collect()
});

const fn global(
    action: Action,
    keys: &'static [KeyPress],
    scope: Scope,
    short: &'static str,
    long: &'static str,
) -> Binding {
    Binding { action, keys, scope, short, long }
}

const MOVE: [Binding; 7] = [
    global(
        Action::Down,
        &[char_key('j'), Plain(KeyCode::Down)],
        Scope::Reading,
        "",
        "next row, or scroll one line down",
    ),
    global(Action::Up, &[char_key('k'), Plain(KeyCode::Up)], Scope::Reading, "", "previous row, or scroll one line up"),
    global(Action::PageDown, &[Plain(KeyCode::PageDown), Ctrl('f')], Scope::Reading, "", "one page down"),
    global(Action::PageUp, &[Plain(KeyCode::PageUp), Ctrl('b')], Scope::Reading, "", "one page up"),
    global(Action::First, &[char_key('g'), Plain(KeyCode::Home)], Scope::Reading, "", "go to top and stay"),
    global(Action::Last, &[char_key('G'), Plain(KeyCode::End)], Scope::Reading, "", "go to the end"),
    global(Action::Palette, &[char_key(':')], Scope::Panes, "go", "run a command or open a pane by name"),
];

const OTHERS: [Binding; 9] = [
    Binding::new(Action::Back, BACK, &[Context::Help], "close", "close the help"),
    global(Action::NextPane, &[Plain(KeyCode::Tab)], Scope::Panes, "", "next pane"),
    global(Action::PreviousPane, &[Plain(KeyCode::BackTab)], Scope::Panes, "", "previous pane"),
    global(Action::Pause, &[char_key('p')], Scope::Panes, "pause", "pause / resume"),
    global(Action::Help, &[char_key('?')], Scope::Panes, "help", "this help"),
    Binding::new(Action::Help, &[char_key('?')], &[Context::Help], "", "close the help"),
    global(Action::Redraw, &[Ctrl('l')], Scope::Everywhere, "", "redraw"),
    global(Action::Suspend, &[Ctrl('z')], Scope::Everywhere, "", "suspend; `fg` resumes"),
    global(Action::Quit, &[char_key('q'), Ctrl('c')], Scope::Reading, "quit", "quit"),
];

const INPUT: [Binding; 9] = [
    Binding::new(Action::KeepFilter, &[Plain(KeyCode::Enter)], &[Context::FilterInput], "keep", "keep the filter"),
    Binding::new(Action::ClearFilter, &[Plain(KeyCode::Esc)], &[Context::FilterInput], "clear", "clear the filter"),
    Binding::new(Action::Back, &[Plain(KeyCode::Esc)], &[Context::CommandInput], "close", "cancel"),
    Binding::new(Action::RunCommand, &[Plain(KeyCode::Enter)], &[Context::CommandInput], "run", "run"),
    Binding::new(Action::Complete, &[Plain(KeyCode::Tab)], &[Context::CommandInput], "complete", "complete the word"),
    Binding::new(Action::Erase, &[Plain(KeyCode::Backspace), Ctrl('h')], TYPING, "", "delete the previous character"),
    Binding::new(Action::Down, &[Plain(KeyCode::Down)], &[Context::FilterInput], "", "next row"),
    Binding::new(Action::Up, &[Plain(KeyCode::Up)], &[Context::FilterInput], "", "previous row"),
    Binding::new(Action::Quit, &[Ctrl('c')], TYPING, "", "quit"),
];

const TYPING: &[Context] = &[Context::FilterInput, Context::CommandInput];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_key_of_an_input_line_is_a_character() {
        let typing = BINDINGS.iter().filter(|b| TYPING.iter().any(|c| b.holds_in(*c))).flat_map(|b| b.keys);
        assert!(typing.copied().all(|k| !matches!(k, Plain(KeyCode::Char(_)))));
    }

    #[test]
    fn every_binding_has_keys_a_context_and_a_text() {
        let (mut actions, mut names) = (HashSet::new(), HashSet::new());
        for b in BINDINGS.iter() {
            let holds = Context::all().any(|context| b.holds_in(context));
            assert!(!b.keys.is_empty() && holds && !b.long.is_empty(), "{b:?}");
            if actions.insert(b.action) {
                assert!(names.insert(b.action.name()), "{} names two", b.action.name());
            }
        }
        assert_eq!(actions.len(), 46);
    }

    #[test]
    fn every_key_name_can_be_parsed() {
        for key in BINDINGS.iter().flat_map(|b| b.keys) {
            assert_eq!(KeyPress::parse(&key.name()), Some(*key));
        }
    }
}
