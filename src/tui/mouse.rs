//! Owns what the mouse does: the wheel scrolls, a click selects, sorts or goes to a tab, a double click opens.
//! It must not know the time: whether two clicks are one double click is said by the loop.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;

use crate::tui::app::{App, Flow};
use crate::tui::keys::Action;
use crate::tui::panes::Pane;
use crate::tui::panes::pods::columns::columns;
use crate::tui::widgets::tabs;
use crate::view::{Column, Sort};

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
        if let Some(column) = self.heading_at(x, y) {
            self.sort = match self.sort.by == Some(column) {
                true => Sort { reversed: !self.sort.reversed, ..self.sort },
                false => Sort { by: Some(column), reversed: false },
            };
            self.refilter();
            return Flow::Draw;
        }
        let Some(row) = self.view.rows.and_then(|rows| rows.at(y)) else { return Flow::Idle };
        self.point_at(row);
        if double && !self.typing.is_on() { self.act(Action::Open) } else { Flow::Draw }
    }
    /// The column of the table whose heading is there.
    fn heading_at(&self, x: u16, y: u16) -> Option<Column> {
        let picture = self.picture.as_ref().filter(|_| self.pane == Pane::Pods)?;
        if self.view.rows?.y != y + 1 {
            return None;
        }
        let columns = columns(usize::from(self.size.0.saturating_sub(1)), picture.widest, &self.columns);
        let mut from = 1;
        columns.into_iter().find_map(|(column, cells)| {
            let here = (from..from + cells).contains(&usize::from(x));
            from += cells + 1;
            here.then_some(column)
        })
    }
}
