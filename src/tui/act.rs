//! Events and actions: a key becomes an action, which the app or the open pane carries out.

use crossterm::event::{Event, KeyCode, KeyEventKind};

use crate::text::Text;
use crate::tui::app::App;
use crate::tui::input::{InputMode, LoopAction};
use crate::tui::keys::{Action, KeyPress};
use crate::tui::pane_table::PaneId;
use crate::tui::panes::PaneOutcome;
use crate::tui::terminal::clipboard;

/// Longest filter or command, characters.
const MAX_INPUT: usize = 200;

impl App {
    /// Handles a key or a paste.
    pub fn event(&mut self, event: &Event) -> LoopAction {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                let Some(key) = KeyPress::of(key) else { return LoopAction::Idle };
                match (self.keymap.action(self.context(), key), key) {
                    (Some(action), _) => self.act(action),
                    (None, KeyPress::Plain(KeyCode::Char(c))) if self.mode.is_typing() => self.type_in(&c.to_string()),
                    _ => LoopAction::Idle,
                }
            }
            Event::Paste(text) if self.mode.is_typing() && !self.help => self.type_in(text),
            _ => LoopAction::Idle,
        }
    }

    pub(super) fn act(&mut self, action: Action) -> LoopAction {
        self.message = None;
        match action {
            Action::Quit => return LoopAction::Quit,
            Action::Suspend => return LoopAction::Suspend,
            Action::Redraw => return LoopAction::Redraw,
            Action::Help => (self.help, self.help_scroll) = (!self.help, 0),
            Action::Back if self.help => self.help = false,
            Action::Back if self.mode.is_typing() => self.mode = InputMode::Keys,
            Action::Pause => self.paused = !self.paused,
            Action::Go(pane) => self.go(pane),
            Action::NextPane => self.go(self.pane.beside(1)),
            Action::PreviousPane => self.go(self.pane.beside(-1)),
            Action::LookUp => self.look_up(),
            Action::Log => self.open_log(),
            Action::Secrets => {
                self.secrets = !self.secrets;
                self.show_message(if self.secrets { "credentials visible" } else { "credentials hidden" }, false);
            }
            Action::Filter => {
                self.mode = InputMode::Filter;
                self.delegate(action);
            }
            Action::KeepFilter => self.mode = InputMode::Keys,
            Action::ClearFilter => {
                self.mode = InputMode::Keys;
                if let Some(words) = self.panes.get_mut(self.pane).words_mut() {
                    words.clear();
                }
                self.search();
            }
            Action::Erase => self.erase(),
            Action::Copy => self.copying = true,
            Action::Palette => self.mode = InputMode::Command(String::new()),
            Action::Complete => self.complete(),
            Action::RunCommand => return self.run_command(),
            Action::Down => self.move_by(1),
            Action::Up => self.move_by(-1),
            Action::PageDown => self.page_by(true),
            Action::PageUp => self.page_by(false),
            Action::First => self.move_to(0),
            Action::Last => self.move_to(usize::MAX),
            // Without an own way back a pane returns to the table.
            Action::Back => {
                if let PaneOutcome::Unhandled = self.delegate(action) {
                    self.pane = PaneId::Pods;
                }
            }
            Action::Open
            | Action::NextContainer
            | Action::PreviousContainer
            | Action::PreviousRun
            | Action::Follow
            | Action::NextMatch
            | Action::PreviousMatch
            | Action::Times
            | Action::Wrap
            | Action::Failing
            | Action::SortNext
            | Action::SortPrevious
            | Action::Reverse
            | Action::NextStep
            | Action::PreviousStep => _ = self.delegate(action),
        }
        LoopAction::Draw
    }

    /// Lets the open pane carry out an action; returns `Unhandled` if it has none of that kind, else `Done`.
    fn delegate(&mut self, action: Action) -> PaneOutcome {
        match self.panes.get_mut(self.pane).act(action, self.screen.as_mut()) {
            PaneOutcome::Unhandled => PaneOutcome::Unhandled,
            outcome => {
                self.finish(outcome);
                PaneOutcome::Done
            }
        }
    }

    /// Does what a pane left to be done.
    pub(super) fn finish(&mut self, outcome: PaneOutcome) {
        match outcome {
            PaneOutcome::Done | PaneOutcome::Unhandled => {}
            PaneOutcome::Open(pane) => self.go(pane),
            PaneOutcome::Return(pane) => {
                self.close_log();
                self.pane = pane;
            }
            PaneOutcome::Log(command) => self.log_commands.push(command),
            PaneOutcome::Message(text, is_error) => self.show_message(text, is_error),
        }
    }

    fn input_mut(&mut self) -> Option<&mut String> {
        match &mut self.mode {
            InputMode::Command(command) => Some(command),
            InputMode::Filter | InputMode::Keys => self.panes.get_mut(self.pane).words_mut(),
        }
    }

    fn type_in(&mut self, text: &str) -> LoopAction {
        let text = Text::new(text);
        if let Some(input) = self.input_mut() {
            let room = MAX_INPUT.saturating_sub(input.chars().count());
            input.extend(text.one_line().chars().take(room));
        }
        if self.mode == InputMode::Filter {
            self.search();
        }
        LoopAction::Draw
    }

    /// Deletes a character; in an empty command line it leaves the command line.
    fn erase(&mut self) {
        let erased = self.input_mut().and_then(String::pop);
        match self.mode {
            InputMode::Command(_) if erased.is_none() => self.mode = InputMode::Keys,
            InputMode::Command(_) => {}
            InputMode::Filter | InputMode::Keys => self.search(),
        }
    }

    pub(super) fn search(&mut self) {
        self.panes.get_mut(self.pane).search(self.screen.as_mut());
    }

    /// Copies what is selected in the frame, if the copy key was pressed.
    pub(super) fn copy(&mut self) {
        if !std::mem::take(&mut self.copying) {
            return;
        }
        let text = self.panes.get(self.pane).copy_text(self.view.line.as_deref());
        match text.map(|text| clipboard::copyable(&text)).filter(|text| !text.is_empty()) {
            Some(text) => {
                self.show_message(format!("copied: {text}"), false);
                self.copied = Some(text);
            }
            None => self.show_message("nothing to copy", true),
        }
    }
}
