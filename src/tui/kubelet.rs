//! Owns the pane of the kubelet: what feeds its sync loop, how its relists and its calls do.
//! It must not compute: the view does.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::Picture;
use super::scroll::{self, Cursor, View};
use super::theme::Theme;

/// What the user has done here.
#[derive(Clone, Debug, Default)]
pub struct KubeletPane {
    /// The selected line.
    pub cursor: Cursor,
}

/// Draws the pane.
pub fn draw(buffer: &mut Buffer, area: Rect, _picture: &Picture, pane: &mut KubeletPane, theme: &Theme) -> View {
    scroll::marked(buffer, area, &[Line::raw("the kubelet")], &mut pane.cursor, theme)
}
