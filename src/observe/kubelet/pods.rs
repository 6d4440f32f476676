//! Owns the reading of `/pods`: the pods that the kubelet itself works on, as a listing and differences.
//! It must not take an odd item for a reason to lose the others, nor a list of odd items for an empty node.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use super::super::{Attempt, ObservationSink, OmitReason, SourceFailure};
use super::KubeletClient;
use super::body::each_item;
use super::request_error::unexpected_body;
use super::timed_call::{ticks, timed_call};
use crate::decode::{DecodeError, Object, item};
use crate::objects::Pod;
use crate::observation::{Call, Fact};
use crate::text::Text;

/// Time between two lists.
pub const PODS_EVERY: Duration = Duration::from_secs(15);
const PATH: &str = "/pods";

/// Pods by UID.
type Pods = BTreeMap<Text, Pod>;

/// The source of the kubelet's pods.
#[derive(Debug)]
pub struct PodsSource {
    client: KubeletClient,
    every: Duration,
}

impl PodsSource {
    /// Lists with `client` every [`PODS_EVERY`].
    pub fn new(client: KubeletClient) -> Self {
        Self { client, every: PODS_EVERY }
    }

    /// The same with another time between two lists.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    /// The pods, as many as `most` bytes hold.
    async fn list(&self, most: u64) -> Result<PodList, SourceFailure> {
        let what = self.client.call(PATH);
        let mut listed = PodList::default();
        let (mut odd, mut weight) = (false, 0u64);
        let response = self.client.get(PATH).await?;
        let head = each_item(response, &what, |raw| match item(raw, "Pod") {
            Object::Pod(pod) => {
                let fact = Fact::Pod(pod);
                weight = weight.saturating_add(fact.weight());
                match fact {
                    Fact::Pod(pod) if weight <= most => _ = listed.pods.insert(pod.metadata.uid.clone(), *pod),
                    _ => listed.leave_out(OmitReason::Share),
                }
            }
            Object::Unreadable(DecodeError::TooLarge) => listed.leave_out(OmitReason::Object),
            _ => odd = true,
        });
        match head.await? {
            Some(head) => odd |= !head.kind.ends_with("List"),
            None => listed.leave_out(OmitReason::List),
        }
        let nothing = listed.pods.is_empty() && listed.left_out.is_none();
        if odd && nothing { Err(unexpected_body(&what, "not a list of pods")) } else { Ok(listed) }
    }

    async fn observe(&self, out: &mut ObservationSink) -> Result<Infallible, SourceFailure> {
        let what = self.client.call(PATH);
        let mut known: Option<Pods> = None;
        let mut ticks = ticks(self.every);
        out.set_verified(self.client.trust().is_verified()).await;
        // They are held here and in the model.
        let most = out.share() / 4 * 3;
        loop {
            ticks.tick().await;
            let call = self.list(most);
            let PodList { pods, left_out } =
                timed_call(out, Call::KubeletPods, &what, self.client.deadline(), call).await?;
            out.set_live().await;
            let (count, why) = left_out.unwrap_or((0, OmitReason::Share));
            out.set_left_out_of_list(count, why).await;
            match &known {
                Some(known) if !out.needs_list() => emit_differences(out, known, &pods).await,
                _ => emit_all(out, &pods).await,
            }
            known = Some(pods);
        }
    }
}

/// A list, and what of it there was no room for.
#[derive(Default)]
struct PodList {
    pods: Pods,
    left_out: Option<(u64, OmitReason)>,
}

impl PodList {
    fn leave_out(&mut self, why: OmitReason) {
        let count = self.left_out.map_or(0, |(count, _)| count);
        self.left_out = Some((count + 1, why));
    }
}

async fn emit_all(out: &mut ObservationSink, pods: &Pods) {
    out.begin_epoch().await;
    for pod in pods.values() {
        out.emit(Fact::Pod(Box::new(pod.clone()))).await;
    }
    out.end_epoch().await;
}

async fn emit_differences(out: &mut ObservationSink, known: &Pods, pods: &Pods) {
    if known == pods {
        return out.emit(Fact::Alive).await;
    }
    for (uid, pod) in pods {
        if known.get(uid) != Some(pod) {
            out.emit(Fact::Pod(Box::new(pod.clone()))).await;
        }
    }
    for uid in known.keys().filter(|uid| !pods.contains_key(*uid)) {
        out.emit(Fact::PodGone(uid.clone())).await;
    }
}

impl Attempt for PodsSource {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        let Err(failure) = self.observe(out).await;
        failure
    }
}
