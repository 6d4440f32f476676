//! The view model of the node at one instant, immutable: pods with their positions, rows, diagnoses.

use std::sync::Arc;

use super::row::turns_at;
use super::{Filter, PodDiagnosis, Row, RunbookEntry, Sort};
use crate::diagnose::{Diagnoses, Diagnosis, DiagnosisCache, fault_of_node};
use crate::model::{Alarm, Snapshot};
use crate::observation::{ErrorKind, Source, SourceError, SourceState, Time};
use crate::pipeline::LocatedPod;
use crate::runbook::Runbook;

/// The node at `now`.
#[derive(Clone, Debug)]
pub struct NodeView {
    /// The time that is shown: durations and countdowns refer to it.
    pub now: Time,
    /// What is known.
    pub snapshot: Arc<Snapshot>,
    /// Every pod with its place, by UID.
    pub pods: Arc<Vec<LocatedPod>>,
    /// What is alarming about the node.
    pub alarms: Vec<Alarm>,
    found: Diagnoses,
    rows: Arc<Vec<Row>>,
    book: Option<Arc<Runbook>>,
}

impl NodeView {
    /// Places and diagnoses what changed since `rounds` was last used.
    pub fn new(snapshot: Snapshot, rounds: &mut DiagnosisCache, now: Time) -> Self {
        let pods = Arc::new(rounds.placer.locate_all(&snapshot, now));
        let found = rounds.make(&pods, &snapshot, now);
        let alarms = snapshot.alarms(now);
        let rows = Arc::new(rows(&pods, &found, rounds, now));
        Self { now, snapshot: Arc::new(snapshot), pods, alarms, found, rows, book: rounds.own_book() }
    }

    /// One row per pod, worst health first, then by namespace and name.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Indexes of the rows that a filter accepts, in the requested order.
    pub fn chosen(&self, filter: &Filter, sort: Sort) -> Vec<usize> {
        let asked = filter.matcher();
        let mut chosen: Vec<usize> = (0..self.rows.len()).filter(|&i| asked.accepts(&self.rows[i])).collect();
        chosen.sort_by(|&a, &b| sort.compare(&self.rows[a], &self.rows[b]));
        chosen
    }

    /// The pod of that UID.
    pub fn pod(&self, key: &str) -> Option<&LocatedPod> {
        let place = self.pods.binary_search_by(|p| p.facts.key.as_str().cmp(key)).ok()?;
        self.pods.get(place)
    }

    /// The findings of the pod of that UID.
    pub fn diagnosis(&self, key: &str) -> Option<&Arc<Diagnosis>> {
        self.found.pods.get(key)
    }

    /// The same, with the node's fault that explains it.
    pub fn why(&self, key: &str) -> Option<PodDiagnosis> {
        let own = self.diagnosis(key)?.clone();
        let stage = self.pod(key)?.position.stage;
        let of_node = fault_of_node(self.book(), &self.found.node, &own, stage).cloned();
        Some(PodDiagnosis { own, of_node })
    }

    /// What is wrong with the node.
    pub fn node_diagnosis(&self) -> &Diagnosis {
        &self.found.node
    }

    /// The failure, if the API server has no node of the name that is used.
    pub fn no_such_node(&self) -> Option<&SourceError> {
        match &self.snapshot.sources.get(&Source::ApiNode)?.state {
            SourceState::Retrying { error, .. } if error.kind == ErrorKind::NoSuchNode => Some(error),
            _ => None,
        }
    }

    /// The runbook that the diagnoses were made with.
    pub fn book(&self) -> &Runbook {
        self.book.as_deref().unwrap_or_else(|| Runbook::builtin())
    }

    /// Every entry of it, by id, with places to fill in angle brackets.
    pub fn entries(&self) -> Vec<RunbookEntry> {
        self.book().causes().map(|cause| RunbookEntry::new(cause)).collect()
    }

    /// The next moment at which something changes by waiting alone.
    pub fn next_change(&self) -> Option<Time> {
        let alarm = self.snapshot.next_alarm(self.now);
        let next = self.pods.iter().filter_map(|p| p.position.next?.at);
        let turns = self.pods.iter().filter_map(|p| turns_at(p, self.now));
        next.chain(turns).chain(alarm).chain(self.found.until).filter(|at| *at > self.now).min()
    }
}

