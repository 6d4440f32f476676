//! Parses one journal entry of `journalctl -o json`.

use serde::Deserialize;
use serde_json::Value;

use crate::observation::Time;

/// An entry.
#[derive(Debug, PartialEq)]
pub struct JournalEntry {
    /// Cursor: position in the journal.
    pub cursor: Option<String>,
    /// When journald received it.
    pub at: Time,
    /// The process that wrote it.
    pub pid: Option<u32>,
    /// syslog's level; a service's own lines all have the same.
    pub priority: Option<u8>,
    /// The message; bytes that are no text are replaced.
    pub message: String,
}

#[derive(Deserialize)]
struct RawJournalEntry {
    #[serde(rename = "__CURSOR")]
    cursor: Option<String>,
    #[serde(rename = "__REALTIME_TIMESTAMP")]
    at: Option<Value>,
    #[serde(rename = "_PID")]
    pid: Option<Value>,
    #[serde(rename = "PRIORITY")]
    priority: Option<Value>,
    #[serde(rename = "MESSAGE")]
    message: Option<Value>,
}

/// Reads an entry; nothing when the line is not one or has no time.
pub fn entry(line: &[u8]) -> Option<JournalEntry> {
    let raw: RawJournalEntry = serde_json::from_slice(line).ok()?;
    let at = Time::from_timestamp_micros(number(raw.at.as_ref())?)?;
    Some(JournalEntry {
        cursor: raw.cursor,
        at,
        pid: number(raw.pid.as_ref()).and_then(|pid| u32::try_from(pid).ok()),
        priority: number(raw.priority.as_ref()).and_then(|p| u8::try_from(p).ok()),
        message: raw.message.map(text).unwrap_or_default(),
    })
}

/// The journal's numbers are strings.
fn number(value: Option<&Value>) -> Option<i64> {
    match value? {
        Value::String(s) => s.parse().ok(),
        other => other.as_i64(),
    }
}

/// A string; an array of bytes when it is not valid UTF-8; an array of both when the field is there twice.
fn text(value: Value) -> String {
    match value {
        Value::String(s) => s,
        Value::Array(all) => {
            let bytes: Option<Vec<u8>> = all.iter().map(|v| v.as_u64().and_then(|b| u8::try_from(b).ok())).collect();
            match bytes {
                Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                None => all.into_iter().next().map(text).unwrap_or_default(),
            }
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_every_shape() {
        let read = |message: &str| {
            let line = format!(
                r#"{{"__CURSOR":"s=1;i=2","__REALTIME_TIMESTAMP":"1795951277000001","_PID":"7","PRIORITY":"6","MESSAGE":{message}}}"#
            );
            entry(line.as_bytes()).unwrap()
        };
        let e = read(r#""text""#);
        assert_eq!(
            (e.cursor.as_deref(), e.pid, e.priority, e.message.as_str()),
            (Some("s=1;i=2"), Some(7), Some(6), "text")
        );
        assert_eq!(e.at.timestamp_micros(), 1_795_951_277_000_001);
        assert_eq!(read("[104,105,255]").message, "hi\u{fffd}");
        assert_eq!(read(r#"[[104,105],"x"]"#).message, "hi");
        assert_eq!(read("null").message, "");
        assert_eq!(entry(b"-- No entries --"), None);
        assert_eq!(entry(b"{}"), None);
    }
}
