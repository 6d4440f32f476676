//! Owns the lines that say what is wrong with the node: what was found there, and alarms.
//! It must not take more than four lines, nor leave one uncounted.
//!
//! ```text
//! ✗ the container runtime has not answered for 34s, call in flight for 4s [runtime.unresponsive]
//! ✗ the node: CNI is not ready [node.network-not-ready]
//! ✗ and 2 more
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::screen_state::Picture;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{put, width};
use crate::view::NodeFault;

/// Told in full.
const SHOWN: usize = 3;

/// Lines wanted.
pub fn height(picture: &Picture) -> usize {
    picture.header.faults.len().min(SHOWN + 1)
}

/// Draws them into the rows there are.
pub fn draw(buffer: &mut Buffer, area: Rect, picture: &Picture, theme: &Theme) {
    let (rows, faults) = (usize::from(area.height), &picture.header.faults);
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
        // The cause is what leads on: the sentence gives way to it.
        let end = area.right().saturating_sub(width(&fault.cause) as u16 + 1).max(area.right() / 2);
        let x = put(buffer, area.x, y, end, &format!("✗ {}", fault.text), theme.style(Role::Trouble));
        put(buffer, x + 1, y, area.right(), &fault.cause, theme.style(Role::Muted));
    }
}
