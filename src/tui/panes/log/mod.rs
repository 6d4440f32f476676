//! Owns the state of a log's screen: which container and run, the lines, what is looked for, where one stands.
//! It must not read a log: what is wished for is asked of the feed, and comes as news.

pub mod draw;
pub mod lines;

use crate::container_log::{Instance, LogAsk, LogNews, LogPlace, LogRequest, Rest};
use crate::pipeline::LocatedPod;
use crate::text::Text;
use crate::tui::panes::Pane;
use crate::tui::panes::log::draw::rows;
use crate::tui::panes::log::lines::Held;
use crate::tui::panes::log::lines::Lines;
use crate::view::{LogChoice, PodDiagnosis, first_choice, left_out, log_choices, log_commands, log_request};

/// Lines above which older ones are asked for before one is there.
const NEAR: i64 = 50;

/// What stands before the lines that are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Older {
    /// Nothing, as far as it is known.
    #[default]
    None,
    /// Lines that can be asked for.
    Some,
    /// Lines that were asked for.
    Asked,
}

/// A log, open.
#[derive(Clone, Debug)]
pub struct LogPane {
    placed: LocatedPod,
    /// The pane that was left for it.
    pub from: Pane,
    /// No source has the pod any more.
    pub gone: bool,
    /// The pod's containers.
    pub choices: Vec<LogChoice>,
    /// The one whose log it is.
    pub chosen: usize,
    /// Which of its runs.
    pub instance: Instance,
    /// The lines.
    pub lines: Lines,
    /// Where they are read; None before that is known.
    pub place: Option<LogPlace>,
    /// Which run that is, counted from 0, where it is told.
    pub restart: Option<u32>,
    /// Why it can be read nowhere.
    pub nowhere: Vec<Text>,
    /// Nothing more will come.
    pub over: bool,
    /// What stands before them.
    pub older: Older,
    /// The last line is kept in sight.
    pub follow: bool,
    /// Lines that came since it is not.
    pub fresh: usize,
    /// Number of the line one stands on.
    pub cursor: i64,
    /// Number of the first line that is seen, and how many rows of it are not.
    pub top: (i64, usize),
    /// Rows above what is seen of a line that is longer than the screen.
    pub inside: usize,
    /// Rows of the last frame, and how many the line one stands on takes.
    pub page: (usize, usize),
    /// Cells of a row of the last frame.
    pub cells: usize,
    /// Where one stood when the search began.
    anchor: i64,
    /// What is typed to look for.
    pub words: String,
    /// The times of the lines are shown.
    pub times: bool,
    /// Long lines are broken, not cut.
    pub wrap: bool,
}

