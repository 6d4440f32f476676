//! State of the log screen: container, run, lines, search and cursor. The feed reads the log and sends updates.

pub mod draw;
pub mod lines;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::container_log::{Instance, LogCommand, LogOrigin, LogRequest, LogUpdate, OlderLines};
use crate::pipeline::LocatedPod;
use crate::text::Text;
use crate::tui::keys::press::BACK;
use crate::tui::keys::{Action, Binding, Context, char_key};
use crate::tui::pane_table::PaneId;
use crate::tui::panes::log::lines::{DisplayLine, SearchableLines, wrapped_rows};
use crate::tui::panes::{DrawContext, Pane, PaneOutcome};
use crate::tui::screen_state::ScreenState;
use crate::tui::widgets::scroll::View;
use crate::view::{LogChoice, PodDiagnosis, first_choice, left_out, log_choices, log_commands, log_request};

/// Keys of the log.
pub const KEYS: &[Binding] = &[
    Binding::new(Action::Back, BACK, HERE, "back", "clear the search, then back"),
    Binding::new(Action::Filter, &[char_key('/')], HERE, "search", "search; case-sensitive if it has a capital letter"),
    Binding::new(Action::NextMatch, &[char_key('n')], HERE, "next", "next match, cyclically"),
    Binding::new(Action::PreviousMatch, &[char_key('N')], HERE, "", "previous match, cyclically"),
    Binding::new(Action::NextContainer, &[char_key('c')], HERE, "container", "log of the next container"),
    Binding::new(Action::PreviousContainer, &[char_key('C')], HERE, "", "log of the previous container"),
    Binding::new(
        Action::PreviousRun,
        &[char_key('v')],
        HERE,
        "run",
        "toggle previous / current container (--previous)",
    ),
    Binding::new(Action::Follow, &[char_key('f')], HERE, "follow", "toggle follow (also G)"),
    Binding::new(Action::Times, &[char_key('t')], HERE, "", "toggle times"),
    Binding::new(Action::Wrap, &[char_key('w')], HERE, "", "toggle line wrap"),
    Binding::new(Action::Secrets, &[char_key('x')], HERE, "", "show / redact credentials in messages"),
    Binding::new(Action::Copy, &[char_key('y')], HERE, "copy", "copy the selected line"),
];
const HERE: &[Context] = &[Context::Log];

/// Older lines are requested when the cursor is within this many lines of the oldest one.
const PREFETCH_LINES: i64 = 50;

/// Whether lines exist that are older than those in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Older {
    /// None known.
    #[default]
    None,
    /// Available on request.
    Available,
    /// Requested.
    Requested,
}

/// The open log of one container.
#[derive(Clone, Debug)]
pub struct LogPane {
    placed: LocatedPod,
    /// The pane to return to.
    pub from: PaneId,
    /// No source reports the pod any more.
    pub gone: bool,
    /// The pod's containers.
    pub choices: Vec<LogChoice>,
    /// Index in `choices` of the container on the screen.
    pub chosen: usize,
    /// Current or previous run.
    pub instance: Instance,
    /// The lines in memory.
    pub lines: SearchableLines,
    /// Where the log is read; None until it is open.
    pub origin: Option<LogOrigin>,
    /// Restart count of the run; None when the origin does not report it.
    pub restart: Option<u32>,
    /// Why the log is not available, for each origin; empty while it is.
    pub unavailable: Vec<Text>,
    /// No more lines will follow.
    pub closed: bool,
    /// Older lines.
    pub older: Older,
    /// The screen follows the newest line.
    pub follow: bool,
    /// Lines that arrived since `follow` was switched off.
    pub unseen: usize,
    /// Number of the selected line.
    pub cursor: i64,
    /// Number of the first visible line, and how many of its rows are above the screen.
    pub top: (i64, usize),
    /// Rows above the screen of a selected line that is longer than the screen.
    pub inside: usize,
    /// Rows of the last frame, and rows of the selected line.
    pub page: (usize, usize),
    /// Width in cells of a row of the last frame.
    pub cells: usize,
    /// Number of the selected line when the search started.
    anchor: i64,
    /// The search term.
    pub words: String,
    /// Times are visible.
    pub times: bool,
    /// Long lines are wrapped, not cut.
    pub wrap: bool,
}

