//! Owns what containerd's events mean: which are wanted, and which list then differs.
//! It must not subscribe to anything.

use prost::Message;

use super::owed::Promise;
use crate::proto::events::{Envelope, Subject, TaskExit};
use crate::text::Text;

/// containerd's namespace for everything that came over CRI.
pub(super) const NAMESPACE: &str = "k8s.io";
/// What of containerd's events is sent to us at all. Exec probes make many others.
pub(super) const FILTERS: [&str; 3] = [
    r#"namespace=="k8s.io",topic~="^/tasks/(create|start|exit|oom|delete|paused|resumed)$""#,
    r#"namespace=="k8s.io",topic~="^/(containers|sandbox)""#,
    r#"namespace=="k8s.io",topic~="^/images/""#,
];

/// What an event means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The lists of sandboxes and containers differ, or will, and in what.
    Lists(Option<(Text, Promise)>),
    /// The list of images differs.
    Images,
}

/// Not every version of containerd need honour the filters, and none can compare two fields of an event.
pub(super) fn change(envelope: &Envelope) -> Option<Change> {
    if envelope.namespace != NAMESPACE {
        return None;
    }
    let event = envelope.event.as_ref().map_or(&[][..], |event| event.value.as_slice());
    let topic = envelope.topic.as_str();
    let promise = match topic {
        "/tasks/exit" if is_exec_exit(event) => return None,
        "/tasks/exit" | "/tasks/delete" => Some(Promise::Ended),
        "/tasks/start" => Some(Promise::Started),
        "/containers/create" => Some(Promise::There),
        "/containers/delete" => Some(Promise::Gone),
        _ if topic.starts_with("/tasks/exec-") => return None,
        _ if topic.starts_with("/images/") => return Some(Change::Images),
        _ if ["/tasks/", "/containers/", "/sandbox"].iter().any(|b| topic.starts_with(b)) => None,
        _ => return None,
    };
    let about = promise.and_then(|promise| Some((Subject::decode(event).ok()?.id, promise)));
    Some(Change::Lists(about.filter(|(id, _)| !id.is_empty()).map(|(id, promise)| (id.into(), promise))))
}

/// An executed process has an id of its own within the container, the container's first process has the container's.
fn is_exec_exit(event: &[u8]) -> bool {
    TaskExit::decode(event).is_ok_and(|exit| !exit.id.is_empty() && exit.id != exit.container_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(namespace: &str, topic: &str, ids: (&str, &str)) -> Envelope {
        let exit = TaskExit { container_id: ids.0.into(), id: ids.1.into() };
        let event = prost_types::Any { type_url: "containerd.events.TaskExit".into(), value: exit.encode_to_vec() };
        Envelope { timestamp: None, namespace: namespace.into(), topic: topic.into(), event: Some(event) }
    }

    #[test]
    fn exec_probes_wake_nobody() {
        let wakes = |topic, ids| matches!(change(&envelope("k8s.io", topic, ids)), Some(Change::Lists(_)));
        assert!(wakes("/tasks/exit", ("a", "a")));
        assert!(!wakes("/tasks/exit", ("a", "b")));
        assert!(!wakes("/tasks/exec-started", ("a", "b")));
        assert!(wakes("/tasks/start", ("a", "a")) && wakes("/containers/create", ("a", "")));
        assert!(wakes("/sandboxes/create", ("a", "")) && wakes("/sandbox/start", ("a", "")));
        assert!(!wakes("/images/create", ("", "")) && !wakes("/snapshot/commit", ("", "")));
        assert_eq!(change(&envelope("k8s.io", "/images/create", ("", ""))), Some(Change::Images));
        assert_eq!(change(&envelope("moby", "/tasks/exit", ("a", "a"))), None);
    }

    #[test]
    fn what_an_event_promises() {
        let promised = |topic| match change(&envelope("k8s.io", topic, ("a", "a"))) {
            Some(Change::Lists(promised)) => promised,
            other => panic!("{topic}: {other:?}"),
        };
        let of = |promise| Some((Text::new("a"), promise));
        assert_eq!(promised("/containers/create"), of(Promise::There));
        assert_eq!(promised("/tasks/start"), of(Promise::Started));
        assert_eq!(promised("/tasks/exit"), of(Promise::Ended));
        assert_eq!(promised("/containers/delete"), of(Promise::Gone));
        assert_eq!(promised("/tasks/oom"), None, "an end that a list does not show");
        let nothing = Envelope { event: None, ..envelope("k8s.io", "/tasks/exit", ("a", "a")) };
        assert_eq!(change(&nothing), Some(Change::Lists(None)), "it wakes all the same");
    }
}
