//! The output of `kubectl get pods,events,nodes -A -o json`: the objects of the API server at one time.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::files::{self, Limits};
use super::timeline::Timeline;
use super::{ImportError, Imported};
use crate::decode::{DecodeError, ListItem, ListSplitter, MAX_ITEM, Object, item};
use crate::objects::{Condition, ContainerState, Event, Lease, Meta, Node, Pod};
use crate::observation::{Fact, Source, Time};
use crate::text::Text;
use crate::weight::Weigh;

pub(super) fn import(path: &Path, limits: Limits) -> Result<Imported, ImportError> {
    let mut timeline = Timeline::new(limits.decoded());
    let cluster = read(path, limits, &mut timeline)?;
    let end = cluster.newest().ok_or_else(|| ImportError::NoTime { path: path.to_owned() })?;
    for source in Source::ALL {
        timeline.set_off(source, "not part of kubectl output");
    }
    let node = cluster.node();
    cluster.emit(&[Source::ApiPods, Source::ApiNode, Source::ApiEvents], end, &mut timeline);
    timeline.check_limit(path)?;
    Ok(timeline.finish(end, node))
}

/// Reads the objects of a list one by one, or the single object in the file.
///
/// # Errors
/// When the file cannot be read, is too large, or has no pod, event or node.
pub(super) fn read(path: &Path, limits: Limits, timeline: &mut Timeline) -> Result<ClusterObjects, ImportError> {
    let name = path.to_string_lossy();
    let invalid = |why: String| ImportError::NotObjects { path: path.to_owned(), why };
    let (mut cluster, mut splitter) = (ClusterObjects::default(), ListSplitter::with_max_head(MAX_ITEM));
    // Items without a kind that come before the kind of the list is known.
    let (mut unnamed, mut unnamed_bytes): (Vec<Vec<u8>>, u64) = (Vec::new(), 0);
    let mut kind = None;
    files::each_piece(path, limits, |piece| {
        kind = kind.take().or_else(|| splitter.kind());
        let listed = kind.as_deref().and_then(|kind| kind.strip_suffix("List"));
        let mut take = |raw: ListItem<'_>| match (item(raw, listed.unwrap_or_default()), raw) {
            (Object::OtherKind(kind), ListItem::Json(json)) if kind.is_empty() => {
                unnamed_bytes += json.len() as u64;
                unnamed.push(json.to_vec());
            }
            (object, _) => cluster.add([object], &name, timeline),
        };
        splitter.push(piece, &mut take).map_err(|e| invalid(e.to_string()))?;
        if cluster.weight.saturating_add(unnamed_bytes) > limits.decoded() {
            return Err(ImportError::TooMuch { path: path.to_owned() });
        }
        Ok(())
    })?;
    let head = splitter.finish_raw();
    let DocumentKind { kind } = serde_json::from_slice(&head).map_err(|e| invalid(DecodeError::from(e).to_string()))?;
    match kind.strip_suffix("List") {
        Some(listed) => {
            for raw in unnamed {
                cluster.add([item(ListItem::Json(&raw), listed)], &name, timeline);
            }
        }
        None => cluster.add([item(ListItem::Json(&head), "")], &name, timeline),
    }
    if cluster.is_empty() {
        return Err(invalid(match timeline.main_reason() {
            Some(reason) => format!("no usable pod, event or node in it; skipped: {reason}"),
            None => "no pod, event or node in it".into(),
        }));
    }
    Ok(cluster)
}

#[derive(Deserialize)]
struct DocumentKind {
    kind: String,
}

/// The objects of the API server at one time.
#[derive(Default)]
pub(super) struct ClusterObjects {
    pods: BTreeMap<Text, Pod>,
    nodes: BTreeMap<Text, Node>,
    events: BTreeMap<Text, Event>,
    leases: BTreeMap<Text, Lease>,
    /// Heap memory of the objects, bytes.
    weight: u64,
}

