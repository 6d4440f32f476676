//! Prefixes of lines in exported logs: journal (text and JSON), syslog, CRI, kernel and ISO times. A line of no known form is a
//! message as a whole.

use super::journal_entry;
use crate::observation::Time;
use crate::time::TimeDelta;

/// A line without its prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainLine {
    /// The time in the prefix. One without a zone is read as UTC; one without a year as the nearest to the reference.
    pub at: Option<Time>,
    /// The process that wrote the line.
    pub pid: Option<u32>,
    /// syslog's level, of an entry of the journal.
    pub priority: Option<u8>,
    /// The message. Of an entry of the journal it may have several lines.
    pub text: String,
}

/// Reads one line. `reference` gives the year if the line has none.
pub fn plain_line(raw: &str, reference: Time) -> PlainLine {
    let raw = raw.trim_end_matches(['\r', '\n']);
    if raw.starts_with('{')
        && let Some(entry) = journal_entry(raw.as_bytes())
    {
        return PlainLine { at: Some(entry.at), pid: entry.pid, priority: entry.priority, text: entry.message };
    }
    let (mut at, mut pid, mut rest) = (None, None, raw);
    if let Some((time, after)) = iso_prefix(rest) {
        at = Some(time);
        // The runtime's format of container logs: stream and tag follow the time.
        let of_container = ["stdout F ", "stderr F ", "stdout P ", "stderr P "];
        (pid, rest) = match of_container.iter().find_map(|mark| after.strip_prefix(mark)) {
            Some(message) => (None, message),
            None => without_host(after),
        };
    } else if let Some((time, after)) = syslog_prefix(rest, reference) {
        at = Some(time);
        (pid, rest) = without_host(after);
    }
    if let Some(after) = kernel_prefix(rest) {
        rest = after;
    }
    PlainLine { at, pid, priority: None, text: rest.to_owned() }
}

/// `2026-03-02T10:14:34.319Z `, with any zone, with a space or a comma in it as loggers of several languages write.
fn iso_prefix(raw: &str) -> Option<(Time, &str)> {
    let digits = |s: &str| s.len() == 4 && s.bytes().all(|b| b.is_ascii_digit());
    if !raw.get(..4).is_some_and(digits) || raw.get(4..5) != Some("-") {
        return None;
    }
    let (word, after) = raw.split_once(' ')?;
    if let Some(time) = Time::parse_rfc3339(word) {
        return Some((time, after));
    }
    // journalctl -o short-iso writes a zone without a colon.
    if let Some(time) = Time::parse_zoned(word, "%Y-%m-%dT%H:%M:%S%.f%z") {
        return Some((time, after));
    }
    let (clock, after) = after.split_once(' ')?;
    let clock = clock.replace(',', ".");
    Some((Time::parse_utc(&format!("{word} {clock}"), "%Y-%m-%d %H:%M:%S%.f")?, after))
}

/// `Mar  2 10:14:34 `.
fn syslog_prefix(raw: &str, reference: Time) -> Option<(Time, &str)> {
    let head = raw.get(..15)?;
    let after = raw.get(15..)?.strip_prefix([' ', '.'])?;
    // Microseconds of journalctl -o short-precise.
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let of_year = |year: i32| Time::parse_utc(&format!("{year:04} {head}"), "%Y %b %e %H:%M:%S");
    let near = |t: &Time| (*t - reference).abs();
    let years = [reference.year() - 1, reference.year(), reference.year() + 1];
    let at = years.into_iter().filter_map(of_year).min_by_key(near).filter(|t| near(t) < TimeDelta::days(366))?;
    Some((at, after))
}

/// The process and the message behind `host unit[pid]: `; the whole text if it has no such prefix.
fn without_host(raw: &str) -> (Option<u32>, &str) {
    let Some((head, after)) = raw.split_once(": ") else { return (None, raw) };
    let words: Vec<&str> = head.split(' ').collect();
    let unit = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric() || "-_.@[]()/".contains(c));
    match words.as_slice() {
        [host, name] if unit(host) && unit(name) && (name.ends_with(']') || *name == "kernel") => {
            let pid = name.strip_suffix(']').and_then(|name| name.rsplit_once('[')?.1.parse().ok());
            (pid, after)
        }
        _ => (None, raw),
    }
}

/// `[90412.553012] `, as dmesg prints; `[Mon Mar  2 10:14:34 2026] ` with -T.
fn kernel_prefix(raw: &str) -> Option<&str> {
    let (inside, after) = raw.strip_prefix('[')?.split_once("] ")?;
    let seconds = inside.trim_start();
    let is_offset = seconds.contains('.') && seconds.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (is_offset || Time::parse_utc(inside, "%a %b %e %H:%M:%S %Y").is_some()).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_exported_logs() {
        let reference: Time = "2026-03-02T10:15:00Z".parse().unwrap();
        let at: Time = "2026-03-02T10:14:34Z".parse().unwrap();
        let cases = [
            (
                "Mar 02 10:14:34 node1 kubelet[2210]: I0302 10:14:34.319579    2210 a.go:1] x: y",
                true,
                "I0302 10:14:34.319579    2210 a.go:1] x: y",
            ),
            (
                "Mar  2 10:14:34 node1 kernel: Out of memory: Killed process 7 (a)",
                true,
                "Out of memory: Killed process 7 (a)",
            ),
            ("Mar 02 10:14:34.000000 node1 containerd[9]: time=x", true, "time=x"),
            ("2026-03-02T10:14:34+0000 node1 kubelet[1]: boom", true, "boom"),
            ("2026-03-02T10:14:34Z stdout F panic: no", true, "panic: no"),
            ("2026-03-02 10:14:34,000 ERROR connection: refused", true, "ERROR connection: refused"),
            ("[90412.553012] audit: type=1400", false, "audit: type=1400"),
            ("[Mon Mar  2 10:14:34 2026] nfs: server a not responding", false, "nfs: server a not responding"),
            (r#"{"MESSAGE":"boom","__REALTIME_TIMESTAMP":"1772446474000000"}"#, true, "boom"),
            (r#"{"level":"error","msg":"x"}"#, false, r#"{"level":"error","msg":"x"}"#),
            ("/bin/sh: 1: /app/run.sh: Permission denied", false, "/bin/sh: 1: /app/run.sh: Permission denied"),
            ("", false, ""),
            ("2026-é", false, "2026-é"),
        ];
        for (raw, timed, text) in cases {
            let line = plain_line(raw, reference);
            assert_eq!((line.at, line.text.as_str()), (timed.then_some(at), text), "{raw}");
        }
        let pid = |raw: &str| plain_line(raw, reference).pid;
        assert_eq!(pid("Mar 02 10:14:34 node1 systemd[1]: kubelet.service: Failed"), Some(1));
        assert_eq!(pid("Mar 02 10:14:34 node1 kernel: x"), None);
    }
}
