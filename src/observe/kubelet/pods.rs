//! Owns the reading of `/pods`: the pods that the kubelet itself works on, as a listing and differences.
//! It must not take an odd item for a reason to lose the others, nor a list of odd items for an empty node.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use super::super::{Attempt, Failure, LeftOut, Outlet};
use super::KubeletClient;
use super::ask::{ask, ticks};
use super::body::each_item;
use super::fault::not_understood;
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
    async fn list(&self, most: u64) -> Result<Listed, Failure> {
        let what = self.client.call(PATH);
        let mut listed = Listed::default();
        let (mut odd, mut weight) = (false, 0u64);
        let response = self.client.get(PATH).await?;
        let head = each_item(response, &what, |raw| match item(raw, "Pod") {
            Object::Pod(pod) => {
                let fact = Fact::Pod(pod);
                weight = weight.saturating_add(fact.weight());
                match fact {
                    Fact::Pod(pod) if weight <= most => _ = listed.pods.insert(pod.metadata.uid.clone(), *pod),
                    _ => listed.leave_out(LeftOut::Share),
                }
            }
            Object::Unreadable(DecodeError::TooLarge) => listed.leave_out(LeftOut::Object),
            _ => odd = true,
        });
        match head.await? {
            Some(head) => odd |= !head.kind.ends_with("List"),
            None => listed.leave_out(LeftOut::List),
        }
        let nothing = listed.pods.is_empty() && listed.left_out.is_none();
        if odd && nothing { Err(not_understood(&what, "not a list of pods")) } else { Ok(listed) }
    }

    async fn observe(&self, out: &mut Outlet) -> Result<Infallible, Failure> {
        let what = self.client.call(PATH);
        let mut known: Option<Pods> = None;
        let mut ticks = ticks(self.every);
        out.verified(self.client.trust().is_verified()).await;
        // They are held here and in the model.
        let most = out.share() / 4 * 3;
        loop {
            ticks.tick().await;
            let call = self.list(most);
            let Listed { pods, left_out } = ask(out, Call::KubeletPods, &what, self.client.deadline(), call).await?;
            out.live().await;
            let (count, why) = left_out.unwrap_or((0, LeftOut::Share));
            out.left_out_of_list(count, why).await;
            match &known {
                Some(known) if !out.wants_list() => tell_differences(out, known, &pods).await,
                _ => tell_all(out, &pods).await,
            }
            known = Some(pods);
        }
    }
}

/// A list, and what of it there was no room for.
#[derive(Default)]
struct Listed {
    pods: Pods,
    left_out: Option<(u64, LeftOut)>,
}

impl Listed {
    fn leave_out(&mut self, why: LeftOut) {
        let count = self.left_out.map_or(0, |(count, _)| count);
        self.left_out = Some((count + 1, why));
    }
}

async fn tell_all(out: &mut Outlet, pods: &Pods) {
    out.begin_epoch().await;
    for pod in pods.values() {
        out.say(Fact::Pod(Box::new(pod.clone()))).await;
    }
    out.end_epoch().await;
}

async fn tell_differences(out: &mut Outlet, known: &Pods, pods: &Pods) {
    if known == pods {
        return out.say(Fact::Alive).await;
    }
    for (uid, pod) in pods {
        if known.get(uid) != Some(pod) {
            out.say(Fact::Pod(Box::new(pod.clone()))).await;
        }
    }
    for uid in known.keys().filter(|uid| !pods.contains_key(*uid)) {
        out.say(Fact::PodGone(uid.clone())).await;
    }
}

impl Attempt for PodsSource {
    async fn attempt(&mut self, out: &mut Outlet) -> Failure {
        let Err(failure) = self.observe(out).await;
        failure
    }
}
