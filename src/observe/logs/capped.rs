//! Reads lines up to a maximum length; cancelling a read loses no data.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Longest line in bytes. journald cuts a message at 48 KiB, which as an array of numbers is below this.
pub const MAX_LINE: usize = 256 * 1024;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub enum CappedLine {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// A line that was too long, and is lost.
    TooLong,
}

/// Lines of a reader. A call of [`CappedLines::next`] that is dropped loses nothing.
#[derive(Debug)]
pub struct CappedLines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    skipping: bool,
}

impl<R: AsyncRead + Unpin> CappedLines<R> {
    /// Lines of `reader`.
    pub fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(64 * 1024, reader), line: Vec::new(), skipping: false }
    }

    /// The next line; nothing at the end. A last line without an end counts.
    ///
    /// # Errors
    /// Those of the reader.
    pub async fn next(&mut self) -> io::Result<Option<CappedLine>> {
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                let over = self.line.is_empty() && !self.skipping;
                return Ok((!over).then(|| self.finish()));
            }
            let end = chunk.iter().position(|b| *b == b'\n');
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            if self.line.len() + part.len() > MAX_LINE {
                (self.skipping, self.line) = (true, Vec::new());
            } else if !self.skipping {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(self.finish()));
            }
        }
    }

    fn finish(&mut self) -> CappedLine {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.skipping) { CappedLine::TooLong } else { CappedLine::Whole(line) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_long_ones_and_the_last() {
        let mut text = b"a\n\n".to_vec();
        text.extend(vec![b'x'; MAX_LINE]);
        text.push(b'\n');
        text.extend(vec![b'y'; MAX_LINE + 1]);
        text.extend(b"\nlast");
        let mut lines = CappedLines::new(&text[..]);
        let mut got = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            got.push(match line {
                CappedLine::Whole(line) => line.len(),
                CappedLine::TooLong => usize::MAX,
            });
        }
        assert_eq!(got, [1, 0, MAX_LINE, usize::MAX, 4]);
    }
}
