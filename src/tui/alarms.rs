//! Owns the lines that say what is alarming about the node.
//! It must not take more than four lines, nor leave an alarm uncounted.
//!
//! ```text
//! ✗ the container runtime has not answered for 34s, call in flight for 4s
//! ✗ and 2 more alarms
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Picture;
use super::cells::put;
use super::theme::{Role, Theme};

/// Alarms shown in full.
const SHOWN: usize = 3;

/// Lines wanted.
pub fn height(picture: &Picture) -> usize {
    picture.header.alarms.len().min(SHOWN + 1)
}

/// Draws the alarms into the rows there are.
pub fn draw(buffer: &mut Buffer, area: Rect, picture: &Picture, theme: &Theme) {
    let (rows, alarms) = (usize::from(area.height), &picture.header.alarms);
    let shown = match alarms.len() <= rows.min(SHOWN) {
        true => alarms.len(),
        false => rows.saturating_sub(1).min(SHOWN),
    };
    let more = (shown < alarms.len()).then(|| format!("and {} more alarms", alarms.len() - shown));
    for (y, text) in (area.y..area.bottom()).zip(alarms.iter().take(shown).cloned().chain(more)) {
        put(buffer, area.x, y, area.right(), &format!("✗ {text}"), theme.style(Role::Trouble));
    }
}
