//! Owns how a frame becomes bytes: only what differs from the frame before, in one piece.
//! It must not write: a frame that cannot be handed over must not have been made.

use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Plain style, clear, cursor hidden.
const WHOLE: &[u8] = b"\x1b[0m\x1b[2J\x1b[?25l";

/// The frame before.
#[derive(Debug)]
pub struct Painter {
    last: Buffer,
    whole: bool,
}

impl Default for Painter {
    fn default() -> Self {
        Self::new()
    }
}

impl Painter {
    /// Nothing is drawn yet.
    pub fn new() -> Self {
        // With NO_COLOR set crossterm writes `ESC[;m` for every colour, which also ends bold and reverse; the theme
        // has already left the colours out.
        crossterm::style::force_color_output(true);
        Self { last: Buffer::empty(Rect::ZERO), whole: true }
    }

    /// The next frame is drawn whole, on a cleared screen.
    pub fn forget(&mut self) {
        self.whole = true;
    }

    /// The bytes that bring the screen from the frame before to `next`; None when nothing differs.
    pub fn paint(&mut self, next: Buffer) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        if self.whole || self.last.area != next.area {
            bytes.extend_from_slice(WHOLE);
            self.last = Buffer::empty(next.area);
            self.whole = false;
        }
        let differs = self.last.diff(&next);
        if !differs.is_empty() {
            // Writing to memory cannot fail.
            let _ = CrosstermBackend::new(&mut bytes).draw(differs.into_iter());
        }
        self.last = next;
        (!bytes.is_empty()).then_some(bytes)
    }
}
