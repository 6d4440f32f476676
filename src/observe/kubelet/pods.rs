//! Owns the reading of `/pods`: the pods that the kubelet itself works on, as a listing and differences.
//! It must not take an odd item for a reason to lose the others, nor a list of odd items for an empty node.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use super::super::{Attempt, Failure, Outlet};
use super::KubeletClient;
use super::ask::{ask, ticks};
use super::body::whole;
use super::fault::not_understood;
use crate::decode::{Object, objects};
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

    async fn list(&self) -> Result<Pods, Failure> {
        let what = self.client.call(PATH);
        let page = whole(self.client.get(PATH).await?, &what).await?;
        let items = objects(&page).map_err(|e| not_understood(&what, &e.to_string()))?;
        let odd = !items.is_empty();
        let mut pods = Pods::new();
        for item in items {
            if let Object::Pod(pod) = item {
                pods.insert(pod.metadata.uid.clone(), *pod);
            }
        }
        if odd && pods.is_empty() { Err(not_understood(&what, "not a list of pods")) } else { Ok(pods) }
    }

    async fn observe(&self, out: &mut Outlet) -> Result<Infallible, Failure> {
        let what = self.client.call(PATH);
        let mut known: Option<Pods> = None;
        let mut ticks = ticks(self.every);
        out.verified(self.client.trust().is_verified()).await;
        loop {
            ticks.tick().await;
            let pods = ask(out, Call::KubeletPods, &what, self.client.deadline(), self.list()).await?;
            out.live().await;
            match &known {
                None => tell_all(out, &pods).await,
                Some(known) => tell_differences(out, known, &pods).await,
            }
            known = Some(pods);
        }
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
