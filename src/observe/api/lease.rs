//! Owns the node's lease as a source: watched where that is allowed, else read by its name now and then.
//! It must not read it as often as the kubelet renews it.

use std::time::Duration;

use super::super::{Attempt, ObservationSink, SourceFailure};
use super::list_watch::is;
use super::{ApiAccess, ListWatch, WatchTimings, WatchedResource};
use crate::observation::{ErrorKind, Fact, SourceError};
use crate::text::Text;

/// Between two reads by name, where a watch is refused: half of what a renewal lasts (`nodeLeaseDurationSeconds`, 40 s),
/// so that one read that fails hides no end of a lease; every other renewal.
const EVERY: Duration = Duration::from_secs(20);

/// The lease of one node; for [`crate::observation::Source::ApiLease`].
///
/// The Node authorizer lets a node get its lease and neither list nor watch it, whatever is selected.
pub struct LeaseSource {
    watch: ListWatch,
    read: ListWatch,
    name: Text,
    every: Duration,
}

impl LeaseSource {
    /// The lease of `node`.
    pub fn new(access: ApiAccess, node: &str) -> Self {
        let what = WatchedResource::lease(node);
        Self {
            watch: ListWatch::new(access.clone(), what.clone()),
            read: ListWatch::new(access, what.by_name()),
            name: node.into(),
            every: EVERY,
        }
    }

    /// With other deadlines, and another time between two reads by name.
    #[must_use]
    pub fn with_timings(self, timings: WatchTimings, every: Duration) -> Self {
        Self { watch: self.watch.with_timings(timings), read: self.read.with_timings(timings), every, ..self }
    }

    async fn reads(&mut self, out: &mut ObservationSink) -> SourceFailure {
        let mut last = None;
        loop {
            let found = match self.read.one().await {
                Ok(found) => found.map(is),
                Err(failure) => return failure,
            };
            let fact = match found {
                Some(Some(fact @ Fact::Lease(_))) => fact,
                Some(_) => return odd(&self.name),
                None => Fact::LeaseGone(self.name.clone()),
            };
            out.set_live().await;
            match &last {
                None => {
                    out.begin_epoch().await;
                    if matches!(fact, Fact::Lease(_)) {
                        out.emit(fact.clone()).await;
                    }
                    out.end_epoch().await;
                }
                Some(last) if *last == fact => out.emit(Fact::Alive).await,
                Some(_) => out.emit(fact.clone()).await,
            }
            last = Some(fact);
            tokio::time::sleep(self.every).await;
        }
    }
}

impl Attempt for LeaseSource {
    /// Each attempt asks for the watch first: it may have been granted meanwhile.
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        match self.watch.attempt(out).await {
            SourceFailure::Forbidden(_) => self.reads(out).await,
            other => other,
        }
    }
}

fn odd(name: &Text) -> SourceFailure {
    SourceFailure::Retry(SourceError {
        tried: format!("get leases/{name}: the answer is not a lease").into(),
        kind: ErrorKind::Malformed,
        fix: "look at what answers there: an API server answers otherwise".into(),
    })
}
