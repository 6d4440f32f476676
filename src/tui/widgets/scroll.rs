//! Scrolling: pages of text, and lists that keep the selected row visible.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::put_line;

/// The visible part of what scrolls, in the last frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Rows per page.
    pub page: usize,
    /// First and last visible line, and the number of lines; None if all are visible.
    pub position: Option<(usize, usize, usize)>,
    /// The visible rows that a click can select.
    pub rows: Option<Rows>,
    /// Text of the selected row, to copy.
    pub line: Option<String>,
}

/// Visible rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Line of the screen of the first visible row.
    pub y: u16,
    /// Index of that row.
    pub first: usize,
    /// Number of visible rows.
    pub count: usize,
}

impl Rows {
    /// The row at a line of the screen.
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

/// Draws the lines from `scroll`, which is limited to the last page.
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

/// Draws the lines around the selected one, which is highlighted.
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

/// The selected and the first visible row of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Index of the selected row.
    pub index: usize,
    /// Index of the first visible row.
    pub top: usize,
}

impl Cursor {
    /// Keeps the selected one of `count` rows within the `rows` visible ones.
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
