//! Owns the pane of events: one stream over the node, repeats folded.
//! It must not compute: the view does.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::Picture;
use super::scroll::{self, Cursor, View};
use super::theme::Theme;

/// What the user has done here.
#[derive(Clone, Debug, Default)]
pub struct EventsPane {
    /// What the events shown must have.
    pub words: String,
    /// The selected event.
    pub cursor: Cursor,
}

/// Draws the pane.
pub fn draw(buffer: &mut Buffer, area: Rect, _picture: &Picture, pane: &mut EventsPane, theme: &Theme) -> View {
    scroll::marked(buffer, area, &[Line::raw("events")], &mut pane.cursor, theme)
}
