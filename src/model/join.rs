//! Owns the join: which objects of which source are one pod, and the pods that must be joined again.
//! It must not keep anything that the listings do not hold, so that it can be rebuilt from a keyframe.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::container_history::merged_exits;
use super::pod::{PodFacts, Refs, runtime_uid};
use super::pods_on_disk::{is_of_file, key_of_file};
use super::{CompleteSources, Index, Model, NodeCapacities, Snapshot};
use crate::objects::limits::{EVENTS_OF_NODE, EVENTS_OF_ONE, RUNTIME_CONTAINERS, SANDBOXES};
use crate::objects::{Lease, LeftOut, Node, Pod};
use crate::observation::{Source, Time};
use crate::text::Text;

impl Model {
    /// The state now. Only pods that were touched since the last call are joined again.
    pub fn snapshot(&mut self) -> Snapshot {
        self.join();
        let node = self.nodes.iter().next().map(|(_, held)| held.value.clone());
        let other_events = self.other_events();
        Snapshot {
            named: self.named.clone(),
            pods: self.index.pods.clone(),
            sources: self.sources.clone(),
            initial_lists: self.initial_lists(),
            lease: self.lease_of(node.as_deref()),
            node_events: match node.as_deref() {
                Some(node) => self.events_about_node(node),
                // Without the object every event about a node is taken to be about this one.
                None => {
                    let of_nodes = other_events.iter().filter(|e| e.involved_object.kind == "Node");
                    of_nodes.take(EVENTS_OF_NODE).cloned().collect()
                }
            },
            node,
            nodes: self.nodes.iter().map(|(_, held)| held.value.clone()).collect(),
            other_events,
            events_of_unknown_pods: self.events_of_unknown_pods(),
            lines: self.logs.lines.clone(),
            pod_lines: self.logs.pod_lines.clone(),
            kubelet: self.kubelet.clone(),
            runtime: self.runtime.clone(),
            machine: self.machine.clone(),
            certificates: self.certificates.clone(),
            usage: self.usage.clone(),
            images: self.images.clone(),
            image_fs: self.image_fs.clone(),
            orphaned: self.index.orphaned.clone(),
            pulls: self.pulls.iter().map(|(_, held)| held.clone()).collect(),
            loop_blocked: self.logs.loop_blocked.clone(),
            pleg_trouble: self.logs.pleg_trouble.clone(),
            node_capacities: NodeCapacities::default(),
            newest: self.newest,
        }
    }

    /// The node is called so, whatever sources say.
    pub fn set_node_name(&mut self, name: Text) {
        self.named = name;
    }

    /// Builds the index again; needed once after a keyframe was read.
    pub fn reindex(&mut self) {
        self.index = Index::default();
        let api: Vec<_> = self.api_pods.iter().map(|(uid, h)| (uid.clone(), h.value.clone())).collect();
        for (uid, pod) in api {
            self.link_pod(&uid, &pod, Source::ApiPods);
        }
        let unbound: Vec<_> = self.unbound_pods.iter().map(|(uid, h)| (uid.clone(), h.value.clone())).collect();
        for (uid, pod) in unbound {
            self.link_pod(&uid, &pod, Source::ApiUnbound);
        }
        let kubelet: Vec<_> = self.kubelet_pods.iter().map(|(uid, h)| (uid.clone(), h.value.clone())).collect();
        for (uid, pod) in kubelet {
            self.link_pod(&uid, &pod, Source::KubeletPods);
        }
        let sandboxes: Vec<_> = self.sandboxes.iter().map(|(id, h)| (id.clone(), h.value.uid.clone())).collect();
        for (id, key) in sandboxes {
            self.link_sandbox(&id, &key);
        }
        let containers: Vec<_> = self.containers.iter().map(|(id, h)| (id.clone(), h.value.uid.clone())).collect();
        for (id, key) in containers {
            self.link_container(&id, &key);
        }
        let dirs: Vec<_> = self.pod_dirs.iter().map(|(uid, _)| uid.clone()).collect();
        dirs.iter().for_each(|uid| self.link_dir(uid));
        let static_pods: Vec<_> = self.static_pods.iter().map(|(_, h)| h.value.clone()).collect();
        static_pods.iter().for_each(|pod| self.link_static(pod));
        let events: Vec<_> = self.events.iter().map(|(uid, h)| (uid.clone(), h.value.clone())).collect();
        for (uid, event) in events {
            self.link_event(&uid, &event);
        }
    }

