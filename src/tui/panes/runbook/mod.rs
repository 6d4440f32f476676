//! Owns the state of the runbook's screen: its entries, the words that are searched for, the entry that is open.
//! It must not read a rule: an entry is words and steps.

pub mod entry;
pub mod list;

use crate::tui::widgets::chosen_step::Step;
use crate::tui::widgets::scroll::Cursor;
use crate::view::RunbookEntry;

/// An entry that is read.
#[derive(Clone, Debug)]
pub struct Page {
    /// It stays as it was when it was opened: what one reads and copies does not change under the hand.
    pub entry: RunbookEntry,
    /// First line shown.
    pub scroll: usize,
    /// The chosen step with a command.
    pub step: Step,
}

/// The runbook, open.
#[derive(Clone, Debug, Default)]
pub struct Book {
    entries: Vec<RunbookEntry>,
    shown: Vec<usize>,
    /// What is searched for.
    pub words: String,
    /// The selected entry.
    pub cursor: Cursor,
    /// The entry that is open.
    pub page: Option<Page>,
}

impl Book {
    /// All entries.
    pub fn list(entries: Vec<RunbookEntry>) -> Self {
        let mut book = Self { entries, ..Self::default() };
        book.search();
        book
    }

    /// One entry, without a list to go back to.
    pub fn at(entry: RunbookEntry) -> Self {
        Self { page: Some(Page { entry, scroll: 0, step: Step::default() }), ..Self::default() }
    }

    /// Finds the entries that have the words.
    pub fn search(&mut self) {
        let kept = self.selected().map(|e| e.id.clone());
        self.shown = (0..self.entries.len()).filter(|&i| self.entries[i].matches(&self.words)).collect();
        let again = kept.and_then(|id| self.shown.iter().position(|&i| self.entries[i].id == id));
        self.cursor.index = again.unwrap_or(0);
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries that were found.
    pub fn shown(&self) -> impl ExactSizeIterator<Item = &RunbookEntry> {
        self.shown.iter().map(|&i| &self.entries[i])
    }

    /// The selected one.
    pub fn selected(&self) -> Option<&RunbookEntry> {
        self.shown.get(self.cursor.index).map(|&i| &self.entries[i])
    }

    /// Opens the selected one.
    pub fn open(&mut self) {
        self.page = self.selected().cloned().map(|entry| Page { entry, scroll: 0, step: Step::default() });
    }

    /// Goes back to the list; false when there is none, and the runbook is to be closed.
    pub fn back(&mut self) -> bool {
        self.page.take().is_some() && !self.entries.is_empty()
    }

    /// Where it is: the first line of the page, else the selected row.
    pub fn place(&self) -> usize {
        self.page.as_ref().map_or(self.cursor.index, |page| page.scroll)
    }

    /// Goes there; drawing brings what is too far back.
    pub fn go(&mut self, to: usize) {
        match &mut self.page {
            Some(page) => page.scroll = to,
            None => self.cursor.index = to.min(self.shown.len().saturating_sub(1)),
        }
    }
}
