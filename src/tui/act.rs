//! Owns what each key does to the state of the screen.
//! It must not name a key: the table in `keys` says what a key asks for.

use crossterm::event::{Event, KeyCode, KeyEventKind};

use super::app::{App, Flow, Open};
use super::book::Book;
use super::keys::{self, Action, Key};
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
            Action::Help => (self.help, self.help_scroll) = (true, 0),
            Action::Back => self.back(),
            Action::Pause => self.paused = !self.paused,
            Action::Open => self.open_selected(),
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
        self.book.as_mut().map_or(&mut self.filter.words, |book| &mut book.words)
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
        if let Some(book) = &mut self.book {
            return book.search();
        }
        if let Some(picture) = &mut self.picture {
            picture.filter(&self.filter);
        }
        self.follow();
    }

    /// One screen back: help, entry, runbook, pod.
    fn back(&mut self) {
        if self.help {
            self.help = false;
        } else if let Some(book) = &mut self.book {
            if !book.back() {
                self.book = None;
            }
        } else {
            self.open = None;
        }
    }

    fn open_selected(&mut self) {
        if let Some(book) = &mut self.book {
            return book.open();
        }
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
        let why = self.open.as_ref().and_then(|open| open.why.as_ref());
        let entry = why.and_then(|why| why.entry(picture.moment.book()));
        self.book = Some(entry.map_or_else(|| Book::list(picture.moment.entries()), Book::at));
    }

    fn move_by(&mut self, step: isize) {
        let from = match (self.help, &self.book, &self.open) {
            (true, ..) => self.help_scroll,
            (_, Some(book), _) => book.place(),
            (_, _, Some(open)) => open.scroll,
            _ => self.cursor.index,
        };
        self.move_to(from.saturating_add_signed(step));
        if !self.help && self.book.is_none() && self.open.is_none() && self.selected.is_none() {
            self.selected = self.picture.as_ref().and_then(|p| p.row(self.cursor.index)).map(|row| row.key.clone());
        }
    }

    /// Drawing brings a scroll position that is too large back to the last page.
    fn move_to(&mut self, to: usize) {
        if self.help {
            self.help_scroll = to;
        } else if let Some(book) = &mut self.book {
            book.go(to);
        } else if let Some(open) = &mut self.open {
            open.scroll = to;
        } else if let Some(picture) = &self.picture {
            self.cursor.index = to.min(picture.shown.len().saturating_sub(1));
            let stays_at_top = to == 0;
            self.selected = picture.row(self.cursor.index).filter(|_| !stays_at_top).map(|row| row.key.clone());
        }
    }
}
