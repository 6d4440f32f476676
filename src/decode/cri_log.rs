//! Formats of container logs: CRI lines, docker's JSON lines, and lines with a timestamp. At most one incomplete line of each
//! stream is in memory.

use std::collections::VecDeque;

use serde::Deserialize;

use crate::container_log::{LogLine, Stream};
use crate::observation::Time;
use crate::text::PemLines;

/// Longest assembled line, bytes: more than a [`crate::text::Text`] keeps.
const MAX_LINE: usize = 64 << 10;
/// Longest incomplete input line, bytes: runtimes split at 16 KiB, and JSON can escape a byte as six.
const MAX_RAW: usize = 256 << 10;

/// Format of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogForm {
    /// Log files of a runtime: `TIME STREAM P|F TEXT`, or docker's `{"log":…,"stream":…,"time":…}`.
    Kept,
    /// Responses of API server and kubelet with `timestamps=true`: `TIME TEXT`.
    Served,
}

/// A piece of a line.
struct LinePiece<'a> {
    at: Time,
    stream: Stream,
    /// The last piece of the line.
    whole: bool,
    text: std::borrow::Cow<'a, str>,
}

/// A line of which only the first pieces were read.
#[derive(Debug)]
struct OpenLine {
    stream: Stream,
    at: Time,
    text: String,
    /// A piece was dropped: the following pieces are dropped too.
    full: bool,
}

/// Assembles lines from chunks of any length.
#[derive(Debug)]
pub struct LogDecoder {
    form: LogForm,
    /// Bytes after the last line feed.
    raw: Vec<u8>,
    open: Vec<OpenLine>,
    /// Redaction of private keys that are printed line by line: standard output, standard error, unknown stream.
    keys: [PemLines; 3],
}

impl LogDecoder {
    /// A decoder of lines in that format.
    pub fn new(form: LogForm) -> Self {
        Self { form, raw: Vec::new(), open: Vec::new(), keys: <[PemLines; 3]>::default() }
    }

    /// Reads bytes, and adds the complete lines to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<LogLine>) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|b| *b == b'\n') {
            let (line, behind) = rest.split_at(end);
            if self.raw.is_empty() {
                self.line(line, out);
            } else {
                self.hold(line);
                let raw = std::mem::take(&mut self.raw);
                self.line(&raw, out);
            }
            rest = behind.get(1..).unwrap_or_default();
        }
        self.hold(rest);
    }

    /// Ends the input: an incomplete line is a line too, such as the end of a panic.
    pub fn end(&mut self, out: &mut Vec<LogLine>) {
        let raw = std::mem::take(&mut self.raw);
        if !raw.is_empty() {
            self.line(&raw, out);
        }
        self.end_pieces(out);
    }

    /// Adds incomplete lines unchanged: a prompt has no line end.
    pub fn end_pieces(&mut self, out: &mut Vec<LogLine>) {
        let mut open = std::mem::take(&mut self.open);
        open.sort_by(|a, b| (a.at, a.stream, &a.text).cmp(&(b.at, b.stream, &b.text)));
        open.iter().for_each(|o| self.show(Some(o.at), o.stream, &o.text, out));
    }

    /// True with incomplete lines.
    pub fn has_pieces(&self) -> bool {
        !self.open.is_empty()
    }

    fn hold(&mut self, part: &[u8]) {
        // Of a line above the limit the start is kept.
        let room = MAX_RAW.saturating_sub(self.raw.len()).min(part.len());
        self.raw.extend_from_slice(part.get(..room).unwrap_or_default());
    }

    /// Adds a line with private keys redacted; the header of a key can be missing before its footer.
    fn show(&mut self, at: Option<Time>, stream: Stream, text: &str, out: &mut Vec<LogLine>) {
        let [output, error, unknown] = &mut self.keys;
        let keys = match stream {
            Stream::Out => output,
            Stream::Err => error,
            Stream::Unknown => unknown,
        };
        PemLines::close(text, out.iter_mut().rev().filter(|line| line.stream == stream).map(|line| &mut line.text));
        out.push(LogLine { at, stream, text: keys.line(text) });
    }

    fn line(&mut self, raw: &[u8], out: &mut Vec<LogLine>) {
        let line = String::from_utf8_lossy(raw);
        let line = line.strip_suffix('\r').unwrap_or(&line);
        let Some(piece) = piece(line, self.form) else {
            // Show damaged lines: they are evidence too.
            if !line.is_empty() {
                self.show(None, Stream::Unknown, line, out);
            }
            return;
        };
        let open = self.open.iter().position(|o| o.stream == piece.stream);
        match (open, piece.whole) {
            (None, true) => self.show(Some(piece.at), piece.stream, &piece.text, out),
            (None, false) => {
                let mut open = OpenLine { stream: piece.stream, at: piece.at, text: String::new(), full: false };
                open.add(&piece);
                self.open.push(open);
            }
            (Some(i), false) => self.open[i].add(&piece),
            (Some(i), true) => {
                let mut open = self.open.swap_remove(i);
                open.add(&piece);
                self.show(Some(open.at), open.stream, &open.text, out);
            }
        }
    }
}

