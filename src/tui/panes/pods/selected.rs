//! The two lines below the table: cause of the selected pod, next event and status reason.
//!
//! ```text
//! shop/web-6d4cf56db6-x2xkq: The container exceeds its memory limit [run.oom-killed]
//! restart in 12s · exit 137 (OOMKilled); back-off 20s
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::diagnose::HEALTHY;
use crate::text::cells::width;
use crate::tui::panes::pods::PodsPane;
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{pod_name, put, put_line};
use crate::view::{Column, Row};

/// Lines.
const LINES: usize = 2;

/// Number of lines.
pub fn height(screen: &ScreenState) -> usize {
    if screen.shown.is_empty() { 0 } else { LINES }
}

/// Draws the lines.
pub fn draw(buffer: &mut Buffer, area: Rect, screen: &ScreenState, pane: &PodsPane, theme: &Theme) {
    let Some(row) = screen.row(pane.cursor.index).filter(|_| area.height > 0) else { return };
    let cells = usize::from(area.width);
    let cause = if row.cause.is_empty() || row.cause == HEALTHY { String::new() } else { format!(" [{}]", row.cause) };
    // The cause is more important than the whole name.
    let room = cells.saturating_sub(width(&row.why) + width(&cause) + 2).max(cells / 4);
    let has_name = is_name_whole(screen, row, area.width, pane);
    let name = if has_name { String::new() } else { pod_name(&row.namespace, &row.name, room) };
    let colon = if name.is_empty() || row.why.is_empty() { "" } else { ": " };
    let mut x = put(buffer, area.x, area.y, area.right(), &format!("{name}{colon}"), theme.style(Role::Heading));
    let end = area.right().saturating_sub(width(&cause) as u16).max(x);
    x = put(buffer, x, area.y, end, &row.why, theme.style(theme.health(row.health)));
    put(buffer, x, area.y, area.right(), &cause, theme.style(Role::Muted));
    let below = [row.next.as_str(), row.reason.as_str()];
    let below = below.into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join(" · ");
    put_line(buffer, area, 1, &below.into());
}

fn is_name_whole(screen: &ScreenState, row: &Row, cells: u16, pane: &PodsPane) -> bool {
    let columns = pane.visible_columns(cells, screen);
    let column = columns.iter().find(|(c, _)| *c == Column::Name).map_or(0, |(_, cells)| *cells);
    width(&row.namespace) + 1 + width(&row.name) <= column
}
