//! Keys: contexts, actions, and the bindings from keys to actions in each context.

use crate::tui::pane_table::PaneId;

pub mod bindings;
pub mod keymap;
pub mod press;
pub mod reference;

pub use press::{KeyPress, char_key};

/// Where a key is pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// A pane.
    Pane(PaneId),
    /// The log of a container, in the Pod pane.
    Log,
    /// One runbook entry, in the Runbook pane.
    Entry,
    /// The input line of a filter or search.
    FilterInput,
    /// The input line of a command.
    CommandInput,
    /// The help.
    Help,
}

impl Context {
    /// All contexts, in the order of help and documentation.
    pub fn all() -> impl Iterator<Item = Context> {
        let panes = PaneId::ALL.iter().flat_map(|id| {
            let inner = match id {
                PaneId::Pod => Some(Context::Log),
                PaneId::Runbook => Some(Context::Entry),
                _ => None,
            };
            [Context::Pane(*id)].into_iter().chain(inner)
        });
        panes.chain([Context::FilterInput, Context::CommandInput, Context::Help])
    }

    /// Title in help and documentation.
    pub fn title(self) -> &'static str {
        match self {
            Context::Pane(pane) => pane.title(),
            Context::Log => "Container log",
            Context::Entry => "Runbook entry",
            Context::FilterInput => "Filter input",
            Context::CommandInput => "Command input",
            Context::Help => "Help",
        }
    }

    /// Keys are text.
    pub fn is_typing(self) -> bool {
        matches!(self, Context::FilterInput | Context::CommandInput)
    }

    /// A pane, or a page inside one.
    pub fn is_pane(self) -> bool {
        !self.is_typing() && self != Context::Help
    }
}

/// What a key does.
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
    Go(PaneId),
    NextPane,
    PreviousPane,
    LookUp,
    Log,
    NextContainer,
    PreviousContainer,
    PreviousRun,
    Follow,
    NextMatch,
    PreviousMatch,
    Times,
    Wrap,
    Secrets,
    Filter,
    KeepFilter,
    ClearFilter,
    Erase,
    Failing,
    SortNext,
    SortPrevious,
    Reverse,
    NextStep,
    PreviousStep,
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
    /// Name in the palette and the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Action::Down => "down",
            Action::Up => "up",
            Action::First => "first",
            Action::Last => "last",
            Action::PageDown => "page-down",
            Action::PageUp => "page-up",
            Action::Open => "open",
            Action::Back => "back",
            Action::Go(pane) => pane.command(),
            Action::NextPane => "next-pane",
            Action::PreviousPane => "pane-before",
            Action::LookUp => "look-up",
            Action::Log => "log",
            Action::NextContainer => "container-next",
            Action::PreviousContainer => "container-before",
            Action::PreviousRun => "other-run",
            Action::Follow => "follow",
            Action::NextMatch => "match-next",
            Action::PreviousMatch => "match-before",
            Action::Times => "times",
            Action::Wrap => "wrap",
            Action::Secrets => "secrets",
            Action::Filter => "filter",
            Action::KeepFilter => "keep",
            Action::ClearFilter => "clear",
            Action::Erase => "erase",
            Action::Failing => "failing",
            Action::SortNext => "sort-next",
            Action::SortPrevious => "sort-before",
            Action::Reverse => "reverse",
            Action::NextStep => "step-next",
            Action::PreviousStep => "step-before",
            Action::Copy => "copy",
            Action::Palette => "command",
            Action::Complete => "complete",
            Action::RunCommand => "run",
            Action::Pause => "pause",
            Action::Help => "help",
            Action::Redraw => "redraw",
            Action::Suspend => "suspend",
            Action::Quit => "quit",
        }
    }
}

/// The contexts of a binding.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    /// Every context.
    Everywhere,
    /// Every pane, and the help.
    Reading,
    /// Every pane.
    Panes,
    /// These alone.
    Only(&'static [Context]),
}

/// What some keys do in some contexts.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// What they do.
    pub action: Action,
    /// The default keys.
    pub keys: &'static [KeyPress],
    /// Where.
    pub scope: Scope,
    /// Text in the footer; empty to leave it out.
    pub short: &'static str,
    /// Text in the help.
    pub long: &'static str,
}

impl Binding {
    /// A binding in these contexts.
    pub const fn new(
        action: Action,
        keys: &'static [KeyPress],
        contexts: &'static [Context],
        short: &'static str,
        long: &'static str,
    ) -> Self {
        Self { action, keys, scope: Scope::Only(contexts), short, long }
    }

    /// True where the binding holds.
    pub fn holds_in(&self, context: Context) -> bool {
        match self.scope {
            Scope::Everywhere => true,
            Scope::Reading => !context.is_typing(),
            Scope::Panes => context.is_pane(),
            Scope::Only(contexts) => contexts.contains(&context),
        }
    }

    /// True if every pane has the binding.
    pub fn is_global(&self) -> bool {
        !matches!(self.scope, Scope::Only(_))
    }
}