fn rows(pods: &[LocatedPod], found: &Diagnoses, rounds: &DiagnosisCache, now: Time) -> Vec<Row> {
    let row = |p: &LocatedPod| {
        let own = found.pods.get(&p.facts.key);
        let of_node = own.and_then(|own| fault_of_node(rounds.book(), &found.node, own, p.position.stage));
        Row::new(p, now).because(own.and_then(|d| d.top()), of_node)
    };
    let mut rows: Vec<Row> = pods.iter().map(row).collect();
    rows.sort_by(|a, b| (b.health, &a.namespace, &a.name, &a.key).cmp(&(a.health, &b.namespace, &b.name, &b.key)));
    rows
}

#[cfg(test)]
mod tests {
    use crate::time::TimeDelta;
    use serde_json::json;

    use super::*;
    use crate::observation::{Call, ErrorKind, Fact, Source, SourceError};
    use crate::pipeline::tests::fixture::Node;
    use crate::view::PlegVerdict;

    fn moment(node: &mut Node) -> NodeView {
        NodeView::new(node.snapshot(), &mut DiagnosisCache::default(), node.at)
    }

    fn fails(node: &mut Node, source: Source, call: Call) {
        let error = SourceError { tried: "x".into(), kind: ErrorKind::Unreachable, fix: "".into() };
        node.report(source, Fact::CallBegin(call));
        node.report(source, Fact::CallEnd { call, took_us: 100, error: Some(error) });
        node.disconnect(source);
    }

    #[test]
    fn a_runtime_that_is_not_there_does_not_hang() {
        let mut node = Node::new();
        node.list(Source::Cri, Vec::new());
        fails(&mut node, Source::Cri, Call::CriList);
        node.at += TimeDelta::seconds(11);
        assert_eq!(moment(&mut node).pleg().verdict, PlegVerdict::Down);
        node.report(Source::Cri, Fact::CallBegin(Call::CriList));
        assert_eq!(moment(&mut node).pleg().verdict, PlegVerdict::Hanging, "a call without a response hangs");
    }

    #[test]
    fn a_node_condition_without_a_live_source_has_an_age() {
        let mut node = Node::new();
        let ready = json!({"metadata": {"name": "w"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        node.list(Source::ApiNode, vec![Fact::Node(serde_json::from_value(ready).unwrap())]);
        assert_eq!(moment(&mut node).header().ready_age, "");
        node.disconnect(Source::ApiNode);
        node.at += TimeDelta::seconds(70);
        let header = moment(&mut node).header();
        assert_eq!((header.ready, header.ready_age.as_str()), ("Ready", "70s"));
    }

    #[test]
    fn nothing_is_announced_while_the_kubelet_is_down() {
        let mut node = Node::new();
        let ended = json!({"exitCode": 1, "reason": "Error", "startedAt": node.at, "finishedAt": node.at});
        let pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"},
            "spec": {"nodeName": "w", "restartPolicy": "Always", "containers": [{"name": "c"}]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 4, "state": {"terminated": ended}}]}});
        node.list(Source::ApiPods, vec![Fact::Pod(serde_json::from_value(pod).unwrap())]);
        node.list(Source::KubeletHealth, Vec::new());
        let next = |node: &mut Node| moment(node).rows()[0].next.clone();
        assert_eq!(next(&mut node), "restart in ~80s");
        fails(&mut node, Source::KubeletHealth, Call::Healthz);
        assert_eq!(next(&mut node), "restart in ~80s", "it may be back in a moment");
        node.at += TimeDelta::seconds(11);
        assert_eq!(next(&mut node), "when kubelet is back");
        let moment = moment(&mut node);
        let place = &moment.pods[0].position;
        assert_eq!((place.next.unwrap().at, place.containers[0].retry_at), (None, None));
        let finding = moment.diagnosis("u").unwrap().top().unwrap().clone();
        assert_eq!(finding.next, place.next, "all who show it agree");
    }

    #[test]
    fn a_kubelet_that_refuses_connections_is_unresponsive_at_once() {
        let mut node = Node::new();
        let away = |node: &mut Node| node.snapshot().is_kubelet_unresponsive(node.at);
        assert!(!away(&mut node));
        fails(&mut node, Source::KubeletHealth, Call::Healthz);
        assert!(away(&mut node));
    }
}
