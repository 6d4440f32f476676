//! The subjects that `explain` reports: a named one, or everything that is not healthy.

use std::collections::BTreeMap;

use super::header::readiness;
use super::{NodeView, PodHealth, Row};
use crate::diagnose::{Diagnoser, Diagnosis, Finding, fault_of_node};
use crate::objects::{Event, LeftOut};
use crate::runbook::Severity;
use crate::text::Text;

/// A subject as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubjectName {
    /// `NAME`: a pod of any namespace, or a node.
    Name(String),
    /// `NS/NAME` or `pod/NS/NAME`.
    Pod(String, String),
    /// `node/NAME`.
    Node(String),
}

impl SubjectName {
    /// Reads a subject.
    pub fn parse(text: &str) -> Self {
        let parts: Vec<&str> = text.split('/').collect();
        match parts.as_slice() {
            ["node" | "nodes" | "no", name] => SubjectName::Node((*name).to_owned()),
            ["pod" | "pods" | "po", name] => SubjectName::Name((*name).to_owned()),
            [namespace, name] => SubjectName::Pod((*namespace).to_owned(), (*name).to_owned()),
            ["pod" | "pods" | "po", namespace, name] => SubjectName::Pod((*namespace).to_owned(), (*name).to_owned()),
            _ => SubjectName::Name(text.to_owned()),
        }
    }
}

/// One subject, explained.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedSubject {
    /// `Pod`, `Node`, or the kind of an owner whose pods cannot be created, such as `ReplicaSet`.
    pub kind: Text,
    /// Namespace; empty for a node.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// STATUS as kubectl prints it, or the node's readiness; empty when no source has the object.
    pub status: Text,
    /// Where it stands.
    pub stage: &'static str,
    /// Why.
    pub diagnosis: Diagnosis,
    /// The node's fault that explains it.
    pub of_node: Option<Finding>,
    /// Severity, for the order.
    pub health: PodHealth,
    /// What it has more of than is kept.
    pub left_out: Vec<LeftOut>,
}

impl ExplainedSubject {
    /// No source has it, and no log or event names it.
    pub fn is_nothing(&self) -> bool {
        self.kind != "Node" && self.status.is_empty() && self.diagnosis.findings.iter().all(|f| f.evidence.is_empty())
    }
}

/// Every subject that is not healthy, worst first; a faulty node comes before its pods.
pub fn explain_all(moment: &NodeView) -> Vec<ExplainedSubject> {
    let doctor = Diagnoser { book: moment.book(), snapshot: &moment.snapshot, now: moment.now };
    let node = node(moment, &doctor, moment.header().node);
    let all = moment.rows().iter().filter_map(|row| pod(moment, &doctor, &node.diagnosis, row));
    let mut pods: Vec<ExplainedSubject> = all.filter(|e| e.health.is_failing() || !e.diagnosis.is_quiet()).collect();
    let severity = |e: &ExplainedSubject| e.diagnosis.top().map_or(Severity::Info, |f| f.severity);
    pods.sort_by_key(|e| std::cmp::Reverse((severity(e), e.health)));
    let nothing_else = moment.pods.is_empty();
    let mut out = Vec::new();
    if !node.diagnosis.is_quiet() || nothing_else {
        out.push(node);
    }
    out.extend(pods);
    out.extend(owners(moment, &doctor));
    out
}

/// Most owners to explain: each costs a pass over all events.
const OWNERS: usize = 64;

/// Owners that cannot create their pods: such a pod has no object, only its owner has events.
fn owners(moment: &NodeView, doctor: &Diagnoser) -> Vec<ExplainedSubject> {
    let mut newest: BTreeMap<(&Text, &Text, &Text), &Event> = BTreeMap::new();
    // Newest first: a later creation overrides the failure.
    for event in moment.snapshot.other_events.iter() {
        if matches!(event.reason.as_str(), "FailedCreate" | "SuccessfulCreate") {
            let about = &event.involved_object;
            newest.entry((&about.kind, &about.namespace, &about.name)).or_insert(event);
        }
    }
    let failing = newest.into_iter().filter(|(_, event)| event.reason == "FailedCreate").take(OWNERS);
    failing.map(|((kind, namespace, name), _)| of_name(doctor, kind.clone(), namespace, name)).collect()
}

/// The subject of that name; none for a node that is not among those that are known, several where a bare name is a pod's in several namespaces.
pub fn explain_named(moment: &NodeView, asked: &SubjectName) -> Vec<ExplainedSubject> {
    let doctor = Diagnoser { book: moment.book(), snapshot: &moment.snapshot, now: moment.now };
    let is_node = |name: &str| moment.snapshot.nodes.iter().any(|n| n.metadata.name == *name);
    let pods = |namespace: Option<&str>, name: &str| -> Vec<ExplainedSubject> {
        let rows = moment.rows().iter().filter(|r| namespace.is_none_or(|ns| r.namespace == *ns) && r.name == *name);
        let node = node(moment, &doctor, moment.header().node);
        rows.filter_map(|row| pod(moment, &doctor, &node.diagnosis, row)).collect()
    };
    match asked {
        // The state of one node must not be shown under another's name.
        SubjectName::Node(name) if !moment.snapshot.nodes.is_empty() && !is_node(name) => Vec::new(),
        // Nor under a name that the API server does not have.
        SubjectName::Node(name) if moment.no_such_node().is_some() && moment.header().node == name.as_str() => {
            Vec::new()
        }
        SubjectName::Node(name) => vec![node(moment, &doctor, name.as_str().into())],
        SubjectName::Pod(namespace, name) => {
            let found = pods(Some(namespace), name);
            if found.is_empty() { unseen(&doctor, namespace, name) } else { found }
        }
        SubjectName::Name(name) => {
            let found = pods(None, name);
            match found.is_empty() {
                false => found,
                true if is_node(name) || moment.header().node == name.as_str() => {
                    vec![node(moment, &doctor, name.as_str().into())]
                }
                true => unseen(&doctor, "", name),
            }
        }
    }
}

