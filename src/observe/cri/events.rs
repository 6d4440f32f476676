//! Owns what containerd's events mean: which are wanted, and which list then differs.
//! It must not subscribe to anything.

use prost::Message;

use crate::proto::events::{Envelope, TaskExit};

/// containerd's namespace for everything that came over CRI.
pub(super) const NAMESPACE: &str = "k8s.io";
/// What of containerd's events is sent to us at all. Exec probes make many others.
pub(super) const FILTERS: [&str; 3] = [
    r#"namespace=="k8s.io",topic~="^/tasks/(create|start|exit|oom|delete|paused|resumed)$""#,
    r#"namespace=="k8s.io",topic~="^/(containers|sandbox)""#,
    r#"namespace=="k8s.io",topic~="^/images/""#,
];

/// What an event means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The lists of sandboxes and containers differ.
    Lists,
    /// The list of images differs.
    Images,
}

/// Not every version of containerd need honour the filters, and none can compare two fields of an event.
pub(super) fn change(envelope: &Envelope) -> Option<Change> {
    if envelope.namespace != NAMESPACE {
        return None;
    }
    match envelope.topic.as_str() {
        "/tasks/exit" if is_exec_exit(envelope) => None,
        topic if topic.starts_with("/tasks/exec-") => None,
        topic if topic.starts_with("/images/") => Some(Change::Images),
        topic if ["/tasks/", "/containers/", "/sandbox"].iter().any(|b| topic.starts_with(b)) => Some(Change::Lists),
        _ => None,
    }
}

/// An executed process has an id of its own within the container, the container's first process has the container's.
fn is_exec_exit(envelope: &Envelope) -> bool {
    let exit = envelope.event.as_ref().and_then(|event| TaskExit::decode(event.value.as_slice()).ok());
    exit.is_some_and(|exit| !exit.id.is_empty() && exit.id != exit.container_id)
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
        let wakes = |topic, ids| change(&envelope("k8s.io", topic, ids)) == Some(Change::Lists);
        assert!(wakes("/tasks/exit", ("a", "a")));
        assert!(!wakes("/tasks/exit", ("a", "b")));
        assert!(!wakes("/tasks/exec-started", ("a", "b")));
        assert!(wakes("/tasks/start", ("a", "a")) && wakes("/containers/create", ("a", "")));
        assert!(wakes("/sandboxes/create", ("a", "")) && wakes("/sandbox/start", ("a", "")));
        assert!(!wakes("/images/create", ("", "")) && !wakes("/snapshot/commit", ("", "")));
        assert_eq!(change(&envelope("k8s.io", "/images/create", ("", ""))), Some(Change::Images));
        assert_eq!(change(&envelope("moby", "/tasks/exit", ("a", "a"))), None);
    }
}
