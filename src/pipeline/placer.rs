//! Owns the places of all pods, computed again only for pods that changed.
//! It must not decide where a pod stands.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::place::{PipelinePosition, place};
use crate::model::{PodFacts, Snapshot};
use crate::observation::Time;
use crate::text::Text;

/// A pod and its place.
#[derive(Clone, Debug)]
pub struct LocatedPod {
    /// What the sources say.
    pub facts: Arc<PodFacts>,
    /// Where it stands.
    pub position: Arc<PipelinePosition>,
}

/// Remembers places by the facts they were made from.
#[derive(Debug, Default)]
pub struct PodLocator {
    placed: BTreeMap<Text, LocatedPod>,
    around: Around,
}

/// What of the node a place rests on besides the pod's own facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Around {
    minor: u32,
    is_kubelet_unresponsive: bool,
}

impl PodLocator {
    /// The places of all pods of a snapshot at `now`, by UID; without what is only left over of pods that are gone.
    pub fn locate_all(&mut self, snapshot: &Snapshot, now: Time) -> Vec<LocatedPod> {
        let around =
            Around { minor: api_minor(snapshot), is_kubelet_unresponsive: snapshot.is_kubelet_unresponsive(now) };
        if around != self.around {
            self.placed.clear();
            self.around = around;
        }
        self.placed.retain(|key, _| snapshot.pods.contains_key(key));
        for (key, facts) in snapshot.pods.iter() {
            if self.placed.get(key).is_some_and(|old| Arc::ptr_eq(&old.facts, facts)) {
                continue;
            }
            let place = place(facts, around.minor);
            let place = Arc::new(if around.is_kubelet_unresponsive { place.without_kubelet() } else { place });
            self.placed.insert(key.clone(), LocatedPod { facts: facts.clone(), position: place });
        }
        self.placed.values().filter(|p| !p.position.is_left_over()).cloned().collect()
    }
}

/// The API server's version is not visible from a node; its kubelet is never newer, and most often equal.
fn api_minor(snapshot: &Snapshot) -> u32 {
    let of_node = snapshot.node.as_ref().map(|n| &n.status.node_info.kubelet_version);
    let version = of_node.or(snapshot.kubelet.version());
    version.and_then(|v| v.split('.').nth(1)?.parse().ok()).unwrap_or(36)
}
