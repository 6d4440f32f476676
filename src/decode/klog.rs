//! klog's two formats, text and JSON, and the joining of records that span several lines.

use crate::time::ClockTime;
use serde_json::{Map, Value};

use super::go_unquote;
use crate::observation::{LogLevel, Time};

/// Longest joined record in bytes; further lines are dropped.
const MAX_RECORD: usize = 64 * 1024;

/// One record, not yet sanitized or redacted.
#[derive(Clone, Debug, PartialEq)]
pub struct KlogRecord {
    /// The time in the line; text lines have no year and no zone and are read as UTC.
    pub at: Time,
    /// Level; JSON records have none: those without `v` are errors.
    pub level: LogLevel,
    /// Source file and line number, such as `kubelet.go:2724`.
    pub location: String,
    /// The message, unquoted.
    pub message: String,
    /// Keys with their values: strings unquoted, everything else as printed.
    pub values: Vec<(String, String)>,
}

impl KlogRecord {
    /// The value of a key; empty if the record does not have the key.
    pub fn value(&self, key: &str) -> &str {
        self.values.iter().find(|(k, _)| k == key).map_or("", |(_, v)| v)
    }
}

/// Joins lines to records: a record continues until the next line that starts one.
///
/// `T` is kept from a record's first line, such as the time of its receipt.
#[derive(Debug)]
pub struct Joiner<T> {
    open: Option<(T, String)>,
}

impl<T> Default for Joiner<T> {
    fn default() -> Self {
        Self { open: None }
    }
}

impl<T> Joiner<T> {
    /// Takes the next line; returns the previous record once it is complete. A line that starts no record while none is open
    /// is dropped.
    pub fn push(&mut self, tag: T, line: &str) -> Option<(T, String)> {
        let line = without_component(line.strip_suffix('\r').unwrap_or(line));
        if starts_record(line) || starts_crash(line) {
            return self.open.replace((tag, line.to_owned()));
        }
        match &mut self.open {
            Some((_, record)) if record.len() + line.len() < MAX_RECORD => {
                record.push('\n');
                record.push_str(line);
            }
            _ => {}
        }
        None
    }

    /// Takes the open record: at the end, or after a pause.
    pub fn take(&mut self) -> Option<(T, String)> {
        self.open.take()
    }

    /// A line pushed next may continue a record.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

/// Removes the name of the component, which MicroShift (all of Kubernetes in one process) writes before each line.
pub(super) fn without_component(line: &str) -> &str {
    let is_word = |word: &str| word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-?".contains(&b));
    match line.split_once(' ') {
        Some((word, rest)) if !word.is_empty() && is_word(word) && starts_record(rest) => rest,
        _ => line,
    }
}

/// The line starts a klog record.
pub(super) fn starts_record(line: &str) -> bool {
    match line.as_bytes() {
        [b'I' | b'W' | b'E' | b'F', a, b, c, d, b' ', _, _, b':', ..] => {
            [a, b, c, d].into_iter().all(u8::is_ascii_digit)
        }
        _ => line.starts_with("{\"ts\":"),
    }
}

/// The line starts the stack trace of a Go program that crashes: the trace must not become part of the previous record.
pub(super) fn starts_crash(line: &str) -> bool {
    ["panic: ", "fatal error: "].iter().any(|start| line.starts_with(start))
}

/// Reads one record of either format. The year is the one that puts a text line nearest to `reference`.
pub fn klog(record: &str, reference: Time) -> Option<KlogRecord> {
    if record.starts_with('{') { json(record) } else { text(record, reference) }
}

fn text(record: &str, reference: Time) -> Option<KlogRecord> {
    let (head, body) = record.split_once(']')?;
    let body = body.strip_prefix(' ').unwrap_or(body);
    let mut head = head.split_whitespace();
    let (level, time, thread, location) = (head.next()?, head.next()?, head.next()?, head.next()?);
    if head.next().is_some() || !thread.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let level_of = match level.get(..1)? {
        "I" => LogLevel::Info,
        "W" => LogLevel::Warning,
        "E" => LogLevel::Error,
        "F" => LogLevel::Fatal,
        _ => return None,
    };
    let (month, day) = (level.get(1..3)?.parse().ok()?, level.get(3..)?.parse().ok()?);
    let time = ClockTime::parse(time, "%H:%M:%S%.f")?;
    let at = nearest(month, day, time, reference)?;
    let (message, values) = match go_unquote(body) {
        Some((message, rest)) if rest.is_empty() || rest.starts_with([' ', '\n']) => (message, key_values(rest)),
        _ => (body.trim_end().to_owned(), Vec::new()),
    };
    Some(KlogRecord { at, level: level_of, location: location.to_owned(), message, values })
}

fn nearest(month: u32, day: u32, time: ClockTime, reference: Time) -> Option<Time> {
    let year = reference.year();
    [year, year - 1, year + 1]
        .into_iter()
        .filter_map(|y| Time::from_day(y, month, day, time))
        .min_by_key(|t| (*t - reference).abs())
}

fn key_values(mut rest: &str) -> Vec<(String, String)> {
    let mut values = Vec::new();
    // A search for the end of an unclosed bracket reads the whole record: only once, else the time would be quadratic.
    let mut is_cut = false;
    loop {
        rest = rest.trim_start_matches([' ', '\n']);
        let Some((key, after)) = rest.split_once('=') else { return values };
        let (value, after) = value(after, &mut is_cut);
        values.push((key.to_owned(), value));
        rest = after;
    }
}

fn value<'a>(s: &'a str, is_cut: &mut bool) -> (String, &'a str) {
    if let Some(found) = go_unquote(s) {
        return found;
    }
    if let Some(lines) = s.strip_prefix("<\n") {
        return lines_value(lines);
    }
    let opens = s.starts_with(['{', '[']) && !*is_cut;
    let end = if opens { balanced(s) } else { None };
    *is_cut |= opens && end.is_none();
    let end = end.or_else(|| s.find([' ', '\n'])).unwrap_or(s.len());
    let (value, rest) = s.split_at(end);
    (value.to_owned(), rest)
}

