//! Owns the pane of the node: which sections it has, and which stand side by side.
//! It must not compute: the view does.
//!
//! ```text
//! FAULTS, CONDITIONS            node_state.rs
//! RESOURCES                     node_room.rs
//! THRESHOLDS, DISKS, PRESSURE   node_room.rs
//! OOM KILLS, RUNTIME, CERTIFICATES   node_state.rs
//! EVICTED FIRST, KILLED FIRST, PROCESSORS   node_order.rs
//! ```

pub mod capacity;
pub mod order;
pub mod state;

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
pub struct NodePane {
    /// The selected line.
    pub cursor: Cursor,
}

/// Draws the pane.
pub fn draw(buffer: &mut Buffer, area: Rect, picture: &Picture, pane: &mut NodePane, theme: &Theme) -> View {
    let (view, now) = (picture.node(), picture.moment.now);
    let cells = usize::from(area.width);
    let mut lines = state::faults(&picture.header.faults, cells, theme);
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
    scroll::marked(buffer, area, &lines, &mut pane.cursor, theme)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;
    use crate::tui::{events, kubelet};
    use crate::view::{Filter, Sort};

    #[test]
    fn every_pane_is_drawn_at_every_size() {
        let mut session = Session::demo().unwrap();
        session.seek(session.span().0 + crate::time::TimeDelta::seconds(225)).unwrap();
        let picture = Picture::new(session.moment(), "demo", &Filter::default(), Sort::default());
        let theme = Theme::new(true, false);
        let sizes = (1..24).chain([40, 79, 80, 100, 159, 200]);
        for (width, height) in sizes.flat_map(|w| [1, 2, 3, 4, 5, 13, 14, 15, 24, 60].map(|h| (w, h))) {
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
            let area = buffer.area;
            let view = draw(&mut buffer, area, &picture, &mut NodePane::default(), &theme);
            assert!(view.page >= 1);
            kubelet::draw(&mut buffer, area, &picture, &mut kubelet::KubeletPane::default(), &theme);
            let mut pane = events::EventsPane { words: "warning".into(), cursor: Cursor { index: usize::MAX, top: 0 } };
            events::draw(&mut buffer, area, &picture, &mut pane, &theme);
        }
    }
}
