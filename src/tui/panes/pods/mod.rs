//! The Pods pane: the table of all pods, with node, sources, PLEG and alarms above it.
//!
//! ```text
//! node, versions, time, title     widgets/header.rs
//! conditions that are wrong       widgets/header.rs
//! sources, up to three lines      sources.rs
//! PLEG and its sparkline          pleg.rs
//! faults of the node              alarms.rs
//! counts and filter               counts.rs
//! NAMESPACE/POD  STATUS  …        table.rs
//! why of the selected pod         selected.rs
//! ```

use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::text::Text;
use crate::tui::Options;
use crate::tui::keys::KeyPress::Plain;
use crate::tui::keys::press::{LOG, OPEN};
use crate::tui::keys::{Action, Binding, Context, char_key};
use crate::tui::pane_table::PaneId;
use crate::tui::panes::{DrawContext, Pane, PaneOutcome};
use crate::tui::screen_state::ScreenState;
use crate::tui::widgets::cells::split_rows;
use crate::tui::widgets::header;
use crate::tui::widgets::scroll::{Cursor, View};
use crate::view::{Column, Filter, Sort};

pub mod alarms;
pub mod columns;
pub mod counts;
pub mod pleg;
pub mod selected;
pub mod sources;
pub mod table;

use columns::columns;

/// Keys of the pane.
pub const KEYS: &[Binding] = &[
    Binding::new(Action::Open, OPEN, HERE, "open", "open the selected pod"),
    Binding::new(
        Action::Filter,
        &[char_key('/')],
        HERE,
        "filter",
        "filter: words, ns: status: stage: cause: node: !not",
    ),
    Binding::new(Action::ClearFilter, &[Plain(KeyCode::Esc)], HERE, "clear", "clear the filter"),
    Binding::new(Action::Failing, &[char_key('f')], HERE, "failing", "toggle: only failing or slow pods"),
    Binding::new(
        Action::SortNext,
        &[char_key('s'), char_key('>')],
        HERE,
        "sort",
        "sort by next column (after the last: severity)",
    ),
    Binding::new(Action::SortPrevious, &[char_key('<')], HERE, "", "sort by previous column"),
    Binding::new(Action::Reverse, &[char_key('S'), char_key('I')], HERE, "", "reverse the order"),
    Binding::new(Action::LookUp, &[char_key('r')], HERE, "runbook", "runbook: all entries"),
    Binding::new(Action::Log, LOG, HERE, "log", "log of the selected pod"),
    Binding::new(Action::Copy, &[char_key('y')], HERE, "copy", "copy the name of the pod"),
];
const HERE: &[Context] = &[Context::Pane(PaneId::Pods)];

/// Rows of the table that the lines above and below leave, on a terminal with so many.
const MIN_ROWS: u16 = 5;

/// State of the pane.
#[derive(Debug, Default)]
pub struct PodsPane {
    /// Which rows are visible.
    pub filter: Filter,
    /// Their order.
    pub sort: Sort,
    /// The columns that may be visible, from left to right.
    pub columns: Vec<Column>,
    /// The selected row.
    pub cursor: Cursor,
    /// UID of the selected pod, which the selection follows. None while it stays at the top, at the most severe pod.
    pub selected: Option<Text>,
    /// Width of the table in the last frame, cells.
    width: u16,
}

impl PodsPane {
    /// The pane as the options configure it.
    pub fn new(options: &Options) -> Self {
        Self { filter: options.filter.clone(), sort: options.sort, columns: options.columns.clone(), ..Self::default() }
    }

    /// The visible columns with their widths.
    pub fn visible_columns(&self, width: u16, screen: &ScreenState) -> Vec<(Column, usize)> {
        columns(usize::from(width.saturating_sub(1)), screen.widest, &self.columns)
    }

    /// Makes the row at the cursor the selected pod; returns its UID, None without rows.
    pub fn select_current(&mut self, screen: &ScreenState) -> Option<Text> {
        let key = screen.row(self.cursor.index)?.key.clone();
        self.selected = Some(key.clone());
        Some(key)
    }

    /// The column with a heading at `x`.
    pub fn heading_at(&self, x: u16, screen: &ScreenState) -> Option<Column> {
        let mut from = 1;
        self.visible_columns(self.width, screen).into_iter().find_map(|(column, cells)| {
            let is_here = (from..from + cells).contains(&usize::from(x));
            from += cells + 1;
            is_here.then_some(column)
        })
    }

    /// Sorts by a column; if it is the sort column already, reverses the order.
    pub fn sort_by(&mut self, column: Column) {
        self.sort = match self.sort.by == Some(column) {
            true => Sort { reversed: !self.sort.reversed, ..self.sort },
            false => Sort { by: Some(column), reversed: false },
        };
    }

