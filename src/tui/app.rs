//! Owns what the user has done: what is open, selected, filtered, scrolled.
//! It must not wait, write or read a clock: the loop in `run` does. What a key does to it is in `act`.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::container_log::{LogCommand, LogUpdate};
use crate::diagnose::Todo;
use crate::pipeline::LocatedPod;
use crate::text::Text;
use crate::tui::keys::Context;
use crate::tui::keys::keymap::Keymap;
use crate::tui::panes::Pane;
use crate::tui::panes::events::EventsPane;
use crate::tui::panes::kubelet::KubeletPane;
use crate::tui::panes::log::LogPane;
use crate::tui::panes::node::NodePane;
use crate::tui::panes::runbook::Book;
use crate::tui::screen_state::Picture;
use crate::tui::theme::{Theme, glyphs};
use crate::tui::widgets::chosen_step::Step;
use crate::tui::widgets::scroll::{Cursor, View};
use crate::tui::{Options, screen};
use crate::view::{Column, Filter, NodeView, PodDiagnosis, Sort};

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

/// What is being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Typing {
    /// Nothing: keys are keys.
    #[default]
    No,
    /// A filter, or what is searched for.
    Words,
    /// A command, so far.
    Command(String),
}

impl Typing {
    /// Keys are characters.
    pub fn is_on(&self) -> bool {
        *self != Typing::No
    }
}

/// What is said in the last line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// In words.
    pub text: String,
    /// It is that something could not be done.
    pub wrong: bool,
}

/// A pod that is open.
#[derive(Clone, Debug)]
pub struct Open {
    /// UID.
    pub key: Text,
    /// As it was last seen.
    pub last: Option<LocatedPod>,
    /// Why it stood there.
    pub why: Option<PodDiagnosis>,
    /// No source has it any more.
    pub gone: bool,
    /// First line shown.
    pub scroll: usize,
    /// The chosen step with a command.
    pub step: Step,
}

impl Open {
    /// What is to be done about it, as its best finding says.
    pub fn steps(&self) -> &[Todo] {
        self.why.as_ref().and_then(|why| why.own.top()).map_or(&[], |finding| &finding.steps)
    }
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
    /// How they are sorted.
    pub sort: Sort,
    /// The columns that the table may have, from left to right.
    pub columns: Vec<Column>,
    /// What is being typed.
    pub typing: Typing,
    /// The help is shown.
    pub help: bool,
    /// First line of the help.
    pub help_scroll: usize,
    /// The picture is kept still.
    pub paused: bool,
    /// Credentials in messages and logs are shown, on the screen alone.
    pub secrets: bool,
    /// The selected row of the table.
    pub cursor: Cursor,
    /// Its pod, which the selection follows; none while it stays at the top, where the worst pod is.
    pub selected: Option<Text>,
    /// What the last frame showed of what scrolls.
    pub view: View,
    /// Width and height of the last frame.
    pub size: (u16, u16),
    /// What is said in the last line until something else is done.
    pub said: Option<Said>,
    /// The pod that is open.
    pub open: Option<Open>,
    /// The log that is open, in the pane of its pod.
    pub log: Option<LogPane>,
    /// The kubelet's pane.
    pub kubelet: KubeletPane,
    /// The node's pane.
    pub node: NodePane,
    /// The pane of events.
    pub events: EventsPane,
    /// The runbook, once it was opened.
    pub book: Book,
    /// How it looks.
    pub theme: Theme,
    /// What the keys do.
    pub keymap: Keymap,
    /// The next frame copies what is selected in it.
    pub(super) copying: bool,
    /// What is to be handed to the clipboard.
    pub(super) copied: Option<String>,
    /// What is to be asked of the feed.
    pub(super) asks: Vec<LogCommand>,
}

impl App {
    /// The table, with nothing known yet.
    pub fn new(theme: Theme, options: &Options) -> Self {
        Self {
            pane: Pane::Pods,
            from: Pane::Pods,
            picture: None,
            filter: options.filter.clone(),
            sort: options.sort,
            columns: options.columns.clone(),
            typing: Typing::No,
            help: false,
            help_scroll: 0,
            paused: false,
            secrets: false,
            cursor: Cursor::default(),
            selected: None,
            view: View::default(),
            size: (0, 0),
            said: None,
            open: None,
            log: None,
            kubelet: KubeletPane::default(),
            node: NodePane::default(),
            events: EventsPane::default(),
            book: Book::default(),
            theme,
            keymap: options.keymap.clone(),
            copying: false,
            copied: None,
            asks: Vec::new(),
        }
    }

    /// Shows a moment, unless the picture is kept still.
    pub fn show(&mut self, moment: NodeView, title: &str) {
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
        if let Some(log) = &mut self.log {
            let placed = moment.pod(log.key()).cloned();
            log.update_pod(placed.as_ref());
        }
        self.picture = Some(Picture::new(moment, title, &self.filter, self.sort));
        self.follow();
    }

    /// Draws a frame.
    pub fn draw(&mut self, width: u16, height: u16) -> Buffer {
        self.size = (width, height);
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
        match self.typing {
            _ if self.help => Context::Help,
            Typing::Words => Context::Typing,
            Typing::Command(_) => Context::Palette,
            Typing::No => self.place(),
        }
    }

    /// The pane, whatever lies over it.
    pub fn place(&self) -> Context {
        match self.pane {
            Pane::Pods => Context::List,
            Pane::Pod if self.log.is_some() => Context::Log,
            Pane::Pod => Context::Pod,
            Pane::Kubelet => Context::Kubelet,
            Pane::Node => Context::Node,
            Pane::Events => Context::Events,
            Pane::Runbook if self.book.page.is_some() => Context::Entry,
            Pane::Runbook => Context::Book,
        }
    }

    /// What the last frame handed to the clipboard, once.
    pub fn take_copied(&mut self) -> Option<String> {
        self.copied.take()
    }

    /// What is to be asked of the feed, once.
    pub fn take_asks(&mut self) -> Vec<LogCommand> {
        std::mem::take(&mut self.asks)
    }

    /// A log is open, and moves on; one that was opened in a picture that is kept still does until there is something to show.
    pub fn reads_log(&self) -> bool {
        let shows_none = |log: &LogPane| log.lines.is_empty() && log.unavailable.is_empty();
        self.log.as_ref().is_some_and(|log| !self.paused || shows_none(log))
    }

    /// Takes news of the open log in.
    pub fn log_news(&mut self, news: LogUpdate) {
        if let Some(log) = &mut self.log {
            log.apply(news);
        }
    }

    /// What is typed in this pane, or was: a filter, or what is searched for.
    pub fn words(&self) -> &str {
        match self.pane {
            Pane::Runbook => &self.book.words,
            Pane::Events => &self.events.words,
            Pane::Pod => self.log.as_ref().map_or("", |log| &log.words),
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
