//! Owns the pane of the node: conditions, resources, pressure, order of eviction.
//! It must not compute: the view does.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::Picture;
use super::scroll::{self, Cursor, View};
use super::theme::Theme;

/// What the user has done here.
#[derive(Clone, Debug, Default)]
pub struct NodePane {
    /// The selected line.
    pub cursor: Cursor,
}

/// Draws the pane.
pub fn draw(buffer: &mut Buffer, area: Rect, _picture: &Picture, pane: &mut NodePane, theme: &Theme) -> View {
    scroll::marked(buffer, area, &[Line::raw("the node")], &mut pane.cursor, theme)
}
