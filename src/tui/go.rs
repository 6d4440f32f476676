//! Owns going from pane to pane and from row to row, and what a command typed by name does.
//! It must not draw, nor know a key.

use crate::container_log::LogCommand;
use crate::text::Text;
use crate::tui::app::{App, Flow, Open, Typing};
use crate::tui::palette::{self, Command};
use crate::tui::panes::Pane;
use crate::tui::panes::log::LogPane;
use crate::tui::panes::runbook::Book;
use crate::tui::widgets::chosen_step::Step;

impl App {
    /// Shows a pane; the one of a pod shows the selected pod when it is entered from the table, or when none is open.
    pub(super) fn go(&mut self, pane: Pane) {
        match pane {
            Pane::Pod if self.pane == Pane::Pods || self.open.is_none() => self.open_row(),
            Pane::Runbook if self.book.len() == 0 => {
                self.book = Book::list(self.picture.as_ref().map(|p| p.moment.entries()).unwrap_or_default());
            }
            _ => {}
        }
        if pane == Pane::Runbook && self.pane != Pane::Runbook {
            self.from = Pane::Pods;
        }
        self.close_log();
        self.pane = pane;
    }

    pub(super) fn open_selected(&mut self) {
        match self.pane {
            Pane::Runbook => self.book.open(),
            Pane::Pods if self.picture.as_ref().is_some_and(|p| p.row(self.cursor.index).is_some()) => {
                self.go(Pane::Pod);
            }
            _ => {}
        }
    }

    fn open_row(&mut self) {
        let row = self.picture.as_ref().and_then(|picture| picture.row(self.cursor.index));
        if let Some(key) = row.map(|row| row.key.clone()) {
            self.selected = Some(key.clone());
            self.open_pod(key);
        }
    }

    fn open_pod(&mut self, key: Text) {
        let Some(picture) = &self.picture else { return };
        let (last, why) = (picture.moment.pod(&key).cloned(), picture.moment.why(&key));
        self.open = Some(Open { gone: last.is_none(), key, last, why, scroll: 0, step: Step::default() });
    }

    /// The log of the open pod; from the table, or where none is open, of the selected one.
    pub(super) fn open_log(&mut self) {
        let from = self.pane;
        if from == Pane::Pods || self.open.is_none() {
            self.open_row();
        }
        let Some(open) = &self.open else { return self.say("no pod is selected".into(), true) };
        let log = open.last.as_ref().and_then(|placed| LogPane::open(placed, open.why.as_ref(), from));
        match log {
            Some((log, ask)) => {
                self.asks.push(ask);
                (self.log, self.pane) = (Some(log), Pane::Pod);
            }
            None => self.say("no source names a container of this pod".into(), true),
        }
    }

    /// What is read for a log that nobody looks at is read no longer.
    pub(super) fn close_log(&mut self) {
        if self.log.take().is_some() {
            self.asks.push(LogCommand::Close);
        }
    }

    /// Does something to the open log; what it wishes for is asked of the feed.
    pub(super) fn of_log(&mut self, what: impl FnOnce(&mut LogPane) -> Option<LogCommand>) {
        self.asks.extend(self.log.as_mut().and_then(what));
    }

    pub(super) fn other_run(&mut self) {
        let Some(log) = &mut self.log else { return };
        match log.toggle_previous() {
            Some(ask) => self.asks.push(ask),
            None => self.say("no previous run known".into(), true),
        }
    }

    pub(super) fn next_match(&mut self, before: bool) {
        let said = self.log.as_mut().and_then(|log| log.next_match(before));
        if let Some(said) = said {
            self.say(said.into(), !said.starts_with("continued"));
        }
    }

