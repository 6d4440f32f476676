//! Owns the reading of bodies: in pieces, at most so many bytes, never trusted to be text.
//! It must not interpret what it reads.

use reqwest::Response;

use super::super::SourceFailure;
use super::request_error::{body_interrupted, unexpected_body};
use crate::decode::{DecodeError, Item, ListHead, ListSplitter};
use crate::observation::{ErrorKind, SourceError};

/// Most bytes of a body, decompressed. A page of metrics of a busy node has single megabytes, `/pods` the same.
pub(super) const BODY_LIMIT: usize = 64 << 20;
/// Most bytes of a body that is held as a whole: the kubelet's settings are some KiB.
const WHOLE_LIMIT: usize = 1 << 20;
/// Longest line of a page; what is longer is no sample and is left out.
const LINE_LIMIT: usize = 64 << 10;

/// Hands every piece of the body to `take`; gives their length.
async fn pieces(
    mut response: Response,
    what: &str,
    limit: usize,
    mut take: impl FnMut(&[u8]),
) -> Result<usize, SourceFailure> {
    let mut length = 0usize;
    loop {
        match response.chunk().await {
            Ok(Some(piece)) => {
                length = length.saturating_add(piece.len());
                if length > limit {
                    return Err(too_large(what, limit));
                }
                take(&piece);
            }
            Ok(None) => return Ok(length),
            Err(error) => return Err(body_interrupted(what, length, &error)),
        }
    }
}

/// The whole body of a page of settings; what is not UTF-8 becomes U+FFFD.
pub(super) async fn read_all(response: Response, what: &str) -> Result<String, SourceFailure> {
    let mut bytes = Vec::new();
    pieces(response, what, WHOLE_LIMIT, |piece| bytes.extend_from_slice(piece)).await?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// Hands every line of the body to `take`, without its line feed.
pub(super) async fn each_line(response: Response, what: &str, mut take: impl FnMut(&str)) -> Result<(), SourceFailure> {
    let mut lines = LineAssembler::default();
    pieces(response, what, BODY_LIMIT, |piece| lines.push(piece, &mut take)).await?;
    lines.end(&mut take);
    Ok(())
}

/// The first `limit` bytes of a body that explains a failure; an explanation that breaks off is better than none.
pub(super) async fn read_prefix(mut response: Response, limit: usize) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < limit
        && let Ok(Some(piece)) = response.chunk().await
    {
        bytes.extend_from_slice(&piece);
    }
    bytes.truncate(limit);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Hands every item of a list to `take`; gives what the list says of itself, or None when it is longer than is read and its
/// rest was left out.
pub(super) async fn each_item(
    mut response: Response,
    what: &str,
    mut take: impl FnMut(Item<'_>),
) -> Result<Option<ListHead>, SourceFailure> {
    let (mut splitter, mut length) = (ListSplitter::default(), 0usize);
    let odd = |e: DecodeError| unexpected_body(what, &e.to_string());
    loop {
        match response.chunk().await {
            Ok(Some(piece)) => {
                length = length.saturating_add(piece.len());
                splitter.push(&piece, &mut take).map_err(odd)?;
                if length > BODY_LIMIT {
                    return Ok(None);
                }
            }
            Ok(None) => return splitter.finish().map(Some).map_err(odd),
            Err(error) => return Err(body_interrupted(what, length, &error)),
        }
    }
}

fn too_large(what: &str, limit: usize) -> SourceFailure {
    SourceFailure::Retry(SourceError {
        tried: format!("{what}: the answer is larger than {} MiB", limit >> 20).into(),
        kind: ErrorKind::TooLarge,
        fix: "no kubelet says so much: look at what listens there".into(),
    })
}

/// Puts together lines that came in pieces.
#[derive(Default)]
pub(super) struct LineAssembler {
    partial: Vec<u8>,
    too_long: bool,
}

impl LineAssembler {
    pub(super) fn push(&mut self, mut piece: &[u8], take: &mut impl FnMut(&str)) {
        while let Some(at) = memchr::memchr(b'\n', piece) {
            let (line, rest) = piece.split_at(at);
            if self.partial.is_empty() && !self.too_long && line.len() <= LINE_LIMIT {
                take(&String::from_utf8_lossy(line));
            } else {
                self.add(line);
                self.end(take);
            }
            piece = rest.get(1..).unwrap_or_default();
        }
        self.add(piece);
    }

    fn add(&mut self, part: &[u8]) {
        self.too_long |= self.partial.len() + part.len() > LINE_LIMIT;
        if self.too_long {
            self.partial.clear();
        } else {
            self.partial.extend_from_slice(part);
        }
    }

    pub(super) fn end(&mut self, take: &mut impl FnMut(&str)) {
        if !self.too_long && !self.partial.is_empty() {
            take(&String::from_utf8_lossy(&self.partial));
        }
        self.partial.clear();
        self.too_long = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut all = Vec::new();
        let mut take = |line: &str| all.push(line.to_owned());
        let mut lines = LineAssembler::default();
        pieces.iter().for_each(|piece| lines.push(piece, &mut take));
        lines.end(&mut take);
        all
    }

    #[test]
    fn a_line_too_long_is_left_out_and_its_neighbours_stay() {
        let long = vec![b'x'; LINE_LIMIT];
        assert_eq!(lines(&[b"a\n", &long, b"x", &long, b"\nb\nc"]), ["a", "b", "c"]);
        assert_eq!(lines(&[b"a\n", &long, b"\nb"]).len(), 3);
        assert_eq!(lines(&[b"a\xff", b"b\n"]), ["a\u{fffd}b"]);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in "[a-z\n]{0,40}", cut in proptest::collection::vec(0usize..40, 0..5)) {
            let mut cut: Vec<usize> = cut.into_iter().map(|c| c.min(text.len())).chain([0, text.len()]).collect();
            cut.sort_unstable();
            let pieces: Vec<&[u8]> = cut.windows(2).map(|w| &text.as_bytes()[w[0]..w[1]]).collect();
            let some = |lines: Vec<String>| -> Vec<String> { lines.into_iter().filter(|l| !l.is_empty()).collect() };
            prop_assert_eq!(some(lines(&pieces)), some(text.lines().map(str::to_owned).collect()));
        }
    }
}
