//! Owns reading an answer: whole up to a size, or line by line with a deadline for each.
//! It must not decode what it reads.

use std::time::Duration;

use http::Response;
use http_body_util::BodyExt;
use kube::client::Body;

use super::answer::{Ended, late, malformed, unanswered};
use super::source::Watched;

/// Longest page of a list, bytes.
const MAX_PAGE: usize = 256 << 20;
/// Longest watch event, bytes: an object is at most 1.5 MiB in etcd, and JSON is longer.
const MAX_LINE: usize = 8 << 20;

/// Reads a body as a whole.
pub(super) async fn whole(
    what: &Watched,
    server: &str,
    response: Response<Body>,
    deadline: Duration,
) -> Result<Vec<u8>, Ended> {
    let mut lines = Lines::new(response);
    let mut out = Vec::new();
    while let Some(chunk) = lines.chunk(what, server, deadline).await? {
        out.extend_from_slice(&chunk);
        if out.len() > MAX_PAGE {
            return Err(malformed(what, "the list is longer than 256 MiB"));
        }
    }
    Ok(out)
}

/// A body as lines.
pub(super) struct Lines {
    body: Body,
    rest: Vec<u8>,
    /// The line that is read is too long and is thrown away up to its end.
    skipping: bool,
}

impl Lines {
    pub fn new(response: Response<Body>) -> Self {
        Self { body: response.into_body(), rest: Vec::new(), skipping: false }
    }

    /// The next line without its line feed; None at the end of the body. An event that is too long is left out.
    pub async fn next(&mut self, what: &Watched, server: &str, idle: Duration) -> Result<Option<Vec<u8>>, Ended> {
        loop {
            if let Some(end) = self.rest.iter().position(|b| *b == b'\n') {
                let mut line: Vec<u8> = self.rest.drain(..=end).collect();
                line.pop();
                if std::mem::take(&mut self.skipping) || line.is_empty() {
                    continue;
                }
                return Ok(Some(line));
            }
            if self.rest.len() > MAX_LINE {
                self.rest.clear();
                self.skipping = true;
            }
            match self.chunk(what, server, idle).await? {
                Some(chunk) => self.rest.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }

    async fn chunk(&mut self, what: &Watched, server: &str, idle: Duration) -> Result<Option<Vec<u8>>, Ended> {
        loop {
            match tokio::time::timeout(idle, self.body.frame()).await {
                Err(_) => return Err(late(what, server, idle)),
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(unanswered(what, server, &error)),
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data.to_vec()));
                    }
                }
            }
        }
    }
}
