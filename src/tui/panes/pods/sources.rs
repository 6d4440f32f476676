//! The state of every source. Failing sources come first; with little room the others lose their age.
//!
//! ```text
//! ✗cri no answer 34s  ●api-pods 1s  ●api-node 19s  ●kubelet-pods 4s  ·spans off
//! ```
//!
//! and where that takes more than two lines:
//!
//! ```text
//! ✗cri no answer 34s api ●pods 1s ●node 19s kubelet ●pods 4s ●metrics 8s ·spans off
//! ```

use crate::thresholds::SOURCE_LATE;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::observation::Time;
use crate::pipeline::human_duration;
use crate::text::cells::width;
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::put;
use crate::view::SourceLine;

/// Most lines with ages, and most lines at all.
const LINES: (usize, usize) = (2, 3);
/// Prefixes that are shown once per group in a narrow terminal.
const GROUPS: [&str; 2] = ["api", "kubelet"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum SourceLayout {
    /// Full names, ages.
    Full,
    /// Names in groups, ages.
    Grouped,
    /// Names in groups, no ages.
    Bare,
}

struct SourceLabel {
    /// Prefix, before the first source of a group on a line.
    group: &'static str,
    /// One more space after the previous group.
    apart: bool,
    mark: &'static str,
    text: String,
    role: Role,
}

impl SourceLabel {
    fn cells(&self) -> usize {
        let group = if self.group.is_empty() { 0 } else { self.group.len() + 1 };
        group + 1 + width(&self.text) + usize::from(self.apart)
    }
}

fn item(line: &SourceLine, now: Time, form: SourceLayout) -> SourceLabel {
    let late = line.unanswered_since.filter(|since| now - *since >= SOURCE_LATE);
    let (mark, role) = match (line.word, late) {
        ("off", _) => ("·", Role::Muted),
        ("ended", _) => ("○", Role::Muted),
        (_, None) if !line.first.is_empty() => ("◐", Role::Active),
        ("live", None) => ("●", Role::Ok),
        _ => ("✗", Role::Error),
    };
    let name = line.source.name();
    let group = GROUPS.into_iter().find(|g| name.strip_prefix(g).is_some_and(|rest| rest.starts_with('-')));
    let group = group.filter(|_| form != SourceLayout::Full && role != Role::Error).unwrap_or_default();
    let name = if group.is_empty() { name } else { &name[group.len() + 1..] };
    // One unit only, so that the width stays the same.
    let age = line.answered.split_inclusive(|c: char| c.is_alphabetic()).next().unwrap_or_default();
    let mut text = name.to_owned();
    match (line.word, late) {
        ("live" | "connecting", Some(since)) => text += &format!(" no response {}", human_duration(now - since)),
        (_, None) if !line.first.is_empty() => text += &format!(" {}", line.first),
        ("live", None) if form == SourceLayout::Bare => {}
        ("live", None) => text += &format!(" {age}"),
        (word, _) if age.is_empty() || form == SourceLayout::Bare && role != Role::Error => text += &format!(" {word}"),
        (word, _) => text += &format!(" {word} {age}"),
    }
    if line.dropped > 0 {
        text += &format!(" ({} dropped)", line.dropped);
    }
    if line.unreadable > 0 {
        text += &format!(" ({} unreadable)", line.unreadable);
    }
    SourceLabel { group, apart: false, mark, text, role }
}

/// The most detailed layout that fits.
fn form(screen: &ScreenState, cells: u16) -> SourceLayout {
    let fits = |form: &SourceLayout| lines(screen, cells, *form).len() <= LINES.0;
    [SourceLayout::Full, SourceLayout::Grouped].into_iter().find(fits).unwrap_or(SourceLayout::Bare)
}

fn gap(form: SourceLayout) -> u16 {
    if form == SourceLayout::Full { 2 } else { 1 }
}

fn lines(screen: &ScreenState, cells: u16, form: SourceLayout) -> Vec<Vec<SourceLabel>> {
    let mut items: Vec<_> = screen.header.sources.iter().map(|s| item(s, screen.header.now, form)).collect();
    // Failing sources first.
    items.sort_by_key(|i| i.role != Role::Error);
    let (mut out, mut used, mut group) = (Vec::new(), usize::MAX, "");
    for mut item in items {
        let named = item.group;
        if named == group {
            item.group = "";
        }
        item.apart = !group.is_empty() && named != group;
        if used.saturating_add(item.cells()) > usize::from(cells) {
            out.push(Vec::new());
            used = 0;
            item.group = named;
            item.apart = false;
        }
        group = named;
        used += item.cells() + usize::from(gap(form));
        if let Some(line) = out.last_mut() {
            line.push(item);
        }
    }
    out
}

/// Number of lines.
pub fn height(screen: &ScreenState, cells: u16) -> usize {
    lines(screen, cells, form(screen, cells)).len().min(LINES.1)
}

/// Draws the sources.
pub fn draw(buffer: &mut Buffer, area: Rect, screen: &ScreenState, theme: &Theme) {
    if area.height == 0 {
        return;
    }
    let form = form(screen, area.width);
    for (y, line) in (area.y..area.bottom()).zip(lines(screen, area.width, form)) {
        let mut x = area.x;
        for item in line {
            x += u16::from(item.apart);
            if !item.group.is_empty() {
                x = put(buffer, x, y, area.right(), item.group, theme.style(Role::Muted)) + 1;
            }
            let style = theme.style(item.role);
            x = put(buffer, x, y, area.right(), item.mark, style);
            let style = if item.role == Role::Error { style } else { theme.style(Role::Plain) };
            x = put(buffer, x, y, area.right(), &item.text, style) + gap(form);
        }
    }
}
