//! Tables with columns aligned by display width.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

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

    /// The lines. With `width` the last column is cut so that a line fills whole lines of a terminal of that width.
    pub fn render(&self, width: Option<usize>) -> String {
        self.render_on(&mut Vec::new(), true, width)
    }

    /// The lines below earlier ones: columns are at least `widths` wide and leave their widths there; with or without the
    /// column names.
    pub fn render_on(&self, widths: &mut Vec<usize>, named: bool, width: Option<usize>) -> String {
        let cells = |i: usize| self.rows.iter().filter_map(move |r| r.get(i)).map(|c| c.width());
        let before = |i: usize| widths.get(i).copied().unwrap_or(0);
        let wide = |(i, (name, _)): (usize, &(&str, _))| cells(i).max().unwrap_or(0).max(name.len()).max(before(i));
        *widths = self.head.iter().enumerate().map(wide).collect();
        let last = widths.len().saturating_sub(1);
        let before: usize = widths.iter().take(last).map(|w| w + GAP).sum();
        let room = width.filter(|w| *w > 0).map(|w| (before + LAST_MIN).div_ceil(w) * w - before);
        let mut out = String::new();
        let head: Vec<String> = self.head.iter().map(|(name, _)| (*name).to_owned()).collect();
        for row in std::iter::once(&head).filter(|_| named).chain(&self.rows) {
            let mut line = String::new();
            for (i, ((cell, width), (_, align))) in row.iter().zip(&*widths).zip(&self.head).enumerate() {
                let cell = if i == last { cut(cell, room) } else { cell.clone() };
                let fill = " ".repeat(width.saturating_sub(cell.width()));
                match align {
                    Align::Left => line.extend([cell.as_str(), &fill]),
                    Align::Right => line.extend([fill.as_str(), &cell]),
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

fn cut(text: &str, room: Option<usize>) -> String {
    let Some(room) = room.filter(|room| text.width() > *room) else { return text.to_owned() };
    let mut out = String::new();
    let mut used = 0;
    for cluster in text.graphemes(true) {
        used += cluster.width();
        if used >= room {
            break;
        }
        out.push_str(cluster);
    }
    out.push('…');
    out
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
        for width in [1, 2, 10, 34, 40, 56, 80] {
            for line in table().render(Some(width)).lines() {
                let room = (10 + LAST_MIN).div_ceil(width) * width;
                assert!(line.width() <= room, "{width}: {line:?}");
            }
        }
        assert!(table().render(Some(34)).ends_with("  pulling a very long ima…\n"));
    }
}
