//! The panes of the screen: keys, drawing and state of a pane are in its folder, and it implements [`Pane`].

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub mod events;
pub mod kubelet;
pub mod log;
pub mod node;
pub mod pod;
pub mod pods;
pub mod runbook;

use crate::container_log::LogCommand;
use crate::tui::input::InputMode;
use crate::tui::keys::{Action, Context};
use crate::tui::pane_table::{PaneId, pane_table};
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::Theme;
use crate::tui::widgets::scroll::View;

/// What a frame of a pane is drawn from, besides the state of the pane.
pub struct DrawContext<'a> {
    /// The node at one instant.
    pub screen: &'a ScreenState,
    /// What keys do now.
    pub mode: &'a InputMode,
    /// The screen does not follow the feed.
    pub paused: bool,
    /// Colors and glyphs.
    pub theme: &'a Theme,
}

/// What remains to be done after a pane handled an action.
#[derive(Debug)]
pub enum PaneOutcome {
    /// Nothing.
    Done,
    /// The action is not one of this pane.
    Unhandled,
    /// Open another pane.
    Open(PaneId),
    /// Close this pane and return to another one, with its state unchanged.
    Return(PaneId),
    /// Send a command to the log reader.
    Log(LogCommand),
    /// Show a message in the footer; true for an error.
    Message(&'static str, bool),
}

impl From<Option<LogCommand>> for PaneOutcome {
    fn from(command: Option<LogCommand>) -> Self {
        command.map_or(PaneOutcome::Done, PaneOutcome::Log)
    }
}

/// A pane: its state, its keys, how it is drawn.
pub trait Pane {
    /// The key context while the pane is open.
    fn context(&self) -> Context;

    /// The pane draws the header of the screen itself.
    fn has_header(&self) -> bool {
        false
    }

    /// Draws the pane; returns the visible part of what scrolls.
    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &DrawContext<'_>) -> View;

    /// Applies a new state of the node.
    fn update(&mut self, _screen: &mut ScreenState) {}

    /// Carries out an action.
    fn act(&mut self, _action: Action, _screen: Option<&mut ScreenState>) -> PaneOutcome {
        PaneOutcome::Unhandled
    }

    /// The filter or search term; empty where a pane has none.
    fn words(&self) -> &str {
        ""
    }

    /// The filter or search term, to be edited; None where a pane has none.
    fn words_mut(&mut self) -> Option<&mut String> {
        None
    }

    /// Applies the edited term.
    fn search(&mut self, _screen: Option<&mut ScreenState>) {}

    /// The selected row, or the first visible line.
    fn position(&self) -> usize;

    /// Selects a row, or scrolls to a line; `draw` limits it to the last one.
    fn select(&mut self, row: usize, screen: &ScreenState);

    /// Moves to a row; `usize::MAX` is the end.
    fn move_to(&mut self, row: usize, screen: &ScreenState) -> PaneOutcome {
        self.select(row, screen);
        PaneOutcome::Done
    }

    /// Moves `step` rows down.
    fn move_by(&mut self, step: isize, screen: &ScreenState) -> PaneOutcome {
        self.move_to(self.position().saturating_add_signed(step), screen)
    }

    /// Moves one page of `rows` rows down or up.
    fn page_by(&mut self, down: bool, rows: usize, screen: &ScreenState) -> PaneOutcome {
        self.move_by(if down { rows as isize } else { -(rows as isize) }, screen)
    }

    /// The text that the copy key copies; `line` is the selected line.
    fn copy_text(&self, line: Option<&str>) -> Option<String> {
        line.map(str::to_owned)
    }
}

macro_rules! define_panes {
    ($($id:ident, $field:ident, $pane:ty, $key:literal, $title:literal, $command:literal, $help:literal;)*) => {
        /// The state of all panes.
        #[derive(Debug, Default)]
        #[allow(missing_docs)]
        pub struct Panes {
            $(pub $field: $pane),*
        }

        impl Panes {
            /// The pane of that name.
            pub fn get(&self, id: PaneId) -> &dyn Pane {
                match id {
                    $(PaneId::$id => &self.$field),*
                }
            }

            /// The pane of that name, to be changed.
            pub fn get_mut(&mut self, id: PaneId) -> &mut dyn Pane {
                match id {
                    $(PaneId::$id => &mut self.$field),*
                }
            }
        }
    };
}

pane_table!(define_panes);

impl Panes {
    /// Applies a new state of the node to every pane.
    pub fn update(&mut self, screen: &mut ScreenState) {
        PaneId::ALL.iter().for_each(|id| self.get_mut(*id).update(screen));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::RecordedSession;
    use crate::time::TimeDelta;
    use crate::tui::Options;
    use crate::tui::widgets::scroll::Cursor;

    #[test]
    fn every_pane_can_be_drawn_at_every_size() {
        let mut session = RecordedSession::demo().unwrap();
        session.seek(session.span().0 + TimeDelta::seconds(225)).unwrap();
        let mut screen = ScreenState::new(session.moment(), "demo");
        let theme = Theme::new(true, false);
        let sizes = (1..24).chain([40, 79, 80, 100, 159, 200]);
        for (width, height) in sizes.flat_map(|w| [1, 2, 3, 4, 5, 13, 14, 15, 24, 60].map(|h| (w, h))) {
            let mut panes = Panes { pods: pods::PodsPane::new(&Options::default()), ..Panes::default() };
            panes.events.words = "warning".into();
            panes.events.cursor = Cursor { index: usize::MAX, top: 0 };
            panes.update(&mut screen);
            let context = DrawContext { screen: &screen, mode: &InputMode::Keys, paused: false, theme: &theme };
            for id in PaneId::ALL {
                let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
                let area = buffer.area;
                assert!(panes.get_mut(*id).draw(&mut buffer, area, &context).page >= 1, "{id:?}");
            }
        }
    }
}
