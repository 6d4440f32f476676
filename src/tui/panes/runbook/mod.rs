//! The Runbook pane: all entries, searchable, or one of them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::keys::press::{BACK, OPEN};
use crate::tui::keys::{Action, Binding, Context, char_key};
use crate::tui::pane_table::PaneId;
use crate::tui::panes::{DrawContext, Pane, PaneOutcome};
use crate::tui::screen_state::ScreenState;
use crate::tui::widgets::chosen_step::StepCursor;
use crate::tui::widgets::scroll::{Cursor, View};
use crate::view::RunbookEntry;

pub mod entry;
pub mod list;

/// Keys of the pane.
pub const KEYS: &[Binding] = &[
    Binding::new(Action::Open, OPEN, LIST, "open", "open the selected entry"),
    Binding::new(Action::Back, BACK, BOTH, "back", "back to the previous pane"),
    Binding::new(Action::Filter, &[char_key('/')], LIST, "search", "search id, title, text and reasons"),
    Binding::new(Action::NextStep, &[char_key(']')], ENTRY, "", "select the next command"),
    Binding::new(Action::PreviousStep, &[char_key('[')], ENTRY, "", "select the previous command"),
    Binding::new(Action::Copy, &[char_key('y')], ENTRY, "copy", "copy the selected command, marked with ▸"),
    Binding::new(Action::Copy, &[char_key('y')], LIST, "copy", "copy the selected line"),
];
const LIST: &[Context] = &[Context::Pane(PaneId::Runbook)];
const ENTRY: &[Context] = &[Context::Entry];
const BOTH: &[Context] = &[Context::Pane(PaneId::Runbook), Context::Entry];

/// An open entry.
#[derive(Clone, Debug)]
pub struct EntryPage {
    /// A copy of the entry, so that a command does not change while it is read and copied.
    pub entry: RunbookEntry,
    /// First visible line.
    pub scroll: usize,
    /// The selected step.
    pub step: StepCursor,
}

impl EntryPage {
    fn new(entry: RunbookEntry) -> Self {
        Self { entry, scroll: 0, step: StepCursor::default() }
    }
}

/// State of the pane.
#[derive(Clone, Debug)]
pub struct RunbookPane {
    entries: Vec<RunbookEntry>,
    /// Indices of the entries that match.
    shown: Vec<usize>,
    /// The search term.
    pub words: String,
    /// The selected entry.
    pub cursor: Cursor,
    /// The open entry.
    pub page: Option<EntryPage>,
    /// The pane to return to.
    pub from: PaneId,
}

impl Default for RunbookPane {
    fn default() -> Self {
        let (entries, shown, words) = (Vec::new(), Vec::new(), String::new());
        Self { entries, shown, words, cursor: Cursor::default(), page: None, from: PaneId::Pods }
    }
}

impl RunbookPane {
    /// All entries.
    pub fn list(entries: Vec<RunbookEntry>) -> Self {
        let mut pane = Self { entries, ..Self::default() };
        pane.find_matches();
        pane
    }

    /// One entry, without a list to return to.
    pub fn at(entry: RunbookEntry) -> Self {
        Self { page: Some(EntryPage::new(entry)), ..Self::default() }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True without a list of entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries that match.
    pub fn shown(&self) -> impl ExactSizeIterator<Item = &RunbookEntry> {
        self.shown.iter().map(|&i| &self.entries[i])
    }

    /// The selected entry.
    pub fn selected(&self) -> Option<&RunbookEntry> {
        self.shown.get(self.cursor.index).map(|&i| &self.entries[i])
    }

    fn find_matches(&mut self) {
        let selected = self.selected().map(|e| e.id.clone());
        self.shown = (0..self.entries.len()).filter(|&i| self.entries[i].matches(&self.words)).collect();
        let index = selected.and_then(|id| self.shown.iter().position(|&i| self.entries[i].id == id));
        self.cursor.index = index.unwrap_or(0);
    }
}

impl Pane for RunbookPane {
    fn context(&self) -> Context {
        if self.page.is_some() { Context::Entry } else { Context::Pane(PaneId::Runbook) }
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &DrawContext<'_>) -> View {
        match &mut self.page {
            Some(page) => entry::draw(buffer, area, page, context.theme),
            None => list::draw(buffer, area, self, context.mode.is_typing(), context.theme),
        }
    }

    fn act(&mut self, action: Action, _screen: Option<&mut ScreenState>) -> PaneOutcome {
        match (action, &mut self.page) {
            (Action::Open, _) => self.page = self.selected().cloned().map(EntryPage::new),
            (Action::Back, page) => {
                if page.take().is_none() || self.entries.is_empty() {
                    return PaneOutcome::Return(self.from);
                }
            }
            (Action::NextStep, Some(page)) => page.step.move_by(1, &page.entry.steps),
            (Action::PreviousStep, Some(page)) => page.step.move_by(-1, &page.entry.steps),
            _ => return PaneOutcome::Unhandled,
        }
        PaneOutcome::Done
    }

    fn words(&self) -> &str {
        &self.words
    }

    fn words_mut(&mut self) -> Option<&mut String> {
        Some(&mut self.words)
    }

    fn search(&mut self, _screen: Option<&mut ScreenState>) {
        self.find_matches();
    }

    fn position(&self) -> usize {
        self.page.as_ref().map_or(self.cursor.index, |page| page.scroll)
    }

    fn select(&mut self, row: usize, _screen: &ScreenState) {
        match &mut self.page {
            Some(page) => page.scroll = row,
            None => self.cursor.index = row.min(self.shown.len().saturating_sub(1)),
        }
    }

    fn copy_text(&self, line: Option<&str>) -> Option<String> {
        let Some(page) = &self.page else { return line.map(str::to_owned) };
        let command = page.step.command(&page.entry.steps).map(str::to_owned);
        command.or_else(|| Some(page.entry.id.to_string()))
    }
}
