//! Sections of a pane: titles, tables, bars, two columns next to each other.

use ratatui::text::{Line, Span};

use crate::text::cells::{cut, fit, width, wrap};
use crate::tui::theme::{Role, Theme};

/// Gap between two cells of a table.
const GAP: usize = 2;
/// Gap between two columns of sections.
const GUTTER: usize = 3;

/// One cell.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    role: Role,
    right: bool,
}

/// A cell of text.
pub fn text(text: impl Into<String>) -> Cell {
    Cell { text: text.into(), role: Role::Plain, right: false }
}

/// A right-aligned cell.
pub fn number(text: impl Into<String>) -> Cell {
    Cell { right: true, ..self::text(text) }
}

impl Cell {
    /// The cell with a role.
    pub fn role(self, role: Role) -> Self {
        Self { role, ..self }
    }
}

/// A section title with a note.
pub fn title(name: &str, note: &str, cells: usize, theme: &Theme) -> Line<'static> {
    let gap = if note.is_empty() { "" } else { "  " };
    let note = cut(note, cells.saturating_sub(width(name) + gap.len())).into_owned();
    Line::from(vec![
        Span::styled(name.to_owned(), theme.style(Role::Heading)),
        Span::styled(format!("{gap}{note}"), theme.style(Role::Muted)),
    ])
}

/// A note in place of data.
pub fn nothing(why: &str, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    paragraph(why, Role::Muted, cells, theme)
}

/// A wrapped, indented paragraph.
pub fn paragraph(sentence: &str, role: Role, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let lines = wrap(sentence, cells.saturating_sub(2).max(1));
    lines.into_iter().map(|l| Line::styled(format!("  {l}"), theme.style(role))).collect()
}

/// A table: each column as wide as its widest cell, the last one cut. A head without names is omitted.
pub fn table(head: &[&str], rows: Vec<Vec<Cell>>, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let right = |column: usize| rows.iter().filter_map(|row| row.get(column)).any(|cell| cell.right);
    let names =
        head.iter().enumerate().map(|(i, name)| Cell { text: (*name).to_owned(), role: Role::Muted, right: right(i) });
    let named = head.iter().any(|name| !name.is_empty());
    let all: Vec<Vec<Cell>> = named.then(|| names.collect()).into_iter().chain(rows).collect();
    let columns = all.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |i: usize| all.iter().filter_map(|row| row.get(i)).map(|c| width(&c.text)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    all.into_iter().map(|row| line(row, &widths, cells, theme)).collect()
}

fn line(row: Vec<Cell>, widths: &[usize], cells: usize, theme: &Theme) -> Line<'static> {
    let (mut spans, mut x) = (vec![Span::raw("  ")], 2);
    let last = row.len().saturating_sub(1);
    for (i, (cell, width)) in row.into_iter().zip(widths).enumerate() {
        let room = cells.saturating_sub(x);
        let width = (*width).min(room);
        let shown = match (cell.right, i == last) {
            (true, _) => {
                let cut = cut(&cell.text, width);
                format!("{}{cut}", " ".repeat(width.saturating_sub(self::width(&cut))))
            }
            (false, true) => cut(&cell.text, room).into_owned(),
            (false, false) => fit(&cell.text, width),
        };
        spans.push(Span::styled(shown, theme.style(cell.role)));
        x += width;
        if i != last {
            let gap = GAP.min(cells.saturating_sub(x));
            spans.push(Span::raw(" ".repeat(gap)));
            x += gap;
        }
    }
    Line::from(spans)
}

/// A bar of `cells` cells, full from a share of 1.
pub fn bar(share: f64, cells: usize) -> String {
    let full = (share.clamp(0.0, 1.0) * cells as f64).round() as usize;
    format!("{}{}", "█".repeat(full), "·".repeat(cells - full))
}

/// Two columns of sections, where there is room for both: each gets half of it.
pub fn beside(
    cells: usize,
    narrowest: usize,
    left: impl FnOnce(usize) -> Vec<Line<'static>>,
    right: impl FnOnce(usize) -> Vec<Line<'static>>,
) -> Vec<Line<'static>> {
    let half = cells.saturating_sub(GUTTER) / 2;
    if half < narrowest {
        let mut lines = left(cells);
        lines.extend(right(cells));
        return lines;
    }
    let (left, mut right) = (left(half), right(half).into_iter());
    let mut lines: Vec<Line<'static>> = left
        .into_iter()
        .map(|mut line| {
            if let Some(other) = right.next() {
                let gap = (half + GUTTER).saturating_sub(line.width());
                line.spans.push(Span::raw(" ".repeat(gap)));
                line.spans.extend(styled(other));
            }
            line
        })
        .collect();
    lines.extend(right.map(|other| {
        let spans = std::iter::once(Span::raw(" ".repeat(half + GUTTER))).chain(styled(other));
        Line::from(spans.collect::<Vec<_>>())
    }));
    lines
}

/// The spans with the style of their line applied.
fn styled(line: Line<'static>) -> impl Iterator<Item = Span<'static>> {
    let style = line.style;
    line.spans.into_iter().map(move |span| Span::styled(span.content, style.patch(span.style)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(|l| l.to_string().trim_end().to_owned()).collect()
    }

    #[test]
    fn cells_are_aligned_and_cut_to_the_room() {
        let rows = || {
            vec![vec![text("cpu"), number("900m"), text("some words")], vec![text("memory"), number("2"), text("x")]]
        };
        let theme = Theme::new(false, false);
        let lines = texts(&table(&["RESOURCE", "ASKED", ""], rows(), 40, &theme));
        assert_eq!(lines, ["  RESOURCE  ASKED", "  cpu        900m  some words", "  memory        2  x"]);
        for room in 0..40 {
            let lines = table(&["RESOURCE", "ASKED", ""], rows(), room, &theme);
            assert!(lines.iter().all(|l| l.width() <= room.max(2)), "{room}");
        }
    }

    #[test]
    fn two_columns_where_there_is_room() {
        let one = |cells: usize| vec![Line::raw("a".repeat(cells.min(3)))];
        let two = |_: usize| vec![Line::raw("b"), Line::raw("c")];
        assert_eq!(texts(&beside(13, 5, one, two)), ["aaa     b", "        c"]);
        assert_eq!(texts(&beside(12, 5, one, two)), ["aaa", "b", "c"]);
    }

    #[test]
    fn bars_and_shares() {
        assert_eq!(
            (bar(0.5, 4), bar(7.0, 4), bar(-1.0, 4), bar(f64::NAN, 4)),
            ("██··".into(), "████".into(), "····".into(), "····".into())
        );
    }
}
