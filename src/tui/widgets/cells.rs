//! Text in display cells: measure, cut, fill, wrap, draw. Graphemes are never split; control characters are never
//! drawn.

use std::borrow::Cow;

use ratatui::buffer::{Buffer, CellWidth};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

/// Width in cells as drawn.
pub fn width(text: &str) -> usize {
    if text.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return text.len();
    }
    clean(text).graphemes(true).map(|g| usize::from(g.cell_width())).sum()
}

/// Without line feeds, tabs and variation selectors: terminals disagree on the width of a character with a selector.
fn clean(text: &str) -> Cow<'_, str> {
    let selector = |c: char| ('\u{fe00}'..='\u{fe0f}').contains(&c);
    if !text.contains(|c: char| c.is_control() || selector(c)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| !selector(*c)).map(|c| if c.is_control() { ' ' } else { c }).collect())
}

/// At most `max` cells; a cut text ends with `…`.
pub fn cut(text: &str, max: usize) -> Cow<'_, str> {
    let text = clean(text);
    if width(&text) <= max {
        return text;
    }
    let mut out = String::new();
    let mut used = 1;
    for grapheme in text.graphemes(true) {
        let next = used + width(grapheme);
        if next > max {
            break;
        }
        out.push_str(grapheme);
        used = next;
    }
    if max > 0 {
        out.push('…');
    }
    Cow::Owned(out)
}

/// At most `max` cells, cut in the middle: names differ at their ends.
pub fn cut_middle(text: &str, max: usize) -> Cow<'_, str> {
    let text = clean(text);
    if width(&text) <= max || max < 5 {
        return Cow::Owned(cut(&text, max).into_owned());
    }
    let head = cut(&text, max - max / 2).into_owned();
    let (mut tail, mut room) = (Vec::new(), max.saturating_sub(width(&head)));
    for grapheme in text.graphemes(true).rev() {
        let cells = width(grapheme);
        if cells > room {
            break;
        }
        room -= cells;
        tail.push(grapheme);
    }
    Cow::Owned(head + &tail.into_iter().rev().collect::<String>())
}

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

/// Exactly `cells` cells: cut, or filled with spaces.
pub fn fit(text: &str, cells: usize) -> String {
    let mut out = cut(text, cells).into_owned();
    let missing = cells.saturating_sub(width(&out));
    out.extend(std::iter::repeat_n(' ', missing));
    out
}

/// Lines of at most `max` cells, broken at spaces where that is possible; line feeds break too.
pub fn wrap(text: &str, max: usize) -> Vec<String> {
    let max = max.max(2);
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = clean(line);
        let (mut current, mut used) = (String::new(), 0);
        for word in line.split_whitespace() {
            let cells = width(word);
            if used > 0 && used + 1 + cells > max {
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            if used > 0 {
                current.push(' ');
                used += 1;
            }
            for grapheme in word.graphemes(true) {
                if used + width(grapheme) > max {
                    lines.push(std::mem::take(&mut current));
                    used = 0;
                }
                current.push_str(grapheme);
                used += width(grapheme);
            }
        }
        if !current.is_empty() {
            lines.push(current);
        }
    }
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
    fn cut_by_cells_and_never_inside_a_grapheme() {
        assert_eq!(cut("kubelet", 7), "kubelet");
        assert_eq!(cut("kubelet", 5), "kube…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!((cut("abc", 1), cut("abc", 0)), ("…".into(), "".into()));
        assert_eq!(width(&fit(&"x".repeat(253), 20)), 20);
        assert_eq!(width(&fit("日本語", 4)), 4);
    }

    #[test]
    fn cut_pod_names_remain_distinct() {
        assert_eq!(pod_name("shop", "web-6d4cf56db6-x2xkq", 40), "shop/web-6d4cf56db6-x2xkq");
        assert_eq!(pod_name("s-crashloop-exit1", "exit0-always", 21), "s-c…xit1/exit0-always");
        assert_eq!(pod_name("s-healthy-web", "web-69b969ddfd-7pxyz", 21), "s-h…web/web-69…-7pxyz");
        for max in 0..60 {
            assert!(width(&pod_name("日本語日本語", &"ü-日本".repeat(9), max)) <= max.max(1), "{max}");
        }
    }

    #[test]
    fn wrapped_lines_fit() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("a\nb\n\nc", 9), ["a", "b", "c"]);
        assert!(wrap("日本語 日本語", 5).iter().all(|l| width(l) <= 5));
    }
}
