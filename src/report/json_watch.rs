//! The documents of `--watch`, one JSON object per line: `PodChange` and `NodeChange`.

use serde::Serialize;

use super::json::{DocumentHead, NodeSummary, node_summary};
use super::json_pods::{self, PodJson};
use crate::view::{NodeView, RowChange};

/// One pod whose row changed.
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
    around: NodeSummary,
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
    NodeChange { head: DocumentHead::new("NodeChange", moment), around: node_summary(moment) }
}
