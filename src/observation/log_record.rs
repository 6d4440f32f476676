//! One line of a log: level, source location, message and fields, and what the line means to the pipeline.

use serde::{Deserialize, Serialize};

use super::{LogKind, Time};
use crate::text::{Message, Text};

/// Fields kept of one line. klog lines of the kubelet have at most about ten.
const MOST_FIELDS: usize = 24;
/// Bytes kept of all fields of one line; further fields are dropped.
const MOST_FIELD_BYTES: usize = 16 * 1024;
/// Fields that [`LogRecord::text`] leaves out: the error follows the message, the pod is a separate value.
const NOT_IN_TEXT: [&str; 6] = ["err", "pod", "podUID", "podID", "pods", "logger"];

/// Level of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// `I`, also `debug` and `trace`.
    #[default]
    Info,
    /// `W`.
    Warning,
    /// `E`; also a line without a level that reports a failure.
    Error,
    /// `F`, also `panic`.
    Fatal,
}

impl LogLevel {
    fn is_info(&self) -> bool {
        *self == Self::Info
    }
}

/// One line of a log of the node or of a container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogRecord {
    /// The time in the line; the time of receipt if it has none.
    pub at: Time,
    /// Level.
    #[serde(default, skip_serializing_if = "LogLevel::is_info")]
    pub level: LogLevel,
    /// Pod as `namespace/name`; empty if the line names none.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub pod: Text,
    /// Pod UID; empty if the line names none.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub uid: Text,
    /// The container that wrote the line; empty for the logs of kubelet, runtime and kernel.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub container: Text,
    /// Source file and line number as klog prints them, such as `kubelet.go:2724`; empty for other formats.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub location: Text,
    /// The message without its fields.
    pub message: Message,
    /// Fields as `key=value`, unquoted: one text each, so that redaction sees the key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Message>,
}

impl LogRecord {
    /// A line without pod, location and fields.
    pub fn new(at: Time, level: LogLevel, message: impl Into<Message>) -> Self {
        let (pod, uid, container, location) = Default::default();
        Self { at, level, pod, uid, container, location, message: message.into(), fields: Vec::new() }
    }

    /// The same line about that pod, by `namespace/name` and UID; either may be empty.
    #[must_use]
    pub fn of_pod(self, pod: impl Into<Text>, uid: impl Into<Text>) -> Self {
        Self { pod: pod.into(), uid: uid.into(), ..self }
    }

    /// The same line with one more field, unless the line has too many.
    #[must_use]
    pub fn with(mut self, key: &str, value: &str) -> Self {
        let bytes: usize = self.fields.iter().map(|field| field.len()).sum();
        if self.fields.len() < MOST_FIELDS && bytes + value.len() <= MOST_FIELD_BYTES {
            self.fields.push(Message::new(&format!("{key}={value}")));
        }
        self
    }

    /// The line is an error or a warning.
    pub fn is_severe(&self) -> bool {
        self.level > LogLevel::Info
    }

    /// The value of a field; empty if the line has no such field.
    pub fn field(&self, key: &str) -> &str {
        self.fields.iter().find_map(|field| field.strip_prefix(key)?.strip_prefix('=')).unwrap_or_default()
    }

    /// The line as one text: the message, its error, the other fields as `key=value`. Rules match on it.
    pub fn text(&self) -> Message {
        if self.fields.is_empty() {
            return self.message.clone();
        }
        if let Some(LogKind::AdmissionDenied { reason, message }) = self.kind()
            && !message.is_empty()
        {
            return format!("{}: {reason}: {message}", self.message).into();
        }
        let mut text = self.message.unredacted().to_owned();
        for (key, value) in self.fields.iter().filter_map(|field| field.unredacted().split_once('=')) {
            if key == "err" {
                let separator = if text.is_empty() || value.is_empty() { "" } else { ": " };
                text = format!("{text}{separator}{value}");
            }
        }
        for field in &self.fields {
            match field.unredacted().split_once('=') {
                Some((key, value)) if !NOT_IN_TEXT.contains(&key) && !value.is_empty() => {
                    text.push(' ');
                    text.push_str(field.unredacted());
                }
                _ => {}
            }
        }
        Message::new(&text)
    }

    /// What a line of the kubelet's log means to the pipeline; nothing for other lines and for lines of containers.
    pub fn kind(&self) -> Option<LogKind> {
        if !self.container.is_empty() {
            return None;
        }
        LogKind::of_line(&self.message, |key| self.field(key))
    }
}
