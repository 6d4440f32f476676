//! Owns the documents of a watch: one JSON object a line, `PodChange` and `NodeChange`.
//! It must not name a field otherwise than `docs/json.md` does.

use serde::Serialize;

use super::json::{API_VERSION, AlarmJson, NodeJson, SourceJson, Stamp, surroundings};
use super::json_pods::{self, PodJson};
use crate::view::{Change, Moment};

/// One pod whose row is told again.
#[derive(Debug, Serialize)]
pub struct PodChange {
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    kind: &'static str,
    now: Stamp,
    change: &'static str,
    pod: PodJson,
}

/// Node, sources and alarms, when one of them is another than before.
#[derive(Debug, Serialize)]
pub struct NodeChange {
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    kind: &'static str,
    now: Stamp,
    node: NodeJson,
    sources: Vec<SourceJson>,
    alarms: Vec<AlarmJson>,
}

/// The document of one change.
pub fn pod_change(moment: &Moment, change: &Change) -> PodChange {
    PodChange {
        api_version: API_VERSION,
        kind: "PodChange",
        now: Stamp(moment.now),
        change: change.what.name(),
        pod: json_pods::pod(&change.placed, &change.row, moment.now),
    }
}

/// The document of what surrounds the pods.
pub fn node_change(moment: &Moment) -> NodeChange {
    let (node, sources, alarms) = surroundings(moment);
    NodeChange { api_version: API_VERSION, kind: "NodeChange", now: Stamp(moment.now), node, sources, alarms }
}