/// Lines indented by a tab, up to one that is ` >`.
fn lines_value(s: &str) -> (String, &str) {
    let (mut value, mut rest) = (String::new(), s);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(" >") {
            rest = after;
            break;
        }
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if !value.is_empty() {
            value.push('\n');
        }
        value.push_str(line.strip_prefix('\t').unwrap_or(line));
        rest = after;
    }
    (value, rest)
}

/// End of the bracketed value at the start of `s`; brackets inside strings do not count.
fn balanced(s: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for (i, b) in s.bytes().enumerate() {
        match b {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn json(record: &str) -> Option<KlogRecord> {
    let mut fields: Map<String, Value> = serde_json::from_str(record).ok()?;
    let millis = fields.remove("ts")?.as_f64()?;
    let at = Time::from_unix_seconds(millis / 1000.0)?;
    let message = fields.remove("msg")?.as_str()?.to_owned();
    let level = if fields.remove("v").is_some() { LogLevel::Info } else { LogLevel::Error };
    let location = fields.remove("caller").map(plain).unwrap_or_default();
    let values = fields.into_iter().map(|(key, value)| (key, plain(value))).collect();
    Some(KlogRecord { at, level, location, message, values })
}

/// A value as the text format prints it: an object reference becomes `namespace/name`.
fn plain(value: Value) -> String {
    match value {
        Value::String(s) => s,
        Value::Object(o) if o.keys().all(|k| k == "name" || k == "namespace") => {
            match (o.get("namespace").and_then(Value::as_str), o.get("name").and_then(Value::as_str)) {
                (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
                (_, name) => name.unwrap_or_default().to_owned(),
            }
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: &str) -> Time {
        s.parse().unwrap()
    }

    fn read(record: &str) -> KlogRecord {
        klog(record, at("2026-11-29T12:00:00Z")).unwrap()
    }

    #[test]
    fn many_brackets_without_an_end_take_linear_time() {
        let begun = std::time::Instant::now();
        let record = format!("I1129 12:38:26.8 7 a.go:1] \"x\"{}", " event={\"ID\":".repeat(50_000));
        let record = read(&record);
        assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
        assert_eq!((record.values.len(), record.value("event")), (50_000, "{\"ID\":"));
    }

    #[test]
    fn quoting_lists_and_objects() {
        let r = read(
            r#"E1129 12:38:41.056818    5788 k.go:1004] "Unhandled \"Error\"" err="a \"b\"\nc" n=5 pods=["s/a","s/b c"] event={"ID":"u","x":"} \" ="} end=true"#,
        );
        assert_eq!((r.at, r.level), (at("2026-11-29T12:38:41.056818Z"), LogLevel::Error));
        assert_eq!(r.location, "k.go:1004");
        assert_eq!(r.message, "Unhandled \"Error\"");
        assert_eq!((r.value("err"), r.value("n")), ("a \"b\"\nc", "5"));
        assert_eq!(r.value("pods"), r#"["s/a","s/b c"]"#);
        assert_eq!(r.value("event"), r#"{"ID":"u","x":"} \" ="}"#);
        assert_eq!((r.value("end"), r.value("none")), ("true", ""));
    }

    #[test]
    fn the_component_before_a_line_of_microshift_is_removed() {
        let line = "E1129 18:01:35.200065     176 kubelet.go:3531] \"Unable to register mirror pod\" node=\"n\"";
        for before in ["kubelet", "kube-apiserver", "???"] {
            let mut joiner = Joiner::default();
            assert!(joiner.push((), &format!("{before} {line}")).is_none());
            assert_eq!(joiner.push((), "kubelet \tof the record before").map(|(_, r)| r), None);
            assert_eq!(joiner.take().map(|(_, r)| r), Some(format!("{line}\nkubelet \tof the record before")));
        }
        assert_eq!(without_component("failed E1129 x"), "failed E1129 x");
    }

    #[test]
    fn several_lines() {
        let raw = "\tstray\nI1129 11:26:19.607384   32523 p.go:1] \"Probe failed\" pod=\"s/a\" output=<\n\tone\n\ttwo > x\n > err=<\n\tthree\n > last=\"z\"\nE1129 12:39:01.765926    5788 m.go:1] Mount failed: exit status 32\nMounting command: mount\n\nW1129 12:39:02.765926    5788 m.go:1] [core] bye";
        let mut joiner = Joiner::default();
        let mut records: Vec<(usize, String)> =
            raw.split('\n').enumerate().filter_map(|(i, l)| joiner.push(i, l)).collect();
        records.extend(joiner.take());
        assert_eq!(records.iter().map(|r| r.0).collect::<Vec<_>>(), vec![1, 7, 10]);
        let first = read(&records[0].1);
        assert_eq!((first.value("output"), first.value("err"), first.value("last")), ("one\ntwo > x", "three", "z"));
        assert_eq!(read(&records[1].1).message, "Mount failed: exit status 32\nMounting command: mount");
        assert_eq!((read(&records[2].1).level, &*read(&records[2].1).message), (LogLevel::Warning, "[core] bye"));
    }

    #[test]
    fn the_year_is_the_nearest() {
        let line = |l: &str, now: &str| klog(l, at(now)).map(|r| r.at);
        let eve = "I1231 23:59:59.000000 1 a.go:1] x";
        assert_eq!(line(eve, "2027-01-01T00:00:05Z"), Some(at("2026-12-31T23:59:59Z")));
        assert_eq!(line("I0101 00:00:01.000000 1 a.go:1] x", "2026-12-31T23:59:59Z"), Some(at("2027-01-01T00:00:01Z")));
        assert_eq!(line("I0229 00:00:01.000000 1 a.go:1] x", "2027-12-01T00:00:00Z"), Some(at("2028-02-29T00:00:01Z")));
        assert_eq!(line("I1332 00:00:01.000000 1 a.go:1] x", "2027-12-01T00:00:00Z"), None);
    }

    #[test]
    fn json_form() {
        let r = read(
            r#"{"ts":1733000000000.125,"caller":"kubelet/kubelet.go:2500","msg":"SyncLoop ADD","v":2,"source":"api","pod":{"name":"a","namespace":"ns"},"pods":[{"name":"a","namespace":"ns"}]}"#,
        );
        assert_eq!(r.at, at("2024-11-30T20:53:20.000125Z"));
        assert_eq!((r.level, r.value("source"), r.value("pod")), (LogLevel::Info, "api", "ns/a"));
        assert_eq!(r.location, "kubelet/kubelet.go:2500");
        assert_eq!(r.value("pods"), r#"[{"name":"a","namespace":"ns"}]"#);
        let e = read(r#"{"ts":1733000000000,"msg":"Error syncing pod, skipping","err":"x"}"#);
        assert_eq!((e.level, e.value("err")), (LogLevel::Error, "x"));
    }
}
