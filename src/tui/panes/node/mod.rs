//! The Node pane: faults, conditions, resources, thresholds, eviction order.
//!
//! ```text
//! FAULTS, CONDITIONS            state.rs
//! RESOURCES                     capacity.rs
//! THRESHOLDS, DISKS, PRESSURE   capacity.rs
//! OOM KILLS, RUNTIME, CERTIFICATES   state.rs
//! EVICTED FIRST, KILLED FIRST, PROCESSORS   order.rs
//! ```

pub mod capacity;
pub mod order;
pub mod state;

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
pub struct NodePane {
    /// The selected line.
    pub cursor: Cursor,
}

/// Keys of the pane.
pub const KEYS: &[Binding] = &[
    Binding::new(Action::Back, BACK, HERE, "back", "back to the table"),
    Binding::new(Action::Copy, &[char_key('y')], HERE, "copy", "copy the selected line"),
];
const HERE: &[Context] = &[Context::Pane(PaneId::Node)];

impl Pane for NodePane {
    fn context(&self) -> Context {
        Context::Pane(PaneId::Node)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &DrawContext<'_>) -> View {
        let (screen, theme) = (context.screen, context.theme);
        let (view, now) = (screen.node(), screen.node_view.now);
        let cells = usize::from(area.width);
        let mut lines = state::faults(&screen.header.faults, cells, theme);
        lines.extend(state::conditions(view, now, cells, theme));
        lines.extend(capacity::resources(view, cells, theme));
        lines.extend(beside(
            cells,
            NARROWEST,
            |cells| capacity::bounds(view, now, cells, theme),
            |cells| state::others(view, now, cells, theme),
        ));
        lines.extend(beside(
            cells,
            NARROWEST,
            |cells| order::evicted(view, cells, theme),
            |cells| order::killed(view, cells, theme),
        ));
        lines.extend(order::busy(view, cells, theme));
        scroll::marked(buffer, area, &lines, &mut self.cursor, theme)
    }

    fn position(&self) -> usize {
        self.cursor.index
    }

    fn select(&mut self, row: usize, _screen: &ScreenState) {
        self.cursor.index = row;
    }
}
