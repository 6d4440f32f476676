//! Owns the diagnoses of all pods and of the node, made again only for what changed or when waiting alone changes one.
//! It must not decide anything: `Doctor` does.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::finding::{Diagnosis, Finding};
use super::{Doctor, HEALTHY, extract};
use crate::model::Snapshot;
use crate::objects::{Event, Node};
use crate::observation::Time;
use crate::pipeline::{LocatedPod, PodLocator, Stage};
use crate::runbook::{Confidence, Runbook};
use crate::text::Text;

/// The node's diagnosis rests on many sources and is cheap: it is made again at most so often, milliseconds.
const NODE_EVERY_MS: i64 = 1000;

/// Where a registry is away many lines come for many pods: these are diagnosed again for them at most so often, milliseconds.
const PULLS_EVERY_MS: i64 = 5000;

struct Kept {
    pod: LocatedPod,
    around: Around,
    made: Time,
    diagnosis: Arc<Diagnosis>,
}

/// What besides a pod's own facts its diagnosis rests on: claims while it is scheduled, the runtime's lines while it waits for an
/// image, its node while it ends. At every other stage nothing, so that an event elsewhere costs no pass over all pods.
enum Around {
    Nothing,
    Elsewhere(Arc<Vec<Arc<Event>>>),
    /// What `extract::pulls` says of the lines.
    Pulls(u64),
    Nodes(Vec<Arc<Node>>),
}

impl Around {
    fn of(stage: Stage, snapshot: &Snapshot, pulls: u64) -> Self {
        match stage {
            Stage::Scheduling => Self::Elsewhere(snapshot.other_events.clone()),
            Stage::Image => Self::Pulls(pulls),
            Stage::Terminating => Self::Nodes(snapshot.nodes.clone()),
            _ => Self::Nothing,
        }
    }

    /// `age` is that of the diagnosis, milliseconds.
    fn is_unchanged(&self, snapshot: &Snapshot, pulls: u64, age: i64) -> bool {
        match self {
            Self::Nothing => true,
            Self::Elsewhere(events) => Arc::ptr_eq(events, &snapshot.other_events),
            Self::Pulls(before) => *before == pulls || (0..PULLS_EVERY_MS).contains(&age),
            Self::Nodes(nodes) => {
                let same = nodes.iter().zip(&snapshot.nodes).all(|(a, b)| Arc::ptr_eq(a, b));
                same && nodes.len() == snapshot.nodes.len()
            }
        }
    }
}

/// Places and diagnoses, remembered by the facts that they were made from.
#[derive(Default)]
pub struct Rounds {
    /// Where the pods stand.
    pub placer: PodLocator,
    book: Option<Arc<Runbook>>,
    kept: BTreeMap<Text, Kept>,
    node: Option<(Time, Arc<Diagnosis>)>,
}

/// What a round found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Of each pod, by UID.
    pub pods: Arc<BTreeMap<Text, Arc<Diagnosis>>>,
    /// Of the node.
    pub node: Arc<Diagnosis>,
    /// When waiting alone changes one of them.
    pub until: Option<Time>,
}

impl Rounds {
    /// Diagnoses with this runbook instead of the embedded one.
    pub fn with(book: Arc<Runbook>) -> Self {
        Self { book: Some(book), ..Self::default() }
    }

    /// Forgets all pods, and keeps the runbook: time has been moved.
    pub fn forget(&mut self) {
        *self = Self { book: self.book.take(), ..Self::default() };
    }

    /// The runbook in use.
    pub fn book(&self) -> &Runbook {
        self.book.as_deref().unwrap_or_else(|| Runbook::builtin())
    }

    /// The runbook that was given; none for the embedded one.
    pub fn own_book(&self) -> Option<Arc<Runbook>> {
        self.book.clone()
    }

    /// Diagnoses what changed since the last round.
    pub fn make(&mut self, placed: &[LocatedPod], snapshot: &Snapshot, now: Time) -> Found {
        let book = self.book.clone();
        let doctor = Doctor { book: book.as_deref().unwrap_or_else(|| Runbook::builtin()), snapshot, now };
        self.kept.retain(|key, _| snapshot.pods.contains_key(key));
        let mut until: Option<Time> = None;
        let mut pods = BTreeMap::new();
        let pulls = if placed.iter().any(|p| p.position.stage == Stage::Image) { extract::pulls(snapshot) } else { 0 };
        for pod in placed {
            let key = &pod.facts.key;
            let still = self.kept.get(key).filter(|kept| {
                Arc::ptr_eq(&kept.pod.facts, &pod.facts)
                    && Arc::ptr_eq(&kept.pod.position, &pod.position)
                    && kept.around.is_unchanged(snapshot, pulls, (now - kept.made).num_milliseconds())
                    && kept.made <= now
                    && kept.diagnosis.holds_until.is_none_or(|at| now < at)
            });
            let diagnosis = match still {
                Some(kept) => kept.diagnosis.clone(),
                None => {
                    // What it was made from is for those who write rules, not for keeping.
                    let made = Diagnosis { signals: Vec::new(), ..doctor.pod(pod) };
                    let diagnosis = Arc::new(made);
                    let kept = Kept {
                        pod: pod.clone(),
                        around: Around::of(pod.position.stage, snapshot, pulls),
                        made: now,
                        diagnosis: diagnosis.clone(),
                    };
                    self.kept.insert(key.clone(), kept);
                    diagnosis
                }
            };
            until = [until, diagnosis.holds_until].into_iter().flatten().min();
            pods.insert(key.clone(), diagnosis);
        }
        Found { pods: Arc::new(pods), node: self.node(&doctor), until }
    }

