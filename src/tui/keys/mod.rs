//! Owns the one table of what the keys do: dispatch, footer and help are all made from it.
//! It must not carry an action out.

pub mod keymap;
pub mod reference;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::panes::Pane;

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
    /// The log of a container.
    Log,
    /// The stream of events.
    Events,
    /// The runbook's entries.
    Book,
    /// One entry of the runbook.
    Entry,
    /// While a filter is typed.
    Typing,
    /// While a command is typed.
    Palette,
    /// The help.
    Help,
}

impl Context {
    /// All, in the order in which the help and the documentation have them.
    pub const ALL: [Context; 11] = [
        Context::List,
        Context::Pod,
        Context::Log,
        Context::Kubelet,
        Context::Node,
        Context::Events,
        Context::Book,
        Context::Entry,
        Context::Typing,
        Context::Palette,
        Context::Help,
    ];

    /// As help and documentation call it.
    pub fn title(self) -> &'static str {
        match self {
            Context::List => "Pods",
            Context::Pod => "Pod",
            Context::Log => "Log of a container",
            Context::Kubelet => "Kubelet",
            Context::Node => "Node",
            Context::Events => "Events",
            Context::Book => "Runbook",
            Context::Entry => "Runbook entry",
            Context::Typing => "While a filter is typed",
            Context::Palette => "While a command is typed",
            Context::Help => "Help",
        }
    }

    /// Keys are characters there.
    pub fn is_typing(self) -> bool {
        matches!(self, Context::Typing | Context::Palette)
    }
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
    LookUp,
    Log,
    ContainerNext,
    ContainerBefore,
    OtherRun,
    Follow,
    MatchNext,
    MatchBefore,
    Times,
    Wrap,
    Secrets,
    Filter,
    KeepFilter,
    ClearFilter,
    Erase,
    Failing,
    SortNext,
    SortBefore,
    Reverse,
    StepNext,
    StepBefore,
    Copy,
    Palette,
    Complete,
    RunCommand,
    Pause,
    Help,
    Redraw,
    Suspend,
    Quit,
}

impl Action {
    /// As the palette and the configuration name it.
    pub fn name(self) -> &'static str {
        match self {
            Down => "down",
            Up => "up",
            First => "first",
            Last => "last",
            PageDown => "page-down",
            PageUp => "page-up",
            Open => "open",
            Back => "back",
            Go(Pane::Pods) => "pods",
            Go(Pane::Pod) => "pod",
            Go(Pane::Kubelet) => "kubelet",
            Go(Pane::Node) => "node",
            Go(Pane::Events) => "events",
            Go(Pane::Runbook) => "runbook",
            NextPane => "next-pane",
            PaneBefore => "pane-before",
            LookUp => "look-up",
            Action::Log => "log",
            ContainerNext => "container-next",
            ContainerBefore => "container-before",
            OtherRun => "other-run",
            Follow => "follow",
            MatchNext => "match-next",
            MatchBefore => "match-before",
            Times => "times",
            Wrap => "wrap",
            Secrets => "secrets",
            Action::Filter => "filter",
            KeepFilter => "keep",
            ClearFilter => "clear",
            Erase => "erase",
            Failing => "failing",
            SortNext => "sort-next",
            SortBefore => "sort-before",
            Reverse => "reverse",
            StepNext => "step-next",
            StepBefore => "step-before",
            Action::Copy => "copy",
            Action::Palette => "command",
            Complete => "complete",
            RunCommand => "run",
            Pause => "pause",
            Action::Help => "help",
            Redraw => "redraw",
            Suspend => "suspend",
            Quit => "quit",
        }
    }
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

use Action::{
    Back, ClearFilter, Complete, ContainerBefore, ContainerNext, Down, Erase, Failing, First, Follow, Go, KeepFilter,
    Last, LookUp, MatchBefore, MatchNext, NextPane, Open, OtherRun, PageDown, PageUp, PaneBefore, Pause, Quit, Redraw,
    Reverse, RunCommand, Secrets, SortBefore, SortNext, StepBefore, StepNext, Suspend, Times, Up, Wrap,
};
use Context::{Book, Entry, Events, Kubelet, List, Log, Node, Pod, Typing};
use Key::{Ctrl, Plain};

const fn char(c: char) -> Key {
    Plain(KeyCode::Char(c))
}