impl LogPane {
    /// Opens the log of the failing container of a pod; None when no source reports a container.
    pub fn open(placed: &LocatedPod, why: Option<&PodDiagnosis>, from: PaneId) -> Option<(Self, LogCommand)> {
        let choices = log_choices(placed);
        let chosen = first_choice(placed, why);
        choices.get(chosen)?;
        let mut pane = Self {
            placed: placed.clone(),
            from,
            gone: false,
            choices,
            chosen,
            instance: Instance::Current,
            lines: SearchableLines::default(),
            origin: None,
            restart: None,
            unavailable: Vec::new(),
            closed: false,
            older: Older::None,
            follow: true,
            unseen: 0,
            cursor: 0,
            top: (0, 0),
            inside: 0,
            page: (1, 1),
            cells: 1,
            anchor: 0,
            words: String::new(),
            times: true,
            wrap: true,
        };
        let ask = pane.reopen();
        Some((pane, ask))
    }

    /// UID of the pod.
    pub fn key(&self) -> &Text {
        &self.placed.facts.key
    }

    /// `namespace/name` of the pod.
    pub fn pod(&self) -> String {
        format!("{}/{}", self.placed.facts.namespace, self.placed.facts.name)
    }

    /// The container on the screen.
    pub fn choice(&self) -> Option<&LogChoice> {
        self.choices.get(self.chosen)
    }

    /// Updates pod and containers.
    pub fn update_pod(&mut self, placed: Option<&LocatedPod>) {
        self.gone = placed.is_none();
        let Some(placed) = placed else { return };
        let name = self.choice().map(|c| c.name.clone());
        let choices = log_choices(placed);
        if let Some(again) = choices.iter().position(|c| Some(&c.name) == name.as_ref()) {
            (self.choices, self.chosen) = (choices, again);
            self.placed = placed.clone();
        }
    }

    fn request(&self) -> LogRequest {
        let container = self.choice().map(|c| c.name.clone()).unwrap_or_default();
        log_request(&self.placed, &container, self.instance, true)
    }

    /// Commands that print the same log.
    pub fn commands(&self) -> Vec<String> {
        log_commands(&self.request(), self.choice())
    }

    fn reopen(&mut self) -> LogCommand {
        self.clear();
        (self.follow, self.origin, self.restart) = (true, None, None);
        LogCommand::Open(Box::new(self.request()))
    }

    fn clear(&mut self) {
        self.lines = SearchableLines::default();
        self.lines.search(&self.words);
        self.unavailable.clear();
        self.closed = false;
        (self.older, self.unseen, self.cursor, self.top, self.inside) = (Older::None, 0, 0, (0, 0), 0);
    }

    /// Opens the log of the container `step` further, cyclically.
    pub fn choose(&mut self, step: isize) -> LogCommand {
        let count = self.choices.len().max(1) as isize;
        self.chosen = (self.chosen as isize + step).rem_euclid(count) as usize;
        self.instance = Instance::Current;
        self.reopen()
    }

    /// True when a source reports a restart.
    pub fn has_previous(&self) -> bool {
        self.restart.or(self.choice().map(|c| c.restarts)).is_some_and(|count| count > 0)
    }

    /// Switches between current and previous run; None without a previous run.
    pub fn toggle_previous(&mut self) -> Option<LogCommand> {
        self.instance = match self.instance {
            Instance::Current if self.has_previous() => Instance::Previous,
            Instance::Current => return None,
            Instance::Previous => Instance::Current,
        };
        Some(self.reopen())
    }

