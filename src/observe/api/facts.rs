//! The facts that objects of the API server stand for.

use serde::Deserialize;

use crate::decode::Object;
use crate::observation::Fact;

/// The fact of an object that exists; None for one that cannot be decoded.
pub(super) fn object_fact(object: Object) -> Option<Fact> {
    match object {
        Object::Pod(pod) => Some(Fact::Pod(pod)),
        Object::Node(node) => Some(Fact::Node(node)),
        Object::Event(event) => Some(Fact::Event(event)),
        Object::Lease(lease) => Some(Fact::Lease(lease)),
        Object::OtherKind(_) | Object::Unreadable(_) => None,
    }
}

/// The fact of a deleted object.
pub(super) fn gone_fact(object: Object) -> Option<Fact> {
    match object {
        Object::Pod(pod) => Some(Fact::PodGone(pod.metadata.uid)),
        Object::Node(node) => Some(Fact::NodeGone(node.metadata.name)),
        Object::Event(event) => Some(Fact::EventGone(event.metadata.uid)),
        Object::Lease(lease) => Some(Fact::LeaseGone(lease.metadata.name)),
        Object::OtherKind(_) | Object::Unreadable(_) => None,
    }
}

/// `object.metadata.resourceVersion` of a watch event.
pub(super) fn resource_version(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct VersionedEvent {
        object: VersionedObject,
    }
    #[derive(Deserialize)]
    struct VersionedObject {
        metadata: VersionMeta,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct VersionMeta {
        resource_version: String,
    }
    serde_json::from_str::<VersionedEvent>(line)
        .ok()
        .map(|e| e.object.metadata.resource_version)
        .filter(|v| !v.is_empty())
}