    /// The node's own where the node is known: an import may hold those of others.
    fn lease_of(&self, node: Option<&Node>) -> Option<Arc<Lease>> {
        let mut leases = self.leases.iter();
        let found = match node {
            Some(node) => leases.find(|(name, _)| **name == node.metadata.name),
            None => leases.next(),
        };
        found.map(|(_, held)| held.value.clone())
    }

    /// The source has said what it had to say at first: of one that lists, a whole list. What it does not say until then
    /// is not absent.
    pub fn has_listed(&self, source: Source) -> bool {
        match source {
            Source::ApiPods => self.api_pods.is_complete(),
            Source::ApiUnbound => self.unbound_pods.is_complete(),
            Source::ApiEvents => self.events.is_complete(),
            Source::ApiNode => self.nodes.is_complete(),
            Source::KubeletPods => self.kubelet_pods.is_complete(),
            Source::Cri => self.sandboxes.is_complete() && self.containers.is_complete(),
            Source::Pulls => self.pulls.is_complete(),
            _ => self.sources.get(&source).is_some_and(|facts| facts.last_answer.is_some()),
        }
    }

    pub(super) fn complete_sources(&self) -> CompleteSources {
        let live = |source| self.sources.get(&source).is_some_and(|s| s.is_whole());
        CompleteSources {
            api: self.api_pods.is_complete() && live(Source::ApiPods),
            kubelet: self.kubelet_pods.is_complete() && live(Source::KubeletPods),
            events: self.events.is_complete() && live(Source::ApiEvents),
            cri: self.sandboxes.is_complete() && self.containers.is_complete() && live(Source::Cri),
        }
    }

    pub(super) fn link_pod(&mut self, uid: &Text, pod: &Pod, source: Source) {
        let key = runtime_uid(pod).clone();
        let refs = self.index.refs.entry(key.clone()).or_default();
        match source {
            Source::KubeletPods => refs.kubelet.insert(uid.clone()),
            Source::ApiUnbound => refs.unbound.insert(uid.clone()),
            _ => refs.api.insert(uid.clone()),
        };
        self.index.api_key.insert(uid.clone(), key.clone());
        self.index.by_name.entry(namespaced(pod)).or_default().insert(key.clone());
        self.index.dirty.insert(key);
    }

