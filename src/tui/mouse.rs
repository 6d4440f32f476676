//! The mouse: the wheel scrolls, a click selects, sorts or opens a tab, a double click opens.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;

use crate::tui::app::App;
use crate::tui::input::LoopAction;
use crate::tui::keys::Action;
use crate::tui::pane_table::PaneId;
use crate::tui::widgets::tabs;

/// Rows that one notch of the wheel scrolls.
const WHEEL_ROWS: isize = 3;

impl App {
    /// Handles a mouse event; `double` for the second click at one place.
    pub fn mouse(&mut self, event: &MouseEvent, double: bool) -> LoopAction {
        match event.kind {
            MouseEventKind::ScrollDown => self.move_by(WHEEL_ROWS),
            MouseEventKind::ScrollUp => self.move_by(-WHEEL_ROWS),
            MouseEventKind::Down(MouseButton::Left) if !self.help => {
                return self.click(event.column, event.row, double);
            }
            _ => return LoopAction::Idle,
        }
        LoopAction::Draw
    }

    fn click(&mut self, x: u16, y: u16, double: bool) -> LoopAction {
        let (width, height) = self.size;
        if y + 1 == height {
            let line = Rect { x: 0, y, width, height: 1 };
            let tab = tabs::places(line, self.pane).into_iter().find(|(_, from, to)| (*from..*to).contains(&x));
            // The input line covers the tabs.
            return match tab.filter(|_| !self.mode.is_typing()) {
                Some((pane, ..)) => self.act(Action::Go(pane)),
                None => LoopAction::Idle,
            };
        }
        let Some(rows) = self.view.rows else { return LoopAction::Idle };
        if self.pane == PaneId::Pods && rows.y == y + 1 {
            let column = self.screen.as_ref().and_then(|screen| self.panes.pods.heading_at(x, screen));
            if let Some(column) = column {
                self.panes.pods.sort_by(column);
                self.search();
                return LoopAction::Draw;
            }
        }
        let Some(row) = rows.at(y) else { return LoopAction::Idle };
        if let Some(screen) = &self.screen {
            self.panes.get_mut(self.pane).select(row, screen);
        }
        if double && !self.mode.is_typing() { self.act(Action::Open) } else { LoopAction::Draw }
    }
}
