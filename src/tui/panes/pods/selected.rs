//! Owns the two lines under the table: why the selected pod stands where it stands, and below what comes next and what
//! the sources say.
//! It must not take more, nor fewer where a pod is shown: moving the selection moves nothing else.
//!
//! ```text
//! shop/web-6d4cf56db6-x2xkq: The container exceeds its memory limit [run.oom-killed]
//! restart in 12s · exit 137 (OOMKilled); back-off 20s
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::diagnose::HEALTHY;
use crate::tui::app::App;
use crate::tui::panes::pods::columns::columns;
use crate::tui::screen_state::Picture;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{pod_name, put, put_line, width};
use crate::view::{Column, Row};

/// Lines.
const LINES: usize = 2;

/// Lines wanted.
pub fn height(picture: &Picture) -> usize {
    if picture.shown.is_empty() { 0 } else { LINES }
}

/// Draws the lines.
pub fn draw(buffer: &mut Buffer, area: Rect, picture: &Picture, app: &App, theme: &Theme) {
    let Some(row) = picture.row(app.cursor.index).filter(|_| area.height > 0) else { return };
    let cells = usize::from(area.width);
    let cause = if row.cause.is_empty() || row.cause == HEALTHY { String::new() } else { format!(" [{}]", row.cause) };
    // The table may have cut the name; why is worth more than the whole of it.
    let room = cells.saturating_sub(width(&row.why) + width(&cause) + 2).max(cells / 4);
    let has_name = table_has_name(picture, row, area.width, &app.columns);
    let name = if has_name { String::new() } else { pod_name(&row.namespace, &row.name, room) };
    let colon = if name.is_empty() || row.why.is_empty() { "" } else { ": " };
    let mut x = put(buffer, area.x, area.y, area.right(), &format!("{name}{colon}"), theme.style(Role::Heading));
    let end = area.right().saturating_sub(width(&cause) as u16).max(x);
    x = put(buffer, x, area.y, end, &row.why, theme.style(theme.trouble(row.health)));
    put(buffer, x, area.y, area.right(), &cause, theme.style(Role::Muted));
    let below = [row.next.as_str(), row.reason.as_str()];
    let below = below.into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join(" · ");
    put_line(buffer, area, 1, &below.into());
}

fn table_has_name(picture: &Picture, row: &Row, cells: u16, wanted: &[Column]) -> bool {
    let columns = columns(usize::from(cells.saturating_sub(1)), picture.widest, wanted);
    let column = columns.iter().find(|(c, _)| *c == Column::Name).map_or(0, |(_, cells)| *cells);
    width(&row.namespace) + 1 + width(&row.name) <= column
}
