//! The lines of the open log: bounded, numbered and searchable. They are dropped when the log is closed.

use std::collections::VecDeque;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::container_log::{BufferedLine, LogBuffer, LogLine, Stream};
use crate::observation::Time;
use crate::text::cells::width;

/// One line on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisplayLine {
    /// A line that the container wrote.
    Output {
        /// When the runtime read it.
        at: Option<Time>,
        /// Standard output or standard error.
        stream: Stream,
        /// The text on the screen; tabs are spaces.
        text: Box<str>,
        /// The text with credentials while they are hidden, without them while they are shown; None without credentials.
        other: Option<Box<str>>,
    },
    /// A notice of kpodtrace between two lines.
    Notice(Box<str>),
}

impl DisplayLine {
    /// The text on the screen.
    pub fn text(&self) -> &str {
        match self {
            DisplayLine::Output { text, .. } | DisplayLine::Notice(text) => text,
        }
    }

    fn swap(&mut self) {
        if let DisplayLine::Output { text, other: Some(other), .. } = self {
            std::mem::swap(text, other);
        }
    }
}

impl BufferedLine for DisplayLine {
    fn size(&self) -> usize {
        match self {
            DisplayLine::Output { text, other, .. } => text.len() + other.as_ref().map_or(0, |other| other.len()),
            DisplayLine::Notice(text) => text.len(),
        }
    }
}

impl From<LogLine> for DisplayLine {
    fn from(line: LogLine) -> Self {
        let flat = |text: &str| Box::from(text.replace('\t', "    ").replace('\n', " "));
        let other = line.text.is_redacted().then(|| flat(line.text.unredacted()));
        DisplayLine::Output { at: line.at, stream: line.stream, text: flat(&line.text), other }
    }
}

/// The lines of a log, numbered and searchable.
#[derive(Clone, Debug, Default)]
pub struct SearchableLines {
    buffer: LogBuffer<DisplayLine>,
    /// Number of the oldest line; a line keeps its number, so older lines have lower ones.
    first: i64,
    /// Credentials are visible.
    secrets: bool,
    term: SearchTerm,
    /// Numbers of the lines that match.
    matches: VecDeque<i64>,
}

impl SearchableLines {
    /// How many.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// True without lines.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// True when older lines were dropped, or are not available.
    pub fn is_truncated(&self) -> bool {
        self.buffer.is_truncated()
    }

    /// Records that older lines are not available.
    pub fn set_truncated(&mut self) {
        self.buffer.set_truncated();
    }

    /// Number of the oldest line.
    pub fn first(&self) -> i64 {
        self.first
    }

    /// Number of the newest line; [`Self::first`] without lines.
    pub fn last(&self) -> i64 {
        (self.first + self.buffer.len() as i64 - 1).max(self.first)
    }

    /// The line of that number.
    pub fn get(&self, number: i64) -> Option<&DisplayLine> {
        self.buffer.get(usize::try_from(number - self.first).ok()?)
    }

    /// Time of the oldest line that has one.
    pub fn since(&self) -> Option<Time> {
        self.buffer.iter().find_map(|line| match line {
            DisplayLine::Output { at, .. } => *at,
            DisplayLine::Notice(_) => None,
        })
    }

    /// Appends a line; the oldest ones are dropped while there are too many.
    pub fn push(&mut self, mut line: DisplayLine) {
        if self.secrets {
            line.swap();
        }
        let number = self.first + self.buffer.len() as i64;
        if self.term.matches(&line) {
            self.matches.push_back(number);
        }
        self.first += self.buffer.push(line) as i64;
        while self.matches.front().is_some_and(|number| *number < self.first) {
            self.matches.pop_front();
        }
    }

    /// Puts lines, oldest first, before the oldest one, as many as fit.
    pub fn push_older(&mut self, lines: Vec<LogLine>) {
        for mut line in lines.into_iter().rev().map(DisplayLine::from) {
            if self.secrets {
                line.swap();
            }
            let is_match = self.term.matches(&line);
            if !self.buffer.push_older(line) {
                return;
            }
            self.first -= 1;
            if is_match {
                self.matches.push_front(self.first);
            }
        }
    }

    /// Shows credentials, or hides them.
    pub fn show_secrets(&mut self, secrets: bool) {
        if self.secrets == secrets {
            return;
        }
        self.secrets = secrets;
        self.buffer.iter_mut().for_each(DisplayLine::swap);
        self.find();
    }

    /// The text of the line of that number, always without credentials.
    pub fn safe(&self, number: i64) -> Option<&str> {
        match self.get(number)? {
            DisplayLine::Output { other: Some(other), .. } if self.secrets => Some(other),
            line => Some(line.text()),
        }
    }

    /// True with space for older lines.
    pub fn has_room(&self) -> bool {
        !self.buffer.is_full()
    }

    /// Searches all lines, and each new one, for this text.
    pub fn search(&mut self, term: &str) {
        self.term = SearchTerm::new(term);
        self.find();
    }

    fn find(&mut self) {
        let numbered = self.buffer.iter().zip(self.first..);
        self.matches = numbered.filter(|(line, _)| self.term.matches(line)).map(|(_, number)| number).collect();
    }

    /// The search term.
    pub fn term(&self) -> &SearchTerm {
        &self.term
    }

    /// Number of matching lines, and which of them, from 1, has that number.
    pub fn found(&self, number: i64) -> (usize, Option<usize>) {
        (self.matches.len(), self.matches.binary_search(&number).ok().map(|i| i + 1))
    }

