//! Lines of the runtime's log (`time="…" level=… msg="…"`).

use super::relevance::is_relevant_to_runtime;
use super::{go_unquote, joined};
use crate::observation::{LogLevel, LogRecord, Time};
use crate::text::Text;

/// CRI calls. CRI-O writes the call in `name`, beside an error that does not name it.
const CALLS: [&str; 6] =
    ["PullImage", "RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer", "StopPodSandbox"];

/// One line of this form, not yet sanitized or redacted.
#[derive(Debug)]
pub struct LogfmtRecord {
    /// The time in the line.
    pub at: Time,
    /// Level.
    pub level: LogLevel,
    message: String,
    error: String,
}

impl LogfmtRecord {
    /// The record of the line.
    pub fn line(&self) -> LogRecord {
        let (pod, uid) = sandbox_of(&self.message);
        let line = LogRecord { pod, uid, ..LogRecord::new(self.at, self.level, self.message.as_str()) };
        if self.error.is_empty() { line } else { line.with("err", &self.error) }
    }

    /// The line is kept if the runtime wrote it.
    pub fn is_relevant_to_runtime(&self) -> bool {
        is_relevant_to_runtime(self.level, &self.message)
    }

    /// The message without its error.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Reads one line; nothing if it is not of this form.
    pub fn read(line: &str) -> Option<Self> {
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
        let level = match level.as_str() {
            "warning" | "warn" => LogLevel::Warning,
            "error" => LogLevel::Error,
            "fatal" | "panic" => LogLevel::Fatal,
            _ => LogLevel::Info,
        };
        if let Some(call) = call.filter(|call| level > LogLevel::Info && !message.contains(call)) {
            message = joined(call, &message);
        }
        Some(Self { at: time?, level, message, error })
    }
}

/// The value at the start of `s`, and the rest.
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

/// Old versions of containerd do not escape quotes in a value: the value extends to the quote before the next field or to the
/// end of the line.
fn bare_quotes(s: &str) -> (String, &str) {
    let starts_field = |rest: &str| {
        let key = rest.strip_prefix(' ').and_then(|rest| rest.split_once('=')).map(|(key, _)| key);
        rest.is_empty() || key.is_some_and(|key| !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    let inner = s.strip_prefix('"').unwrap_or(s);
    let end = inner.match_indices('"').find(|(at, _)| inner.get(at + 1..).is_some_and(starts_field));
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

    fn line(text: &str) -> Option<LogRecord> {
        LogfmtRecord::read(text).filter(LogfmtRecord::is_relevant_to_runtime).map(|record| record.line())
    }

    #[test]
    fn levels_and_pods() {
        let text = r#"time="2026-11-29T12:40:29.5Z" level=error msg="RunPodSandbox for &PodSandboxMetadata{Name:web,Uid:730c,Namespace:s-web,Attempt:0,} failed, error" error="no \"bridge\"" x=y"#;
        let failed = line(text).unwrap();
        assert_eq!((failed.pod.as_str(), failed.uid.as_str()), ("s-web/web", "730c"));
        assert_eq!(failed.at, "2026-11-29T12:40:29.5Z".parse::<Time>().unwrap());
        assert!(failed.text().ends_with("failed, error: no \"bridge\""), "{failed:?}");
        assert_eq!(line(r#"time="2026-11-29T12:40:29Z" level=info msg=x"#), None);
        let pulled = r#"time="2026-11-29T12:40:29Z" level=info msg="PullImage \"a\" returns image reference \"b\"""#;
        assert_eq!(line(pulled).unwrap().level, LogLevel::Info, "the end of a failure");
        assert!(LogfmtRecord::read("panic: oh no = 5").is_none());
    }

    #[test]
    fn quotes_that_are_not_escaped_are_part_of_the_value() {
        let text = r#"time="2019-10-02T23:27:34.4Z" level=error msg="StopPodSandbox for "cae59" failed" error="failed to destroy network for sandbox "cae59": del cmd: failed""#;
        let expected =
            r#"StopPodSandbox for "cae59" failed: failed to destroy network for sandbox "cae59": del cmd: failed"#;
        assert_eq!(line(text).unwrap().text(), expected);
    }

    #[test]
    fn the_name_of_the_call_precedes_an_error_without_it() {
        let message = |text: &str| line(text).unwrap().text().to_string();
        let of = |msg: &str, call: &str| {
            format!(r#"time="2026-11-29 12:40:29.5Z" level=error msg="{msg}" id=a name=/runtime.v1.{call}"#)
                .replace("29 12", "29T12")
        };
        assert_eq!(message(&of("layer not known", "ImageService/PullImage")), "PullImage: layer not known");
        assert_eq!(message(&of("PullImage failed", "ImageService/PullImage")), "PullImage failed");
        assert_eq!(message(&of("not found", "RuntimeService/ContainerStatus")), "not found", "of no stage");
    }
}