impl ClusterObjects {
    /// Adds pods, nodes, events, and the leases of nodes; other objects are counted as skipped. Of two objects with one UID
    /// the later one is kept.
    pub(super) fn add(&mut self, objects: impl IntoIterator<Item = Object>, path: &str, timeline: &mut Timeline) {
        for object in objects {
            self.weight += match &object {
                Object::Pod(pod) => pod.heap() as u64,
                Object::Event(event) => event.heap() as u64,
                Object::Node(node) => node.heap() as u64,
                _ => 0,
            };
            match object {
                Object::Pod(pod) => {
                    self.pods.insert(pod.metadata.uid.clone(), *pod);
                }
                Object::Node(node) => {
                    self.nodes.insert(node.metadata.name.clone(), *node);
                }
                Object::Event(event) => {
                    self.events.insert(event.metadata.uid.clone(), *event);
                }
                // Leases in other namespaces are leader election locks.
                Object::Lease(lease) if lease.metadata.namespace == "kube-node-lease" => {
                    self.leases.insert(lease.metadata.name.clone(), *lease);
                }
                other => skip_object(&other, path, timeline),
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.nodes.is_empty() && self.events.is_empty()
    }

    /// The node that the input is about: the only one, or the one to which most pods are bound.
    pub(super) fn node(&self) -> Text {
        if let (1, Some(only)) = (self.nodes.len(), self.nodes.keys().next()) {
            return only.clone();
        }
        most_used(self.pods.values()).unwrap_or_default()
    }

    /// The newest time in the objects, without deletion timestamps: those can be in the future.
    pub(super) fn newest(&self) -> Option<Time> {
        let nodes = self.nodes.values().flat_map(|n| [created(&n.metadata), conditions(&n.status.conditions)]);
        let events = self.events.values().map(Event::last);
        let leases = self.leases.values().map(|l| l.spec.renew_time);
        self.pods.values().map(newest_of_pod).chain(nodes).chain(events).chain(leases).flatten().max()
    }

    /// Adds each of the `sources` as one whole list.
    pub(super) fn emit(self, sources: &[Source], at: Time, timeline: &mut Timeline) {
        let Self { pods, nodes, events, leases, weight: _ } = self;
        // Without a lease in the input, leases were not requested.
        let leased = (!leases.is_empty()).then_some(Source::ApiLease);
        let lists: [(Source, Vec<Fact>); 4] = [
            (Source::ApiPods, pods.into_values().map(|p| Fact::Pod(Box::new(p))).collect()),
            (Source::ApiNode, nodes.into_values().map(|n| Fact::Node(Box::new(n))).collect()),
            (Source::ApiEvents, events.into_values().map(|e| Fact::Event(Box::new(e))).collect()),
            (Source::ApiLease, leases.into_values().map(|l| Fact::Lease(Box::new(l))).collect()),
        ];
        for (source, facts) in lists.into_iter().filter(|(s, _)| sources.contains(s) || leased == Some(*s)) {
            timeline.push(source, at, Fact::EpochBegin);
            for fact in facts {
                timeline.push(source, at, fact);
            }
            timeline.push(source, at, Fact::EpochEnd);
        }
    }
}

/// The node to which most of the pods are bound; of several the first by name.
pub(super) fn most_used<'a>(pods: impl Iterator<Item = &'a Pod>) -> Option<Text> {
    let mut uses: BTreeMap<&Text, i64> = BTreeMap::new();
    for pod in pods.filter(|p| !p.spec.node_name.is_empty()) {
        *uses.entry(&pod.spec.node_name).or_default() -= 1;
    }
    uses.into_iter().min_by_key(|(_, n)| *n).map(|(name, _)| name.clone())
}

/// The newest time in a pod, without its deletion timestamp.
pub(super) fn newest_of_pod(pod: &Pod) -> Option<Time> {
    let seen = pod.metadata.annotations.seen.parse().ok();
    let status = &pod.status;
    let containers = status.all_containers().flat_map(|c| [newest_state(&c.state), newest_state(&c.last_state)]);
    [created(&pod.metadata), seen, status.start_time, conditions(&status.conditions)]
        .into_iter()
        .chain(containers)
        .flatten()
        .max()
}

fn created(meta: &Meta) -> Option<Time> {
    meta.creation_timestamp
}

fn conditions(conditions: &[Condition]) -> Option<Time> {
    conditions.iter().flat_map(|c| [c.last_transition_time, c.last_heartbeat_time]).flatten().max()
}

fn newest_state(state: &ContainerState) -> Option<Time> {
    let running = state.running.as_ref().and_then(|r| r.started_at);
    let terminated = state.terminated.as_ref().map(|t| [t.started_at, t.finished_at]);
    [running].into_iter().chain(terminated.into_iter().flatten()).flatten().max()
}

/// Counts an object as skipped, with the reason.
pub(super) fn skip_object(object: &Object, path: &str, timeline: &mut Timeline) {
    let what = match object {
        Object::OtherKind(kind) if kind.len() <= 63 && kind.bytes().all(|b| b.is_ascii_alphanumeric()) => {
            format!("objects of the unused kind {kind}")
        }
        Object::OtherKind(_) => "objects without a valid kind".to_owned(),
        Object::Unreadable(error) => format!("unreadable objects ({error})"),
        Object::Pod(_) | Object::Node(_) | Object::Event(_) | Object::Lease(_) => {
            "objects that do not belong in this list".to_owned()
        }
    };
    timeline.skip(path, what, 1);
}
