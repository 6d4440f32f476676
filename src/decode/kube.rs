//! Kubernetes lists and watch events in JSON, decoded item by item: an invalid item does not affect the others.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::items::{ListItem, ListSplitter};
use super::{DecodeError, nullable};
use crate::objects::{Event, Lease, Node, Pod};

/// A decoded object.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A pod.
    Pod(Box<Pod>),
    /// A node.
    Node(Box<Node>),
    /// An event.
    Event(Box<Event>),
    /// A lease.
    Lease(Box<Lease>),
    /// An object of an unused kind.
    OtherKind(String),
    /// An object of a used kind that could not be decoded.
    Unreadable(DecodeError),
}

/// Decodes the items of a `List`, `PodList`, `NodeList`, `EventList` or `LeaseList`, or a single object.
///
/// # Errors
/// When the text is not a Kubernetes object.
pub fn objects(json: &str) -> Result<Vec<Object>, DecodeError> {
    let mut all = Vec::new();
    let kind = each_object(json, &mut |object| all.push(object))?;
    Ok(if kind.ends_with("List") { all } else { vec![object(json, &kind)] })
}

/// Decodes the items of a list one by one. Returns the kind of the list, or of a single object.
///
/// # Errors
/// When the text is not a Kubernetes object.
fn each_object(json: &str, take: &mut impl FnMut(Object)) -> Result<String, DecodeError> {
    // The kind can come after the items.
    #[derive(Deserialize)]
    struct ListKind {
        kind: String,
    }
    let ListKind { kind } = serde_json::from_str(json)?;
    if let Some(listed) = kind.strip_suffix("List") {
        let mut splitter = ListSplitter::default();
        splitter.push(json.as_bytes(), &mut |raw| take(item(raw, listed)))?;
        splitter.finish()?;
    }
    Ok(kind)
}

/// Decodes one item of a split list; `listed` is the kind of items without one.
pub fn item(item: ListItem<'_>, listed: &str) -> Object {
    match item {
        ListItem::TooLong => Object::Unreadable(DecodeError::TooLarge),
        ListItem::Json(json) => match std::str::from_utf8(json) {
            Ok(json) => object(json, listed),
            Err(_) => Object::Unreadable(DecodeError::Shape("object that is not UTF-8")),
        },
    }
}

/// Decodes an object; items of a typed list have no kind, and use `listed`.
fn object(json: &str, listed: &str) -> Object {
    #[derive(Deserialize)]
    struct ObjectKind {
        #[serde(default)]
        kind: Option<String>,
    }
    let kind = match serde_json::from_str::<ObjectKind>(json) {
        Ok(peek) => peek.kind.filter(|k| !k.is_empty()).unwrap_or_else(|| listed.to_owned()),
        Err(e) => return Object::Unreadable(e.into()),
    };
    let read = match kind.as_str() {
        "Pod" => serde_json::from_str(json).map(Object::Pod),
        "Node" => serde_json::from_str(json).map(Object::Node),
        "Event" => serde_json::from_str(json).map(Object::Event),
        "Lease" => serde_json::from_str(json).map(Object::Lease),
        _ => return Object::OtherKind(kind),
    };
    read.unwrap_or_else(|e| Object::Unreadable(e.into()))
}

/// One event of a watch.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// ADDED or MODIFIED.
    Is(Object),
    /// DELETED, with the last state.
    Gone(Object),
    /// BOOKMARK.
    Bookmark {
        /// The end of the initial list (`k8s.io/initial-events-end`).
        listed: bool,
    },
    /// ERROR: a new watch is needed.
    Error {
        /// Code of the status; 410 if the resource version is too old, 0 without one.
        code: i64,
        /// Message of the status.
        message: String,
    },
}

/// Decodes one watch event.
///
/// # Errors
/// When the text is not a watch event, or its object cannot be decoded.
pub fn watch_event(json: &str) -> Result<WatchEvent, DecodeError> {
    #[derive(Deserialize)]
    struct RawWatchEvent<'a> {
        #[serde(rename = "type")]
        kind: String,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Bookmark {
        #[serde(deserialize_with = "nullable")]
        metadata: BookmarkMetadata,
        message: Option<String>,
        code: Option<i64>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct BookmarkMetadata {
        #[serde(deserialize_with = "nullable")]
        annotations: BookmarkAnnotations,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct BookmarkAnnotations {
        #[serde(rename = "k8s.io/initial-events-end")]
        listed: Option<String>,
    }
    let raw: RawWatchEvent<'_> = serde_json::from_str(json)?;
    let read = || match object(raw.object.get(), "") {
        Object::Unreadable(e) => Err(e),
        object => Ok(object),
    };
    Ok(match raw.kind.as_str() {
        "ADDED" | "MODIFIED" => WatchEvent::Is(read()?),
        "DELETED" => WatchEvent::Gone(read()?),
        "BOOKMARK" => {
            let bookmark: Bookmark = serde_json::from_str(raw.object.get())?;
            WatchEvent::Bookmark { listed: bookmark.metadata.annotations.listed.as_deref() == Some("true") }
        }
        "ERROR" => {
            let status: Bookmark = serde_json::from_str(raw.object.get())?;
            WatchEvent::Error { code: status.code.unwrap_or_default(), message: status.message.unwrap_or_default() }
        }
        _ => return Err(DecodeError::Shape("a watch event of an unknown type")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_all_shapes() {
        let kinds = |json: &str| -> Vec<&'static str> {
            let name = |o: Object| match o {
                Object::Pod(_) => "pod",
                Object::Node(_) => "node",
                Object::Event(_) => "event",
                Object::Lease(_) => "lease",
                Object::OtherKind(_) => "other",
                Object::Unreadable(_) => "unreadable",
            };
            objects(json).unwrap().into_iter().map(name).collect()
        };
        let mixed = r#"{"kind":"List","items":[{"kind":"Pod"},{"kind":"Node"},{"kind":"Event"},{"kind":"Secret"},{"kind":"Pod","spec":7},5]}"#;
        assert_eq!(kinds(mixed), vec!["pod", "node", "event", "other", "unreadable", "unreadable"]);
        assert_eq!(kinds(r#"{"kind":"PodList","items":[{"metadata":{"name":"a"}}]}"#), vec!["pod"]);
        assert_eq!(kinds(r#"{"kind":"PodList","items":null}"#), Vec::<&str>::new());
        assert_eq!(kinds(r#"{"kind":"Node","metadata":{"name":"a"}}"#), vec!["node"]);
        assert!(objects("[]").is_err() && objects("Authorization error").is_err());
    }

    #[test]
    fn watch_events() {
        let bookmark = |a: &str| {
            watch_event(&format!(r#"{{"type":"BOOKMARK","object":{{"kind":"Pod","metadata":{{"annotations":{a}}}}}}}"#))
        };
        assert_eq!(bookmark(r#"{"k8s.io/initial-events-end":"true"}"#), Ok(WatchEvent::Bookmark { listed: true }));
        assert_eq!(bookmark("null"), Ok(WatchEvent::Bookmark { listed: false }));
        let error = watch_event(r#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}"#);
        assert_eq!(error, Ok(WatchEvent::Error { code: 410, message: "too old".into() }));
        assert!(matches!(
            watch_event(r#"{"type":"DELETED","object":{"kind":"Pod"}}"#),
            Ok(WatchEvent::Gone(Object::Pod(_)))
        ));
        assert!(watch_event(r#"{"type":"NEW","object":{}}"#).is_err());
    }
}