fn pod(moment: &NodeView, doctor: &Diagnoser, node: &Diagnosis, row: &Row) -> Option<ExplainedSubject> {
    let placed = moment.pod(&row.key)?;
    let diagnosis = doctor.pod(placed);
    let of_node = fault_of_node(doctor.book, node, &diagnosis, placed.position.stage).cloned();
    Some(ExplainedSubject {
        kind: "Pod".into(),
        namespace: row.namespace.clone(),
        name: row.name.clone(),
        status: row.status.clone(),
        stage: row.stage.name(),
        diagnosis,
        of_node,
        health: row.health,
        left_out: placed.facts.left_out(),
    })
}

fn node(moment: &NodeView, doctor: &Diagnoser, name: Text) -> ExplainedSubject {
    let own = moment.snapshot.node.as_ref().filter(|n| n.metadata.name == name);
    let other = moment.snapshot.nodes.iter().find(|n| n.metadata.name == name).filter(|_| own.is_none());
    // Each of several nodes in an import has its own conditions.
    let snapshot = other.map(|n| {
        let about = |e: &&std::sync::Arc<crate::objects::Event>| {
            e.involved_object.kind == "Node" && e.involved_object.name == n.metadata.name
        };
        let node_events = moment.snapshot.other_events.iter().filter(about).cloned().collect();
        crate::model::Snapshot { node: Some(n.clone()), node_events, ..(*moment.snapshot).clone() }
    });
    let doctor = Diagnoser { snapshot: snapshot.as_ref().unwrap_or(doctor.snapshot), ..*doctor };
    let only_logs = moment.snapshot.nodes.is_empty() && moment.pods.is_empty();
    let diagnosis = doctor.node(&name, only_logs);
    let status = doctor.snapshot.node.as_deref().map_or("", readiness).into();
    let stage = diagnosis.top().map_or("node", |f| f.stage);
    ExplainedSubject {
        kind: "Node".into(),
        namespace: Text::default(),
        name,
        status,
        stage,
        diagnosis,
        of_node: None,
        health: PodHealth::Healthy,
        left_out: doctor.snapshot.node.as_ref().map(|node| node.left_out()).unwrap_or_default(),
    }
}

/// What no source has as an object: logs and events may still name it.
fn unseen(doctor: &Diagnoser, namespace: &str, name: &str) -> Vec<ExplainedSubject> {
    vec![of_name(doctor, "Pod".into(), namespace, name)]
}

fn of_name(doctor: &Diagnoser, kind: Text, namespace: &str, name: &str) -> ExplainedSubject {
    let diagnosis = doctor.named(namespace, name);
    ExplainedSubject {
        kind,
        namespace: namespace.into(),
        name: name.into(),
        status: Text::default(),
        stage: diagnosis.top().map_or("node", |f| f.stage),
        diagnosis,
        of_node: None,
        health: PodHealth::Slow,
        left_out: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::DiagnosisCache;
    use crate::observation::{Fact, Source, Time};
    use crate::pipeline::tests::fixture::Node;
    use crate::time::TimeDelta;

    #[test]
    fn subjects_as_people_write_them() {
        let pod = |ns: &str, name: &str| SubjectName::Pod(ns.into(), name.into());
        assert_eq!(SubjectName::parse("web-0"), SubjectName::Name("web-0".into()));
        assert_eq!(SubjectName::parse("shop/web-0"), pod("shop", "web-0"));
        assert_eq!(SubjectName::parse("pod/shop/web-0"), pod("shop", "web-0"));
        assert_eq!(SubjectName::parse("pod/web-0"), SubjectName::Name("web-0".into()));
        assert_eq!(SubjectName::parse("node/n1"), SubjectName::Node("n1".into()));
    }

    #[test]
    fn an_owner_that_cannot_create_its_pods_is_explained_until_it_can() {
        let mut node = Node::new();
        let event = |name: &str, reason: &str, message: &str, at: Time| {
            let json = serde_json::json!({"metadata": {"name": format!("{name}.{reason}"), "namespace": "shop", "uid": format!("{name}.{reason}")},
                "involvedObject": {"kind": "ReplicaSet", "namespace": "shop", "name": name}, "reason": reason,
                "message": message, "type": "Warning", "count": 3, "firstTimestamp": at, "lastTimestamp": at});
            Fact::Event(serde_json::from_value(json).unwrap())
        };
        let quota = "Error creating: pods \"web-1-x\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5";
        let failed = event("web-1", "FailedCreate", quota, node.at);
        let other = event("db-1", "FailedCreate", quota, node.at);
        let created = event("db-1", "SuccessfulCreate", "Created pod: db-1-x", node.at + TimeDelta::seconds(5));
        node.list(Source::ApiEvents, vec![failed, other, created]);
        node.at += TimeDelta::seconds(10);
        let told = explain_all(&NodeView::new(node.snapshot(), &mut DiagnosisCache::default(), node.at));
        let told: Vec<_> = told.iter().filter(|e| e.kind != "Node").collect();
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].kind.as_str(), told[0].name.as_str()), ("ReplicaSet", "web-1"));
        assert_eq!(told[0].diagnosis.top().unwrap().cause, "owner.failed-create");
    }
}
