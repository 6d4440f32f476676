//! The layout of a frame: header, open pane or help, footer.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::App;
use crate::tui::help;
use crate::tui::panes::DrawContext;
use crate::tui::theme::{Role, Theme, glyphs};
use crate::tui::widgets::cells::{put, split_rows};
use crate::tui::widgets::footer::{self, Footer};
use crate::tui::widgets::header;
use crate::tui::widgets::scroll::View;

/// Smallest terminal: columns and lines.
pub const SMALLEST: (u16, u16) = (60, 15);

impl App {
    /// Draws a frame.
    pub fn draw(&mut self, width: u16, height: u16) -> Buffer {
        self.size = (width, height);
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        let theme = self.theme;
        self.draw_frame(&mut buffer, &theme);
        if theme.ascii {
            glyphs::to_ascii(&mut buffer);
        }
        buffer
    }

    fn draw_frame(&mut self, buffer: &mut Buffer, theme: &Theme) {
        let all = buffer.area;
        if all.width < SMALLEST.0 || all.height < SMALLEST.1 {
            let text = format!("too small: {}×{}, needs {}×{}", all.width, all.height, SMALLEST.0, SMALLEST.1);
            put(buffer, all.x, all.y, all.right(), &text, theme.style(Role::Heading));
            return;
        }
        self.view = View::default();
        let (body, foot) = split_rows(all, all.height - 1);
        if let Some(screen) = &mut self.screen {
            screen.secrets = self.secrets;
            self.draw_body(buffer, body, theme);
            self.copy();
        } else {
            put(buffer, all.x, all.y, all.right(), "no data yet", theme.style(Role::Muted));
        }
        let pane = self.panes.get(self.pane);
        let footer = Footer {
            pane: self.pane,
            context: self.context(),
            pane_context: pane.context(),
            mode: &self.mode,
            help: self.help,
            words: pane.words(),
            message: self.message.as_ref(),
            position: self.view.position,
            screen: self.screen.as_ref(),
            keymap: &self.keymap,
        };
        footer::draw(buffer, foot, &footer, theme);
    }

    fn draw_body(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let context = self.pane_context();
        let Some(screen) = &self.screen else { return };
        if self.help {
            self.view = help::draw(buffer, area, (&self.keymap, context), &mut self.help_scroll, theme);
            return;
        }
        let pane = self.panes.get_mut(self.pane);
        let mut body = area;
        if !pane.has_header() {
            let (head, rest) = split_rows(area, 1);
            header::draw(buffer, head, screen, self.paused, theme);
            body = rest;
        }
        let context = DrawContext { screen, mode: &self.mode, paused: self.paused, theme };
        self.view = pane.draw(buffer, body, &context);
    }
}