impl LogPane {
    /// The log of the container of a pod that is the trouble; None where no source names a container.
    pub fn open(placed: &LocatedPod, why: Option<&PodDiagnosis>, from: Pane) -> Option<(Self, LogAsk)> {
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
            lines: Lines::default(),
            place: None,
            restart: None,
            nowhere: Vec::new(),
            over: false,
            older: Older::None,
            follow: true,
            fresh: 0,
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
        let ask = pane.begin();
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

    /// The container.
    pub fn choice(&self) -> Option<&LogChoice> {
        self.choices.get(self.chosen)
    }

    /// Takes the pod in as it is now.
    pub fn show(&mut self, placed: Option<&LocatedPod>) {
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

    /// The commands that print it elsewhere.
    pub fn commands(&self) -> Vec<String> {
        log_commands(&self.request(), self.choice())
    }

    fn begin(&mut self) -> LogAsk {
        let words = std::mem::take(&mut self.words);
        self.clear();
        (self.follow, self.place, self.restart) = (true, None, None);
        self.lines.search(&words);
        self.words = words;
        LogAsk::Open(Box::new(self.request()))
    }

    fn clear(&mut self) {
        self.lines = Lines::default();
        self.lines.search(&self.words);
        self.nowhere.clear();
        self.over = false;
        (self.older, self.fresh, self.cursor, self.top, self.inside) = (Older::None, 0, 0, (0, 0), 0);
    }

    /// The container `step` further, round the end.
    pub fn choose(&mut self, step: isize) -> LogAsk {
        let count = self.choices.len().max(1) as isize;
        self.chosen = (self.chosen as isize + step).rem_euclid(count) as usize;
        self.instance = Instance::Current;
        self.begin()
    }

    /// There was a run before the latest, as far as is known.
    pub fn has_previous(&self) -> bool {
        self.restart.or(self.choice().map(|c| c.restarts)).is_some_and(|count| count > 0)
    }

    /// The other run: the one before the latest, or the latest again. None where there was no other.
    pub fn other_run(&mut self) -> Option<LogAsk> {
        self.instance = match self.instance {
            Instance::Current if self.has_previous() => Instance::Previous,
            Instance::Current => return None,
            Instance::Previous => Instance::Current,
        };
        Some(self.begin())
    }

    /// Takes news in.
    pub fn news(&mut self, news: LogNews) {
        match news {
            LogNews::Begin { place, restart, older } => {
                self.clear();
                (self.place, self.restart) = (Some(place), restart);
                self.older = if older { Older::Some } else { Older::None };
            }
            LogNews::Lines(lines) => {
                let count = lines.len();
                lines.into_iter().for_each(|line| self.lines.push(line.into()));
                self.fresh = if self.follow { 0 } else { self.fresh.saturating_add(count) };
                if self.lines.cut {
                    self.older = Older::None;
                }
            }
            LogNews::Older { lines, rest } => {
                self.lines.push_before(lines);
                self.older = if rest == Rest::More && self.lines.has_room() { Older::Some } else { Older::None };
                self.lines.cut |= rest != Rest::None && self.older == Older::None;
            }
            LogNews::Skipped { lines, bytes } => self.mark(left_out(lines, bytes)),
            LogNews::Restarted { restart, place } => {
                let run = restart.map(|n| format!(" (restart {n})")).unwrap_or_default();
                (self.restart, self.place) = (restart, Some(place));
                self.mark(format!("container restarted{run}"));
            }
            LogNews::Said(text) => self.mark(text.one_line().into_owned()),
            // The screen waits for more.
            LogNews::End => {}
            LogNews::Over(why) => {
                self.over = true;
                self.mark(why.one_line().into_owned());
            }
            LogNews::Nowhere(why) => {
                if !self.lines.is_empty() {
                    let all: Vec<_> = why.iter().map(Text::one_line).collect();
                    self.mark(format!("cannot be read any more: {}; it is tried again", all.join("; ")));
                }
                self.nowhere = why;
            }
        }
        if self.follow {
            self.cursor = self.lines.last();
        }
        self.cursor = self.cursor.clamp(self.lines.first(), self.lines.last());
    }

    fn mark(&mut self, text: String) {
        self.lines.push(Held::Mark(format!("-- {text}").into()));
    }

    /// Goes `step` lines down, or rows where one line fills the screen. What is wished for besides.
    pub fn move_by(&mut self, step: isize) -> Option<LogAsk> {
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

    /// Goes a screen down or up; no line is left out between.
    pub fn turn(&mut self, down: bool) -> Option<LogAsk> {
        let rows = |number| Some(rows(self.lines.get(number)?.text(), self.cells, self.wrap).len());
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

    /// Goes to the first line that is held, or the last; there what comes is followed.
    pub fn go_to_end(&mut self, last: bool) -> Option<LogAsk> {
        if last {
            self.move_to(i64::MAX, usize::MAX);
            self.set_follow(true);
            return None;
        }
        self.move_to(i64::MIN, 0)
    }

    fn move_to(&mut self, to: i64, inside: usize) -> Option<LogAsk> {
        let to = to.clamp(self.lines.first(), self.lines.last());
        // Who scrolls up reads; who stays at the end waits for more.
        self.follow &= to >= self.cursor;
        (self.cursor, self.inside) = (to, inside);
        let near = to - self.lines.first() < NEAR;
        (near && self.older == Older::Some && !self.follow).then(|| {
            self.older = Older::Asked;
            LogAsk::Older
        })
    }

    /// Keeps the last line in sight from now on, or no longer.
    pub fn set_follow(&mut self, follow: bool) {
        self.follow = follow;
        self.fresh = 0;
        if follow {
            (self.cursor, self.inside) = (self.lines.last(), usize::MAX);
        }
    }

    /// Begins to look for something.
    pub fn begin_search(&mut self) {
        self.anchor = self.cursor;
    }

    /// Looks for what is typed: the nearest line before where one stood, else behind it.
    pub fn search(&mut self) {
        self.lines.search(&self.words);
        let found = self.lines.nearest(self.anchor + 1, true).or(self.lines.nearest(self.anchor, false));
        if let Some(found) = found {
            self.set_follow(false);
            (self.cursor, self.inside) = (found, 0);
        }
    }

    /// Goes to the next line that has the words, or the one before; round the end. What is to be said.
    pub fn next_match(&mut self, before: bool) -> Option<&'static str> {
        let near = self.lines.nearest(self.cursor, before);
        let Some(found) = near.or(self.lines.outermost(before)) else {
            return Some(if self.words.is_empty() { "nothing is searched for: / searches" } else { "no line has it" });
        };
        self.set_follow(false);
        (self.cursor, self.inside) = (found, 0);
        match (near, before) {
            (Some(_), _) => None,
            (None, true) => Some("from the end again"),
            (None, false) => Some("from the top again"),
        }
    }
}
