//! Navigation between panes and rows, and the commands of the palette.

use crate::container_log::LogCommand;
use crate::text::Text;
use crate::tui::app::App;
use crate::tui::input::{InputMode, LoopAction};
use crate::tui::palette::{self, PaletteCommand};
use crate::tui::pane_table::PaneId;
use crate::tui::panes::log::LogPane;
use crate::tui::panes::runbook::RunbookPane;

impl App {
    /// Opens a pane. From the table, or while no pod is open, the Pod pane opens the selected pod.
    pub(super) fn go(&mut self, pane: PaneId) {
        match pane {
            PaneId::Pod if self.pane == PaneId::Pods || self.panes.pod.open.is_none() => self.open_row(),
            PaneId::Runbook if self.panes.runbook.is_empty() => {
                let entries = self.screen.as_ref().map(|screen| screen.node_view.entries()).unwrap_or_default();
                self.panes.runbook = RunbookPane::list(entries);
            }
            _ => {}
        }
        if pane == PaneId::Runbook && self.pane != PaneId::Runbook {
            self.panes.runbook.from = PaneId::Pods;
        }
        self.close_log();
        self.pane = pane;
    }

    fn open_row(&mut self) {
        let Some(screen) = &self.screen else { return };
        if let Some(key) = self.panes.pods.select_current(screen) {
            self.panes.pod.open_pod(key, screen);
        }
    }

    fn open_pod(&mut self, key: Text) {
        self.close_log();
        if let Some(screen) = &self.screen {
            self.panes.pod.open_pod(key, screen);
        }
        self.pane = PaneId::Pod;
    }

    /// Opens the log of the open pod; from the table, or while no pod is open, of the selected pod.
    pub(super) fn open_log(&mut self) {
        let from = self.pane;
        if from == PaneId::Pods || self.panes.pod.open.is_none() {
            self.open_row();
        }
        let Some(open) = &self.panes.pod.open else { return self.show_message("no pod selected", true) };
        match open.last.as_ref().and_then(|placed| LogPane::open(placed, open.why.as_ref(), from)) {
            Some((log, command)) => {
                self.log_commands.push(command);
                (self.panes.pod.log, self.pane) = (Some(log), PaneId::Pod);
            }
            None => self.show_message("no container known for this pod", true),
        }
    }

    pub(super) fn close_log(&mut self) {
        if self.panes.pod.log.take().is_some() {
            self.log_commands.push(LogCommand::Close);
        }
    }

    /// Opens the runbook: from the Pod pane at the entry of its cause, if there is one, else at all entries.
    pub(super) fn look_up(&mut self) {
        let Some(screen) = &self.screen else { return };
        let why = self.panes.pod.open.as_ref().filter(|_| self.pane == PaneId::Pod).and_then(|open| open.why.as_ref());
        let entry = why.and_then(|why| why.entry(screen.node_view.book()));
        self.panes.runbook = entry.map_or_else(|| RunbookPane::list(screen.node_view.entries()), RunbookPane::at);
        self.panes.runbook.from = self.pane;
        self.pane = PaneId::Runbook;
    }

    pub(super) fn move_by(&mut self, step: isize) {
        if self.help {
            self.help_scroll = self.help_scroll.saturating_add_signed(step);
        } else if let Some(screen) = &self.screen {
            let outcome = self.panes.get_mut(self.pane).move_by(step, screen);
            self.finish(outcome);
        }
    }

    pub(super) fn page_by(&mut self, down: bool) {
        let rows = self.view.page;
        if self.help {
            self.move_by(if down { rows as isize } else { -(rows as isize) });
        } else if let Some(screen) = &self.screen {
            let outcome = self.panes.get_mut(self.pane).page_by(down, rows, screen);
            self.finish(outcome);
        }
    }

    /// Moves to a row or line; drawing limits it to the last page.
    pub(super) fn move_to(&mut self, row: usize) {
        if self.help {
            self.help_scroll = row;
        } else if let Some(screen) = &self.screen {
            let outcome = self.panes.get_mut(self.pane).move_to(row, screen);
            self.finish(outcome);
        }
    }

    pub(super) fn complete(&mut self) {
        let context = self.pane_context();
        if let (InputMode::Command(typed), Some(screen)) = (&mut self.mode, &self.screen) {
            *typed = palette::complete(typed, context, screen);
        }
    }

    pub(super) fn run_command(&mut self) -> LoopAction {
        let InputMode::Command(typed) = std::mem::take(&mut self.mode) else { return LoopAction::Draw };
        let Some(screen) = &self.screen else { return LoopAction::Draw };
        if typed.trim().is_empty() {
            return LoopAction::Draw;
        }
        match palette::parse(&typed, self.pane_context(), screen) {
            Ok(PaletteCommand::Run(action)) => return self.act(action),
            Ok(PaletteCommand::Sort(sort)) => {
                self.close_log();
                self.pane = PaneId::Pods;
                self.panes.pods.sort = sort;
                self.search();
            }
            Ok(PaletteCommand::Filter(words)) => {
                self.close_log();
                self.pane = PaneId::Pods;
                self.panes.pods.filter.words = words;
                self.search();
            }
            Ok(PaletteCommand::Theme(colors)) => self.theme = self.theme.with(colors),
            Ok(PaletteCommand::Pod(key)) => self.open_pod(key),
            Ok(PaletteCommand::Log(key)) => {
                let from = self.panes.pod.log.as_ref().map(|log| log.from);
                self.open_pod(key);
                self.open_log();
                // From one log to another: back leads to the pane that opened the first.
                if let (Some(log), Some(from)) = (&mut self.panes.pod.log, from) {
                    log.from = from;
                }
            }
            Ok(PaletteCommand::Entry(id)) => {
                if let Some(entry) = screen.node_view.entries().into_iter().find(|entry| entry.id == id) {
                    self.panes.runbook = RunbookPane::at(entry);
                    self.panes.runbook.from = self.pane;
                    self.pane = PaneId::Runbook;
                    self.close_log();
                }
            }
            Err(error) => self.show_message(error, true),
        }
        LoopAction::Draw
    }
}