    /// Sorts by the visible column `step` further; severity is before the first and after the last.
    fn sort_further(&mut self, step: isize, screen: &ScreenState) {
        let columns = self.visible_columns(self.width, screen);
        let orders: Vec<_> = std::iter::once(None).chain(columns.into_iter().map(|(c, _)| Some(c))).collect();
        let at = orders.iter().position(|order| *order == self.sort.by).unwrap_or(0) as isize;
        self.sort.by = orders[(at + step).rem_euclid(orders.len() as isize) as usize];
        self.sort.reversed = false;
    }
}

impl Pane for PodsPane {
    fn context(&self) -> Context {
        Context::Pane(PaneId::Pods)
    }

    fn has_header(&self) -> bool {
        true
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &DrawContext<'_>) -> View {
        let (screen, theme) = (context.screen, context.theme);
        self.width = area.width;
        // Header, counts, heading and rows of the table come first. The rest shares what is left, alarms first.
        let mut left = area.height.saturating_sub(3 + MIN_ROWS);
        let mut take = |wanted: usize| {
            let got = left.min(u16::try_from(wanted).unwrap_or(u16::MAX));
            left -= got;
            got
        };
        let alarms = take(alarms::height(screen));
        let conditions = take(header::conditions(screen).len().min(2));
        let pleg = take(1);
        let sources = take(sources::height(screen, area.width));
        let selected = take(selected::height(screen));
        let (top, area) = split_rows(area, 1 + conditions);
        let has_title = header::draw(buffer, top, screen, context.paused, theme);
        let (top, area) = split_rows(area, sources);
        sources::draw(buffer, top, screen, theme);
        let (top, area) = split_rows(area, pleg);
        pleg::draw(buffer, top, screen, theme);
        let (top, area) = split_rows(area, alarms);
        alarms::draw(buffer, top, screen, theme);
        let (top, area) = split_rows(area, 1);
        counts::draw(buffer, top, self, context, !has_title);
        let (middle, bottom) = split_rows(area, area.height - selected.min(area.height));
        let view = table::draw(buffer, middle, screen, self, theme);
        selected::draw(buffer, bottom, screen, self, theme);
        view
    }

    /// Follows the selected pod. If it is gone, the selection stays at its row.
    fn update(&mut self, screen: &mut ScreenState) {
        screen.choose(&self.filter, self.sort);
        let last = screen.shown.len().saturating_sub(1);
        match &self.selected {
            Some(key) => {
                self.cursor.index = screen.find(key).unwrap_or(self.cursor.index.min(last));
                self.selected = screen.row(self.cursor.index).map(|row| row.key.clone());
            }
            None => self.cursor.index = 0,
        }
    }

    fn act(&mut self, action: Action, mut screen: Option<&mut ScreenState>) -> PaneOutcome {
        match (action, screen.as_deref_mut()) {
            (Action::Open, Some(screen)) if screen.row(self.cursor.index).is_some() => {
                return PaneOutcome::Open(PaneId::Pod);
            }
            (Action::Failing, _) => self.filter.failing = !self.filter.failing,
            (Action::SortNext, Some(screen)) => self.sort_further(1, screen),
            (Action::SortPrevious, Some(screen)) => self.sort_further(-1, screen),
            (Action::Reverse, _) => self.sort.reversed = !self.sort.reversed,
            _ => return PaneOutcome::Unhandled,
        }
        self.search(screen);
        PaneOutcome::Done
    }

    fn words(&self) -> &str {
        &self.filter.words
    }

    fn words_mut(&mut self) -> Option<&mut String> {
        Some(&mut self.filter.words)
    }

    fn search(&mut self, screen: Option<&mut ScreenState>) {
        if let Some(screen) = screen {
            self.update(screen);
        }
    }

    fn position(&self) -> usize {
        self.cursor.index
    }

    fn select(&mut self, row: usize, screen: &ScreenState) {
        self.cursor.index = row.min(screen.shown.len().saturating_sub(1));
        self.selected = screen.row(self.cursor.index).map(|row| row.key.clone());
    }

    fn move_to(&mut self, row: usize, screen: &ScreenState) -> PaneOutcome {
        match row {
            // The selection stays at the top, whichever pod is there.
            0 => (self.cursor.index, self.selected) = (0, None),
            row => self.select(row, screen),
        }
        PaneOutcome::Done
    }

    fn move_by(&mut self, step: isize, screen: &ScreenState) -> PaneOutcome {
        self.select(self.cursor.index.saturating_add_signed(step), screen);
        PaneOutcome::Done
    }
}