/// Every pane.
const PANES: &[Context] = &[List, Pod, Log, Kubelet, Node, Events, Book, Entry];
/// Wherever keys are not characters.
const READING: &[Context] = &[List, Pod, Log, Kubelet, Node, Events, Book, Entry, Context::Help];
/// Everywhere.
const ALL: &[Context] = &[List, Pod, Log, Kubelet, Node, Events, Book, Entry, Context::Help, Typing, Context::Palette];

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
    Open, [Plain(KeyCode::Enter), Plain(KeyCode::Right)], &[List], "open", "open the selected pod";
    Open, [Plain(KeyCode::Enter), Plain(KeyCode::Right)], &[Book], "open", "open the selected entry";
    Back, [Plain(KeyCode::Esc), char('h'), Plain(KeyCode::Backspace), Plain(KeyCode::Left)], &[Pod, Kubelet, Node], "back", "back to the table";
    Back, [Plain(KeyCode::Esc), char('h'), Plain(KeyCode::Backspace), Plain(KeyCode::Left)], &[Events], "back", "show all again, then back to the table";
    Back, [Plain(KeyCode::Esc), char('h'), Plain(KeyCode::Backspace), Plain(KeyCode::Left)], &[Log], "back", "forget the search, then back to where it was opened";
    Back, [Plain(KeyCode::Esc), char('h'), Plain(KeyCode::Backspace), Plain(KeyCode::Left)], &[Book, Entry], "back", "back to where it was opened";
    Back, [Plain(KeyCode::Esc), char('h'), Plain(KeyCode::Backspace), Plain(KeyCode::Left)], &[Context::Help], "close", "close the help";
    Back, [Plain(KeyCode::Esc)], &[Context::Palette], "close", "leave it";
    Down, [char('j'), Plain(KeyCode::Down)], READING, "", "next row, or one line down";
    Up, [char('k'), Plain(KeyCode::Up)], READING, "", "row before, or one line up";
    PageDown, [Plain(KeyCode::PageDown), Ctrl('f')], READING, "", "one page down";
    PageUp, [Plain(KeyCode::PageUp), Ctrl('b')], READING, "", "one page up";
    First, [char('g'), Plain(KeyCode::Home)], READING, "", "to the top, and stay there";
    Last, [char('G'), Plain(KeyCode::End)], READING, "", "to the end";
    Action::Filter, [char('/')], &[List], "filter", "pods by words; ns: status: stage: cause: node: !not";
    Action::Filter, [char('/')], &[Events], "filter", "events with words";
    Action::Filter, [char('/')], &[Book], "search", "entries with words in id, title, text or reasons";
    Action::Filter, [char('/')], &[Log], "search", "lines with words; a capital letter counts as one";
    MatchNext, [char('n')], &[Log], "next", "the next line that was searched for, round the end";
    MatchBefore, [char('N')], &[Log], "", "the line before that was searched for";
    ContainerNext, [char('c')], &[Log], "container", "the log of the next container";
    ContainerBefore, [char('C')], &[Log], "", "the log of the container before";
    OtherRun, [char('v')], &[Log], "run", "the run before the last start, or the last again";
    Follow, [char('f')], &[Log], "follow", "keep the last line in sight, or not; G does too";
    Times, [char('t')], &[Log], "", "show the time of each line, or hide it";
    Wrap, [char('w')], &[Log], "", "break long lines, or cut them";
    Secrets, [char('x')], &[Pod, Log, Events], "", "show credentials in messages, or [redacted] again";
    KeepFilter, [Plain(KeyCode::Enter)], &[Typing], "keep", "keep it and go on";
    ClearFilter, [Plain(KeyCode::Esc)], &[List], "clear", "show all again";
    ClearFilter, [Plain(KeyCode::Esc)], &[Typing], "clear", "take it back: show all again";
    Failing, [char('f')], &[List], "failing", "only pods that are failing or slow, or all again";
    SortNext, [char('s'), char('>')], &[List], "sort", "sort by the next column; trouble first behind the last";
    SortBefore, [char('<')], &[List], "", "sort by the column before";
    Reverse, [char('S'), char('I')], &[List], "", "the other way round";
    StepNext, [char(']')], &[Pod, Entry], "", "choose the next command";
    StepBefore, [char('[')], &[Pod, Entry], "", "choose the command before";
    Action::Log, [char('l'), char('L')], &[Pod], "log", "the log of the container that is the trouble";
    LookUp, [char('r')], &[List], "runbook", "the runbook: all entries";
    LookUp, [char('r')], &[Pod], "runbook", "the runbook's entry for this pod";
    Action::Log, [char('l'), char('L')], &[List], "log", "the log of the selected pod";
    Action::Copy, [char('y')], &[List], "copy", "copy the pod's name";
    Action::Copy, [char('y')], &[Pod, Entry], "copy", "copy the chosen command, marked with ▸";
    Action::Copy, [char('y')], &[Log, Kubelet, Node, Events, Book], "copy", "copy the selected line";
    Action::Palette, [char(':')], PANES, "go", "a pane or a command by name";
    Go(Pane::Pods), [char('1')], PANES, "", "the table of pods";
    Go(Pane::Pod), [char('2')], PANES, "", "one pod: the selected one";
    Go(Pane::Kubelet), [char('3')], PANES, "", "the kubelet: what feeds its sync loop";
    Go(Pane::Node), [char('4')], PANES, "", "the node: conditions and resources";
    Go(Pane::Events), [char('5')], PANES, "", "the events of the node";
    Go(Pane::Runbook), [char('6')], PANES, "", "the runbook: all entries";
    NextPane, [Plain(KeyCode::Tab)], PANES, "", "next pane";
    PaneBefore, [Plain(KeyCode::BackTab)], PANES, "", "pane before";
    RunCommand, [Plain(KeyCode::Enter)], &[Context::Palette], "go", "do it";
    Complete, [Plain(KeyCode::Tab)], &[Context::Palette], "complete", "complete what is typed";
    Erase, [Plain(KeyCode::Backspace), Ctrl('h')], &[Typing, Context::Palette], "", "take the last character back";
    Down, [Plain(KeyCode::Down)], &[Typing], "", "next row";
    Up, [Plain(KeyCode::Up)], &[Typing], "", "row before";
    Pause, [char('p')], PANES, "pause", "hold the picture still, or let it go on";
    Action::Help, [char('?')], PANES, "help", "this help";
    Action::Help, [char('?')], &[Context::Help], "", "close the help";
    Redraw, [Ctrl('l')], ALL, "", "draw the whole screen again";
    Suspend, [Ctrl('z')], ALL, "", "stop; `fg` goes on";
    Quit, [char('q'), Ctrl('c')], READING, "quit", "quit";
    Quit, [Ctrl('c')], &[Typing, Context::Palette], "", "quit, also while typing";
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
            Plain(KeyCode::Char(' ')) => "Space".into(),
            Plain(KeyCode::Char(c)) => c.to_string(),
            Plain(KeyCode::PageDown) => "PgDn".into(),
            Plain(KeyCode::PageUp) => "PgUp".into(),
            Plain(KeyCode::BackTab) => "Shift-Tab".into(),
            Plain(KeyCode::F(n)) => format!("F{n}"),
            Plain(code) => format!("{code:?}"),
        }
    }

    /// As it is written; None for what is no key.
    pub fn read(name: &str) -> Option<Self> {
        const NAMED: [KeyCode; 14] = [
            KeyCode::Enter,
            KeyCode::Esc,
            KeyCode::Tab,
            KeyCode::BackTab,
            KeyCode::Backspace,
            KeyCode::Left,
            KeyCode::Right,
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::Home,
            KeyCode::End,
            KeyCode::PageUp,
            KeyCode::PageDown,
            KeyCode::Delete,
        ];
        let only = |text: &str| Some(text.chars().next()?).filter(|c| text.len() == c.len_utf8() && !c.is_control());
        if let Some(c) = name.strip_prefix("Ctrl-").and_then(only) {
            return c.is_ascii_alphabetic().then(|| Ctrl(c.to_ascii_lowercase()));
        }
        if let Some(n) = name.strip_prefix('F').and_then(|n| n.parse().ok()).filter(|n| (1..=12).contains(n)) {
            return Some(Plain(KeyCode::F(n)));
        }
        let named = NAMED.into_iter().map(Plain).chain([char(' ')]).find(|key| key.name() == name);
        named.or_else(|| only(name).filter(|c| *c != ' ').map(char))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn nothing_bound_while_typing_is_a_character() {
        let typing = BINDINGS.iter().filter(|b| b.contexts.iter().any(|c| c.is_typing())).flat_map(|b| b.keys);
        assert!(typing.copied().all(|k| !matches!(k, Plain(KeyCode::Char(_)))));
    }

    #[test]
    fn every_line_has_keys_a_place_and_words() {
        let (mut actions, mut names) = (HashSet::new(), HashSet::new());
        for b in BINDINGS {
            assert!(!b.keys.is_empty() && !b.contexts.is_empty() && !b.long.is_empty(), "{b:?}");
            if actions.insert(b.action) {
                assert!(names.insert(b.action.name()), "{} names two", b.action.name());
            }
        }
        assert_eq!(actions.len(), 46);
    }

    #[test]
    fn shift_does_not_matter_and_alt_is_not_bound() {
        let event = |c, m| KeyEvent::new(KeyCode::Char(c), m);
        assert_eq!(Key::of(&event('G', KeyModifiers::SHIFT)), Some(char('G')));
        assert_eq!(Key::of(&event('F', KeyModifiers::CONTROL)), Some(Ctrl('f')));
        assert_eq!(Key::of(&event('q', KeyModifiers::ALT)), None);
    }

    #[test]
    fn a_key_is_read_as_it_is_written() {
        for key in BINDINGS.iter().flat_map(|b| b.keys) {
            assert_eq!(Key::read(&key.name()), Some(*key));
        }
        assert_eq!(Key::read("Space"), Some(char(' ')));
        assert_eq!(Key::read("F5"), Some(Plain(KeyCode::F(5))));
        assert_eq!(Key::read("F"), Some(char('F')));
        for wrong in ["", "ctrl-c", "Ctrl-", "Ctrl-é", "Ctrl-cc", "Alt-x", "F0", "F13", "enter", "ab", "\x1b", " "] {
            assert_eq!(Key::read(wrong), None, "{wrong:?}");
        }
    }
}