    pub(super) fn unlink_pod(&mut self, uid: &Text, pod: &Pod, source: Source) {
        let key = runtime_uid(pod).clone();
        let name = namespaced(pod);
        let Some(refs) = self.index.refs.get_mut(&key) else { return };
        match source {
            Source::KubeletPods => refs.kubelet.remove(uid),
            Source::ApiUnbound => refs.unbound.remove(uid),
            _ => refs.api.remove(uid),
        };
        if !refs.has_object() {
            self.index.api_key.remove(uid);
            if let Some(keys) = self.index.by_name.get_mut(&name) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.index.by_name.remove(&name);
                }
            }
        }
        self.index.dirty.insert(key);
    }

    pub(super) fn link_sandbox(&mut self, id: &Text, key: &Text) {
        self.index.refs.entry(key.clone()).or_default().sandboxes.insert(id.clone());
        self.index.dirty.insert(key.clone());
    }

    pub(super) fn link_container(&mut self, id: &Text, key: &Text) {
        self.index.refs.entry(key.clone()).or_default().containers.insert(id.clone());
        self.index.dirty.insert(key.clone());
    }

    pub(super) fn unlink_runtime(&mut self, key: &Text, unlink: impl FnOnce(&mut Refs)) {
        if let Some(refs) = self.index.refs.get_mut(key) {
            unlink(refs);
            // The runtime knows nothing of the pod any more: its trail ends, whatever other sources say.
            if refs.sandboxes.is_empty() && refs.containers.is_empty() {
                self.cri_trails.remove(key);
            }
        }
        self.index.dirty.insert(key.clone());
    }

    /// Marks the pod of that UID, whether it is the API's or the runtime's.
    pub(super) fn mark(&mut self, uid: &Text) {
        let key = self.index.api_key.get(uid).unwrap_or(uid).clone();
        if self.index.refs.contains_key(&key) {
            self.index.dirty.insert(key);
        }
    }

    /// Marks the pods of that `namespace/name`, or of that UID.
    pub(super) fn mark_named(&mut self, name: &Text) {
        match self.index.by_name.get(name) {
            Some(keys) => self.index.dirty.extend(keys.iter().cloned()),
            None => self.mark(name),
        }
    }

    pub(super) fn mark_all(&mut self) {
        self.index.dirty.extend(self.index.refs.keys().cloned());
        self.index.dirty.extend(self.static_pods.iter().map(|(file, _)| key_of_file(file)));
    }

    fn join(&mut self) {
        let dirty = std::mem::take(&mut self.index.dirty);
        if dirty.is_empty() {
            return;
        }
        self.index.absent = None;
        let (of_files, dirty): (Vec<Text>, Vec<Text>) = dirty.into_iter().partition(|key| is_of_file(key));
        for key in dirty {
            let facts = self.facts(&key);
            let orphan = if facts.is_none() { self.orphan(&key) } else { None };
            if orphan.is_some() || self.index.orphaned.contains_key(&key) {
                let orphaned = Arc::make_mut(&mut self.index.orphaned);
                match orphan {
                    Some(dir) => _ = orphaned.insert(key.clone(), dir),
                    None => _ = orphaned.remove(&key),
                }
            }
            self.joined(key, facts);
        }
        // Whether a static pod is known otherwise is seen once all others are joined; there are a handful of them.
        let mut alone = self.static_alone();
        let of_files = of_files.into_iter().chain(self.static_pods.iter().map(|(file, _)| key_of_file(file)));
        for key in of_files.collect::<BTreeSet<_>>() {
            let facts = alone.remove(&key);
            self.joined(key, facts);
        }
    }

    /// Keeps what a pod is now.
    fn joined(&mut self, key: Text, facts: Option<PodFacts>) {
        let old = self.index.pods.get(&key);
        if old.map(|old| &**old) == facts.as_ref() {
            if facts.is_none() && self.index.refs.get(&key).is_some_and(Refs::is_empty) {
                self.index.refs.remove(&key);
            }
            return;
        }
        let name = |facts: &PodFacts| Text::from(format!("{}/{}", facts.namespace, facts.name));
        let (was, is) = (old.map(|old| name(old)), facts.as_ref().map(name));
        if was != is {
            if let Some((was, keys)) = was.and_then(|was| self.index.named.get_mut(&was).map(|keys| (was, keys))) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.index.named.remove(&was);
                }
            }
            if let Some(is) = is {
                self.index.named.entry(is).or_default().insert(key.clone());
            }
        }
        let pods = Arc::make_mut(&mut self.index.pods);
        match facts {
            Some(facts) => _ = pods.insert(key, Arc::new(facts)),
            None => {
                pods.remove(&key);
                // What is left over on disk may be a pod again, when a source falls silent.
                if self.index.refs.get(&key).is_some_and(Refs::is_empty) {
                    self.index.refs.remove(&key);
                }
            }
        }
    }

    fn facts(&self, key: &Text) -> Option<PodFacts> {
        let refs = self.index.refs.get(key).filter(|refs| !refs.is_empty())?;
        // A mirror pod that was made again has a new UID beside the old one for a moment: the newer one speaks.
        let newest = |uids: &std::collections::BTreeSet<Text>, listing: &super::ObjectStore<Pod>| {
            let held = uids.iter().filter_map(|uid| listing.get(uid).map(|h| (uid.clone(), h.clone())));
            held.max_by_key(|(uid, h)| (h.value.metadata.creation_timestamp, uid.clone()))
        };
        // A pod that was bound a moment ago may still be listed as unbound: the later word is that it is bound.
        let bound = newest(&refs.api, &self.api_pods);
        let trails = if bound.is_some() { &self.api_trails } else { &self.unbound_trails };
        let api = bound.or_else(|| newest(&refs.unbound, &self.unbound_pods));
        let kubelet = newest(&refs.kubelet, &self.kubelet_pods);
        let mut sandboxes: Vec<_> =
            refs.sandboxes.iter().filter_map(|id| self.sandboxes.get(id)).map(|h| h.value.clone()).collect();
        sandboxes.sort_by(|a, b| (b.created_at, b.attempt, &b.id).cmp(&(a.created_at, a.attempt, &a.id)));
        let mut more = Vec::new();
        keep(&mut sandboxes, SANDBOXES, "sandboxes", &mut more);
        let mut containers: Vec<_> =
            refs.containers.iter().filter_map(|id| self.containers.get(id)).map(|h| h.value.clone()).collect();
        containers.sort_by(|a, b| (b.created_at, b.attempt, &b.id).cmp(&(a.created_at, a.attempt, &a.id)));
        keep(&mut containers, RUNTIME_CONTAINERS, "containers in the runtime", &mut more);
        let object = api.as_ref().or(kubelet.as_ref()).map(|(_, held)| &held.value);
        let (namespace, name) = match (object, sandboxes.first(), containers.first()) {
            (Some(pod), ..) => (pod.metadata.namespace.clone(), pod.metadata.name.clone()),
            (_, Some(s), _) => (s.namespace.clone(), s.name.clone()),
            (_, _, Some(c)) => (c.namespace.clone(), c.pod.clone()),
            _ => self.pod_on_disk(key)?,
        };
        let full_name: Text = format!("{namespace}/{name}").into();
        let uids = [Some(key), api.as_ref().map(|(uid, _)| uid)];
        let (events, total) = self.newest_events(uids.into_iter().flatten().collect(), EVENTS_OF_ONE);
        if total > events.len() {
            more.push(LeftOut { what: "events", kept: events.len(), total: total as u64 });
        }
        let trail = |found: &Option<(Text, super::StoredObject<Pod>)>,
                     trails: &std::collections::BTreeMap<Text, super::ContainerHistory>| {
            found.as_ref().and_then(|(uid, _)| trails.get(uid)).cloned()
        };
        let (api_trail, kubelet_trail) = (trail(&api, trails), trail(&kubelet, &self.kubelet_trails));
        let created: Option<Time> = object.and_then(|pod| pod.metadata.creation_timestamp);
        let mut facts = PodFacts {
            key: key.clone(),
            lines: self.logs.lines_of(key, &full_name, created),
            log: self.logs.of(key, &full_name, created),
            spans: self.logs.spans_of(key),
            exits: merged_exits(api_trail.as_ref(), kubelet_trail.as_ref(), self.cri_trails.get(key)),
            state_since: std::collections::BTreeMap::new(),
            first_ready: [&api_trail, &kubelet_trail].into_iter().flatten().filter_map(|t| t.first_ready).min(),
            api: api.map(|(_, held)| held),
            kubelet: kubelet.map(|(_, held)| held),
            dir: self.pod_dirs.get(key).filter(|_| refs.dir).map(|held| held.value.clone()),
            manifest: self.manifest_of(&full_name),
            namespace,
            name,
            sandboxes,
            containers,
            events,
            complete: self.complete_sources(),
            more,
            by_container: std::collections::BTreeMap::new(),
        };
        facts.index();
        let said = match facts.object_source() {
            Source::ApiPods => api_trail,
            _ => kubelet_trail,
        };
        facts.state_since = facts
            .object()
            .into_iter()
            .flat_map(|pod| pod.status.all_containers())
            .filter_map(|c| Some((c.name.clone(), said.as_ref()?.state_since(&c.name)?)))
            .collect();
        Some(facts)
    }
}

/// Keeps the first `most`, and notes how many there are.
fn keep<T>(all: &mut Vec<T>, most: usize, what: &'static str, more: &mut Vec<LeftOut>) {
    if all.len() > most {
        more.push(LeftOut { what, kept: most, total: all.len() as u64 });
        all.truncate(most);
    }
}

fn namespaced(pod: &Pod) -> Text {
    format!("{}/{}", pod.metadata.namespace, pod.metadata.name).into()
}
