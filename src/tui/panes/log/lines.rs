//! Owns the lines of a log that are held to be shown: bounded, numbered so that a number stays with its line, and searched.
//! It must not keep a line once the log is closed.

use std::collections::VecDeque;
use std::ops::Range;

use crate::container_log::{LogLine, MOST, Stream};
use crate::observation::Time;

/// A line that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// Written by the container.
    Line {
        /// When.
        at: Option<Time>,
        /// By which stream.
        stream: Stream,
        /// Its text as it is shown; tabs are spaces.
        text: Box<str>,
        /// The same with its credentials while those are hidden, without them while they are shown; None where it has none.
        other: Option<Box<str>>,
    },
    /// Said by the program about what stands before and behind it.
    Mark(Box<str>),
}

impl Held {
    /// Its text.
    pub fn text(&self) -> &str {
        match self {
            Held::Line { text, .. } | Held::Mark(text) => text,
        }
    }

    /// Bytes that it takes.
    fn size(&self) -> usize {
        match self {
            Held::Line { text, other, .. } => text.len() + other.as_ref().map_or(0, |other| other.len()),
            Held::Mark(text) => text.len(),
        }
    }

    fn swap(&mut self) {
        if let Held::Line { text, other: Some(other), .. } = self {
            std::mem::swap(text, other);
        }
    }
}

impl From<LogLine> for Held {
    fn from(line: LogLine) -> Self {
        let flat = |text: &str| Box::from(text.replace('\t', "    ").replace('\n', " "));
        let other = line.text.is_redacted().then(|| flat(line.text.unredacted()));
        Held::Line { at: line.at, stream: line.stream, text: flat(&line.text), other }
    }
}

/// The lines.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    held: VecDeque<Held>,
    /// Number of the first; older lines have lower ones.
    first: i64,
    bytes: usize,
    /// Older lines were left out to make room, or found none.
    pub cut: bool,
    /// Credentials are shown.
    secrets: bool,
    words: Words,
    /// Numbers of the lines that have the words.
    matches: VecDeque<i64>,
}

impl Lines {
    /// How many.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// None.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Number of the first.
    pub fn first(&self) -> i64 {
        self.first
    }

    /// Number of the last, or of the first where there is none.
    pub fn last(&self) -> i64 {
        (self.first + self.held.len() as i64 - 1).max(self.first)
    }

    /// The line of that number.
    pub fn get(&self, number: i64) -> Option<&Held> {
        self.held.get(usize::try_from(number - self.first).ok()?)
    }

    /// When the first was written.
    pub fn since(&self) -> Option<Time> {
        self.held.iter().find_map(|line| match line {
            Held::Line { at, .. } => *at,
            Held::Mark(_) => None,
        })
    }

    /// Puts a line behind the last; the first make room.
    pub fn push(&mut self, mut line: Held) {
        if self.secrets {
            line.swap();
        }
        self.bytes += line.size();
        let matches = self.words.are_in(&line);
        self.held.push_back(line);
        if matches {
            self.matches.push_back(self.last());
        }
        while self.held.len() > MOST.0 || self.bytes > MOST.1 {
            let Some(gone) = self.held.pop_front() else { break };
            self.bytes -= gone.size();
            self.first += 1;
            self.cut = true;
            while self.matches.front().is_some_and(|number| *number < self.first) {
                self.matches.pop_front();
            }
        }
    }

    /// Puts lines before the first, as far as there is room.
    pub fn push_before(&mut self, lines: Vec<LogLine>) {
        if self.cut {
            // Lines between them were left out meanwhile.
            return;
        }
        for mut line in lines.into_iter().rev().map(Held::from) {
            if self.held.len() >= MOST.0 || self.bytes + line.size() > MOST.1 {
                self.cut = true;
                return;
            }
            if self.secrets {
                line.swap();
            }
            self.bytes += line.size();
            self.first -= 1;
            if self.words.are_in(&line) {
                self.matches.push_front(self.first);
            }
            self.held.push_front(line);
        }
    }

    /// Shows credentials, or hides them.
    pub fn show_secrets(&mut self, secrets: bool) {
        if self.secrets == secrets {
            return;
        }
        self.secrets = secrets;
        self.held.iter_mut().for_each(Held::swap);
        self.find();
    }

    /// The text of the line of that number without credentials, whether they are shown or not.
    pub fn safe(&self, number: i64) -> Option<&str> {
        match self.get(number)? {
            Held::Line { other: Some(other), .. } if self.secrets => Some(other),
            line => Some(line.text()),
        }
    }

    /// There is room for older lines.
    pub fn has_room(&self) -> bool {
        !self.cut && self.held.len() < MOST.0
    }

    /// Looks for these words in every line.
    pub fn search(&mut self, words: &str) {
        self.words = Words::new(words);
        self.find();
    }

    fn find(&mut self) {
        let numbered = self.held.iter().zip(self.first..);
        self.matches = numbered.filter(|(line, _)| self.words.are_in(line)).map(|(_, number)| number).collect();
    }

    /// What is looked for.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// How many lines have the words, and the place among them, from 1, of the line of that number.
    pub fn found(&self, number: i64) -> (usize, Option<usize>) {
        (self.matches.len(), self.matches.binary_search(&number).ok().map(|i| i + 1))
    }

