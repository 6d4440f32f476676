//! Owns the one table of what the keys do: dispatch, footer and help are all made from it.
//! It must not carry an action out.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::pane::Pane;

/// Where a key is pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// The table of pods.
    List,
    /// One pod.
    Pod,
    /// The kubelet.
    Kubelet,
    /// The node.
    Node,
    /// The stream of events.
    Events,
    /// The runbook's entries.
    Book,
    /// One entry of the runbook.
    Entry,
    /// While a filter is typed.
    Typing,
    /// The help.
    Help,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Action {
    Down,
    Up,
    First,
    Last,
    PageDown,
    PageUp,
    Open,
    Back,
    Go(Pane),
    NextPane,
    PaneBefore,
    Runbook,
    Filter,
    KeepFilter,
    ClearFilter,
    Erase,
    Failing,
    Pause,
    Help,
    Redraw,
    Suspend,
    Quit,
}

/// A key without the modifiers that do not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A key by itself.
    Plain(KeyCode),
    /// With Ctrl.
    Ctrl(char),
}

/// One line of the table.
#[derive(Debug)]
pub struct Binding {
    /// What is asked for.
    pub action: Action,
    /// By which keys.
    pub keys: &'static [Key],
    /// Where.
    pub contexts: &'static [Context],
    /// In the footer; empty when it is not shown there.
    pub short: &'static str,
    /// In the help.
    pub long: &'static str,
}

use Action::*;
use Context::{Book, Entry, Events, Kubelet, List, Node, Pod, Typing};
use Key::{Ctrl, Plain};

const fn char(c: char) -> Key {
    Plain(KeyCode::Char(c))
}

/// Every pane.
const PANES: &[Context] = &[List, Pod, Kubelet, Node, Events, Book, Entry];
/// Wherever keys are not characters.
const READING: &[Context] = &[List, Pod, Kubelet, Node, Events, Book, Entry, Context::Help];
/// Everywhere.
const ALL: &[Context] = &[List, Pod, Kubelet, Node, Events, Book, Entry, Context::Help, Typing];

macro_rules! bindings {
    ($($action:expr, [$($key:expr),*], $contexts:expr, $short:literal, $long:literal;)*) => {
        /// Everything the keys do. Where two lines share an action, they say what it means in different places.
        pub static BINDINGS: &[Binding] = &[$(Binding {
            action: $action,
            keys: &[$($key),*],
            contexts: $contexts,
            short: $short,
            long: $long,
        }),*];
    };
}

bindings! {
    Open, [Plain(KeyCode::Enter), char('l'), Plain(KeyCode::Right)], &[List], "open", "open the selected pod";
    Open, [Plain(KeyCode::Enter), char('l'), Plain(KeyCode::Right)], &[Book], "open", "open the selected entry";
    Back, [Plain(KeyCode::Esc), char('h'), Plain(KeyCode::Backspace), Plain(KeyCode::Left)], &[Pod, Kubelet, Node], "back", "back to the table";
    Back, [Plain(KeyCode::Esc), char('h'), Plain(KeyCode::Backspace), Plain(KeyCode::Left)], &[Events], "back", "show all again, then back to the table";
    Back, [Plain(KeyCode::Esc), char('h'), Plain(KeyCode::Backspace), Plain(KeyCode::Left)], &[Book, Entry], "back", "back to where it was opened";
    Back, [Plain(KeyCode::Esc), char('h'), Plain(KeyCode::Backspace), Plain(KeyCode::Left)], &[Context::Help], "close", "close the help";
    Down, [char('j'), Plain(KeyCode::Down)], READING, "", "next row, or one line down";
    Up, [char('k'), Plain(KeyCode::Up)], READING, "", "row before, or one line up";
    PageDown, [Plain(KeyCode::PageDown), Ctrl('f')], READING, "", "one page down";
    PageUp, [Plain(KeyCode::PageUp), Ctrl('b')], READING, "", "one page up";
    First, [char('g'), Plain(KeyCode::Home)], READING, "", "to the top, and stay there";
    Last, [char('G'), Plain(KeyCode::End)], READING, "", "to the end";
    Go(Pane::Pods), [char('1')], PANES, "", "the table of pods";
    Go(Pane::Pod), [char('2')], PANES, "", "one pod: the selected one";
    Go(Pane::Kubelet), [char('3')], PANES, "", "the kubelet: what feeds its sync loop";
    Go(Pane::Node), [char('4')], PANES, "", "the node: conditions and resources";
    Go(Pane::Events), [char('5')], PANES, "", "the events of the node";
    Go(Pane::Runbook), [char('6')], PANES, "", "the runbook: all entries";
    NextPane, [Plain(KeyCode::Tab)], PANES, "", "next pane";
    PaneBefore, [Plain(KeyCode::BackTab)], PANES, "", "pane before";
    Filter, [char('/')], &[List], "filter", "pods with words in name, status, stage, cause, why";
    Filter, [char('/')], &[Events], "filter", "events with words";
    Filter, [char('/')], &[Book], "search", "entries with words in id, title, text or reasons";
    Runbook, [char('r')], &[List], "runbook", "the runbook: all entries";
    Runbook, [char('r')], &[Pod], "runbook", "the runbook's entry for this pod";
    KeepFilter, [Plain(KeyCode::Enter)], &[Typing], "keep", "keep it and go on";
    ClearFilter, [Plain(KeyCode::Esc)], &[List, Typing], "clear", "show all again";
    Erase, [Plain(KeyCode::Backspace), Ctrl('h')], &[Typing], "", "take the last character back";
    Down, [Plain(KeyCode::Down)], &[Typing], "", "next row";
    Up, [Plain(KeyCode::Up)], &[Typing], "", "row before";
    Failing, [char('f')], &[List], "failing", "only pods that are failing or slow, or all again";
    Pause, [char('p')], PANES, "pause", "hold the picture still, or let it go on";
    Help, [char('?')], PANES, "help", "this help";
    Help, [char('?')], &[Context::Help], "", "close the help";
    Redraw, [Ctrl('l')], ALL, "", "draw the whole screen again";
    Suspend, [Ctrl('z')], ALL, "", "stop; `fg` goes on";
    Quit, [char('q'), Ctrl('c')], READING, "quit", "quit";
    Quit, [Ctrl('c')], &[Typing], "", "quit, also while typing";
}

