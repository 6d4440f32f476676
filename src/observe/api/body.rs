//! Owns reading an answer: whole within a size and a time, or line by line with a deadline for each.
//! It must not decode what it reads.

use std::time::{Duration, Instant};

use http::Response;
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::timeout;

use crate::decode::MAX_ITEM;

/// Longest watch event, bytes: an object, and what stands around it.
const MAX_LINE: usize = MAX_ITEM + 1024;
/// Bytes of one line that are passed over before it is taken for one without an end.
const MAX_LOST: usize = 64 << 20;
/// Room that is kept for the lines to come, bytes.
const ROOM: usize = 256 << 10;

/// Why nothing more can be read.
#[derive(Debug)]
pub(super) enum BodyError {
    /// The connection.
    Connection(kube::Error),
    /// Nothing came for so long.
    TimedOut(Duration),
    /// More came than is taken.
    TooLong,
}

/// A body piece by piece, within a time that passes only while it is waited for.
pub(super) struct BodyChunks {
    body: Body,
    deadline: Duration,
    waited: Duration,
}

impl BodyChunks {
    pub fn new(response: Response<Body>, deadline: Duration) -> Self {
        Self { body: response.into_body(), deadline, waited: Duration::ZERO }
    }

    /// The next piece; None at the end.
    pub async fn next(&mut self) -> Result<Option<impl std::ops::Deref<Target = [u8]> + use<>>, BodyError> {
        let began = Instant::now();
        let left = self.deadline.saturating_sub(self.waited);
        let piece = timeout(left, chunk(&mut self.body)).await;
        self.waited += began.elapsed();
        piece.unwrap_or(Err(BodyError::TimedOut(self.deadline)))
    }
}

/// Reads a body as a whole, within `deadline`.
pub(super) async fn whole(response: Response<Body>, limit: usize, deadline: Duration) -> Result<Vec<u8>, BodyError> {
    let mut pieces = BodyChunks::new(response, deadline);
    let mut out = Vec::new();
    while let Some(data) = pieces.next().await? {
        if out.len() + data.len() > limit {
            return Err(BodyError::TooLong);
        }
        out.extend_from_slice(&data);
    }
    Ok(out)
}

/// The next piece of a body; None at its end.
pub(super) async fn chunk(body: &mut Body) -> Result<Option<impl std::ops::Deref<Target = [u8]> + use<>>, BodyError> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Err(error)) => return Err(BodyError::Connection(error)),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WatchLine {
    /// Without its line feed.
    Complete(Vec<u8>),
    /// Longer than an object may be; it was not kept.
    TooLong,
}

/// A body as lines.
pub(super) struct WatchLines {
    body: Body,
    cutter: LineSplitter,
    /// Bytes of the line that is passed over.
    lost: usize,
}

impl WatchLines {
    pub fn new(response: Response<Body>) -> Self {
        Self { body: response.into_body(), cutter: LineSplitter::default(), lost: 0 }
    }

    /// The next line; None at the end of the body. A line that has no end is not one.
    pub async fn next(&mut self, idle: Duration) -> Result<Option<WatchLine>, BodyError> {
        loop {
            if let Some(line) = self.cutter.next() {
                return Ok(Some(line));
            }
            match timeout(idle, chunk(&mut self.body)).await {
                Err(_) => return Err(BodyError::TimedOut(idle)),
                Ok(data) => match data? {
                    Some(data) => {
                        self.cutter.push(&data);
                        self.lost = if self.cutter.skipping { self.lost + data.len() } else { 0 };
                        if self.lost > MAX_LOST {
                            return Err(BodyError::TooLong);
                        }
                    }
                    None => return Ok(None),
                },
            }
        }
    }
}

/// Cuts what comes in pieces into lines, looking at every byte once.
#[derive(Default)]
pub(super) struct LineSplitter {
    held: Vec<u8>,
    /// Begin of the line that is next, in `held`.
    begin: usize,
    /// Up to here there is no line feed.
    seen: usize,
    /// The line that is read is too long and is thrown away up to its end.
    skipping: bool,
}

impl LineSplitter {
    pub(super) fn push(&mut self, data: &[u8]) {
        self.held.drain(..self.begin);
        self.seen -= self.begin;
        self.begin = 0;
        if self.held.len() < ROOM {
            self.held.shrink_to(ROOM);
        }
        self.held.extend_from_slice(data);
    }

    pub(super) fn next(&mut self) -> Option<WatchLine> {
        while let Some(end) = memchr::memchr(b'\n', self.held.get(self.seen..)?) {
            let end = self.seen + end;
            let line = self.held.get(self.begin..end).unwrap_or_default();
            let line = match line {
                _ if std::mem::take(&mut self.skipping) || line.len() > MAX_LINE => Some(WatchLine::TooLong),
                [] => None,
                line => Some(WatchLine::Complete(line.to_vec())),
            };
            (self.begin, self.seen) = (end + 1, end + 1);
            if line.is_some() {
                return line;
            }
        }
        self.seen = self.held.len();
        if self.seen - self.begin > MAX_LINE {
            (self.begin, self.skipping) = (self.seen, true);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(pieces: &[&[u8]]) -> Vec<WatchLine> {
        let mut cutter = LineSplitter::default();
        let mut out = Vec::new();
        for piece in pieces {
            cutter.push(piece);
            out.extend(std::iter::from_fn(|| cutter.next()));
        }
        out
    }

    #[test]
    fn a_line_that_is_too_long_is_told_and_the_next_is_whole() {
        let long = vec![b'x'; MAX_LINE + 1];
        let lines = cut(&[b"a\n", &long, &long, b"x\nb\n\nc"]);
        assert_eq!(lines, [WatchLine::Complete(b"a".to_vec()), WatchLine::TooLong, WatchLine::Complete(b"b".to_vec())]);
        let whole = [long.as_slice(), b"\nb\n"].concat();
        assert_eq!(cut(&[&whole]), [WatchLine::TooLong, WatchLine::Complete(b"b".to_vec())]);
    }

    proptest! {
        #[test]
        fn cut_anywhere_the_lines_are_the_same(
            text in "[ab\n]{0,40}", at in proptest::collection::vec(0usize..40, 0..6)
        ) {
            let mut at: Vec<usize> = at.into_iter().filter(|a| *a <= text.len()).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|w| &text.as_bytes()[w[0]..w[1]]).collect();
            let mut expected: Vec<&str> = text.split('\n').collect();
            expected.pop();
            let expected: Vec<WatchLine> =
                expected.into_iter().filter(|l| !l.is_empty()).map(|l| WatchLine::Complete(l.as_bytes().to_vec())).collect();
            prop_assert_eq!(cut(&pieces), expected);
        }
    }
}
