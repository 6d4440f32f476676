//! The positions of all pods, decided again only for pods that changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::locate::locate;
use super::position::PipelinePosition;
use crate::model::{PodFacts, Snapshot};
use crate::observation::Time;
use crate::text::Text;

/// Minor version of the API server if neither the Node object nor the kubelet's metrics report one.
const DEFAULT_API_MINOR: u32 = 36;

/// A pod and its position.
#[derive(Clone, Debug)]
pub struct LocatedPod {
    /// What the sources report.
    pub facts: Arc<PodFacts>,
    /// Its position.
    pub position: Arc<PipelinePosition>,
}

/// Keeps the position of each pod with the facts that it was decided from.
#[derive(Debug, Default)]
pub struct PodLocator {
    located: BTreeMap<Text, LocatedPod>,
    node: NodeContext,
}

/// What a position depends on besides the facts of its pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NodeContext {
    api_minor: u32,
    is_kubelet_unresponsive: bool,
}

impl PodLocator {
    /// The positions of all pods of a snapshot at `now`, by UID, without pods of which only exited containers are left.
    pub fn locate_all(&mut self, snapshot: &Snapshot, now: Time) -> Vec<LocatedPod> {
        let node = NodeContext {
            api_minor: api_minor(snapshot),
            is_kubelet_unresponsive: snapshot.is_kubelet_unresponsive(now),
        };
        if node != self.node {
            self.located.clear();
            self.node = node;
        }
        self.located.retain(|key, _| snapshot.pods.contains_key(key));
        for (key, facts) in snapshot.pods.iter() {
            if self.located.get(key).is_some_and(|old| Arc::ptr_eq(&old.facts, facts)) {
                continue;
            }
            let position = locate(facts, node.api_minor);
            let position = if node.is_kubelet_unresponsive { position.without_kubelet() } else { position };
            self.located.insert(key.clone(), LocatedPod { facts: facts.clone(), position: position.into() });
        }
        self.located.values().filter(|pod| !pod.position.is_left_over()).cloned().collect()
    }
}

/// The API server's version is not available on a node. Its kubelet is never newer, and usually has the same version.
fn api_minor(snapshot: &Snapshot) -> u32 {
    let of_node = snapshot.node.as_ref().map(|n| &n.status.node_info.kubelet_version);
    let version = of_node.or(snapshot.kubelet.version());
    version.and_then(|v| v.split('.').nth(1)?.parse().ok()).unwrap_or(DEFAULT_API_MINOR)
}
