//! Owns the pane of the kubelet: which sections it has, and which stand side by side.
//! It must not compute: the view does.
//!
//! ```text
//! SYNC LOOP            kubelet_loop.rs
//! PLEG                 kubelet_pleg.rs
//! RUNTIME OPERATIONS   kubelet_calls.rs
//! POD WORKERS, STARTS  kubelet_loop.rs
//! SETTINGS             kubelet_settings.rs
//! ```

pub mod operations;
pub mod pleg;
pub mod settings;
pub mod sync_loop;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::screen_state::Picture;
use crate::tui::theme::Theme;
use crate::tui::widgets::scroll::{self, Cursor, View};
use crate::tui::widgets::sections::beside;

/// Narrowest column of sections.
const NARROWEST: usize = 78;

/// What the user has done here.
#[derive(Clone, Debug, Default)]
pub struct KubeletPane {
    /// The selected line.
    pub cursor: Cursor,
}

/// Draws the pane.
pub fn draw(buffer: &mut Buffer, area: Rect, picture: &Picture, pane: &mut KubeletPane, theme: &Theme) -> View {
    let (view, now) = (picture.kubelet(), picture.moment.now);
    let cells = usize::from(area.width);
    let mut lines = sync_loop::feeds(view, now, cells, theme);
    lines.extend(pleg::lines(view, now, cells, theme));
    lines.extend(beside(
        cells,
        NARROWEST,
        |cells| {
            let mut left = operations::lines(view, cells, theme);
            left.extend(sync_loop::workers(view, cells, theme));
            left
        },
        |cells| settings::lines(view, cells, theme),
    ));
    scroll::marked(buffer, area, &lines, &mut pane.cursor, theme)
}