impl Key {
    /// The key of an event; None for combinations that are never bound.
    pub fn of(event: &KeyEvent) -> Option<Self> {
        let modifiers = event.modifiers - KeyModifiers::SHIFT;
        match event.code {
            KeyCode::Char(c) if modifiers == KeyModifiers::CONTROL => Some(Ctrl(c.to_ascii_lowercase())),
            code if modifiers.is_empty() => Some(Plain(code)),
            _ => None,
        }
    }

    /// As it is written in footer and help.
    pub fn name(self) -> String {
        match self {
            Ctrl(c) => format!("Ctrl-{}", c.to_ascii_uppercase()),
            Plain(KeyCode::Char(c)) => c.to_string(),
            Plain(KeyCode::PageDown) => "PgDn".into(),
            Plain(KeyCode::PageUp) => "PgUp".into(),
            Plain(code) => format!("{code:?}"),
        }
    }
}

/// What a key means there.
pub fn action(context: Context, key: Key) -> Option<Action> {
    BINDINGS.iter().find(|b| b.contexts.contains(&context) && b.keys.contains(&key)).map(|b| b.action)
}

/// The lines that the footer shows there.
pub fn footer(context: Context) -> impl Iterator<Item = &'static Binding> {
    BINDINGS.iter().filter(move |b| b.contexts.contains(&context) && !b.short.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_key_has_two_meanings_in_one_context() {
        for &context in ALL {
            let mut seen = Vec::new();
            for key in BINDINGS.iter().filter(|b| b.contexts.contains(&context)).flat_map(|b| b.keys) {
                assert!(!seen.contains(key), "{key:?} twice in {context:?}");
                seen.push(*key);
            }
        }
    }

    #[test]
    fn nothing_bound_while_typing_is_a_character() {
        let typing = BINDINGS.iter().filter(|b| b.contexts.contains(&Typing)).flat_map(|b| b.keys);
        assert!(typing.copied().all(|k| !matches!(k, Plain(KeyCode::Char(_)))));
    }

    #[test]
    fn every_line_has_keys_a_place_and_words() {
        let mut actions = HashSet::new();
        for b in BINDINGS {
            assert!(!b.keys.is_empty() && !b.contexts.is_empty() && !b.long.is_empty(), "{b:?}");
            actions.insert(b.action);
        }
        for &context in ALL {
            assert!(action(context, Ctrl('c')) == Some(Action::Quit), "Ctrl-C quits everywhere");
        }
        assert_eq!(actions.len(), 27);
    }

    #[test]
    fn shift_does_not_matter_and_alt_is_not_bound() {
        let event = |c, m| KeyEvent::new(KeyCode::Char(c), m);
        assert_eq!(Key::of(&event('G', KeyModifiers::SHIFT)), Some(char('G')));
        assert_eq!(Key::of(&event('F', KeyModifiers::CONTROL)), Some(Ctrl('f')));
        assert_eq!(Key::of(&event('q', KeyModifiers::ALT)), None);
    }
}
