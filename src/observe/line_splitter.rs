//! Splits a body that arrives in chunks into lines of a bounded length; every byte is scanned once.

/// Capacity that is kept for later lines, bytes.
const KEPT_CAPACITY: usize = 256 << 10;

/// One line of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SplitLine<'a> {
    /// Without its line feed; never empty.
    Complete(&'a [u8]),
    /// Longer than the limit; its bytes were dropped.
    TooLong,
}

/// Splits chunks into lines; empty lines are skipped.
#[derive(Debug)]
pub(super) struct LineSplitter {
    /// Longest line, bytes.
    limit: usize,
    buffer: Vec<u8>,
    /// Start of the next line in `buffer`.
    start: usize,
    /// No line feed before this index.
    scanned: usize,
    /// The current line exceeds the limit and is dropped up to its end.
    dropping: bool,
}

impl LineSplitter {
    /// A splitter for lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, buffer: Vec::new(), start: 0, scanned: 0, dropping: false }
    }

    /// Adds a chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        if self.buffer.len() < KEPT_CAPACITY {
            self.buffer.shrink_to(KEPT_CAPACITY);
        }
        self.buffer.extend_from_slice(chunk);
    }

    /// The next line that ends with a line feed.
    pub fn next(&mut self) -> Option<SplitLine<'_>> {
        let line = loop {
            let Some(end) = memchr::memchr(b'\n', self.buffer.get(self.scanned..)?) else {
                self.scanned = self.buffer.len();
                if self.scanned - self.start > self.limit {
                    (self.start, self.dropping) = (self.scanned, true);
                }
                return None;
            };
            let (start, end) = (self.start, self.scanned + end);
            (self.start, self.scanned) = (end + 1, end + 1);
            if std::mem::take(&mut self.dropping) || end - start > self.limit {
                break None;
            }
            if start < end {
                break Some(start..end);
            }
        };
        Some(match line {
            Some(range) => SplitLine::Complete(self.buffer.get(range).unwrap_or_default()),
            None => SplitLine::TooLong,
        })
    }

    /// The rest after the last line feed, at the end of the body.
    pub fn finish(&mut self) -> Option<SplitLine<'_>> {
        let (start, end) = (self.start, self.buffer.len());
        (self.start, self.scanned) = (end, end);
        match std::mem::take(&mut self.dropping) || end - start > self.limit {
            true => Some(SplitLine::TooLong),
            false => self.buffer.get(start..end).filter(|rest| !rest.is_empty()).map(SplitLine::Complete),
        }
    }

    /// True while a line that exceeds the limit is dropped.
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: usize = 1000;

    /// The lines of a body, `None` for one that is too long, and the unterminated rest.
    fn split(chunks: &[&[u8]]) -> (Vec<Option<Vec<u8>>>, Option<Vec<u8>>) {
        let owned = |line: SplitLine<'_>| match line {
            SplitLine::Complete(line) => Some(line.to_vec()),
            SplitLine::TooLong => None,
        };
        let mut splitter = LineSplitter::new(LIMIT);
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.push(chunk);
            while let Some(line) = splitter.next() {
                lines.push(owned(line));
            }
        }
        (lines, splitter.finish().and_then(owned))
    }

    fn text(line: &[u8]) -> Option<Vec<u8>> {
        Some(line.to_vec())
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_and_the_next_is_complete() {
        let long = vec![b'x'; LIMIT + 1];
        let (lines, rest) = split(&[b"a\n", &long, &long, b"x\nb\n\nc"]);
        assert_eq!((lines, rest), (vec![text(b"a"), None, text(b"b")], text(b"c")));
        let whole = [long.as_slice(), b"\nb\n"].concat();
        assert_eq!(split(&[&whole]).0, [None, text(b"b")]);
        let longest = vec![b'x'; LIMIT];
        assert_eq!(split(&[&longest, b"\n"]).0, [text(&longest)]);
        assert_eq!(split(&[&longest, b"x"]), (Vec::new(), None), "the rest is too long");
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_change_the_lines(
            text in "[ab\n]{0,40}", at in proptest::collection::vec(0usize..40, 0..6)
        ) {
            let mut at: Vec<usize> = at.into_iter().filter(|a| *a <= text.len()).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let chunks: Vec<&[u8]> = at.windows(2).map(|w| &text.as_bytes()[w[0]..w[1]]).collect();
            let (complete, rest) = text.rsplit_once('\n').unwrap_or(("", &text));
            let expected = complete.split('\n').filter(|l| !l.is_empty()).map(|l| Some(l.as_bytes().to_vec()));
            let rest = Some(rest.as_bytes().to_vec()).filter(|rest| !rest.is_empty());
            prop_assert_eq!(split(&chunks), (expected.collect(), rest));
        }
    }
}
