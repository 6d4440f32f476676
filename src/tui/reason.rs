//! Owns the lines above the footer with what is the matter with the selected pod, where the table has no room for it.
//! It must not take more than two lines.
//!
//! ```text
//! shop/web-6d4cf56db6-x2xkq · restart in 12s · exit 137 (OOMKilled); back-off 20s
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Picture;
use super::app::App;
use super::cells::{cut, put, width, wrap};
use super::columns::{Column, columns};
use super::theme::{Role, Theme};

/// Most lines.
const LINES: usize = 2;

fn text(picture: &Picture, app: &App, cells: u16) -> String {
    let Some(row) = picture.row(app.index) else { return String::new() };
    let columns = columns(usize::from(cells.saturating_sub(1)), picture.widest);
    let has = |column| columns.iter().find(|(c, _)| *c == column).map(|(_, cells)| *cells);
    let fits = has(Column::Reason).is_some_and(|cells| width(&row.reason) <= cells);
    let name = format!("{}/{}", row.namespace, row.name);
    let name = if has(Column::Name).is_some_and(|cells| width(&name) <= cells) { "" } else { name.as_str() };
    let next = if has(Column::Next).is_some() { "" } else { row.next.as_str() };
    let reason = if fits { "" } else { row.reason.as_str() };
    [name, next, reason].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// Lines wanted. Where reasons have no column it is always two, so that moving the selection moves nothing else.
pub fn height(picture: &Picture, app: &App, cells: u16) -> usize {
    let columns = columns(usize::from(cells.saturating_sub(1)), picture.widest);
    let has_reason = columns.iter().any(|(c, _)| *c == Column::Reason);
    match picture.shown.is_empty() {
        true => 0,
        false if has_reason => wrap(&text(picture, app, cells), usize::from(cells)).len().clamp(1, LINES),
        false => LINES,
    }
}

/// Draws the lines.
pub fn draw(buffer: &mut Buffer, area: Rect, picture: &Picture, app: &App, theme: &Theme) {
    let lines = wrap(&text(picture, app, area.width), usize::from(area.width));
    let rows = usize::from(area.height);
    for (i, y) in (0..rows.min(lines.len())).zip(area.y..area.bottom()) {
        let more = i + 1 == rows && lines.len() > rows;
        let line = if more { format!("{}…", cut(&lines[i], usize::from(area.width) - 1)) } else { lines[i].clone() };
        put(buffer, area.x, y, area.right(), &line, theme.style(Role::Plain));
    }
}
