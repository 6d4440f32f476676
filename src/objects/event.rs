//! Owns an event, in the old style and in the new, with one answer to when, how often and by whom.
//! It must not fold two events into one.

use serde::{Deserialize, Serialize};

use super::{Meta, Time, is_default, nullable};
use crate::text::{Message, Text};

slim! {
    /// A core/v1 event.
    Event {
        /// `metadata`.
        metadata: Meta,
        /// What it is about.
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

    /// How often it happened; never 0.
    pub fn times(&self) -> u32 {
        self.series.as_ref().map_or(self.count, |s| s.count).max(1)
    }

    /// True for `Warning`.
    pub fn is_warning(&self) -> bool {
        self.kind == "Warning"
    }

    /// Component that reported it.
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
        /// UID; the node's name for events that the kubelet writes about its node.
        uid: Text,
        /// `spec.containers{NAME}`: the only reliable place for a container's name since 1.35.
        field_path: Text,
    }
}

impl ObjectReference {
    /// The container named by the field path.
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