    /// From a pod the entry of its cause, where the runbook has it; else all entries.
    pub(super) fn look_up(&mut self) {
        let Some(picture) = &self.picture else { return };
        let why = self.open.as_ref().filter(|_| self.pane == Pane::Pod).and_then(|open| open.why.as_ref());
        let entry = why.and_then(|why| why.entry(picture.moment.book()));
        self.book = entry.map_or_else(|| Book::list(picture.moment.entries()), Book::at);
        (self.from, self.pane) = (self.pane, Pane::Runbook);
    }

    pub(super) fn move_by(&mut self, step: isize) {
        if self.is_log() {
            return self.of_log(|log| log.move_by(step));
        }
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

    pub(super) fn turn(&mut self, down: bool) {
        if self.is_log() {
            return self.of_log(|log| log.page_by(down));
        }
        let page = self.view.page as isize;
        self.move_by(if down { page } else { -page });
    }

    /// Drawing brings a position that is too large back to the last page.
    pub(super) fn move_to(&mut self, to: usize) {
        if self.help {
            self.help_scroll = to;
        } else if self.is_log() {
            self.of_log(|log| log.go_to_end(to > 0));
        } else if self.pane == Pane::Pods && to == 0 {
            // The selection stays at the top, whichever pod is there.
            (self.cursor.index, self.selected) = (0, None);
        } else {
            self.point_at(to);
        }
    }

    /// A log is what moves.
    fn is_log(&self) -> bool {
        !self.help && self.pane == Pane::Pod && self.log.is_some()
    }

    /// Selects that row, or scrolls to that line.
    pub(super) fn point_at(&mut self, to: usize) {
        match self.pane {
            Pane::Pods => {
                let Some(picture) = &self.picture else { return };
                self.cursor.index = to.min(picture.shown.len().saturating_sub(1));
                self.selected = picture.row(self.cursor.index).map(|row| row.key.clone());
            }
            Pane::Pod => self.open.iter_mut().for_each(|open| open.scroll = to),
            Pane::Kubelet => self.kubelet.cursor.index = to,
            Pane::Node => self.node.cursor.index = to,
            Pane::Events => self.events.cursor.index = to,
            Pane::Runbook => self.book.go(to),
        }
    }

    pub(super) fn complete(&mut self) {
        let place = self.place();
        if let (Typing::Command(typed), Some(picture)) = (&mut self.typing, &self.picture) {
            *typed = palette::complete(typed, place, picture);
        }
    }

    pub(super) fn run_command(&mut self) -> Flow {
        let Typing::Command(typed) = std::mem::take(&mut self.typing) else { return Flow::Draw };
        let Some(picture) = &self.picture else { return Flow::Draw };
        if typed.trim().is_empty() {
            return Flow::Draw;
        }
        match palette::read(&typed, self.place(), picture) {
            Ok(Command::Do(action)) => return self.act(action),
            Ok(Command::Sort(sort)) => {
                self.close_log();
                (self.pane, self.sort) = (Pane::Pods, sort);
                self.refilter();
            }
            Ok(Command::Filter(words)) => {
                self.close_log();
                self.pane = Pane::Pods;
                self.filter.words = words;
                self.refilter();
            }
            Ok(Command::Theme(look)) => self.theme = self.theme.with(look),
            Ok(Command::Pod(key)) => {
                self.close_log();
                self.open_pod(key);
                self.pane = Pane::Pod;
            }
            Ok(Command::Log(key)) => {
                let from = self.log.as_ref().map(|log| log.from);
                self.close_log();
                self.open_pod(key);
                self.pane = Pane::Pod;
                self.open_log();
                // From one log to another: back is where the first was opened.
                if let (Some(log), Some(from)) = (&mut self.log, from) {
                    log.from = from;
                }
            }
            Ok(Command::Entry(id)) => {
                if let Some(entry) = picture.moment.entries().into_iter().find(|entry| entry.id == id) {
                    (self.book, self.from, self.pane) = (Book::at(entry), self.pane, Pane::Runbook);
                    self.close_log();
                }
            }
            Err(why) => self.say(why, true),
        }
        Flow::Draw
    }
}
