//! `/pods` of the kubelet: the pods that it works on, as a listing and differences. An item that cannot be decoded does not
//! hide the others, and a list of such items is not an empty node.

use std::convert::Infallible;
use std::time::Duration;

use super::super::differences::{KeyedObjects, emit_listing};
use super::super::{Attempt, ObservationSink, OmitReason, SourceFailure};
use super::KubeletClient;
use super::body::each_item;
use super::request_error::unexpected_body;
use super::timed_call::{ticks, timed_call};
use crate::decode::{DecodeError, Object, item};
use crate::objects::Pod;
use crate::observation::{Call, Fact};

/// Time between two lists.
pub const PODS_EVERY: Duration = Duration::from_secs(15);
const PATH: &str = "/pods";

/// The source of the kubelet's pods.
#[derive(Debug)]
pub struct PodsSource {
    client: KubeletClient,
    every: Duration,
}

/// A list of pods by UID, and what was left out of it.
#[derive(Default)]
struct ListedPods {
    pods: KeyedObjects<Pod>,
    left_out: Option<(u64, OmitReason)>,
}

impl PodsSource {
    /// Lists with `client` every [`PODS_EVERY`].
    pub fn new(client: KubeletClient) -> Self {
        Self { client, every: PODS_EVERY }
    }

    /// With another time between two lists.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    /// The pods, up to `budget` bytes.
    async fn list(&self, budget: u64) -> Result<ListedPods, SourceFailure> {
        let what = self.client.describe(PATH);
        let mut list = ListedPods::default();
        let (mut malformed, mut weight) = (false, 0u64);
        let response = self.client.get(PATH).await?;
        let head = each_item(response, &what, |raw| match item(raw, "Pod") {
            Object::Pod(pod) => {
                let fact = Fact::Pod(pod);
                weight = weight.saturating_add(fact.weight());
                match fact {
                    Fact::Pod(pod) if weight <= budget => _ = list.pods.insert(pod.metadata.uid.clone(), *pod),
                    _ => list.leave_out(OmitReason::Budget),
                }
            }
            Object::Unreadable(DecodeError::TooLarge) => list.leave_out(OmitReason::ObjectSize),
            _ => malformed = true,
        });
        match head.await? {
            Some(head) => malformed |= !head.kind.ends_with("List"),
            None => list.leave_out(OmitReason::ListSize),
        }
        let is_empty = list.pods.is_empty() && list.left_out.is_none();
        if malformed && is_empty { Err(unexpected_body(&what, "not a list of pods")) } else { Ok(list) }
    }

    async fn observe(&self, out: &mut ObservationSink) -> Result<Infallible, SourceFailure> {
        let what = self.client.describe(PATH);
        let mut known: Option<KeyedObjects<Pod>> = None;
        let mut ticks = ticks(self.every);
        out.set_verified(self.client.trust().is_verified()).await;
        // The pods are kept here and in the model.
        let budget = out.share() / 4 * 3;
        loop {
            ticks.tick().await;
            let call = self.list(budget);
            let ListedPods { pods, left_out } =
                timed_call(out, Call::KubeletPods, &what, self.client.deadline(), call).await?;
            out.set_live().await;
            let (count, why) = left_out.unwrap_or((0, OmitReason::Budget));
            out.set_left_out_of_list(count, why).await;
            let before = known.as_ref().filter(|_| !out.needs_list());
            emit_listing(out, before, &pods, |pod| Fact::Pod(Box::new(pod.clone())), Fact::PodGone).await;
            known = Some(pods);
        }
    }
}

impl ListedPods {
    fn leave_out(&mut self, why: OmitReason) {
        let count = self.left_out.map_or(0, |(count, _)| count);
        self.left_out = Some((count + 1, why));
    }
}

impl Attempt for PodsSource {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        let Err(failure) = self.observe(out).await;
        failure
    }
}
