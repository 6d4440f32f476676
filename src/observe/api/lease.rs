//! The node's lease as a source: watched where that is allowed, else read by name, less often than the kubelet renews it.

use std::time::Duration;

use super::super::{Attempt, ObservationSink, SourceFailure};
use super::list_watch::object_fact;
use super::response::UNEXPECTED_RESPONSE;
use super::{ApiAccess, ListWatch, WatchTimings, WatchedResource};
use crate::observation::{ErrorKind, Fact, SourceError};
use crate::text::Text;

/// Time between two reads by name, where watching is forbidden: half of the lease's duration (`nodeLeaseDurationSeconds`,
/// 40 s), so that one failed read does not hide that the lease expires. The kubelet renews it every 10 s.
const READ_EVERY: Duration = Duration::from_secs(20);

/// The lease of one node; for [`crate::observation::Source::ApiLease`].
///
/// The Node authorizer allows a node to get its lease, and neither to list nor to watch it with any selector.
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
            every: READ_EVERY,
        }
    }

    /// With other timings, and another time between two reads by name.
    #[must_use]
    pub fn with_timings(self, timings: WatchTimings, every: Duration) -> Self {
        Self { watch: self.watch.with_timings(timings), read: self.read.with_timings(timings), every, ..self }
    }

    async fn poll(&mut self, out: &mut ObservationSink) -> SourceFailure {
        let mut last = None;
        loop {
            let found = match self.read.get_by_name().await {
                Ok(found) => found.map(object_fact),
                Err(failure) => return failure,
            };
            let fact = match found {
                Some(Some(fact @ Fact::Lease(_))) => fact,
                Some(_) => return not_a_lease(&self.name),
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
    /// Each attempt tries the watch first: it may have been granted in the meantime.
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        match self.watch.attempt(out).await {
            SourceFailure::Forbidden(_) => self.poll(out).await,
            other => other,
        }
    }
}

fn not_a_lease(name: &Text) -> SourceFailure {
    SourceFailure::Retry(SourceError {
        tried: format!("get leases/{name}: the response is not a Lease").into(),
        kind: ErrorKind::Malformed,
        fix: UNEXPECTED_RESPONSE.into(),
    })
}
