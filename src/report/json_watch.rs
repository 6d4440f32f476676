//! Owns the documents of a watch: one JSON object a line, `PodChange` and `NodeChange`.
//! It must not name a field otherwise than `docs/json.md` does.

use serde::Serialize;

use super::json::{DocumentHead, NodeContext, node_context};
use super::json_pods::{self, PodJson};
use crate::view::{NodeView, RowChange};

/// One pod whose row is told again.
#[derive(Debug, Serialize)]
pub struct PodChange {
    #[serde(flatten)]
    head: DocumentHead,
    change: &'static str,
    pod: PodJson,
}

/// Node, sources and alarms, when one of them is another than before.
#[derive(Debug, Serialize)]
pub struct NodeChange {
    #[serde(flatten)]
    head: DocumentHead,
    #[serde(flatten)]
    around: NodeContext,
}

/// The document of one change.
pub fn pod_change(moment: &NodeView, change: &RowChange) -> PodChange {
    PodChange {
        head: DocumentHead::new("PodChange", moment),
        change: change.what.name(),
        pod: json_pods::pod(&change.placed, &change.row, moment.now),
    }
}

/// The document of what surrounds the pods.
pub fn node_change(moment: &NodeView) -> NodeChange {
    NodeChange { head: DocumentHead::new("NodeChange", moment), around: node_context(moment) }
}
