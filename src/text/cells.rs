//! Text in display cells: measure, cut, fill, wrap. Graphemes are never split; control characters count as spaces.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Width in cells as drawn.
pub fn width(text: &str) -> usize {
    if text.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return text.len();
    }
    let text = clean(text);
    // Terminals give these two marks a cell each, although Unicode counts them as part of the character before.
    UnicodeWidthStr::width(&*text) + text.chars().filter(|c| matches!(c, '\u{ff9e}' | '\u{ff9f}')).count()
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

/// Exactly `cells` cells: cut, or filled with spaces.
pub fn fit(text: &str, cells: usize) -> String {
    let mut out = cut(text, cells).into_owned();
    let missing = cells.saturating_sub(width(&out));
    out.extend(std::iter::repeat_n(' ', missing));
    out
}

/// Lines of at most `max` cells, broken at spaces where that is possible; line feeds break too.
pub fn wrap(text: &str, max: usize) -> Vec<String> {
    break_lines(text, max, true)
}

/// The same, but a word longer than `max` remains whole, so that it can be copied.
pub fn wrap_whole_words(text: &str, max: usize) -> Vec<String> {
    break_lines(text, max, false)
}

fn break_lines(text: &str, max: usize, split_words: bool) -> Vec<String> {
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
            if !split_words {
                current.push_str(word);
                used += cells;
                continue;
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
    fn wrapped_lines_fit() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("a\nb\n\nc", 9), ["a", "b", "c"]);
        assert_eq!(wrap_whole_words("abcdefgh ij k", 4), ["abcdefgh", "ij k"]);
        assert!(wrap("日本語 日本語", 5).iter().all(|l| width(l) <= 5));
    }
}
