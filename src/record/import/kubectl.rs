//! Owns what `kubectl get pods,events,nodes -A -o json` printed: one moment, as the API server knew it.
//! It must not invent what such a list does not say: all other sources are off.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::files::{self, Limits};
use super::listing::skip_object;
use super::timeline::Timeline;
use super::{ImportError, Imported};
use crate::decode::{DecodeError, Item, ListSplitter, MAX_ITEM, Object, item};
use crate::objects::{Condition, ContainerState, Event, Lease, Meta, Node, Pod};
use crate::observation::{Fact, Source, Time};
use crate::text::Text;
use crate::weight::Weigh;

pub(super) fn import(path: &Path, limits: Limits) -> Result<Imported, ImportError> {
    let mut timeline = Timeline::within(limits.decoded());
    let moment = read(path, limits, &mut timeline)?;
    let end = moment.newest().ok_or_else(|| ImportError::NoTime { path: path.to_owned() })?;
    for source in Source::ALL {
        timeline.off(source, "a list of Kubernetes objects does not hold it");
    }
    let node = moment.node();
    moment.emit(&[Source::ApiPods, Source::ApiNode, Source::ApiEvents], end, &mut timeline);
    timeline.fits(path)?;
    Ok(timeline.finish(end, node))
}

/// The objects of a list, read one after another, or the one object that the file is.
pub(super) fn read(path: &Path, limits: Limits, timeline: &mut Timeline) -> Result<Moment, ImportError> {
    let name = path.to_string_lossy();
    let none = |why: String| ImportError::NotObjects { path: path.to_owned(), why };
    let (mut moment, mut splitter) = (Moment::default(), ListSplitter::with_head(MAX_ITEM));
    // What does not say its kind before the list has said its own.
    let (mut unnamed, mut held): (Vec<Vec<u8>>, u64) = (Vec::new(), 0);
    let mut kind = None;
    files::each_piece(path, limits, |piece| {
        kind = kind.take().or_else(|| splitter.kind());
        let listed = kind.as_deref().and_then(|kind| kind.strip_suffix("List"));
        let mut take = |raw: Item<'_>| match (item(raw, listed.unwrap_or_default()), raw) {
            (Object::OtherKind(kind), Item::Json(json)) if kind.is_empty() => {
                held += json.len() as u64;
                unnamed.push(json.to_vec());
            }
            (object, _) => moment.add([object], &name, timeline),
        };
        splitter.push(piece, &mut take).map_err(|e| none(e.to_string()))?;
        if moment.weight.saturating_add(held) > limits.decoded() {
            return Err(ImportError::TooMuch { path: path.to_owned() });
        }
        Ok(())
    })?;
    let head = splitter.finish_raw();
    let List { kind } = serde_json::from_slice(&head).map_err(|e| none(DecodeError::from(e).to_string()))?;
    match kind.strip_suffix("List") {
        Some(listed) => {
            for raw in unnamed {
                moment.add([item(Item::Json(&raw), listed)], &name, timeline);
            }
        }
        None => moment.add([item(Item::Json(&head), "")], &name, timeline),
    }
    if moment.is_empty() {
        return Err(none("it holds no pod, event or node".into()));
    }
    Ok(moment)
}

#[derive(Deserialize)]
struct List {
    kind: String,
}

/// Everything that the API server said at one moment.
#[derive(Default)]
pub(super) struct Moment {
    pods: BTreeMap<Text, Pod>,
    nodes: BTreeMap<Text, Node>,
    events: BTreeMap<Text, Event>,
    leases: BTreeMap<Text, Lease>,
    /// Bytes that they take.
    weight: u64,
}

impl Moment {
    /// Takes pods, nodes, events, and the leases of nodes; others are told as skipped. Of two under one UID the later stays.
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
                // Other leases are locks of controllers.
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

    /// The one node, or the one that most pods are bound to.
    pub(super) fn node(&self) -> Text {
        if let (1, Some(only)) = (self.nodes.len(), self.nodes.keys().next()) {
            return only.clone();
        }
        most_used(self.pods.values()).unwrap_or_default()
    }

    /// The newest time that any object carries, deadlines of deletions apart: those may lie ahead.
    pub(super) fn newest(&self) -> Option<Time> {
        let nodes = self.nodes.values().flat_map(|n| [created(&n.metadata), conditions(&n.status.conditions)]);
        let events = self.events.values().map(Event::last);
        let leases = self.leases.values().map(|l| l.spec.renew_time);
        self.pods.values().map(newest_of_pod).chain(nodes).chain(events).chain(leases).flatten().max()
    }

    /// Adds each of the sources as one whole listing.
    pub(super) fn emit(self, sources: &[Source], at: Time, timeline: &mut Timeline) {
        let Self { pods, nodes, events, leases, weight: _ } = self;
        // Nobody lists them by the way: that there are none means that they were not asked for.
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

/// The node that most of the pods are bound to; of several the first by name.
pub(super) fn most_used<'a>(pods: impl Iterator<Item = &'a Pod>) -> Option<Text> {
    let mut uses: BTreeMap<&Text, i64> = BTreeMap::new();
    for pod in pods.filter(|p| !p.spec.node_name.is_empty()) {
        *uses.entry(&pod.spec.node_name).or_default() -= 1;
    }
    uses.into_iter().min_by_key(|(_, n)| *n).map(|(name, _)| name.clone())
}

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
    let ended = state.terminated.as_ref().map(|t| [t.started_at, t.finished_at]);
    [running].into_iter().chain(ended.into_iter().flatten()).flatten().max()
}
