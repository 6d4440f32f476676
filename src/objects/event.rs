//! An event in the core/v1 or the events.k8s.io/v1 style, with its times, its count and its reporter.

use serde::{Deserialize, Serialize};

use super::{Meta, Time, is_default, nullable};
use crate::text::{Message, Text};

slim! {
    /// A core/v1 event.
    Event {
        /// `metadata`.
        metadata: Meta,
        /// The object of the event.
        involved_object: ObjectReference,
        /// Reason word.
        reason: Text,
        /// Message.
        message: Message,
        /// `Normal` or `Warning`.
        kind: Text = "type",
        /// Old-style source.
        source: EventSource,
        /// New-style source.
        reporting_component: Text,
        /// First time.
        first_timestamp: Option<Time>,
        /// Last time.
        last_timestamp: Option<Time>,
        /// Time of a new-style event.
        event_time: Option<Time>,
        /// Number of occurrences of an old-style event.
        count: u32,
        /// Number of occurrences of a new-style event.
        series: Option<EventSeries>,
    }
}

impl Event {
    /// When it last happened.
    pub fn last(&self) -> Option<Time> {
        let series = self.series.as_ref().and_then(|s| s.last_observed_time);
        [series, self.last_timestamp, self.event_time, self.metadata.creation_timestamp].into_iter().flatten().max()
    }

    /// When it first happened.
    pub fn first(&self) -> Option<Time> {
        self.first_timestamp.or(self.event_time).or(self.metadata.creation_timestamp)
    }

    /// Number of occurrences, at least 1.
    pub fn times(&self) -> u32 {
        self.series.as_ref().map_or(self.count, |s| s.count).max(1)
    }

    /// True for `Warning`.
    pub fn is_warning(&self) -> bool {
        self.kind == "Warning"
    }

    /// The component that reported it.
    pub fn reporter(&self) -> &Text {
        if self.source.component.is_empty() { &self.reporting_component } else { &self.source.component }
    }
}

slim! {
    /// `event.series`.
    EventSeries {
        /// Occurrences.
        count: u32,
        /// Last occurrence.
        last_observed_time: Option<Time>,
    }
}

slim! {
    /// `event.source`.
    EventSource {
        /// Component.
        component: Text,
    }
}

slim! {
    /// `event.involvedObject`.
    ObjectReference {
        /// Kind.
        kind: Text,
        /// Namespace.
        namespace: Text,
        /// Name.
        name: Text,
        /// UID; the name of the node for events of the kubelet about its node.
        uid: Text,
        /// `spec.containers{NAME}`: the only reliable source of a container name since 1.35.
        field_path: Text,
    }
}

impl ObjectReference {
    /// The container in the field path.
    pub fn container(&self) -> Option<&str> {
        self.field_path.as_str().split_once('{')?.1.strip_suffix('}')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn container_of_an_event() {
        let at = |p: &str| ObjectReference { field_path: p.into(), ..Default::default() };
        assert_eq!(at("spec.initContainers{wait-for-db}").container(), Some("wait-for-db"));
        assert_eq!(at("").container(), None);
    }
}
