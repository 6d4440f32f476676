//! Owns the tabs at the end of the last line: which panes there are, and which of them is shown.
//! It must not take the room of the keys: where there is little, only numbers and the name of the pane that is shown stay.
//!
//! ```text
//! 1 Pods  2 Pod  3 Kubelet  4 Node  5 Events  6 Runbook
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::panes::Pane;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::put;

/// Width from which every tab has its name.
const NAMED: u16 = 80;

/// Each tab with the columns that it takes in the line.
pub fn places(area: Rect, shown: Pane) -> Vec<(Pane, u16, u16)> {
    let width = |(i, pane): (usize, &Pane)| {
        let name = if area.width >= NAMED || *pane == shown { pane.name() } else { "" };
        (*pane, (i + 1).to_string().len() as u16 + name.len() as u16)
    };
    let tabs: Vec<(Pane, u16)> = Pane::ALL.iter().enumerate().map(width).collect();
    let all = tabs.iter().map(|(_, cells)| cells + 1).sum::<u16>().saturating_sub(1);
    let mut x = area.right().saturating_sub(all);
    let mut place = |(pane, cells)| {
        let from = x;
        x += cells + 1;
        (pane, from, from + cells)
    };
    tabs.into_iter().map(&mut place).collect()
}

/// Draws them; gives the column where they begin.
pub fn draw(buffer: &mut Buffer, area: Rect, shown: Pane, theme: &Theme) -> u16 {
    let places = places(area, shown);
    for (i, (pane, from, to)) in places.iter().enumerate() {
        let number = (i + 1).to_string();
        let named = usize::from(to - from) > number.len();
        let (key, name) = match *pane == shown {
            true => (Role::Selected, Role::Selected),
            false => (Role::Key, Role::Plain),
        };
        let x = put(buffer, *from, area.y, area.right(), &number, theme.style(key));
        put(buffer, x, area.y, area.right(), if named { pane.name() } else { "" }, theme.style(name));
    }
    begin(area, shown)
}

/// The column where they begin.
pub fn begin(area: Rect, shown: Pane) -> u16 {
    places(area, shown).first().map_or(area.right(), |(_, from, _)| *from)
}
