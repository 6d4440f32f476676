//! Owns what the user has done: what is open, selected, filtered, scrolled.
//! It must not wait, write or read a clock: the loop in `run` does. What a key does to it is in `act`.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::book::Book;
use super::events::EventsPane;
use super::glyphs;
use super::keys::Context;
use super::kubelet::KubeletPane;
use super::node::NodePane;
use super::pane::Pane;
use super::picture::Picture;
use super::scroll::{Cursor, View};
use super::theme::Theme;
use super::{Options, screen};
use crate::pipeline::Placed;
use crate::text::Text;
use crate::view::{Filter, Moment, Why};

/// What the loop has to do after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Nothing changed.
    Idle,
    /// Draw.
    Draw,
    /// Draw everything again.
    Redraw,
    /// Stop until somebody continues the process.
    Suspend,
    /// End.
    Quit,
}

/// A pod that is open.
#[derive(Clone, Debug)]
pub struct Open {
    /// UID.
    pub key: Text,
    /// As it was last seen.
    pub last: Option<Placed>,
    /// Why it stood there.
    pub why: Option<Why>,
    /// No source has it any more.
    pub gone: bool,
    /// First line shown.
    pub scroll: usize,
}

/// The screen's state.
#[derive(Debug)]
pub struct App {
    /// Which pane is shown.
    pub pane: Pane,
    /// The pane that was left for the runbook.
    pub from: Pane,
    /// What is drawn.
    pub picture: Option<Picture>,
    /// Which rows are shown.
    pub filter: Filter,
    /// The filter, or what is searched for in the runbook, is being typed.
    pub typing: bool,
    /// The help is shown.
    pub help: bool,
    /// First line of the help.
    pub help_scroll: usize,
    /// The picture is kept still.
    pub paused: bool,
    /// The selected row of the table.
    pub cursor: Cursor,
    /// Its pod, which the selection follows; none while it stays at the top, where the worst pod is.
    pub selected: Option<Text>,
    /// What the last frame showed of what scrolls.
    pub view: View,
    /// The pod that is open.
    pub open: Option<Open>,
    /// The kubelet's pane.
    pub kubelet: KubeletPane,
    /// The node's pane.
    pub node: NodePane,
    /// The pane of events.
    pub events: EventsPane,
    /// The runbook, once it was opened.
    pub book: Book,
    theme: Theme,
}

impl App {
    /// The table, with nothing known yet.
    pub fn new(theme: Theme, options: &Options) -> Self {
        let filter = Filter { namespace: options.namespace.clone(), failing: options.failing, words: String::new() };
        Self {
            pane: Pane::Pods,
            from: Pane::Pods,
            picture: None,
            filter,
            typing: false,
            help: false,
            help_scroll: 0,
            paused: false,
            cursor: Cursor::default(),
            selected: None,
            view: View::default(),
            open: None,
            kubelet: KubeletPane::default(),
            node: NodePane::default(),
            events: EventsPane::default(),
            book: Book::default(),
            theme,
        }
    }

    /// Shows a moment, unless the picture is kept still.
    pub fn show(&mut self, moment: Moment, title: &str) {
        if self.paused && self.picture.is_some() {
            return;
        }
        if let Some(open) = &mut self.open {
            match moment.pod(&open.key) {
                Some(placed) => {
                    (open.last, open.why, open.gone) = (Some(placed.clone()), moment.why(&open.key), false);
                }
                None => open.gone = true,
            }
        }
        self.picture = Some(Picture::new(moment, title, &self.filter));
        self.follow();
    }

    /// Draws a frame.
    pub fn draw(&mut self, width: u16, height: u16) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        let theme = self.theme;
        screen::draw(&mut buffer, self, &theme);
        if theme.ascii {
            glyphs::to_ascii(&mut buffer);
        }
        buffer
    }

    /// Where a key is pressed now.
    pub fn context(&self) -> Context {
        match self.pane {
            _ if self.help => Context::Help,
            _ if self.typing => Context::Typing,
            Pane::Pods => Context::List,
            Pane::Pod => Context::Pod,
            Pane::Kubelet => Context::Kubelet,
            Pane::Node => Context::Node,
            Pane::Events => Context::Events,
            Pane::Runbook if self.book.page.is_some() => Context::Entry,
            Pane::Runbook => Context::Book,
        }
    }

    /// What is typed in this pane, or was: a filter, or what is searched for.
    pub fn words(&self) -> &str {
        match self.pane {
            Pane::Runbook => &self.book.words,
            Pane::Events => &self.events.words,
            _ => &self.filter.words,
        }
    }

    /// Finds the selected pod again; one that is not shown any more leaves the selection where it was.
    pub(super) fn follow(&mut self) {
        let Some(picture) = &self.picture else { return };
        let last = picture.shown.len().saturating_sub(1);
        match &self.selected {
            Some(key) => {
                self.cursor.index = picture.find(key).unwrap_or(self.cursor.index.min(last));
                self.selected = picture.row(self.cursor.index).map(|row| row.key.clone());
            }
            None => self.cursor.index = 0,
        }
    }
}
