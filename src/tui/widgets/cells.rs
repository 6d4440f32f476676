//! Draws text in display cells: lines, spans, names of pods.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::text::cells::{cut, cut_middle, width};

/// `namespace/name` in at most `max` cells; the namespace is cut first.
pub fn pod_name(namespace: &str, name: &str, max: usize) -> String {
    let spare = max.saturating_sub(width(name) + 1);
    let short = cut_middle(namespace, spare.max(max / 3).min(width(namespace))).into_owned();
    let room = max.saturating_sub(width(&short) + 1);
    format!("{short}/{}", cut_middle(name, room))
}

/// Spans with two spaces between them, on as many lines as they need.
pub fn flow(pieces: Vec<Span<'static>>, cells: usize) -> Vec<Line<'static>> {
    let (mut lines, mut used) = (Vec::new(), 0);
    let mut line: Vec<Span> = Vec::new();
    for mut piece in pieces.into_iter().filter(|p| !p.content.is_empty()) {
        piece.content = cut(&piece.content, cells).into_owned().into();
        let need = width(&piece.content);
        if !line.is_empty() && used + 2 + need > cells {
            lines.push(Line::from(std::mem::take(&mut line)));
            used = 0;
        }
        if !line.is_empty() {
            line.push(Span::raw("  "));
            used += 2;
        }
        used += need;
        line.push(piece);
    }
    lines.push(Line::from(line));
    lines
}

/// Draws text at `x`, cut at `right`; returns the column after it.
pub fn put(buffer: &mut Buffer, x: u16, y: u16, right: u16, text: &str, style: Style) -> u16 {
    let right = right.min(buffer.area.right());
    if x >= right || y >= buffer.area.bottom() {
        return x;
    }
    let room = usize::from(right - x);
    buffer.set_stringn(x, y, cut(text, room), room, style).0
}

/// Draws a line into one row of `area`.
pub fn put_line(buffer: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) {
    if row >= area.height {
        return;
    }
    let mut x = area.x;
    for span in &line.spans {
        x = put(buffer, x, area.y + row, area.right(), &span.content, line.style.patch(span.style));
    }
}

/// Draws `text` at the right border of a row if it fits after `x`.
pub fn put_right(buffer: &mut Buffer, area: Rect, row: u16, x: u16, text: &str, style: Style) {
    let cells = width(text) as u16;
    if row < area.height && cells > 0 && x + cells < area.right() {
        put(buffer, area.right() - cells, area.y + row, area.right(), text, style);
    }
}

/// The first `rows` rows of an area, and the rest.
pub fn split_rows(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (Rect { height: rows, ..area }, Rect { y: area.y + rows, height: area.height - rows, ..area })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_pod_names_remain_distinct() {
        assert_eq!(pod_name("shop", "web-6d4cf56db6-x2xkq", 40), "shop/web-6d4cf56db6-x2xkq");
        assert_eq!(pod_name("s-crashloop-exit1", "exit0-always", 21), "s-c…xit1/exit0-always");
        assert_eq!(pod_name("s-healthy-web", "web-69b969ddfd-7pxyz", 21), "s-h…web/web-69…-7pxyz");
        for max in 0..60 {
            assert!(width(&pod_name("日本語日本語", &"ü-日本".repeat(9), max)) <= max.max(1), "{max}");
        }
    }
}
