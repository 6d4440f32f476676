//! The list of runbook entries, by id.
//!
//! ```text
//! RUNBOOK  141 entries                                                   search oom · 3 shown
//!  CAUSE                    SEVERITY TITLE
//! ▸run.oom-killed           error    The container exceeds its memory limit
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::text::cells::{cut, fit, width};
use crate::tui::panes::runbook::RunbookPane;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{put, put_right};
use crate::tui::widgets::scroll::{Rows, View};

/// Lines above the rows.
const HEAD: u16 = 2;
/// Width of the severity.
const SEVERITY: usize = 8;

/// Draws counts, heading and rows; keeps the selected row visible.
pub fn draw(buffer: &mut Buffer, area: Rect, pane: &mut RunbookPane, typing: bool, theme: &Theme) -> View {
    let rows = usize::from(area.height.saturating_sub(HEAD));
    let count = pane.shown().len();
    pane.cursor.keep(count, rows);
    let seen = Rows { y: area.y + HEAD, first: pane.cursor.top, count: rows.min(count - pane.cursor.top) };
    let line = pane.selected().map(|entry| entry.id.to_string());
    let view = View { page: rows.max(1), position: None, rows: Some(seen), line };
    counts(buffer, area, pane, typing, theme);
    if area.height < HEAD {
        return view;
    }
    let ids = pane.shown().map(|e| width(&e.id)).max().unwrap_or(0).clamp(13, usize::from(area.width / 2).max(13));
    let heading = format!("{} {} TITLE", fit("CAUSE", ids), fit("SEVERITY", SEVERITY));
    put(buffer, area.x + 1, area.y + 1, area.right(), &heading, theme.style(Role::Heading));
    if count == 0 {
        put(buffer, area.x + 1, area.y + 3, area.right(), "no matching entry", theme.style(Role::Muted));
    }
    for (i, (y, entry)) in (area.y + HEAD..area.bottom()).zip(pane.shown().skip(pane.cursor.top)).enumerate() {
        let selected = pane.cursor.top + i == pane.cursor.index;
        let base = if selected { theme.style(Role::Selected) } else { Style::new() };
        if selected {
            buffer.set_style(Rect { y, height: 1, ..area }, base);
            put(buffer, area.x, y, area.right(), "▸", base);
        }
        let role = match entry.severity {
            "error" => Role::Error,
            "warning" => Role::Warning,
            _ => Role::Muted,
        };
        let x = put(buffer, area.x + 1, y, area.right(), &fit(&entry.id, ids), base) + 1;
        let x = put(buffer, x, y, area.right(), &fit(entry.severity, SEVERITY), base.patch(theme.style(role))) + 1;
        put(buffer, x, y, area.right(), &entry.title, base);
    }
    view
}

fn counts(buffer: &mut Buffer, area: Rect, pane: &RunbookPane, typing: bool, theme: &Theme) {
    if area.height == 0 {
        return;
    }
    let x = put(buffer, area.x, area.y, area.right(), "RUNBOOK", theme.style(Role::Heading)) + 2;
    let x = put(buffer, x, area.y, area.right(), &format!("{} entries", pane.len()), theme.style(Role::Plain));
    let shown = format!("{} shown", pane.shown().len());
    let text = match (pane.words.is_empty(), typing) {
        (true, _) => String::new(),
        (false, true) => shown,
        (false, false) => format!("search {} · {shown}", pane.words),
    };
    let room = usize::from(area.right().saturating_sub(x + 1));
    put_right(buffer, area, 0, x, &cut(&text, room), theme.style(Role::Heading));
}
