//! Owns what each key does to the state of the screen.
//! It must not name a key: the keymap says what a key asks for.

use crossterm::event::{Event, KeyCode, KeyEventKind};

use crate::text::Text;
use crate::tui::app::{App, Flow, Said, Typing};
use crate::tui::keys::{Action, Key};
use crate::tui::panes::Pane;
use crate::tui::panes::log::LogPane;
use crate::tui::terminal::clipboard;
use crate::tui::widgets::scroll::Cursor;

/// Longest filter or command, characters.
const WORDS_MAX: usize = 200;

impl App {
    /// Takes an event in.
    pub fn event(&mut self, event: &Event) -> Flow {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                let Some(key) = Key::of(key) else { return Flow::Idle };
                match (self.keymap.action(self.context(), key), key) {
                    (Some(action), _) => self.act(action),
                    (None, Key::Plain(KeyCode::Char(c))) if self.typing.is_on() => self.type_in(&c.to_string()),
                    _ => Flow::Idle,
                }
            }
            Event::Paste(text) if self.typing.is_on() && !self.help => self.type_in(text),
            _ => Flow::Idle,
        }
    }

    pub(super) fn act(&mut self, action: Action) -> Flow {
        self.said = None;
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
            Action::LookUp => self.look_up(),
            Action::Log => self.open_log(),
            Action::ContainerNext => self.of_log(|log| Some(log.choose(1))),
            Action::ContainerBefore => self.of_log(|log| Some(log.choose(-1))),
            Action::OtherRun => self.other_run(),
            Action::Follow => self.of_log(|log| {
                log.set_follow(!log.follow);
                None
            }),
            Action::MatchNext => self.next_match(false),
            Action::MatchBefore => self.next_match(true),
            Action::Times => self.log.iter_mut().for_each(|log| log.times = !log.times),
            Action::Wrap => self.log.iter_mut().for_each(|log| log.wrap = !log.wrap),
            Action::Secrets => {
                self.secrets = !self.secrets;
                self.say(if self.secrets { "credentials are shown" } else { "credentials are hidden" }.into(), false);
            }
            Action::Filter => {
                self.typing = Typing::Words;
                self.log.iter_mut().for_each(LogPane::begin_search);
            }
            Action::KeepFilter => self.typing = Typing::No,
            Action::ClearFilter => {
                self.typing = Typing::No;
                self.words_mut().clear();
                self.refilter();
            }
            Action::Erase => self.erase(),
            Action::Failing => {
                self.filter.failing = !self.filter.failing;
                self.refilter();
            }
            Action::SortNext => self.sort_by(1),
            Action::SortBefore => self.sort_by(-1),
            Action::Reverse => {
                self.sort.reversed = !self.sort.reversed;
                self.refilter();
            }
            Action::StepNext => self.choose_step(1),
            Action::StepBefore => self.choose_step(-1),
            Action::Copy => self.copying = true,
            Action::Palette => self.typing = Typing::Command(String::new()),
            Action::Complete => self.complete(),
            Action::RunCommand => return self.run_command(),
            Action::Down => self.move_by(1),
            Action::Up => self.move_by(-1),
            Action::PageDown => self.turn(true),
            Action::PageUp => self.turn(false),
            Action::First => self.move_to(0),
            Action::Last => self.move_to(usize::MAX),
        }
        Flow::Draw
    }

    /// What is typed: a command, or what the pane is filtered by.
    fn words_mut(&mut self) -> &mut String {
        match (&mut self.typing, self.pane) {
            (Typing::Command(typed), _) => typed,
            (_, Pane::Runbook) => &mut self.book.words,
            (_, Pane::Events) => &mut self.events.words,
            (_, Pane::Pod) => self.log.as_mut().map_or(&mut self.filter.words, |log| &mut log.words),
            _ => &mut self.filter.words,
        }
    }

    fn type_in(&mut self, text: &str) -> Flow {
        let text = Text::new(text);
        let typed = self.words_mut();
        let room = WORDS_MAX.saturating_sub(typed.chars().count());
        typed.extend(text.one_line().chars().take(room));
        if self.typing == Typing::Words {
            self.refilter();
        }
        Flow::Draw
    }

    /// A command of which nothing is left is no command.
    fn erase(&mut self) {
        let erased = self.words_mut().pop();
        match self.typing {
            Typing::Command(_) if erased.is_none() => self.typing = Typing::No,
            Typing::Command(_) => {}
            Typing::Words | Typing::No => self.refilter(),
        }
    }

    pub(super) fn refilter(&mut self) {
        match self.pane {
            Pane::Runbook => self.book.search(),
            Pane::Events => self.events.cursor = Cursor::default(),
            Pane::Pod => self.log.iter_mut().for_each(LogPane::search),
            _ => {
                if let Some(picture) = &mut self.picture {
                    picture.choose(&self.filter, self.sort);
                }
                self.follow();
            }
        }
    }

    /// The column `step` further among those that are shown; trouble is before the first and behind the last.
    fn sort_by(&mut self, step: isize) {
        let width = usize::from(self.size.0.saturating_sub(1));
        let Some(picture) = &self.picture else { return };
        let shown = crate::tui::panes::pods::columns::columns(width, picture.widest, &self.columns);
        let orders: Vec<_> = std::iter::once(None).chain(shown.into_iter().map(|(c, _)| Some(c))).collect();
        let at = orders.iter().position(|order| *order == self.sort.by).unwrap_or(0) as isize;
        self.sort.by = orders[(at + step).rem_euclid(orders.len() as isize) as usize];
        self.sort.reversed = false;
        self.refilter();
    }

    /// One screen back: help, command, entry, pane.
    fn back(&mut self) {
        if self.help {
            self.help = false;
            return;
        }
        if self.typing.is_on() {
            self.typing = Typing::No;
            return;
        }
        match self.pane {
            Pane::Runbook if self.book.back() => {}
            Pane::Runbook => self.pane = self.from,
            Pane::Events if !self.events.words.is_empty() => {
                self.events.words.clear();
                self.refilter();
            }
            Pane::Pod if self.log.as_ref().is_some_and(|log| !log.words.is_empty()) => {
                self.words_mut().clear();
                self.refilter();
            }
            Pane::Pod if self.log.is_some() => {
                self.pane = self.log.as_ref().map_or(Pane::Pods, |log| log.from);
                self.close_log();
            }
            _ => self.pane = Pane::Pods,
        }
    }

    /// Copies what the frame being drawn shows, if that was asked for: from a pod or the runbook the chosen command; else
    /// the selected row.
    pub(super) fn copy(&mut self) {
        if !std::mem::take(&mut self.copying) {
            return;
        }
        let name = |open: &crate::tui::app::Open| {
            let facts = open.last.as_ref().map(|placed| &placed.facts);
            facts.map(|facts| format!("{}/{}", facts.namespace, facts.name))
        };
        let command = self.chosen_command();
        let text = match self.pane {
            Pane::Pod if self.log.is_some() => self.view.line.clone(),
            Pane::Pod => command.or_else(|| self.open.as_ref().and_then(name)),
            Pane::Runbook => {
                command.or_else(|| self.book.page.as_ref().map(|p| p.entry.id.to_string())).or(self.view.line.clone())
            }
            _ => self.view.line.clone(),
        };
        match text.map(|text| clipboard::copyable(&text)).filter(|text| !text.is_empty()) {
            Some(text) => {
                self.say(format!("copied: {text}"), false);
                self.copied = Some(text);
            }
            None => self.say("nothing to copy here".into(), true),
        }
    }

    fn chosen_command(&self) -> Option<String> {
        let command = match self.pane {
            Pane::Pod => self.open.as_ref().and_then(|open| open.step.command(open.steps())),
            Pane::Runbook => self.book.page.as_ref().and_then(|page| page.step.command(&page.entry.steps)),
            _ => None,
        };
        command.map(str::to_owned)
    }

    fn choose_step(&mut self, by: isize) {
        match (self.pane, &mut self.open, &mut self.book.page) {
            (Pane::Pod, Some(open), _) => {
                let mut step = open.step;
                step.go(by, open.steps());
                open.step = step;
            }
            (Pane::Runbook, _, Some(page)) => page.step.go(by, &page.entry.steps),
            _ => {}
        }
    }

    pub(super) fn say(&mut self, text: String, wrong: bool) {
        self.said = Some(Said { text, wrong });
    }
}
