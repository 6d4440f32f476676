//! Evidence: what a source reported, and when it happened.

use std::sync::Arc;

use serde::Serialize;

use crate::model::PodFacts;
use crate::objects::Event;
use crate::observation::{PodDir, Source, Time};
use crate::text::Text;

/// One fact that a source reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// The source that reported it.
    pub source: Source,
    /// When it happened, by the source's clock.
    pub at: Option<Time>,
    /// What the source reported.
    pub text: Text,
}

impl Evidence {
    /// Evidence from one source.
    pub fn new(source: Source, at: Option<Time>, text: impl Into<Text>) -> Self {
        Self { source, at, text: text.into() }
    }

    /// An event, with its reason, count and message.
    pub fn event(event: &Event) -> Self {
        let times = event.times();
        let count = if times > 1 { format!(" (x{times})") } else { String::new() };
        Self::new(Source::ApiEvents, event.last(), format!("{}{count}: {}", event.reason, event.message))
    }

    /// The kubelet's directory of a pod: the kubelet has admitted the pod, whatever other sources report.
    pub(super) fn of_pod_dir(dir: &PodDir) -> Option<Self> {
        dir.kubelet.then(|| Self::new(Source::Machine, dir.since, "the kubelet's pod directory exists"))
    }

    /// The kubelet's directories of a pod's volumes. Each is created before its volume is mounted.
    pub(super) fn of_volume_dirs(dir: &PodDir) -> Option<Self> {
        let names: Vec<&str> = dir.volumes.iter().map(Text::as_str).collect();
        (!names.is_empty())
            .then(|| Self::new(Source::Machine, None, format!("volume directories: {}", names.join(", "))))
    }
}

/// The newest event with one of the `reasons`; None if an event with one of the `superseded_by` reasons is newer.
pub fn last_event<'a>(facts: &'a PodFacts, reasons: &[&str], superseded_by: &[&str]) -> Option<&'a Arc<Event>> {
    let found = facts.event(reasons)?;
    let newer = facts.event(superseded_by).is_some_and(|e| e.last() > found.last());
    (!newer).then_some(found)
}

/// The earliest of the times that several sources report for one event. API times have whole seconds, so a finer time
/// within the same second is preferred.
pub(super) fn earliest(times: impl Iterator<Item = Time> + Clone) -> Option<Time> {
    let first = times.clone().min()?;
    let finer = times.filter(|t| t.timestamp() == first.timestamp() && t.timestamp_subsec_nanos() != 0).min();
    finer.or(Some(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finer_time_within_the_same_second_is_preferred() {
        let at = |ms: i64| Time::from_timestamp_millis(ms).unwrap();
        assert_eq!(earliest([at(5000), at(5800), at(5300), at(9000)].into_iter()), Some(at(5300)));
        assert_eq!(earliest([at(5000), at(6100)].into_iter()), Some(at(5000)));
        assert_eq!(earliest([].into_iter()), None);
    }
}
