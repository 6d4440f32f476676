//! Owns what is shown of one pod beyond its row: who it is, and the three words on each container side by side.
//! It must not choose between the words: what differs is told as such.

use std::collections::HashMap;

use super::Row;
use crate::model::{StoredObject, nonzero_time};
use crate::objects::{ContainerStatus, LeftOut, Pod};
use crate::observation::{Container, ContainerPhase, Time};
use crate::pipeline::LocatedPod;
use crate::text::Text;

/// What each source says of one container; empty when it says nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceWords {
    /// Container name.
    pub container: Text,
    /// The API server.
    pub api: String,
    /// The kubelet's `/pods`.
    pub kubelet: String,
    /// The container runtime.
    pub runtime: String,
    /// One says that it runs, another that it does not: one of them is behind, or no longer told.
    pub differ: bool,
}

/// One pod.
#[derive(Clone, Debug, PartialEq)]
pub struct PodDetail {
    /// Its row.
    pub row: Row,
    /// The UID that the API knows; of a static pod that of its mirror.
    pub uid: Text,
    /// `Guaranteed`, `Burstable` or `BestEffort`; empty when no source has the object.
    pub qos: Text,
    /// Pod address; empty for none.
    pub ip: Text,
    /// The node it is bound to.
    pub node: Text,
    /// Controller, `ReplicaSet/web`; empty for none.
    pub owner: String,
    /// Read from a file by the kubelet itself.
    pub is_static: bool,
    /// The three words per container, in the order of its place.
    pub sides: Vec<SourceWords>,
    /// What it has more of than is kept.
    pub left_out: Vec<LeftOut>,
}

impl PodDetail {
    /// One pod at `now`.
    pub fn new(placed: &LocatedPod, now: Time) -> Self {
        let facts = &placed.facts;
        let object = facts.object();
        let status = object.map(|pod| &pod.status);
        let sandbox_ip = facts.sandbox().map(|s| s.ip.clone()).unwrap_or_default();
        let owner = object.and_then(|pod| pod.metadata.owner_references.iter().find(|o| o.controller));
        let (api, kubelet) = (facts.api.as_ref().map(statuses), facts.kubelet.as_ref().map(statuses));
        let side = |name: &Text| {
            let api = api.as_ref().map(|known| known.get(name).copied());
            let kubelet = kubelet.as_ref().map(|known| known.get(name).copied());
            let runtime = facts.container(name);
            let runs = [
                api.flatten().map(|status| status.state.running.is_some()),
                kubelet.flatten().map(|status| status.state.running.is_some()),
                runtime.map(|c| c.phase == ContainerPhase::Running),
            ];
            SourceWords {
                container: name.clone(),
                api: api.map(of_status).unwrap_or_default(),
                kubelet: kubelet.map(of_status).unwrap_or_default(),
                runtime: runtime.map(|c| of_runtime(c)).unwrap_or_default(),
                differ: runs.contains(&Some(true)) && runs.contains(&Some(false)),
            }
        };
        Self {
            row: Row::new(placed, now),
            uid: object.map_or_else(|| facts.key.clone(), |pod| pod.metadata.uid.clone()),
            qos: status.map(|s| s.qos_class.clone()).unwrap_or_default(),
            ip: status.map(|s| s.pod_ip.clone()).filter(|ip| !ip.is_empty()).unwrap_or(sandbox_ip),
            node: object.map(|pod| pod.spec.node_name.clone()).unwrap_or_default(),
            owner: owner.map(|o| format!("{}/{}", o.kind, o.name)).unwrap_or_default(),
            is_static: facts.is_static(),
            sides: placed.position.containers.iter().map(|c| side(&c.name)).collect(),
            left_out: facts.left_out(),
        }
    }
}

type Statuses<'a> = HashMap<&'a Text, &'a ContainerStatus>;

fn statuses(pod: &StoredObject<Pod>) -> Statuses<'_> {
    let mut all = Statuses::new();
    for status in pod.value.status.all_containers() {
        all.entry(&status.name).or_insert(status);
    }
    all
}

fn of_status(status: Option<&ContainerStatus>) -> String {
    let Some(status) = status else { return "no status".into() };
    let restarts =
        if status.restart_count > 0 { format!(", restarts {}", status.restart_count) } else { String::new() };
    let ready = if status.ready { ", ready" } else { "" };
    format!("{}{ready}{restarts}", status.state)
}

fn of_runtime(container: &Container) -> String {
    let word = match (container.phase, container.exit_code) {
        (ContainerPhase::Created, _) => "created".into(),
        (ContainerPhase::Running, _) => "running".into(),
        (ContainerPhase::Exited, Some(code)) if nonzero_time(container.started_at).is_some() => {
            format!("exited {code} {}", container.reason)
        }
        (ContainerPhase::Exited, Some(code)) => format!("never started, exit {code} {}", container.reason),
        (ContainerPhase::Exited, None) => "exited".into(),
        (ContainerPhase::Unknown, _) => "unknown".into(),
    };
    format!("{}, attempt {}", word.trim_end(), container.attempt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::observation::{Fact, Observation, Sequencer, Source};
    use crate::pipeline::PodLocator;

    fn sides(api_state: &str, phase: ContainerPhase) -> SourceWords {
        let now = Time::from_timestamp(1_790_000_000, 0).unwrap();
        let mut model = Model::default();
        let mut say = |source, fact| model.apply(Observation { stamp: Sequencer::new(source).stamp(0, now), fact });
        let pod = format!(
            r#"{{"metadata":{{"name":"p","namespace":"n","uid":"u"}},"spec":{{"containers":[{{"name":"c"}}]}},
            "status":{{"containerStatuses":[{{"name":"c","ready":true,"restartCount":2,"state":{api_state}}}]}}}}"#
        );
        say(Source::ApiPods, Fact::Pod(serde_json::from_str(&pod).unwrap()));
        let container = serde_json::json!({"id": "1", "sandbox": "s", "name": "c", "pod": "p", "namespace": "n",
            "uid": "u", "attempt": 2, "phase": phase, "created_at": null});
        say(Source::Cri, Fact::Container(serde_json::from_value(container).unwrap()));
        let placed = PodLocator::default().locate_all(&model.snapshot(), now);
        PodDetail::new(&placed[0], now).sides.remove(0)
    }

    #[test]
    fn each_source_keeps_its_own_word() {
        let same = sides(r#"{"running":{}}"#, ContainerPhase::Running);
        assert_eq!((same.api.as_str(), same.kubelet.as_str()), ("running, ready, restarts 2", ""));
        assert_eq!((same.runtime.as_str(), same.differ), ("running, attempt 2", false));
        assert!(sides(r#"{"running":{}}"#, ContainerPhase::Exited).differ);
        assert!(sides(r#"{"waiting":{"reason":"CrashLoopBackOff"}}"#, ContainerPhase::Running).differ);
        assert!(!sides(r#"{"waiting":{"reason":"CrashLoopBackOff"}}"#, ContainerPhase::Exited).differ);
    }
}