    /// Applies an update of the reader.
    pub fn apply(&mut self, update: LogUpdate) {
        match update {
            LogUpdate::Opened { origin, restart, has_older } => {
                self.clear();
                (self.origin, self.restart) = (Some(origin), restart);
                self.older = if has_older { Older::Available } else { Older::None };
            }
            LogUpdate::Lines(lines) => {
                let count = lines.len();
                lines.into_iter().for_each(|line| self.lines.push(line.into()));
                self.unseen = if self.follow { 0 } else { self.unseen.saturating_add(count) };
                if self.lines.is_truncated() {
                    self.older = Older::None;
                }
            }
            LogUpdate::Older { lines, remaining } => {
                self.lines.push_older(lines);
                self.older = if remaining == OlderLines::Available && self.lines.has_room() {
                    Older::Available
                } else {
                    Older::None
                };
                if remaining != OlderLines::None && self.older == Older::None {
                    self.lines.set_truncated();
                }
            }
            LogUpdate::Skipped { lines, bytes } => self.push_notice(left_out(lines, bytes)),
            LogUpdate::Restarted { restart, origin } => {
                let run = restart.map(|n| format!(" (restart {n})")).unwrap_or_default();
                (self.restart, self.origin) = (restart, Some(origin));
                self.push_notice(format!("container restarted{run}"));
            }
            LogUpdate::Notice(text) => self.push_notice(text.one_line().into_owned()),
            LogUpdate::CaughtUp => {}
            LogUpdate::Closed(why) => {
                self.closed = true;
                self.push_notice(why.one_line().into_owned());
            }
            LogUpdate::Unavailable(why) => {
                if !self.lines.is_empty() {
                    let all: Vec<_> = why.iter().map(Text::one_line).collect();
                    self.push_notice(format!("no longer readable: {}; retrying", all.join("; ")));
                }
                self.unavailable = why;
            }
        }
        if self.follow {
            self.cursor = self.lines.last();
        }
        self.cursor = self.cursor.clamp(self.lines.first(), self.lines.last());
    }

    fn push_notice(&mut self, text: String) {
        self.lines.push(DisplayLine::Notice(format!("-- {text}").into()));
    }

    /// Moves `step` lines down, or rows within a line that fills the screen. Returns a request for older lines if needed.
    pub fn move_by(&mut self, step: isize) -> Option<LogCommand> {
        let (page, rows) = self.page;
        let to = self.inside.saturating_add_signed(step);
        let stays = rows > page && if step < 0 { self.inside > 0 } else { self.inside.saturating_add(page) < rows };
        if stays {
            self.follow &= step > 0;
            self.inside = to.min(rows - page);
            return None;
        }
        self.move_to(self.cursor.saturating_add(step as i64), if step < 0 { usize::MAX } else { 0 })
    }

    /// Moves one screen down or up without skipping a line.
    pub fn page_by(&mut self, down: bool) -> Option<LogCommand> {
        let rows = |number| Some(wrapped_rows(self.lines.get(number)?.text(), self.cells, self.wrap).len());
        let (page, own) = (self.page.0, rows(self.cursor).unwrap_or(1));
        if own > page && if down { self.inside.saturating_add(page) < own } else { self.inside > 0 } {
            return self.move_by(if down { page as isize } else { -(page as isize) });
        }
        let (mut to, mut room) = (self.cursor, page.saturating_sub(own));
        let step = if down { 1 } else { -1 };
        while let Some(need) = rows(to + step).filter(|need| *need <= room || to == self.cursor) {
            (to, room) = (to + step, room.saturating_sub(need));
        }
        self.move_to(to, if down { 0 } else { usize::MAX })
    }

    /// Moves to the oldest line, or to the newest and follows.
    pub fn go_to_end(&mut self, last: bool) -> Option<LogCommand> {
        if last {
            self.move_to(i64::MAX, usize::MAX);
            self.set_follow(true);
            return None;
        }
        self.move_to(i64::MIN, 0)
    }

    fn move_to(&mut self, to: i64, inside: usize) -> Option<LogCommand> {
        let to = to.clamp(self.lines.first(), self.lines.last());
        // Scrolling up switches follow off.
        self.follow &= to >= self.cursor;
        (self.cursor, self.inside) = (to, inside);
        let near = to - self.lines.first() < PREFETCH_LINES;
        (near && self.older == Older::Available && !self.follow).then(|| {
            self.older = Older::Requested;
            LogCommand::Older
        })
    }