impl OpenLine {
    fn add(&mut self, piece: &LinePiece<'_>) {
        self.at = piece.at;
        self.full |= self.text.len() + piece.text.len() > MAX_LINE;
        if !self.full {
            self.text.push_str(&piece.text);
        }
    }
}

/// Offset of the first complete line in `bytes`, a part of a log: after the first line that is known to end in it.
pub fn first_complete_line(bytes: &[u8]) -> usize {
    let mut begin = 0;
    let mut first = None;
    // The start of the first line is missing.
    for (i, _) in bytes.iter().enumerate().filter(|(_, b)| **b == b'\n') {
        let line = bytes.get(begin..i).unwrap_or_default();
        begin = i + 1;
        if first.is_none() {
            first = Some(begin);
        } else if piece(&String::from_utf8_lossy(line), LogForm::Kept).is_none_or(|piece| piece.whole) {
            return begin;
        }
    }
    first.unwrap_or(0)
}

fn piece(line: &str, form: LogForm) -> Option<LinePiece<'_>> {
    match form {
        LogForm::Kept if line.starts_with('{') => docker(line),
        LogForm::Kept => cri(line),
        LogForm::Served => {
            let (at, text) = line.split_once(' ').unwrap_or((line, ""));
            Some(LinePiece { at: time(at)?, stream: Stream::Unknown, whole: true, text: text.into() })
        }
    }
}

fn time(text: &str) -> Option<Time> {
    Time::parse_rfc3339(text)
}

fn cri(line: &str) -> Option<LinePiece<'_>> {
    let (at, rest) = line.split_once(' ')?;
    let at = time(at)?;
    let (stream, rest) = rest.split_once(' ')?;
    let stream = self::stream(stream)?;
    let (tags, text) = rest.split_once(' ').unwrap_or((rest, ""));
    // More tags may follow the first, behind colons.
    let whole = match tags.split(':').next() {
        Some("F") => true,
        Some("P") => false,
        _ => return None,
    };
    Some(LinePiece { at, stream, whole, text: text.into() })
}

fn docker(line: &str) -> Option<LinePiece<'_>> {
    #[derive(Deserialize)]
    struct Json {
        log: String,
        stream: String,
        time: Time,
    }
    let json: Json = serde_json::from_str(line).ok()?;
    let stream = stream(&json.stream)?;
    let (whole, text) = match json.log.strip_suffix('\n') {
        Some(text) => (true, text.strip_suffix('\r').unwrap_or(text).to_owned()),
        None => (false, json.log),
    };
    Some(LinePiece { at: json.time, stream, whole, text: text.into() })
}

fn stream(name: &str) -> Option<Stream> {
    match name {
        "stdout" => Some(Stream::Out),
        "stderr" => Some(Stream::Err),
        _ => None,
    }
}

