//! Owns what the user has done: screen, selection, filter, scrolling; and what each action does to it.
//! It must not wait, write or read a clock: the loop in `run` does.

use crossterm::event::{Event, KeyCode, KeyEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::glyphs;
use super::keys::{self, Action, Context, Key};
use super::picture::Picture;
use super::theme::Theme;
use super::{Options, screen};
use crate::pipeline::Placed;
use crate::text::Text;
use crate::view::{Filter, Moment};

/// Longest filter, characters.
const FILTER_MAX: usize = 200;

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
    /// No source has it any more.
    pub gone: bool,
    /// First line shown.
    pub scroll: usize,
}

/// The screen's state.
#[derive(Debug)]
pub struct App {
    /// What is drawn.
    pub picture: Option<Picture>,
    /// Which rows are shown.
    pub filter: Filter,
    /// The filter is being typed.
    pub typing: bool,
    /// The help is shown.
    pub help: bool,
    /// First line of the help.
    pub help_scroll: usize,
    /// The picture is kept still.
    pub paused: bool,
    /// Place of the selected row in the table.
    pub index: usize,
    /// Its pod, which the selection follows; none while it stays at the top, where the worst pod is.
    pub selected: Option<Text>,
    /// First row shown.
    pub top: usize,
    /// Rows or lines of the last frame, for paging.
    pub page: usize,
    /// First and last line of what scrolls, and how many there are, where not all are seen.
    pub position: Option<(usize, usize, usize)>,
    /// The pod that is open.
    pub open: Option<Open>,
    theme: Theme,
}

impl App {
    /// The table, with nothing known yet.
    pub fn new(theme: Theme, options: &Options) -> Self {
        let filter = Filter { namespace: options.namespace.clone(), failing: options.failing, words: String::new() };
        Self {
            picture: None,
            filter,
            typing: false,
            help: false,
            help_scroll: 0,
            paused: false,
            index: 0,
            selected: None,
            top: 0,
            page: 1,
            position: None,
            open: None,
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
                Some(placed) => (open.last, open.gone) = (Some(placed.clone()), false),
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
        match (self.help, self.typing, &self.open) {
            (true, ..) => Context::Help,
            (_, true, _) => Context::Typing,
            (_, _, Some(_)) => Context::Pod,
            _ => Context::List,
        }
    }

    /// Takes an event in.
    pub fn event(&mut self, event: &Event) -> Flow {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                let Some(key) = Key::of(key) else { return Flow::Idle };
                match (keys::action(self.context(), key), key) {
                    (Some(action), _) => self.act(action),
                    (None, Key::Plain(KeyCode::Char(c))) if self.typing => self.type_in(&c.to_string()),
                    _ => Flow::Idle,
                }
            }
            Event::Paste(text) if self.typing && !self.help => self.type_in(text),
            _ => Flow::Idle,
        }
    }

    fn act(&mut self, action: Action) -> Flow {
        match action {
            Action::Quit => return Flow::Quit,
            Action::Suspend => return Flow::Suspend,
            Action::Redraw => return Flow::Redraw,
            Action::Help => (self.help, self.help_scroll) = (true, 0),
            Action::Back if self.help => self.help = false,
            Action::Back => self.open = None,
            Action::Pause => self.paused = !self.paused,
            Action::Open => self.open_selected(),
            Action::Filter => self.typing = true,
            Action::KeepFilter => self.typing = false,
            Action::ClearFilter => {
                self.typing = false;
                self.filter.words.clear();
                self.refilter();
            }
            Action::Erase => {
                self.filter.words.pop();
                self.refilter();
            }
            Action::Failing => {
                self.filter.failing = !self.filter.failing;
                self.refilter();
            }
            Action::Down => self.move_by(1),
            Action::Up => self.move_by(-1),
            Action::PageDown => self.move_by(self.page.max(1) as isize),
            Action::PageUp => self.move_by(-(self.page.max(1) as isize)),
            Action::First => self.move_to(0),
            Action::Last => self.move_to(usize::MAX),
        }
        Flow::Draw
    }

    fn type_in(&mut self, text: &str) -> Flow {
        let text = Text::new(text);
        let room = FILTER_MAX.saturating_sub(self.filter.words.chars().count());
        self.filter.words.extend(text.one_line().chars().take(room));
        self.refilter();
        Flow::Draw
    }

    fn refilter(&mut self) {
        if let Some(picture) = &mut self.picture {
            picture.filter(&self.filter);
        }
        self.follow();
    }

    /// Finds the selected pod again; one that is not shown any more leaves the selection where it was.
    fn follow(&mut self) {
        let Some(picture) = &self.picture else { return };
        let last = picture.shown.len().saturating_sub(1);
        match &self.selected {
            Some(key) => {
                self.index = picture.find(key).unwrap_or(self.index.min(last));
                self.selected = picture.row(self.index).map(|row| row.key.clone());
            }
            None => self.index = 0,
        }
    }

    fn open_selected(&mut self) {
        let Some(picture) = &self.picture else { return };
        if let Some(row) = picture.row(self.index) {
            self.selected = Some(row.key.clone());
            let last = picture.moment.pod(&row.key).cloned();
            self.open = Some(Open { key: row.key.clone(), gone: last.is_none(), last, scroll: 0 });
        }
    }

    fn move_by(&mut self, step: isize) {
        let from = match (&self.open, self.help) {
            (_, true) => self.help_scroll,
            (Some(open), _) => open.scroll,
            _ => self.index,
        };
        self.move_to(from.saturating_add_signed(step));
        if self.open.is_none() && !self.help && self.selected.is_none() {
            self.selected = self.picture.as_ref().and_then(|p| p.row(self.index)).map(|row| row.key.clone());
        }
    }

    /// Drawing brings a scroll position that is too large back to the last page.
    fn move_to(&mut self, to: usize) {
        if self.help {
            self.help_scroll = to;
        } else if let Some(open) = &mut self.open {
            open.scroll = to;
        } else if let Some(picture) = &self.picture {
            self.index = to.min(picture.shown.len().saturating_sub(1));
            let stays_at_top = to == 0;
            self.selected = picture.row(self.index).filter(|_| !stays_at_top).map(|row| row.key.clone());
        }
    }
}
