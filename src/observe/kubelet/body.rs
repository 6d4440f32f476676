//! Reads response bodies in chunks, up to a size limit; they need not be UTF-8.

use reqwest::Response;

use super::super::SourceFailure;
use super::super::line_splitter::{LineSplitter, SplitLine};
use super::request_error::{body_interrupted, retry, unexpected_body};
use crate::decode::{DecodeError, Item, ListHead, ListSplitter};
use crate::observation::ErrorKind;

/// Most bytes of a body, decompressed. The metrics of a busy node are a few megabytes, and so is `/pods`.
pub(super) const BODY_LIMIT: usize = 64 << 20;
/// Most bytes of a body that is kept as a whole: the kubelet's settings are a few KiB.
const WHOLE_LIMIT: usize = 1 << 20;
/// Longest line of a page, bytes; a longer line is not a sample and is left out.
const LINE_LIMIT: usize = 64 << 10;

/// Passes every chunk of the body to `take`.
async fn each_chunk(
    mut response: Response,
    what: &str,
    limit: usize,
    mut take: impl FnMut(&[u8]),
) -> Result<(), SourceFailure> {
    let mut length = 0usize;
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                length = length.saturating_add(chunk.len());
                if length > limit {
                    return Err(too_large(what, limit));
                }
                take(&chunk);
            }
            Ok(None) => return Ok(()),
            Err(error) => return Err(body_interrupted(what, length, &error)),
        }
    }
}

/// The whole body of a small page; bytes that are not UTF-8 become U+FFFD.
pub(super) async fn read_all(response: Response, what: &str) -> Result<String, SourceFailure> {
    let mut bytes = Vec::new();
    each_chunk(response, what, WHOLE_LIMIT, |chunk| bytes.extend_from_slice(chunk)).await?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// Passes every line of the body to `take`, without its line feed.
pub(super) async fn each_line(response: Response, what: &str, mut take: impl FnMut(&str)) -> Result<(), SourceFailure> {
    let mut lines = PageLines::default();
    each_chunk(response, what, BODY_LIMIT, |chunk| lines.push(chunk, &mut take)).await?;
    lines.finish(&mut take);
    Ok(())
}

/// The first `limit` bytes of a body that explains an error, as far as they arrive.
pub(super) async fn read_prefix(mut response: Response, limit: usize) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < limit
        && let Ok(Some(chunk)) = response.chunk().await
    {
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(limit);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Passes every item of a list to `take`; returns the list's own metadata, or None when the list exceeds the limit and its
/// rest was left out.
pub(super) async fn each_item(
    mut response: Response,
    what: &str,
    mut take: impl FnMut(Item<'_>),
) -> Result<Option<ListHead>, SourceFailure> {
    let (mut splitter, mut length) = (ListSplitter::default(), 0usize);
    let malformed = |e: DecodeError| unexpected_body(what, &e.to_string());
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                length = length.saturating_add(chunk.len());
                splitter.push(&chunk, &mut take).map_err(malformed)?;
                if length > BODY_LIMIT {
                    return Ok(None);
                }
            }
            Ok(None) => return splitter.finish().map(Some).map_err(malformed),
            Err(error) => return Err(body_interrupted(what, length, &error)),
        }
    }
}

fn too_large(what: &str, limit: usize) -> SourceFailure {
    let problem = format!("the response is larger than {} MiB", limit >> 20);
    let fix = "check which program listens there (ss -ltnp): a kubelet does not send that much";
    retry(what, ErrorKind::TooLarge, &problem, fix)
}

/// The lines of a page, as text.
pub(super) struct PageLines(LineSplitter);

impl Default for PageLines {
    fn default() -> Self {
        Self(LineSplitter::new(LINE_LIMIT))
    }
}

impl PageLines {
    pub(super) fn push(&mut self, chunk: &[u8], take: &mut impl FnMut(&str)) {
        self.0.push(chunk);
        while let Some(line) = self.0.next() {
            pass(line, take);
        }
    }

    pub(super) fn finish(&mut self, take: &mut impl FnMut(&str)) {
        if let Some(line) = self.0.finish() {
            pass(line, take);
        }
    }
}

fn pass(line: SplitLine<'_>, take: &mut impl FnMut(&str)) {
    if let SplitLine::Complete(line) = line {
        take(&String::from_utf8_lossy(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let mut all = Vec::new();
        let mut take = |line: &str| all.push(line.to_owned());
        let mut lines = PageLines::default();
        chunks.iter().for_each(|chunk| lines.push(chunk, &mut take));
        lines.finish(&mut take);
        all
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_the_others_stay() {
        let long = vec![b'x'; LINE_LIMIT];
        assert_eq!(lines(&[b"a\n", &long, b"x", &long, b"\nb\nc"]), ["a", "b", "c"]);
        assert_eq!(lines(&[b"a\n", &long, b"\nb"]).len(), 3);
        assert_eq!(lines(&[b"a\xff", b"b\n"]), ["a\u{fffd}b"]);
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_change_the_lines(
            text in "[a-z\n]{0,40}", cut in proptest::collection::vec(0usize..40, 0..5)
        ) {
            let mut cut: Vec<usize> = cut.into_iter().map(|c| c.min(text.len())).chain([0, text.len()]).collect();
            cut.sort_unstable();
            let chunks: Vec<&[u8]> = cut.windows(2).map(|w| &text.as_bytes()[w[0]..w[1]]).collect();
            let expected: Vec<String> = text.lines().filter(|l| !l.is_empty()).map(str::to_owned).collect();
            prop_assert_eq!(lines(&chunks), expected);
        }
    }
}
