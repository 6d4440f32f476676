//! Owns the lines that say of every source whether it answers, and when it last did.
//! It must not hide a source that does not answer to save room: those that do lose their age first.
//!
//! ```text
//! ● api-pods 1s  ● cri 0s  ✗ kubelet-metrics retrying 34s  · spans off
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Picture;
use super::cells::{put, width};
use super::theme::{Role, Theme};
use crate::view::SourceLine;

/// Most lines with ages, and most lines without.
const LINES: (usize, usize) = (2, 3);

struct Item {
    mark: &'static str,
    text: String,
    role: Role,
}

fn item(line: &SourceLine, now: crate::observation::Time, ages: bool) -> Item {
    let silent = line.unanswered_since.map(|since| crate::pipeline::human_duration(now - since));
    let late = line.unanswered_since.is_some_and(|since| now - since >= chrono::TimeDelta::seconds(2));
    let (mark, role) = match (line.word, late) {
        ("off", _) => ("·", Role::Muted),
        ("ended", _) => ("○", Role::Muted),
        ("connecting", false) => ("◐", Role::Active),
        ("live", false) => ("●", Role::Good),
        _ => ("✗", Role::Trouble),
    };
    let name = line.source.name();
    let text = match (line.word, silent) {
        ("live", Some(silent)) if late => format!("{name} no answer {silent}"),
        ("live", _) if ages => format!("{name} {}", line.answered),
        ("live", _) => name.to_owned(),
        (word, _) if ages && !line.answered.is_empty() => format!("{name} {word} {}", line.answered),
        (word, _) => format!("{name} {word}"),
    };
    let text = if line.dropped > 0 { format!("{text} ({} dropped)", line.dropped) } else { text };
    Item { mark, text, role }
}

/// The items in lines that fit: with ages if that is possible in two lines.
fn layout(picture: &Picture, cells: u16) -> Vec<Vec<Item>> {
    let with = lines(picture, cells, true);
    if with.len() <= LINES.0 { with } else { lines(picture, cells, false) }
}

fn lines(picture: &Picture, cells: u16, ages: bool) -> Vec<Vec<Item>> {
    let mut items: Vec<_> = picture.header.sources.iter().map(|s| item(s, picture.header.now, ages)).collect();
    // What is in trouble is seen whatever the room.
    items.sort_by_key(|i| i.role != Role::Trouble);
    let (mut out, mut used) = (Vec::new(), usize::MAX);
    for item in items {
        // Room for the age to grow, so that the line does not jump as seconds become minutes.
        let need = 2 + width(&item.text) + if ages { 3 } else { 2 };
        if used.saturating_add(need) > usize::from(cells) + 2 {
            out.push(Vec::new());
            used = 0;
        }
        used += need;
        if let Some(line) = out.last_mut() {
            line.push(item);
        }
    }
    out
}

/// Lines needed.
pub fn height(picture: &Picture, cells: u16) -> usize {
    layout(picture, cells).len().min(LINES.1)
}

/// Draws the sources.
pub fn draw(buffer: &mut Buffer, area: Rect, picture: &Picture, theme: &Theme) {
    if area.height == 0 {
        return;
    }
    for (y, line) in (area.y..area.bottom()).zip(layout(picture, area.width)) {
        let mut x = area.x;
        for item in line {
            let style = theme.style(item.role);
            x = put(buffer, x, y, area.right(), item.mark, style) + 1;
            let style = if item.role == Role::Trouble { style } else { theme.style(Role::Plain) };
            x = put(buffer, x, y, area.right(), &item.text, style) + 2;
        }
    }
}
