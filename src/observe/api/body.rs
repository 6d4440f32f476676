//! Reads response bodies of the API server: whole up to a size and a deadline, or line by line with a deadline for each line.

use std::ops::Deref;
use std::time::{Duration, Instant};

use http::Response;
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::timeout;

use super::super::line_splitter::{LineSplitter, SplitLine};
use crate::decode::MAX_ITEM;

/// Longest watch event, bytes: an object, and its envelope.
const MAX_LINE: usize = MAX_ITEM + 1024;
/// Bytes of one line that are dropped before the body is given up.
const MAX_DROPPED: usize = 64 << 20;

/// Why a body cannot be read further.
#[derive(Debug)]
pub(super) enum BodyError {
    /// The connection failed.
    Connection(kube::Error),
    /// Nothing arrived for this long.
    TimedOut(Duration),
    /// The body exceeds its limit.
    TooLong,
}

/// A body in chunks, with a deadline that counts only the time spent waiting for it.
pub(super) struct BodyChunks {
    body: Body,
    deadline: Duration,
    waited: Duration,
}

impl BodyChunks {
    pub fn new(response: Response<Body>, deadline: Duration) -> Self {
        Self { body: response.into_body(), deadline, waited: Duration::ZERO }
    }

    /// The next chunk; None at the end.
    pub async fn next(&mut self) -> Result<Option<impl Deref<Target = [u8]> + use<>>, BodyError> {
        let began = Instant::now();
        let left = self.deadline.saturating_sub(self.waited);
        let chunk = timeout(left, next_chunk(&mut self.body)).await;
        self.waited += began.elapsed();
        chunk.unwrap_or(Err(BodyError::TimedOut(self.deadline)))
    }
}

/// Reads a whole body of at most `limit` bytes, within `deadline`.
pub(super) async fn read_all(response: Response<Body>, limit: usize, deadline: Duration) -> Result<Vec<u8>, BodyError> {
    let mut chunks = BodyChunks::new(response, deadline);
    let mut out = Vec::new();
    while let Some(data) = chunks.next().await? {
        if out.len() + data.len() > limit {
            return Err(BodyError::TooLong);
        }
        out.extend_from_slice(&data);
    }
    Ok(out)
}

/// The next chunk of a body; None at its end.
pub(super) async fn next_chunk(body: &mut Body) -> Result<Option<impl Deref<Target = [u8]> + use<>>, BodyError> {
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

/// One line of a watch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WatchLine {
    /// Without its line feed.
    Complete(Vec<u8>),
    /// Longer than an object may be; it was not kept.
    TooLong,
}

/// The body of a watch as lines.
pub(super) struct WatchLines {
    body: Body,
    splitter: LineSplitter,
    /// Bytes of the current line that were dropped.
    dropped: usize,
}

impl WatchLines {
    pub fn new(response: Response<Body>) -> Self {
        Self { body: response.into_body(), splitter: watch_splitter(), dropped: 0 }
    }

    /// The next line; None at the end of the body. A line without a line feed is incomplete and is not returned.
    pub async fn next(&mut self, idle: Duration) -> Result<Option<WatchLine>, BodyError> {
        loop {
            match self.splitter.next() {
                Some(SplitLine::Complete(line)) => return Ok(Some(WatchLine::Complete(line.to_vec()))),
                Some(SplitLine::TooLong) => return Ok(Some(WatchLine::TooLong)),
                None => {}
            }
            let Ok(data) = timeout(idle, next_chunk(&mut self.body)).await else {
                return Err(BodyError::TimedOut(idle));
            };
            let Some(data) = data? else { return Ok(None) };
            self.splitter.push(&data);
            self.dropped = if self.splitter.is_dropping() { self.dropped + data.len() } else { 0 };
            if self.dropped > MAX_DROPPED {
                return Err(BodyError::TooLong);
            }
        }
    }
}

/// Splits the body of a watch.
pub(super) fn watch_splitter() -> LineSplitter {
    LineSplitter::new(MAX_LINE)
}
