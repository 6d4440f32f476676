//! When each scheduler last placed a pod, computed on first use and kept for the snapshot.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::Snapshot;
use crate::observation::Time;
use crate::text::Text;

/// The newest `PodScheduled` of the known pods, by scheduler name.
#[derive(Clone, Debug, Default)]
pub struct LastScheduled(OnceLock<BTreeMap<Text, Time>>);

impl LastScheduled {
    /// When the scheduler of this name last placed a pod that is known here.
    pub fn last(&self, snapshot: &Snapshot, scheduler: &str) -> Option<Time> {
        let all = self.0.get_or_init(|| {
            let mut all = BTreeMap::new();
            for pod in snapshot.pods.values().filter_map(|facts| facts.object()) {
                let placed = pod.status.condition("PodScheduled").filter(|c| c.is_true());
                if let Some(at) = placed.and_then(|c| c.last_transition_time) {
                    let newest = all.entry(pod.spec.scheduler_name.clone()).or_insert(at);
                    *newest = (*newest).max(at);
                }
            }
            all
        });
        all.get(scheduler).copied()
    }
}