    fn node(&mut self, doctor: &Doctor) -> Arc<Diagnosis> {
        let fresh = |at: Time| (0..NODE_EVERY_MS).contains(&(doctor.now - at).num_milliseconds());
        if let Some((_, diagnosis)) = self.node.as_ref().filter(|(at, _)| fresh(*at)) {
            return diagnosis.clone();
        }
        let made = doctor.node(doctor.snapshot.node_name(), false);
        let diagnosis = Arc::new(Diagnosis { signals: Vec::new(), ..made });
        self.node = Some((doctor.now, diagnosis.clone()));
        diagnosis
    }
}

/// The node's fault that explains why a pod stands where it stands: it is told once, on the node.
pub fn fault_of_node<'a>(book: &Runbook, node: &'a Diagnosis, own: &Diagnosis, stage: Stage) -> Option<&'a Finding> {
    let best = own.top()?;
    let settled = best.confidence == Confidence::Certain && !best.cause.starts_with("none.");
    if settled || best.cause == HEALTHY {
        return None;
    }
    let explains = |f: &&Finding| {
        f.confidence >= Confidence::Likely && book.cause(&f.cause).is_some_and(|c| c.explains.contains(&stage))
    };
    node.findings.iter().find(explains)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::observation::{Fact, LogEntry, LogKind, Source};
    use crate::pipeline::tests::fixture::Node as Fixture;

    #[test]
    fn an_event_elsewhere_costs_only_the_pods_that_wait_for_it() {
        let mut node = Fixture::new();
        let running = json!({"metadata": {"name": "r", "namespace": "n", "uid": "r"}, "spec": {"nodeName": "w",
            "containers": [{"name": "c"}]}, "status": {"phase": "Running"}});
        let waiting = json!({"metadata": {"name": "s", "namespace": "n", "uid": "s"}, "spec": {
            "containers": [{"name": "c"}]}, "status": {"phase": "Pending"}});
        let pods = [running, waiting].map(|pod| Fact::Pod(serde_json::from_value(pod).unwrap()));
        node.list(Source::ApiPods, pods.to_vec());
        let mut rounds = Rounds::default();
        let mut round = |node: &mut Fixture| {
            let (snapshot, now) = (node.snapshot(), node.at);
            let placed = rounds.placer.locate_all(&snapshot, now);
            rounds.make(&placed, &snapshot, now)
        };
        let before = round(&mut node);
        let event = json!({"metadata": {"name": "e", "uid": "e"}, "reason": "ProvisioningFailed",
            "involvedObject": {"kind": "PersistentVolumeClaim", "namespace": "n", "name": "data-s"}});
        node.report(Source::ApiEvents, Fact::Event(serde_json::from_value(event).unwrap()));
        let after = round(&mut node);
        let same = |uid: &str| Arc::ptr_eq(&before.pods[uid], &after.pods[uid]);
        assert!(same("r"), "the pod that is on its way past claims is not diagnosed again");
        assert!(!same("s"), "the pod that no scheduler has placed is");
    }

    #[test]
    fn lines_of_the_node_cost_only_the_pods_that_wait_for_an_image_and_those_not_each_time() {
        let mut node = Fixture::new();
        let waiting = json!({"metadata": {"name": "p", "namespace": "n", "uid": "p"},
            "spec": {"nodeName": "w", "containers": [{"name": "c", "image": "r/a:1"}]},
            "status": {"phase": "Pending", "startTime": "2026-09-21T14:00:00Z", "containerStatuses": [{"name": "c",
                "image": "r/a:1", "state": {"waiting": {"reason": "ErrImagePull"}}}]}});
        node.list(Source::ApiPods, vec![Fact::Pod(serde_json::from_value(waiting).unwrap())]);
        let mut rounds = Rounds::default();
        let mut says = |node: &mut Fixture, after: i64, text: &str| {
            node.at += crate::time::TimeDelta::milliseconds(after);
            let what = LogKind::Other { message: text.into() };
            let entry = LogEntry { at: node.at, severe: true, pod: "".into(), uid: "".into(), what };
            node.report(Source::RuntimeLog, Fact::Log(Box::new(entry)));
            let (snapshot, now) = (node.snapshot(), node.at);
            let placed = rounds.placer.locate_all(&snapshot, now);
            assert_eq!(placed[0].position.stage, Stage::Image);
            rounds.make(&placed, &snapshot, now).pods["p"].clone()
        };
        let first = says(&mut node, 0, "one line");
        let other = says(&mut node, PULLS_EVERY_MS, "another line that tells of nothing");
        assert!(Arc::ptr_eq(&first, &other), "what tells of no pull is no reason");
        let failed = r#"PullImage "r/a:1" failed: failed to do request: dial tcp: lookup r: no such host"#;
        let later = says(&mut node, 1000, failed);
        assert_eq!(later.top().unwrap().cause, "image.dns", "its last diagnosis is old enough");
        let soon = says(&mut node, 1000, r#"PullImage "r/b:1" failed: failed to do request: EOF"#);
        assert!(Arc::ptr_eq(&later, &soon), "many lines come where a registry is away");
    }
}
