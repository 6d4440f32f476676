//! Owns what the mouse does: the wheel scrolls, a click selects or goes to a tab, a double click opens.
//! It must not know the time: whether two clicks are one double click is said by the loop.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;

use super::app::{App, Flow};
use super::keys::Action;
use super::tabs;

/// Rows of one notch of the wheel.
const NOTCH: isize = 3;

impl App {
    /// Takes a mouse event in; `double` when it is the second click at one place.
    pub fn mouse(&mut self, event: &MouseEvent, double: bool) -> Flow {
        match event.kind {
            MouseEventKind::ScrollDown => self.move_by(NOTCH),
            MouseEventKind::ScrollUp => self.move_by(-NOTCH),
            MouseEventKind::Down(MouseButton::Left) if !self.help => {
                return self.click(event.column, event.row, double);
            }
            _ => return Flow::Idle,
        }
        Flow::Draw
    }

    fn click(&mut self, x: u16, y: u16, double: bool) -> Flow {
        let (width, height) = self.size;
        if y + 1 == height {
            let line = Rect { x: 0, y, width, height: 1 };
            // While something is typed, the line has no tabs.
            let tab = tabs::places(line, self.pane).into_iter().find(|(_, from, to)| (*from..*to).contains(&x));
            return match tab.filter(|_| !self.typing.is_on()) {
                Some((pane, ..)) => self.act(Action::Go(pane)),
                None => Flow::Idle,
            };
        }
        let Some(row) = self.view.rows.and_then(|rows| rows.at(y)) else { return Flow::Idle };
        self.point_at(row);
        if double && !self.typing.is_on() { self.act(Action::Open) } else { Flow::Draw }
    }
}
