//! Owns what each key does to the state of the screen.
//! It must not name a key: the table in `keys` says what a key asks for.

use crossterm::event::{Event, KeyCode, KeyEventKind};

use super::app::{App, Flow, Open};
use super::book::Book;
use super::keys::{self, Action, Key};
use super::pane::Pane;
use super::scroll::Cursor;
use crate::text::Text;

/// Longest filter, characters.
const WORDS_MAX: usize = 200;

impl App {
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
            Action::Help => (self.help, self.help_scroll) = (!self.help, 0),
            Action::Back => self.back(),
            Action::Pause => self.paused = !self.paused,
            Action::Open => self.open_selected(),
            Action::Go(pane) => self.go(pane),
            Action::NextPane => self.go(self.pane.beside(1)),
            Action::PaneBefore => self.go(self.pane.beside(-1)),
            Action::Runbook => self.open_runbook(),
            Action::Filter => self.typing = true,
            Action::KeepFilter => self.typing = false,
            Action::ClearFilter => {
                self.typing = false;
                self.words_mut().clear();
                self.refilter();
            }
            Action::Erase => {
                self.words_mut().pop();
                self.refilter();
            }
            Action::Failing => {
                self.filter.failing = !self.filter.failing;
                self.refilter();
            }
            Action::Down => self.move_by(1),
            Action::Up => self.move_by(-1),
            Action::PageDown => self.move_by(self.view.page as isize),
            Action::PageUp => self.move_by(-(self.view.page as isize)),
            Action::First => self.move_to(0),
            Action::Last => self.move_to(usize::MAX),
        }
        Flow::Draw
    }

    fn words_mut(&mut self) -> &mut String {
        match self.pane {
            Pane::Runbook => &mut self.book.words,
            Pane::Events => &mut self.events.words,
            _ => &mut self.filter.words,
        }
    }

    fn type_in(&mut self, text: &str) -> Flow {
        let text = Text::new(text);
        let words = self.words_mut();
        let room = WORDS_MAX.saturating_sub(words.chars().count());
        words.extend(text.one_line().chars().take(room));
        self.refilter();
        Flow::Draw
    }

    fn refilter(&mut self) {
        match self.pane {
            Pane::Runbook => self.book.search(),
            Pane::Events => self.events.cursor = Cursor::default(),
            _ => {
                if let Some(picture) = &mut self.picture {
                    picture.filter(&self.filter);
                }
                self.follow();
            }
        }
    }

    /// One screen back: help, entry, pane.
    fn back(&mut self) {
        if self.help {
            self.help = false;
            return;
        }
        match self.pane {
            Pane::Runbook if self.book.back() => {}
            Pane::Runbook => self.pane = self.from,
            Pane::Events if !self.events.words.is_empty() => {
                self.events.words.clear();
                self.refilter();
            }
            _ => self.pane = Pane::Pods,
        }
    }

    /// Shows a pane; the one of a pod shows the selected pod when it is entered from the table, or when none is open.
    fn go(&mut self, pane: Pane) {
        match pane {
            Pane::Pod if self.pane == Pane::Pods || self.open.is_none() => self.open_pod(),
            Pane::Runbook if self.book.len() == 0 => {
                self.book = Book::list(self.picture.as_ref().map(|p| p.moment.entries()).unwrap_or_default());
            }
            _ => {}
        }
        if pane == Pane::Runbook && self.pane != Pane::Runbook {
            self.from = Pane::Pods;
        }
        self.pane = pane;
    }

    fn open_selected(&mut self) {
        match self.pane {
            Pane::Runbook => self.book.open(),
            _ if self.picture.as_ref().is_some_and(|p| p.row(self.cursor.index).is_some()) => self.go(Pane::Pod),
            _ => {}
        }
    }

    fn open_pod(&mut self) {
        let Some(picture) = &self.picture else { return };
        if let Some(row) = picture.row(self.cursor.index) {
            self.selected = Some(row.key.clone());
            let (last, why) = (picture.moment.pod(&row.key).cloned(), picture.moment.why(&row.key));
            self.open = Some(Open { key: row.key.clone(), gone: last.is_none(), last, why, scroll: 0 });
        }
    }

    /// From a pod the entry of its cause, where the runbook has it; else all entries.
    fn open_runbook(&mut self) {
        let Some(picture) = &self.picture else { return };
        let why = self.open.as_ref().filter(|_| self.pane == Pane::Pod).and_then(|open| open.why.as_ref());
        let entry = why.and_then(|why| why.entry(picture.moment.book()));
        self.book = entry.map_or_else(|| Book::list(picture.moment.entries()), Book::at);
        (self.from, self.pane) = (self.pane, Pane::Runbook);
    }

    fn move_by(&mut self, step: isize) {
        let from = match self.pane {
            _ if self.help => self.help_scroll,
            Pane::Pods => self.cursor.index,
            Pane::Pod => self.open.as_ref().map_or(0, |open| open.scroll),
            Pane::Kubelet => self.kubelet.cursor.index,
            Pane::Node => self.node.cursor.index,
            Pane::Events => self.events.cursor.index,
            Pane::Runbook => self.book.place(),
        };
        self.move_to(from.saturating_add_signed(step));
        if !self.help && self.pane == Pane::Pods && self.selected.is_none() {
            self.selected = self.picture.as_ref().and_then(|p| p.row(self.cursor.index)).map(|row| row.key.clone());
        }
    }

    /// Drawing brings a position that is too large back to the last page.
    fn move_to(&mut self, to: usize) {
        match self.pane {
            _ if self.help => self.help_scroll = to,
            Pane::Pods => self.select(to),
            Pane::Pod => self.open.iter_mut().for_each(|open| open.scroll = to),
            Pane::Kubelet => self.kubelet.cursor.index = to,
            Pane::Node => self.node.cursor.index = to,
            Pane::Events => self.events.cursor.index = to,
            Pane::Runbook => self.book.go(to),
        }
    }

    fn select(&mut self, to: usize) {
        let Some(picture) = &self.picture else { return };
        self.cursor.index = to.min(picture.shown.len().saturating_sub(1));
        let stays_at_top = to == 0;
        self.selected = picture.row(self.cursor.index).filter(|_| !stays_at_top).map(|row| row.key.clone());
    }
}