    /// The nearest match after that number; with `before`, before it.
    pub fn nearest(&self, number: i64, before: bool) -> Option<i64> {
        match before {
            true => self.matches.iter().rev().find(|found| **found < number),
            false => self.matches.iter().find(|found| **found > number),
        }
        .copied()
    }

    /// The oldest match; with `last`, the newest.
    pub fn outermost(&self, last: bool) -> Option<i64> {
        if last { self.matches.back() } else { self.matches.front() }.copied()
    }
}

/// A search term: part of a line. The search is case-sensitive when the term has an upper-case letter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchTerm {
    chars: Vec<char>,
    exact: bool,
}

impl SearchTerm {
    fn new(words: &str) -> Self {
        Self { chars: words.chars().collect(), exact: words.chars().any(char::is_uppercase) }
    }

    fn matches(&self, line: &DisplayLine) -> bool {
        matches!(line, DisplayLine::Output { text, .. } if self.next(text, 0).is_some())
    }

    /// Byte ranges of the matches in a text.
    pub fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let mut from = 0;
        while let Some(range) = self.next(text, from) {
            from = range.end;
            ranges.push(range);
        }
        ranges
    }

    fn next(&self, text: &str, from: usize) -> Option<Range<usize>> {
        if self.chars.is_empty() {
            return None;
        }
        let rest = text.get(from..)?;
        rest.char_indices().find_map(|(i, _)| Some(from + i..from + i + self.length_at(rest.get(i..)?)?))
    }

    /// Length in bytes of the match at the start of a text; None without a match there.
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

/// Byte ranges of the rows of a text: one row without `wrap`, else as many as it needs at that width in cells.
pub fn wrapped_rows(text: &str, cells: usize, wrap: bool) -> Vec<Range<usize>> {
    if !wrap || text.len() <= cells {
        return std::iter::once(0..text.len()).collect();
    }
    let (mut rows, mut start, mut used) = (Vec::new(), 0, 0);
    for (at, grapheme) in text.grapheme_indices(true) {
        let need = width(grapheme);
        if used + need > cells && used > 0 {
            rows.push(start..at);
            (start, used) = (at, 0);
        }
        used += need;
    }
    rows.push(start..text.len());
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container_log::{MAX_LOG_BYTES, MAX_LOG_LINES};

    fn line(text: &str) -> LogLine {
        LogLine { at: None, stream: Stream::Out, text: text.into() }
    }

    #[test]
    fn a_number_stays_with_its_line() {
        let mut lines = SearchableLines::default();
        ["b", "c Error", "d"].into_iter().for_each(|t| lines.push(line(t).into()));
        lines.search("error");
        assert_eq!((lines.found(1), lines.nearest(1, true), lines.nearest(0, false)), ((1, Some(1)), None, Some(1)));
        lines.push_older(vec![line("error"), line("a")]);
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
    fn lines_are_bounded_and_dropped_lines_are_recorded() {
        let mut lines = SearchableLines::default();
        lines.search("x");
        (0..MAX_LOG_LINES + 5).for_each(|i| lines.push(line(&format!("x{i}")).into()));
        assert_eq!((lines.len(), lines.first(), lines.is_truncated()), (MAX_LOG_LINES, 5, true));
        assert_eq!((lines.get(5).unwrap().text(), lines.found(5)), ("x5", (MAX_LOG_LINES, Some(1))));
        lines.push_older(vec![line("older")]);
        assert_eq!(lines.first(), 5, "no room");
        let mut long = SearchableLines::default();
        let text = "y".repeat(4000);
        (0..3000).for_each(|_| long.push(line(&text).into()));
        assert!(long.buffer.bytes() <= MAX_LOG_BYTES && long.len() > 1000);
        let first = long.first();
        long.push_older(vec![line("older")]);
        assert_eq!(long.first(), first, "lines between them were dropped");
    }

    #[test]
    fn credentials_are_shown_and_hidden_again_and_never_copied() {
        let mut lines = SearchableLines::default();
        lines.push(line("token=hunter2").into());
        lines.search("hunter2");
        assert_eq!((lines.get(0).unwrap().text(), lines.found(0).0), ("token=[redacted]", 0));
        lines.show_secrets(true);
        lines.push(line("password=hunter2").into());
        lines.push_older(vec![line("secret=hunter2")]);
        let texts =
            |lines: &SearchableLines| (-1..2).map(|i| lines.get(i).unwrap().text().to_owned()).collect::<Vec<_>>();
        assert_eq!(texts(&lines), ["secret=hunter2", "token=hunter2", "password=hunter2"]);
        assert_eq!((lines.found(0).0, lines.safe(1)), (3, Some("password=[redacted]")));
        lines.show_secrets(false);
        assert_eq!(texts(&lines), ["secret=[redacted]", "token=[redacted]", "password=[redacted]"]);
        assert_eq!((lines.found(0).0, lines.safe(1)), (0, Some("password=[redacted]")));
    }

    #[test]
    fn matches_are_byte_ranges_of_the_text() {
        let ranges = |term: &str, text: &str| SearchTerm::new(term).ranges(text);
        assert_eq!(ranges("aa", "aAaa"), [0..2, 2..4]);
        assert_eq!(ranges("Aa", "aAaa"), vec![1..3; 1], "case-sensitive with an upper-case letter");
        assert_eq!(ranges("ß", "groß Größe"), [3..5, 10..12]);
        assert!(ranges("", "x").is_empty());
    }
}
