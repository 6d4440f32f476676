//! Faults of the node, at most four lines.
//!
//! ```text
//! ✗ the container runtime has not answered for 34s, call in flight for 4s [runtime.unresponsive]
//! ✗ the node: CNI is not ready [node.network-not-ready]
//! ✗ and 2 more
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::text::cells::width;
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::put;
use crate::view::NodeFault;

/// Most faults on the screen.
const SHOWN: usize = 3;

/// Number of lines.
pub fn height(screen: &ScreenState) -> usize {
    screen.header.faults.len().min(SHOWN + 1)
}

/// Draws as many faults as there are rows.
pub fn draw(buffer: &mut Buffer, area: Rect, screen: &ScreenState, theme: &Theme) {
    let (rows, faults) = (usize::from(area.height), &screen.header.faults);
    let shown = match faults.len() <= rows.min(SHOWN) {
        true => faults.len(),
        false => rows.saturating_sub(1).min(SHOWN),
    };
    let more = (shown < faults.len()).then(|| NodeFault {
        text: format!("and {} more", faults.len() - shown),
        cause: String::new(),
        about: String::new(),
    });
    for (y, fault) in (area.y..area.bottom()).zip(faults.iter().take(shown).cloned().chain(more)) {
        // The cause is kept whole; the sentence is cut.
        let end = area.right().saturating_sub(width(&fault.cause) as u16 + 1).max(area.right() / 2);
        let x = put(buffer, area.x, y, end, &format!("✗ {}", fault.text), theme.style(Role::Error));
        put(buffer, x + 1, y, area.right(), &fault.cause, theme.style(Role::Muted));
    }
}
