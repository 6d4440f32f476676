//! Owns the runtime's log lines (`time="…" level=… msg="…"`), of which only errors and warnings are kept.
//! It must not follow a call from its begin to its end: that is told by CRI.

use super::{go_unquote, joined};
use crate::observation::{LogEntry, LogKind, Time};
use crate::text::Text;

/// What became of one line of the runtime's log.
#[derive(Clone, Debug, PartialEq)]
pub enum RuntimeLine {
    /// An error or a warning.
    Severe(LogEntry),
    /// Understood, and of a lower level.
    Quiet,
    /// Not a line of this format.
    Other,
}

/// Reads one line.
pub fn runtime_line(line: &str) -> RuntimeLine {
    let Some(fields) = Fields::read(line) else { return RuntimeLine::Other };
    if !matches!(fields.level.as_str(), "error" | "warning" | "warn" | "fatal" | "panic") {
        return RuntimeLine::Quiet;
    }
    let (pod, uid) = sandbox_of(&fields.message);
    RuntimeLine::Severe(LogEntry {
        at: fields.time,
        severe: true,
        pod,
        uid,
        what: LogKind::Other { message: joined(&fields.message, &fields.error).into() },
    })
}

/// Any line of this format, whatever its level, from a log that someone chose to send.
pub fn every_runtime_entry(line: &str) -> Option<LogEntry> {
    if let RuntimeLine::Severe(entry) = runtime_line(line) {
        return Some(entry);
    }
    let fields = Fields::read(line)?;
    let (pod, uid) = sandbox_of(&fields.message);
    let message = joined(&fields.message, &fields.error).into();
    Some(LogEntry { at: fields.time, severe: false, pod, uid, what: LogKind::Other { message } })
}

/// Calls whose name tells what failed: CRI-O writes it beside an error that does not say so itself.
const CALLS: [&str; 6] =
    ["PullImage", "RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer", "StopPodSandbox"];

struct Fields {
    time: Time,
    level: String,
    message: String,
    error: String,
}

impl Fields {
    fn read(line: &str) -> Option<Self> {
        let (mut time, mut level, mut message, mut error) = (None, None, String::new(), String::new());
        let mut call = None;
        let mut rest = line.trim_start();
        while let Some((key, after)) = rest.split_once('=') {
            let (value, after) = value(after);
            match key {
                "time" => time = Time::parse_rfc3339(&value),
                "level" => level = Some(value),
                "msg" => message = value,
                "error" => error = value,
                "name" => call = value.rsplit('/').next().and_then(|name| CALLS.into_iter().find(|c| *c == name)),
                _ => {}
            }
            rest = after.trim_start();
        }
        let level = level?;
        if let Some(call) = call.filter(|call| !matches!(level.as_str(), "info" | "debug") && !message.contains(call)) {
            message = joined(call, &message);
        }
        Some(Self { time: time?, level, message, error })
    }
}

/// The value that `s` begins with, and what follows.
fn value(s: &str) -> (String, &str) {
    match go_unquote(s) {
        Some((value, rest)) if rest.is_empty() || rest.starts_with(' ') => (value, rest),
        Some(_) => bare_quotes(s),
        None => {
            let (value, rest) = s.split_once(' ').unwrap_or((s, ""));
            (value.to_owned(), rest)
        }
    }
}

/// Old versions of containerd do not escape quotes inside of a value: it ends with the quote before the next field, or with the
/// line.
fn bare_quotes(s: &str) -> (String, &str) {
    let begins_field = |rest: &str| {
        let key = rest.strip_prefix(' ').and_then(|rest| rest.split_once('=')).map(|(key, _)| key);
        rest.is_empty() || key.is_some_and(|key| !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    let inner = s.strip_prefix('"').unwrap_or(s);
    let end = inner.match_indices('"').find(|(at, _)| inner.get(at + 1..).is_some_and(begins_field));
    let (at, after) = end.map_or((inner.len(), ""), |(at, _)| (at, inner.get(at + 1..).unwrap_or_default()));
    (inner.get(..at).unwrap_or_default().to_owned(), after)
}

/// Pod and UID of a `&PodSandboxMetadata{Name:…,Uid:…,Namespace:…,…}` in the message.
fn sandbox_of(message: &str) -> (Text, Text) {
    let field = |name: &str| Some(message.split_once(name)?.1.split_once(',')?.0);
    let uid = field("Uid:").map(Text::name).unwrap_or_default();
    let pod = match (field("Namespace:"), field("Name:")) {
        (Some(namespace), Some(name)) if !namespace.is_empty() => Text::name(&format!("{namespace}/{name}")),
        _ => Text::default(),
    };
    (pod, uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_pods() {
        let line = r#"time="2026-11-29T12:40:29.5Z" level=error msg="RunPodSandbox for &PodSandboxMetadata{Name:web,Uid:730c,Namespace:s-web,Attempt:0,} failed, error" error="no \"bridge\"" x=y"#;
        let RuntimeLine::Severe(e) = runtime_line(line) else { panic!("not severe") };
        assert_eq!((e.pod.as_str(), e.uid.as_str()), ("s-web/web", "730c"));
        assert_eq!(e.at, "2026-11-29T12:40:29.5Z".parse::<Time>().unwrap());
        let LogKind::Other { message } = e.what else { panic!("not other") };
        assert!(message.ends_with("failed, error: no \"bridge\""), "{message}");
        assert_eq!(runtime_line(r#"time="2026-11-29T12:40:29Z" level=info msg=x"#), RuntimeLine::Quiet);
        assert_eq!(runtime_line("panic: oh no = 5"), RuntimeLine::Other);
    }

    #[test]
    fn quotes_that_are_not_escaped_are_part_of_the_value() {
        let line = r#"time="2019-10-02T23:27:34.4Z" level=error msg="StopPodSandbox for "cae59" failed" error="failed to destroy network for sandbox "cae59": del cmd: failed""#;
        let RuntimeLine::Severe(e) = runtime_line(line) else { panic!("not severe") };
        let LogKind::Other { message } = e.what else { panic!("not other") };
        let told =
            r#"StopPodSandbox for "cae59" failed: failed to destroy network for sandbox "cae59": del cmd: failed"#;
        assert_eq!(message.as_str(), told);
    }

    #[test]
    fn a_call_names_what_its_error_does_not() {
        let message = |line: &str| match runtime_line(line) {
            RuntimeLine::Severe(LogEntry { what: LogKind::Other { message }, .. }) => message.to_string(),
            other => panic!("{other:?}"),
        };
        let line = |msg: &str, call: &str| {
            format!(r#"time="2026-11-29 12:40:29.5Z" level=error msg="{msg}" id=a name=/runtime.v1.{call}"#)
                .replace("29 12", "29T12")
        };
        let told = message(&line("layer not known", "ImageService/PullImage"));
        assert_eq!(told, "PullImage: layer not known");
        assert_eq!(message(&line("PullImage failed", "ImageService/PullImage")), "PullImage failed");
        assert_eq!(message(&line("not found", "RuntimeService/ContainerStatus")), "not found", "of no stage");
    }
}
