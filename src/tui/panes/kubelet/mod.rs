//! The Kubelet pane: sync loop, PLEG, runtime operations, pod workers, settings.
//!
//! ```text
//! SYNC LOOP            sync_loop.rs
//! PLEG                 pleg.rs
//! RUNTIME OPERATIONS   operations.rs
//! POD WORKERS, STARTS  sync_loop.rs
//! SETTINGS             settings.rs
//! ```

pub mod operations;
pub mod pleg;
pub mod settings;
pub mod sync_loop;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::keys::press::BACK;
use crate::tui::keys::{Action, Binding, Context, char_key};
use crate::tui::pane_table::PaneId;
use crate::tui::panes::{DrawContext, Pane};
use crate::tui::screen_state::ScreenState;
use crate::tui::widgets::scroll::{self, Cursor, View};
use crate::tui::widgets::sections::beside;

/// Narrowest column of sections.
const NARROWEST: usize = 78;

/// State of the pane.
#[derive(Clone, Debug, Default)]
pub struct KubeletPane {
    /// The selected line.
    pub cursor: Cursor,
}

/// Keys of the pane.
pub const KEYS: &[Binding] = &[
    Binding::new(Action::Back, BACK, HERE, "back", "back to the table"),
    Binding::new(Action::Copy, &[char_key('y')], HERE, "copy", "copy the selected line"),
];
const HERE: &[Context] = &[Context::Pane(PaneId::Kubelet)];

impl Pane for KubeletPane {
    fn context(&self) -> Context {
        Context::Pane(PaneId::Kubelet)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &DrawContext<'_>) -> View {
        let (screen, theme) = (context.screen, context.theme);
        let (view, now) = (screen.kubelet(), screen.node_view.now);
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
        scroll::marked(buffer, area, &lines, &mut self.cursor, theme)
    }

    fn position(&self) -> usize {
        self.cursor.index
    }

    fn select(&mut self, row: usize, _screen: &ScreenState) {
        self.cursor.index = row;
    }
}
