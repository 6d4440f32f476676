//! Owns the format in which a runtime keeps what containers write: a time, a stream, a tag, the text.
//! It must not keep more than was asked for, nor take a line of another form for one of these.

use std::collections::{HashMap, VecDeque};

use chrono::DateTime;

use crate::observation::Time;

/// The last `most` lines of `bytes`, which are the end of a file; with `cut` the first line has lost its begin. Pieces of one
/// line, which runtimes cut at 16 KiB, are one line again, at the time of the last; empty lines do not count.
pub fn cri_log(bytes: &[u8], cut: bool, most: usize) -> Vec<(Time, String)> {
    let text = String::from_utf8_lossy(bytes);
    let mut open: HashMap<&str, (Time, String)> = HashMap::new();
    let mut lines = VecDeque::new();
    let mut keep = |line: (Time, String)| {
        if !line.1.trim().is_empty() {
            lines.push_back(line);
        }
        if lines.len() > most {
            lines.pop_front();
        }
    };
    for line in text.lines().skip(usize::from(cut)) {
        let Some((at, stream, whole, text)) = split(line) else { continue };
        let piece = open.entry(stream).or_default();
        piece.0 = at;
        piece.1.push_str(text);
        if whole && let Some(line) = open.remove(stream) {
            keep(line);
        }
    }
    // What was not ended when the container was: a panic may be.
    let mut rest: Vec<_> = open.into_values().collect();
    rest.sort();
    rest.into_iter().for_each(keep);
    lines.into()
}

/// Time, stream, whether the line ends here, text.
fn split(line: &str) -> Option<(Time, &str, bool, &str)> {
    let (at, rest) = line.split_once(' ')?;
    let at = DateTime::parse_from_rfc3339(at).ok()?.to_utc();
    let (stream, rest) = rest.split_once(' ').filter(|(stream, _)| matches!(*stream, "stdout" | "stderr"))?;
    let (tags, text) = rest.split_once(' ').unwrap_or((rest, ""));
    // More tags may follow the first, behind colons.
    let whole = match tags.split(':').next() {
        Some("F") => true,
        Some("P") => false,
        _ => return None,
    };
    Some((at, stream, whole, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(log: &str, cut: bool, most: usize) -> Vec<String> {
        cri_log(log.as_bytes(), cut, most).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn pieces_are_joined_stream_by_stream() {
        let log = "2026-03-02T10:00:00.5+01:00 stdout P one\n2026-03-02T09:00:01Z stderr F err\n\
                   2026-03-02T09:00:02Z stdout F  and two\n2026-03-02T09:00:03Z stdout F \n2026-03-02T09:00:04Z stderr P half";
        assert_eq!(texts(log, false, 20), ["err", "one and two", "half"]);
        let at: Vec<_> = cri_log(log.as_bytes(), false, 20).into_iter().map(|(at, _)| at.to_rfc3339()).collect();
        assert_eq!(at, ["2026-03-02T09:00:01+00:00", "2026-03-02T09:00:02+00:00", "2026-03-02T09:00:04+00:00"]);
    }

    #[test]
    fn only_the_last_lines_and_none_of_another_form() {
        let log = "02T09:00:00Z stdout F cut\n{\"log\":\"x\",\"stream\":\"stdout\",\"time\":\"2026-03-02T09:00:00Z\"}\n\
                   2026-03-02T09:00:01Z stdout X a\n2026-03-02T09:00:01Z journal F a\nplain\n\
                   2026-03-02T09:00:01Z stdout F:more b\n2026-03-02T09:00:02Z stdout F c\n";
        assert_eq!(texts(log, true, 20), ["b", "c"]);
        assert_eq!(texts(log, false, 1), ["c"]);
        assert!(texts("2026-03-02T09:00:02Z stdout F c\n", true, 20).is_empty(), "its begin is lost");
        assert_eq!(cri_log(b"2026-03-02T09:00:02Z stdout F \xff\n", false, 1)[0].1, "\u{fffd}");
    }
}