    /// The nearest line with the words behind that number; with `before`, before it.
    pub fn nearest(&self, number: i64, before: bool) -> Option<i64> {
        match before {
            true => self.matches.iter().rev().find(|found| **found < number),
            false => self.matches.iter().find(|found| **found > number),
        }
        .copied()
    }

    /// The first line with the words; with `last`, the last.
    pub fn outermost(&self, last: bool) -> Option<i64> {
        if last { self.matches.back() } else { self.matches.front() }.copied()
    }
}

/// What is looked for: a part of a line. Upper-case letters count where one is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    chars: Vec<char>,
    exact: bool,
}

impl Words {
    fn new(words: &str) -> Self {
        Self { chars: words.chars().collect(), exact: words.chars().any(char::is_uppercase) }
    }

    fn are_in(&self, line: &Held) -> bool {
        matches!(line, Held::Line { text, .. } if self.next(text, 0).is_some())
    }

    /// The places of a text that have the words.
    pub fn places(&self, text: &str) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        let mut from = 0;
        while let Some(place) = self.next(text, from) {
            from = place.end;
            places.push(place);
        }
        places
    }

    fn next(&self, text: &str, from: usize) -> Option<Range<usize>> {
        if self.chars.is_empty() {
            return None;
        }
        let rest = text.get(from..)?;
        rest.char_indices().find_map(|(i, _)| Some(from + i..from + i + self.length_at(rest.get(i..)?)?))
    }

    /// Bytes of the words at the begin of a text, if it begins with them.
    fn length_at(&self, text: &str) -> Option<usize> {
        let mut chars = text.chars();
        let mut length = 0;
        for wanted in &self.chars {
            let c = chars.next()?;
            if c != *wanted && (self.exact || !c.to_lowercase().eq(wanted.to_lowercase())) {
                return None;
            }
            length += c.len_utf8();
        }
        Some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> LogLine {
        LogLine { at: None, stream: Stream::Out, text: text.into() }
    }

    #[test]
    fn a_number_stays_with_its_line() {
        let mut lines = Lines::default();
        ["b", "c Error", "d"].into_iter().for_each(|t| lines.push(line(t).into()));
        lines.search("error");
        assert_eq!((lines.found(1), lines.nearest(1, true), lines.nearest(0, false)), ((1, Some(1)), None, Some(1)));
        lines.push_before(vec![line("error"), line("a")]);
        assert_eq!(
            (lines.first(), lines.get(1).unwrap().text(), lines.get(-2).unwrap().text()),
            (-2, "c Error", "error")
        );
        lines.push(line("an error\tagain").into());
        assert_eq!((lines.found(3), lines.outermost(false), lines.outermost(true)), ((3, Some(3)), Some(-2), Some(3)));
        assert_eq!(lines.get(3).unwrap().text(), "an error    again");
        lines.search("Error");
        assert_eq!(lines.found(1), (1, Some(1)));
        assert!(lines.get(9).is_none() && lines.get(-3).is_none());
    }

    #[test]
    fn it_is_bounded_and_what_makes_room_is_known() {
        let mut lines = Lines::default();
        lines.search("x");
        (0..MOST.0 + 5).for_each(|i| lines.push(line(&format!("x{i}")).into()));
        assert_eq!((lines.len(), lines.first(), lines.cut), (MOST.0, 5, true));
        assert_eq!((lines.get(5).unwrap().text(), lines.found(5)), ("x5", (MOST.0, Some(1))));
        lines.push_before(vec![line("older")]);
        assert_eq!(lines.first(), 5, "no room");
        let mut long = Lines::default();
        let text = "y".repeat(4000);
        (0..3000).for_each(|_| long.push(line(&text).into()));
        assert!(long.bytes <= MOST.1 && long.len() > 1000);
        let first = long.first();
        long.push_before(vec![line("older")]);
        assert_eq!(long.first(), first, "what stood between made room");
    }

    #[test]
    fn credentials_are_shown_and_hidden_again_and_never_copied() {
        let mut lines = Lines::default();
        lines.push(line("token=hunter2").into());
        lines.search("hunter2");
        assert_eq!((lines.get(0).unwrap().text(), lines.found(0).0), ("token=[redacted]", 0));
        lines.show_secrets(true);
        lines.push(line("password=hunter2").into());
        lines.push_before(vec![line("secret=hunter2")]);
        let texts = |lines: &Lines| (-1..2).map(|i| lines.get(i).unwrap().text().to_owned()).collect::<Vec<_>>();
        assert_eq!(texts(&lines), ["secret=hunter2", "token=hunter2", "password=hunter2"]);
        assert_eq!((lines.found(0).0, lines.safe(1)), (3, Some("password=[redacted]")));
        lines.show_secrets(false);
        assert_eq!(texts(&lines), ["secret=[redacted]", "token=[redacted]", "password=[redacted]"]);
        assert_eq!((lines.found(0).0, lines.safe(1)), (0, Some("password=[redacted]")));
    }

    #[test]
    fn places_are_found_as_they_are_written() {
        let places = |words: &str, text: &str| Words::new(words).places(text);
        assert_eq!(places("aa", "aAaa"), [0..2, 2..4]);
        assert_eq!(places("Aa", "aAaa"), vec![1..3; 1], "an upper-case letter counts");
        assert_eq!(places("ß", "groß Größe"), [3..5, 10..12]);
        assert!(places("", "x").is_empty());
    }
}
