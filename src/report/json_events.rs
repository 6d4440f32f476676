//! Owns the document `EventList`.
//! It must not leave an event out that was asked for.

use serde::Serialize;

use super::json::{DocumentHead, JsonTime, json_time, known};
use crate::text::Text;
use crate::view::{EventLine, NodeView};

/// Events at a moment.
#[derive(Debug, Serialize)]
pub struct EventList {
    #[serde(flatten)]
    head: DocumentHead,
    heard: bool,
    events: Vec<EventJson>,
}

#[derive(Debug, Serialize)]
struct EventJson {
    last: Option<JsonTime>,
    first: Option<JsonTime>,
    count: u64,
    #[serde(rename = "type")]
    kind: &'static str,
    object_kind: Text,
    object: String,
    container: Option<Text>,
    pod_uid: Option<Text>,
    reason: Text,
    message: Text,
    reporter: Option<Text>,
    cause: Option<Text>,
}

/// The list of these events.
pub fn events_json(moment: &NodeView, events: &[EventLine], heard: bool) -> EventList {
    let event = |e: &EventLine| EventJson {
        last: json_time(e.last),
        first: json_time(e.first),
        count: e.count,
        kind: if e.warning { "Warning" } else { "Normal" },
        object_kind: e.kind.clone(),
        object: e.subject.clone(),
        container: known(&e.container),
        pod_uid: known(&e.pod),
        reason: e.reason.clone(),
        message: e.message.clone(),
        reporter: known(&e.reporter),
        cause: known(&e.cause),
    };
    let events = events.iter().map(event).collect();
    EventList { head: DocumentHead::new("EventList", moment), heard, events }
}
