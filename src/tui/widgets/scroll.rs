//! Owns what scrolls: lines of text by a page, and rows of a list that keep the selected one in sight.
//! It must not know what the lines or rows are.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::put_line;

/// What the last frame showed of the thing that scrolls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Rows or lines, for paging.
    pub page: usize,
    /// First and last line, and how many there are, where not all are seen.
    pub position: Option<(usize, usize, usize)>,
    /// The rows that can be selected, one a line: what a click hits.
    pub rows: Option<Rows>,
    /// The selected row as text: what is copied.
    pub line: Option<String>,
}

/// Rows on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Line of the screen where they begin.
    pub y: u16,
    /// Which row stands there.
    pub first: usize,
    /// How many rows are seen.
    pub count: usize,
}

impl Rows {
    /// The row on that line of the screen.
    pub fn at(&self, y: u16) -> Option<usize> {
        let offset = usize::from(y.checked_sub(self.y)?);
        (offset < self.count).then_some(self.first + offset)
    }
}

impl Default for View {
    fn default() -> Self {
        Self { page: 1, position: None, rows: None, line: None }
    }
}

/// Draws the lines that are seen from `scroll` on; one that is too large is brought back to the last page.
pub fn text(buffer: &mut Buffer, area: Rect, lines: &[Line<'_>], scroll: &mut usize) -> View {
    let rows = usize::from(area.height);
    *scroll = (*scroll).min(lines.len().saturating_sub(rows));
    for (row, line) in (0..area.height).zip(lines.iter().skip(*scroll)) {
        put_line(buffer, area, row, line);
    }
    let last = (*scroll + rows).min(lines.len());
    let position = (lines.len() > rows).then_some((*scroll + 1, last, lines.len()));
    View { page: rows.max(1), position, ..View::default() }
}

/// Draws the lines around the selected one, which is marked.
pub fn marked(buffer: &mut Buffer, area: Rect, lines: &[Line<'_>], cursor: &mut Cursor, theme: &Theme) -> View {
    let rows = usize::from(area.height);
    cursor.keep(lines.len(), rows);
    let shown = lines.iter().skip(cursor.top).take(rows);
    let count = shown.len();
    for (i, (row, line)) in (0..area.height).zip(shown).enumerate() {
        put_line(buffer, area, row, line);
        if cursor.top + i == cursor.index {
            buffer.set_style(Rect { y: area.y + row, height: 1, ..area }, theme.style(Role::Selected));
        }
    }
    let position = (lines.len() > rows).then_some((cursor.top + 1, cursor.top + count, lines.len()));
    let line = lines.get(cursor.index).map(|line| line.to_string().trim().to_owned());
    View { page: rows.max(1), position, rows: Some(Rows { y: area.y, first: cursor.top, count }), line }
}

/// The selected row of a list, and the first that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Place of the selected row.
    pub index: usize,
    /// First row shown.
    pub top: usize,
}

impl Cursor {
    /// Keeps the selected one of `count` rows among the `rows` that are seen.
    pub fn keep(&mut self, count: usize, rows: usize) {
        self.index = self.index.min(count.saturating_sub(1));
        self.top =
            self.top.clamp((self.index + 1).saturating_sub(rows.max(1)), self.index).min(count.saturating_sub(rows));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_row_is_in_sight_whatever_the_rows() {
        for (index, top, count, rows) in
            [(5, 0, 10, 3), (9, 9, 10, 20), (99, 50, 10, 1), (0, 7, 0, 5), (3, 0, 10, 0), (2, 2, 10, 4)]
        {
            let mut cursor = Cursor { index, top };
            cursor.keep(count, rows);
            assert!(cursor.index < count.max(1), "{cursor:?}");
            assert!(cursor.top <= cursor.index && (rows == 0 || cursor.index < cursor.top + rows), "{cursor:?}");
        }
    }
}
