//! The tabs in the last line. A narrow terminal shows only numbers and the title of the open pane.
//!
//! ```text
//! 1 Pods  2 Pod  3 Kubelet  4 Node  5 Events  6 Runbook
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::pane_table::PaneId;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::put;

/// Narrowest terminal with all titles.
const NAMED: u16 = 80;

/// Each tab with its first column and the column after it.
pub fn places(area: Rect, shown: PaneId) -> Vec<(PaneId, u16, u16)> {
    let width = |(i, pane): (usize, &PaneId)| {
        let name = if area.width >= NAMED || *pane == shown { pane.title() } else { "" };
        (*pane, (i + 1).to_string().len() as u16 + name.len() as u16)
    };
    let tabs: Vec<(PaneId, u16)> = PaneId::ALL.iter().enumerate().map(width).collect();
    let all = tabs.iter().map(|(_, cells)| cells + 1).sum::<u16>().saturating_sub(1);
    let mut x = area.right().saturating_sub(all);
    let mut place = |(pane, cells)| {
        let from = x;
        x += cells + 1;
        (pane, from, from + cells)
    };
    tabs.into_iter().map(&mut place).collect()
}

/// Draws the tabs; returns their first column.
pub fn draw(buffer: &mut Buffer, area: Rect, shown: PaneId, theme: &Theme) -> u16 {
    let places = places(area, shown);
    for (i, (pane, from, to)) in places.iter().enumerate() {
        let number = (i + 1).to_string();
        let named = usize::from(to - from) > number.len();
        let (key, name) = match *pane == shown {
            true => (Role::Selected, Role::Selected),
            false => (Role::Key, Role::Plain),
        };
        let x = put(buffer, *from, area.y, area.right(), &number, theme.style(key));
        put(buffer, x, area.y, area.right(), if named { pane.title() } else { "" }, theme.style(name));
    }
    start(area, shown)
}

/// First column of the tabs.
pub fn start(area: Rect, shown: PaneId) -> u16 {
    places(area, shown).first().map_or(area.right(), |(_, from, _)| *from)
}