    /// Switches follow on or off.
    pub fn set_follow(&mut self, follow: bool) {
        self.follow = follow;
        self.unseen = 0;
        if follow {
            (self.cursor, self.inside) = (self.lines.last(), usize::MAX);
        }
    }

    /// Starts a search at the selected line.
    pub fn begin_search(&mut self) {
        self.anchor = self.cursor;
    }

    /// Selects the nearest match before the start of the search, else the nearest after it.
    pub fn search(&mut self) {
        self.lines.search(&self.words);
        let found = self.lines.nearest(self.anchor + 1, true).or(self.lines.nearest(self.anchor, false));
        if let Some(found) = found {
            self.set_follow(false);
            (self.cursor, self.inside) = (found, 0);
        }
    }

    /// Selects the next match, or the previous one, cyclically. Returns a message for the footer.
    pub fn next_match(&mut self, before: bool) -> Option<&'static str> {
        let near = self.lines.nearest(self.cursor, before);
        let Some(found) = near.or(self.lines.outermost(before)) else {
            return Some(if self.words.is_empty() { "no search: press / to search" } else { "no match" });
        };
        self.set_follow(false);
        (self.cursor, self.inside) = (found, 0);
        match (near, before) {
            (Some(_), _) => None,
            (None, true) => Some("continued from the end"),
            (None, false) => Some("continued from the top"),
        }
    }
}

impl Pane for LogPane {
    fn context(&self) -> Context {
        Context::Log
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &DrawContext<'_>) -> View {
        self.lines.show_secrets(context.screen.secrets);
        draw::draw(buffer, area, self, context.theme)
    }

    fn update(&mut self, screen: &mut ScreenState) {
        let placed = screen.node_view.pod(self.key()).cloned();
        self.update_pod(placed.as_ref());
    }

    fn act(&mut self, action: Action, _screen: Option<&mut ScreenState>) -> PaneOutcome {
        match action {
            Action::NextContainer => return PaneOutcome::Log(self.choose(1)),
            Action::PreviousContainer => return PaneOutcome::Log(self.choose(-1)),
            Action::PreviousRun => {
                return self
                    .toggle_previous()
                    .map_or(PaneOutcome::Message("no previous run known", true), PaneOutcome::Log);
            }
            Action::Follow => self.set_follow(!self.follow),
            Action::NextMatch | Action::PreviousMatch => {
                let message = self.next_match(action == Action::PreviousMatch);
                return message
                    .map_or(PaneOutcome::Done, |text| PaneOutcome::Message(text, !text.starts_with("continued")));
            }
            Action::Times => self.times = !self.times,
            Action::Wrap => self.wrap = !self.wrap,
            Action::Filter => self.begin_search(),
            Action::Back if self.words.is_empty() => return PaneOutcome::Return(self.from),
            Action::Back => {
                self.words.clear();
                LogPane::search(self);
            }
            _ => return PaneOutcome::Unhandled,
        }
        PaneOutcome::Done
    }

    fn words(&self) -> &str {
        &self.words
    }

    fn words_mut(&mut self) -> Option<&mut String> {
        Some(&mut self.words)
    }

    fn search(&mut self, _screen: Option<&mut ScreenState>) {
        LogPane::search(self);
    }

    fn position(&self) -> usize {
        0
    }

    fn select(&mut self, _row: usize, _screen: &ScreenState) {}

    fn move_to(&mut self, row: usize, _screen: &ScreenState) -> PaneOutcome {
        self.go_to_end(row > 0).into()
    }

    fn move_by(&mut self, step: isize, _screen: &ScreenState) -> PaneOutcome {
        LogPane::move_by(self, step).into()
    }

    fn page_by(&mut self, down: bool, _rows: usize, _screen: &ScreenState) -> PaneOutcome {
        LogPane::page_by(self, down).into()
    }
}
