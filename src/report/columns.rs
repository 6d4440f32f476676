//! Tables with columns aligned by display width.

use std::borrow::Cow;

use crate::text::cells::{cut, width};

/// What is between two columns.
const GAP: usize = 2;
/// The last column keeps at least this, whatever the terminal's width.
const LAST_MIN: usize = 24;

/// On which side a column's cells are filled up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table under construction.
#[derive(Debug)]
pub struct Columns {
    head: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Columns {
    /// A table with these columns and no rows.
    pub fn new(head: impl IntoIterator<Item = (&'static str, Align)>) -> Self {
        Self { head: head.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row. A cell that is empty becomes `-`, so that the fields of a line can be counted; the last stays empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().collect();
        let last = self.head.len().saturating_sub(1);
        for cell in cells.iter_mut().take(last).filter(|c| c.is_empty()) {
            cell.push('-');
        }
        self.rows.push(cells);
    }

    /// The lines. With `terminal` the last column is cut so that a line fills whole lines of a terminal of that width.
    pub fn render(&self, terminal: Option<usize>) -> String {
        self.render_on(&mut Vec::new(), true, terminal)
    }

    /// The lines below earlier ones: columns are at least `widths` wide and leave their widths there; with or without the
    /// column names.
    pub fn render_on(&self, widths: &mut Vec<usize>, named: bool, terminal: Option<usize>) -> String {
        let cells = |i: usize| self.rows.iter().filter_map(move |r| r.get(i)).map(|c| width(c));
        let before = |i: usize| widths.get(i).copied().unwrap_or(0);
        let wide = |(i, (name, _)): (usize, &(&str, _))| cells(i).max().unwrap_or(0).max(name.len()).max(before(i));
        *widths = self.head.iter().enumerate().map(wide).collect();
        let last = widths.len().saturating_sub(1);
        let before: usize = widths.iter().take(last).map(|w| w + GAP).sum();
        let room = terminal.filter(|w| *w > 0).map(|w| (before + LAST_MIN).div_ceil(w) * w - before);
        let mut out = String::new();
        let head: Vec<String> = self.head.iter().map(|(name, _)| (*name).to_owned()).collect();
        for row in std::iter::once(&head).filter(|_| named).chain(&self.rows) {
            let mut line = String::new();
            for (i, ((cell, wide), (_, align))) in row.iter().zip(&*widths).zip(&self.head).enumerate() {
                let cell = match room {
                    Some(room) if i == last => cut(cell, room),
                    _ => Cow::Borrowed(cell.as_str()),
                };
                let fill = " ".repeat(wide.saturating_sub(width(&cell)));
                match align {
                    Align::Left => line.extend([&*cell, &fill]),
                    Align::Right => line.extend([&*fill, &cell]),
                }
                if i < last {
                    line.push_str(&" ".repeat(GAP));
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Columns {
        let mut table = Columns::new([("NAME", Align::Left), ("N", Align::Right), ("REASON", Align::Left)]);
        table.row(["a".into(), "12".into(), String::new()]);
        table.row(["名前".into(), String::new(), "pulling a very long image name from a registry".into()]);
        table
    }

    #[test]
    fn wide_characters_take_two_cells_and_empty_cells_a_dash() {
        let text = table().render(None);
        assert_eq!(text, "NAME   N  REASON\na     12\n名前   -  pulling a very long image name from a registry\n");
    }

    #[test]
    fn the_last_column_fills_the_terminal_and_not_more() {
        for columns in [1, 2, 10, 34, 40, 56, 80] {
            for line in table().render(Some(columns)).lines() {
                let room = (10 + LAST_MIN).div_ceil(columns) * columns;
                assert!(width(line) <= room, "{columns}: {line:?}");
            }
        }
        assert!(table().render(Some(34)).ends_with("  pulling a very long ima…\n"));
    }
}
