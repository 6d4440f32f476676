//! The meaning of containerd's events: which are subscribed to, and how the lists will differ.

use prost::Message;

use super::pending_events::ExpectedState;
use crate::proto::events::{Envelope, Subject, TaskExit};
use crate::text::Text;

/// containerd's namespace for everything that is created through CRI.
pub(super) const NAMESPACE: &str = "k8s.io";
/// Filters of the subscription. Exec probes cause many other events.
pub(super) const FILTERS: [&str; 3] = [
    r#"namespace=="k8s.io",topic~="^/tasks/(create|start|exit|oom|delete|paused|resumed)$""#,
    r#"namespace=="k8s.io",topic~="^/(containers|sandbox)""#,
    r#"namespace=="k8s.io",topic~="^/images/""#,
];

/// The effect of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RuntimeChange {
    /// The lists of sandboxes and containers differ, or soon will; which object, and its expected state.
    Lists(Option<(Text, ExpectedState)>),
    /// The list of images differs.
    Images,
}

/// The effect of an event; None for one without any. Some versions of containerd ignore the filters, and none can compare two
/// fields of an event.
pub(super) fn change(envelope: &Envelope) -> Option<RuntimeChange> {
    if envelope.namespace != NAMESPACE {
        return None;
    }
    let event = envelope.event.as_ref().map_or(&[][..], |event| event.value.as_slice());
    let topic = envelope.topic.as_str();
    let expected = match topic {
        "/tasks/exit" if is_exec_exit(event) => return None,
        "/tasks/exit" | "/tasks/delete" => Some(ExpectedState::Exited),
        "/tasks/start" => Some(ExpectedState::Started),
        "/containers/create" => Some(ExpectedState::Listed),
        "/containers/delete" => Some(ExpectedState::Removed),
        _ if topic.starts_with("/tasks/exec-") => return None,
        _ if topic.starts_with("/images/") => return Some(RuntimeChange::Images),
        _ if ["/tasks/", "/containers/", "/sandbox"].iter().any(|b| topic.starts_with(b)) => None,
        _ => return None,
    };
    let about = expected.and_then(|expected| Some((Subject::decode(event).ok()?.id, expected)));
    Some(RuntimeChange::Lists(about.filter(|(id, _)| !id.is_empty()).map(|(id, expected)| (id.into(), expected))))
}

/// An exec process has its own id within the container; the container's main process has the container's id.
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
    fn exec_probes_cause_no_list() {
        let lists = |topic, ids| matches!(change(&envelope("k8s.io", topic, ids)), Some(RuntimeChange::Lists(_)));
        assert!(lists("/tasks/exit", ("a", "a")));
        assert!(!lists("/tasks/exit", ("a", "b")));
        assert!(!lists("/tasks/exec-started", ("a", "b")));
        assert!(lists("/tasks/start", ("a", "a")) && lists("/containers/create", ("a", "")));
        assert!(lists("/sandboxes/create", ("a", "")) && lists("/sandbox/start", ("a", "")));
        assert!(!lists("/images/create", ("", "")) && !lists("/snapshot/commit", ("", "")));
        assert_eq!(change(&envelope("k8s.io", "/images/create", ("", ""))), Some(RuntimeChange::Images));
        assert_eq!(change(&envelope("moby", "/tasks/exit", ("a", "a"))), None);
    }

    #[test]
    fn events_with_the_state_that_they_announce() {
        let expected = |topic| match change(&envelope("k8s.io", topic, ("a", "a"))) {
            Some(RuntimeChange::Lists(expected)) => expected,
            other => panic!("{topic}: {other:?}"),
        };
        let of = |expected| Some((Text::new("a"), expected));
        assert_eq!(expected("/containers/create"), of(ExpectedState::Listed));
        assert_eq!(expected("/tasks/start"), of(ExpectedState::Started));
        assert_eq!(expected("/tasks/exit"), of(ExpectedState::Exited));
        assert_eq!(expected("/containers/delete"), of(ExpectedState::Removed));
        assert_eq!(expected("/tasks/oom"), None, "a list does not show an OOM kill");
        let nothing = Envelope { event: None, ..envelope("k8s.io", "/tasks/exit", ("a", "a")) };
        assert_eq!(change(&nothing), Some(RuntimeChange::Lists(None)), "it still causes a list");
    }
}
