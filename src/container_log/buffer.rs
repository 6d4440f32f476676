//! The bounded buffer for the lines of one container log: at most [`MAX_LOG_LINES`] lines and [`MAX_LOG_BYTES`] bytes.

use std::collections::{VecDeque, vec_deque};

use super::LogLine;

/// Maximum number of lines of one log in memory.
pub const MAX_LOG_LINES: usize = 10_000;
/// Maximum size in bytes of the text of one log in memory.
pub const MAX_LOG_BYTES: usize = 4 << 20;

/// An entry of a [`LogBuffer`].
pub trait BufferedLine {
    /// Bytes of its text.
    fn size(&self) -> usize;
}

impl BufferedLine for LogLine {
    fn size(&self) -> usize {
        self.text.len()
    }
}

/// The newest lines of a log, without a gap.
#[derive(Clone, Debug)]
pub struct LogBuffer<L = LogLine> {
    lines: VecDeque<L>,
    max_lines: usize,
    bytes: usize,
    is_truncated: bool,
}

impl<L> Default for LogBuffer<L> {
    fn default() -> Self {
        Self { lines: VecDeque::new(), max_lines: MAX_LOG_LINES, bytes: 0, is_truncated: false }
    }
}

impl<L: BufferedLine> LogBuffer<L> {
    /// An empty buffer for `max_lines` lines, at most [`MAX_LOG_LINES`].
    pub fn new(max_lines: usize) -> Self {
        Self { max_lines: max_lines.min(MAX_LOG_LINES), ..Self::default() }
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// True without lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Bytes of all lines.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// True after older lines were dropped for lack of space.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Records that older lines exist and are not available.
    pub fn set_truncated(&mut self) {
        self.is_truncated = true;
    }

    /// True without space for an older line.
    pub fn is_full(&self) -> bool {
        self.is_truncated || self.lines.len() >= self.max_lines
    }

    /// Line `index`, from the oldest.
    pub fn get(&self, index: usize) -> Option<&L> {
        self.lines.get(index)
    }

    /// All lines, oldest first.
    pub fn iter(&self) -> vec_deque::Iter<'_, L> {
        self.lines.iter()
    }

    /// All lines, oldest first, to be changed in place; their sizes must not change.
    pub fn iter_mut(&mut self) -> vec_deque::IterMut<'_, L> {
        self.lines.iter_mut()
    }

    /// Appends the newest line and drops the oldest ones while there are too many; returns how many were dropped.
    pub fn push(&mut self, line: L) -> usize {
        self.bytes += line.size();
        self.lines.push_back(line);
        let mut dropped = 0;
        while self.lines.len() > self.max_lines || self.bytes > MAX_LOG_BYTES {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.size();
            self.is_truncated = true;
            dropped += 1;
        }
        dropped
    }

    /// Puts a line before the oldest one. False, and nothing changes, without space or after older lines were dropped.
    pub fn push_older(&mut self, line: L) -> bool {
        self.is_truncated |= self.is_full() || self.bytes + line.size() > MAX_LOG_BYTES;
        if self.is_truncated {
            return false;
        }
        self.bytes += line.size();
        self.lines.push_front(line);
        true
    }

    /// Appends lines, oldest first; returns how many of the oldest lines were dropped.
    pub fn extend(&mut self, lines: impl IntoIterator<Item = L>) -> usize {
        lines.into_iter().map(|line| self.push(line)).sum()
    }

    /// Puts lines, oldest first, before the oldest one; the newest of them that fit.
    pub fn extend_older(&mut self, lines: Vec<L>) {
        _ = lines.into_iter().rev().all(|line| self.push_older(line));
    }

    /// The lines, oldest first.
    pub fn into_vec(self) -> Vec<L> {
        self.lines.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container_log::Stream;

    fn lines(texts: impl IntoIterator<Item = String>) -> Vec<LogLine> {
        texts.into_iter().map(|t| LogLine { at: None, stream: Stream::Out, text: t.as_str().into() }).collect()
    }

    fn texts(last: LogBuffer) -> Vec<String> {
        last.into_vec().into_iter().map(|l| l.text.to_string()).collect()
    }

    #[test]
    fn the_newest_lines_stay_without_a_gap() {
        let named = |names: &str| lines(names.chars().map(String::from));
        let mut last = LogBuffer::new(4);
        last.extend(named("de"));
        last.extend_older(named("abc"));
        assert!(last.is_truncated() && last.is_full());
        assert_eq!(texts(last), ["b", "c", "d", "e"]);
        let mut last = LogBuffer::new(4);
        last.extend(named("cdefg"));
        last.extend_older(named("ab"));
        assert_eq!(texts(last), ["d", "e", "f", "g"]);
        let mut none = LogBuffer::new(0);
        none.extend(named("a"));
        assert!(none.is_empty() && none.is_full());
    }

    #[test]
    fn lines_and_bytes_are_bounded() {
        let mut many = LogBuffer::new(usize::MAX);
        many.extend(lines((0..20_000).map(|i| i.to_string())));
        assert_eq!((many.len(), many.is_truncated()), (MAX_LOG_LINES, true));
        let mut long = LogBuffer::new(usize::MAX);
        (0..3000).for_each(|_| _ = long.extend(lines(["x".repeat(4000)])));
        assert_eq!((long.len(), long.is_full()), (MAX_LOG_BYTES / 4000, true));
        let mut older = LogBuffer::new(usize::MAX);
        older.extend_older(lines((0..3000).map(|_| "x".repeat(4000))));
        assert_eq!((older.len(), older.is_truncated()), (MAX_LOG_BYTES / 4000, true));
    }
}