/// The last `most` lines of `bytes`, the end of a file; with `cut` the start of the first line is missing. Pieces are joined to a
/// line with the time of the last piece. Empty lines and lines in another format are skipped.
pub fn cri_log(bytes: &[u8], cut: bool, most: usize) -> Vec<(Time, String)> {
    let whole = match bytes.iter().position(|b| *b == b'\n') {
        Some(end) if cut => bytes.get(end + 1..).unwrap_or_default(),
        None if cut => &[],
        _ => bytes,
    };
    let (mut decoder, mut lines) = (LogDecoder::new(LogForm::Kept), Vec::new());
    decoder.push(whole, &mut lines);
    decoder.end(&mut lines);
    let mut last = VecDeque::new();
    for line in lines {
        if let Some(at) = line.at.filter(|_| !line.text.trim().is_empty()) {
            last.push_back((at, line.text.as_str().to_owned()));
        }
        if last.len() > most {
            last.pop_front();
        }
    }
    last.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(log: &str, cut: bool, most: usize) -> Vec<String> {
        cri_log(log.as_bytes(), cut, most).into_iter().map(|(_, text)| text).collect()
    }

    fn decoded(form: LogForm, pieces: &[&[u8]]) -> Vec<(Option<String>, Stream, String)> {
        let (mut decoder, mut out) = (LogDecoder::new(form), Vec::new());
        pieces.iter().for_each(|piece| decoder.push(piece, &mut out));
        decoder.end(&mut out);
        assert!(!decoder.has_pieces() && decoder.raw.is_empty());
        out.into_iter().map(|l| (l.at.map(|at| at.to_rfc3339()), l.stream, l.text.to_string())).collect()
    }

    const LOG: &str = "2026-03-02T10:00:00.5+01:00 stdout P one\n2026-03-02T09:00:01Z stderr F err\n\
                       2026-03-02T09:00:02Z stdout F  and two\n2026-03-02T09:00:03Z stdout F \n\
                       2026-03-02T09:00:04Z stderr P half";

    #[test]
    fn pieces_are_joined_stream_by_stream() {
        assert_eq!(texts(LOG, false, 20), ["err", "one and two", "half"]);
        let at: Vec<_> = cri_log(LOG.as_bytes(), false, 20).into_iter().map(|(at, _)| at.to_rfc3339()).collect();
        assert_eq!(at, ["2026-03-02T09:00:01Z", "2026-03-02T09:00:02Z", "2026-03-02T09:00:04Z"]);
    }

    #[test]
    fn keeps_the_last_lines_in_the_format() {
        let log = "02T09:00:00Z stdout F cut\n2026-03-02T09:00:01Z stdout X a\n2026-03-02T09:00:01Z journal F a\nplain\n\
                   2026-03-02T09:00:01Z stdout F:more b\n2026-03-02T09:00:02Z stdout F c\n";
        assert_eq!(texts(log, true, 20), ["b", "c"]);
        assert_eq!(texts(log, false, 1), ["c"]);
        assert!(texts("2026-03-02T09:00:02Z stdout F c\n", true, 20).is_empty(), "its start is missing");
        assert_eq!(cri_log(b"2026-03-02T09:00:02Z stdout F \xff\n", false, 1)[0].1, "\u{fffd}");
    }

    #[test]
    fn streams_are_kept_and_damaged_lines_are_shown() {
        let line = |at: &str, stream, text: &str| (Some(format!("2026-03-02T09:00:0{at}Z")), stream, text.to_owned());
        let found = decoded(LogForm::Kept, &[LOG.as_bytes(), b"\n\0\0\0\nplain"]);
        let damaged = [(None, Stream::Unknown, "␀␀␀".to_owned()), (None, Stream::Unknown, "plain".to_owned())];
        let mut expected =
            vec![line("1", Stream::Err, "err"), line("2", Stream::Out, "one and two"), line("3", Stream::Out, "")];
        expected.extend(damaged);
        expected.push(line("4", Stream::Err, "half"));
        assert_eq!(found, expected);
    }

    #[test]
    fn decodes_docker_lines_and_served_lines() {
        let docker = concat!(
            r#"{"log":"\u001b[31mone","stream":"stdout","time":"2026-03-02T09:00:00Z"}"#,
            "\n",
            r#"{"log":"bad\n","stream":"stderr","time":"2026-03-02T09:00:01Z"}"#,
            "\n",
            r#"{"log":" two\r\n","stream":"stdout","time":"2026-03-02T09:00:02.5Z"}"#,
            "\n",
        );
        let found = decoded(LogForm::Kept, &[docker.as_bytes()]);
        let texts: Vec<_> = found.iter().map(|(_, stream, text)| (*stream, text.as_str())).collect();
        assert_eq!(texts, [(Stream::Err, "bad"), (Stream::Out, "one two")]);
        let served = b"2026-03-02T09:00:00.000000001Z a  b\n2026-03-02T09:00:01Z\nfailed to read\n";
        let found = decoded(LogForm::Served, &[served]);
        let texts: Vec<_> = found.iter().map(|(at, _, text)| (at.is_some(), text.as_str())).collect();
        assert_eq!(texts, [(true, "a  b"), (true, ""), (false, "failed to read")]);
    }

    #[test]
    fn memory_is_bounded_without_line_ends() {
        let (mut decoder, mut out) = (LogDecoder::new(LogForm::Kept), Vec::new());
        for _ in 0..100 {
            decoder.push(&[b'x'; 65536], &mut out);
            assert!(decoder.raw.len() <= MAX_RAW);
            decoder.push(b"2026-03-02T09:00:00Z stdout P ", &mut out);
        }
        decoder.push(b"\n2026-03-02T09:00:00Z stdout F end\n", &mut out);
        assert!(out.len() == 2 && out[0].text.starts_with("xxxx"), "the start of it is shown");
        assert_eq!(out[1].text, "end");
        let served = format!("2026-03-02T09:00:00Z begin {}", "z".repeat(MAX_RAW));
        for news in [b"\n".as_slice(), b""] {
            let lines = decoded(LogForm::Served, &[served.as_bytes(), b"more", news]);
            assert!(lines.len() == 1 && lines[0].2.starts_with("begin zzz") && lines[0].0.is_some());
        }
        let piece = format!("2026-03-02T09:00:00Z stdout P {}\n", "y".repeat(16384));
        (0..1000).for_each(|_| decoder.push(piece.as_bytes(), &mut out));
        decoder.push(b"2026-03-02T09:00:00Z stdout P small\n", &mut out);
        assert!(
            decoder.open[0].text.len() <= MAX_LINE && !decoder.open[0].text.contains("small"),
            "after a dropped piece"
        );
    }

    #[test]
    fn a_chunk_starts_at_a_line() {
        let at = |log: &'static str| &log[first_complete_line(log.as_bytes())..];
        assert_eq!(at("cut\n2026-03-02T09:00:00Z stdout F a\nb\n"), "b\n");
        let pieces = "t\n2026-03-02T09:00:00Z stdout P a\n2026-03-02T09:00:00Z stdout F b\nrest";
        assert_eq!(at(pieces), "rest");
        assert_eq!(at("cut\nrest"), "rest", "no line is complete");
        assert_eq!(at("nothing"), "nothing");
    }

    proptest! {
        #[test]
        fn any_chunks_give_the_same_lines(cut in proptest::collection::vec(0usize..160, 0..6)) {
            let mut cut: Vec<usize> = cut.into_iter().map(|c| c.min(LOG.len())).chain([0, LOG.len()]).collect();
            cut.sort_unstable();
            let pieces: Vec<&[u8]> = cut.windows(2).map(|w| &LOG.as_bytes()[w[0]..w[1]]).collect();
            prop_assert_eq!(decoded(LogForm::Kept, &pieces), decoded(LogForm::Kept, &[LOG.as_bytes()]));
        }
    }
}
