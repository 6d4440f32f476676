//! Joins the objects of all sources into pods, and keeps an index that can be rebuilt from a keyframe.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::container_history::merged_exits;
use super::pod::{PodFacts, Refs, runtime_uid};
use super::pods_on_disk::{file_key, is_file_key};
use super::{
    CompleteSources, ContainerHistory, Index, LastScheduled, Model, NodeCapacities, ObjectStore, Snapshot, StoredObject,
};
use crate::objects::limits::{EVENTS_OF_NODE, EVENTS_OF_ONE, RUNTIME_CONTAINERS, SANDBOXES};
use crate::objects::{Lease, LeftOut, Node, Pod};
use crate::observation::{ErrorKind, Source, SourceState, Time};
use crate::text::Text;

impl Model {
    /// The current state. Only pods that have changed since the last call are joined again.
    pub fn snapshot(&mut self) -> Snapshot {
        self.join();
        let node = self.nodes.iter().next().map(|(_, held)| held.value.clone());
        let other_events = self.other_events();
        Snapshot {
            observed_node: self.observed_node.clone(),
            pods: self.index.pods.clone(),
            sources: self.sources.clone(),
            initial_lists: self.initial_lists(),
            lease: self.lease_of(node.as_deref()),
            node_events: match node.as_deref() {
                Some(node) => self.events_about_node(node),
                // Without the Node object, every event about a node is assumed to be about this one.
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
            pleg_error: self.logs.pleg_trouble.clone(),
            node_capacities: NodeCapacities::default(),
            scheduled: LastScheduled::default(),
            newest: self.newest,
        }
    }

    /// Sets the name of the observed node.
    pub fn set_node_name(&mut self, name: Text) {
        self.observed_node = name;
    }

    /// Rebuilds the index; required once after reading a keyframe.
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
        static_pods.iter().for_each(|pod| self.link_static_pod(pod));
        let events: Vec<_> = self.events.iter().map(|(uid, h)| (uid.clone(), h.value.clone())).collect();
        for (uid, event) in events {
            self.link_event(&uid, &event);
        }
    }

    /// The lease of the node. An import may contain leases of other nodes.
    fn lease_of(&self, node: Option<&Node>) -> Option<Arc<Lease>> {
        let mut leases = self.leases.iter();
        let found = match node {
            Some(node) => leases.find(|(name, _)| **name == node.metadata.name),
            None => leases.next(),
        };
        found.map(|(_, held)| held.value.clone())
    }

    /// The source has sent its initial data; for a source that lists, a complete list. Until then, a missing object is not
    /// known to be absent.
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

    /// Which sources are live and complete.
    pub(super) fn complete_sources(&self) -> CompleteSources {
        let live = |source| self.sources.get(&source).is_some_and(|s| s.is_complete());
        CompleteSources {
            api: self.api_pods.is_complete() && live(Source::ApiPods),
            node: self.is_node_known(),
            kubelet: self.kubelet_pods.is_complete() && live(Source::KubeletPods),
            events: self.events.is_complete() && live(Source::ApiEvents),
            cri: self.sandboxes.is_complete() && self.containers.is_complete() && live(Source::Cri),
        }
    }

    /// False while the API server has not returned the node, or has no node of that name. True if it is not asked, or not allowed
    /// to be.
    fn is_node_known(&self) -> bool {
        let Some(source) = self.sources.get(&Source::ApiNode) else { return true };
        match &source.state {
            SourceState::Off { .. } | SourceState::Forbidden { .. } | SourceState::Ended => true,
            SourceState::Retrying { error, .. } if error.kind == ErrorKind::NoSuchNode => false,
            _ => self.nodes.iter().next().is_some(),
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
        self.index.key_of_object.insert(uid.clone(), key.clone());
        self.index.objects_by_name.entry(full_name(pod)).or_default().insert(key.clone());
        self.index.dirty.insert(key);
    }

    pub(super) fn unlink_pod(&mut self, uid: &Text, pod: &Pod, source: Source) {
        let key = runtime_uid(pod).clone();
        let name = full_name(pod);
        let Some(refs) = self.index.refs.get_mut(&key) else { return };
        match source {
            Source::KubeletPods => refs.kubelet.remove(uid),
            Source::ApiUnbound => refs.unbound.remove(uid),
            _ => refs.api.remove(uid),
        };
        if !refs.has_object() {
            self.index.key_of_object.remove(uid);
            if let Some(keys) = self.index.objects_by_name.get_mut(&name) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.index.objects_by_name.remove(&name);
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
            // The runtime no longer has the pod, so its history is dropped, even if other sources list it.
            if refs.sandboxes.is_empty() && refs.containers.is_empty() {
                self.cri_histories.remove(key);
            }
        }
        self.index.dirty.insert(key.clone());
    }

    /// Marks the pod with that UID in the API server or in the runtime.
    pub(super) fn mark(&mut self, uid: &Text) {
        let key = self.index.key_of_object.get(uid).unwrap_or(uid).clone();
        if self.index.refs.contains_key(&key) {
            self.index.dirty.insert(key);
        }
    }

    /// Marks the pods with that `namespace/name` or UID.
    pub(super) fn mark_named(&mut self, name: &Text) {
        match self.index.objects_by_name.get(name) {
            Some(keys) => self.index.dirty.extend(keys.iter().cloned()),
            None => self.mark(name),
        }
    }

    pub(super) fn mark_all(&mut self) {
        self.index.dirty.extend(self.index.refs.keys().cloned());
        self.index.dirty.extend(self.static_pods.iter().map(|(file, _)| file_key(file)));
    }

    fn join(&mut self) {
        let dirty = std::mem::take(&mut self.index.dirty);
        if dirty.is_empty() {
            return;
        }
        self.index.events_of_unknown_pods = None;
        let (manifests, dirty): (Vec<Text>, Vec<Text>) = dirty.into_iter().partition(|key| is_file_key(key));
        for key in dirty {
            let facts = self.facts(&key);
            let orphan = if facts.is_none() { self.orphaned_dir(&key) } else { None };
            if orphan.is_some() || self.index.orphaned.contains_key(&key) {
                let orphaned = Arc::make_mut(&mut self.index.orphaned);
                match orphan {
                    Some(dir) => _ = orphaned.insert(key.clone(), dir),
                    None => _ = orphaned.remove(&key),
                }
            }
            self.store_joined(key, facts);
        }
        // Only after the other pods are joined it is known which static pods have nothing but a manifest.
        let mut from_manifest = self.pods_of_manifests();
        let manifests = manifests.into_iter().chain(self.static_pods.iter().map(|(file, _)| file_key(file)));
        for key in manifests.collect::<BTreeSet<_>>() {
            let facts = from_manifest.remove(&key);
            self.store_joined(key, facts);
        }
    }

    /// Stores a joined pod, or removes it if no source has it.
    fn store_joined(&mut self, key: Text, facts: Option<PodFacts>) {
        let old = self.index.pods.get(&key);
        if old.map(|old| &**old) == facts.as_ref() {
            if facts.is_none() && self.index.refs.get(&key).is_some_and(Refs::is_empty) {
                self.index.refs.remove(&key);
            }
            return;
        }
        let name = |facts: &PodFacts| Text::from(format!("{}/{}", facts.namespace, facts.name));
        let (old_name, new_name) = (old.map(|old| name(old)), facts.as_ref().map(name));
        if old_name != new_name {
            if let Some((name, keys)) =
                old_name.and_then(|name| self.index.joined_by_name.get_mut(&name).map(|keys| (name, keys)))
            {
                keys.remove(&key);
                if keys.is_empty() {
                    self.index.joined_by_name.remove(&name);
                }
            }
            if let Some(name) = new_name {
                self.index.joined_by_name.entry(name).or_default().insert(key.clone());
            }
        }
        let pods = Arc::make_mut(&mut self.index.pods);
        match facts {
            Some(facts) => _ = pods.insert(key, Arc::new(facts)),
            None => {
                pods.remove(&key);
                // A directory left on disk may count as a pod again when a source stops responding.
                if self.index.refs.get(&key).is_some_and(Refs::is_empty) {
                    self.index.refs.remove(&key);
                }
            }
        }
    }

    fn facts(&self, key: &Text) -> Option<PodFacts> {
        let refs = self.index.refs.get(key).filter(|refs| !refs.is_empty())?;
        // A recreated mirror pod is listed with its old and its new UID for a short time: the newer one is used.
        let newest = |uids: &BTreeSet<Text>, store: &ObjectStore<Pod>| {
            let objects = uids.iter().filter_map(|uid| store.get(uid).map(|h| (uid.clone(), h.clone())));
            objects.max_by_key(|(uid, h)| (h.value.metadata.creation_timestamp, uid.clone()))
        };
        // A pod that was just bound may still be listed as unbound.
        let bound = newest(&refs.api, &self.api_pods);
        let histories = if bound.is_some() { &self.api_histories } else { &self.unbound_histories };
        let api = bound.or_else(|| newest(&refs.unbound, &self.unbound_pods));
        let kubelet = newest(&refs.kubelet, &self.kubelet_pods);
        let mut sandboxes: Vec<_> =
            refs.sandboxes.iter().filter_map(|id| self.sandboxes.get(id)).map(|h| h.value.clone()).collect();
        sandboxes.sort_by(|a, b| (b.created_at, b.attempt, &b.id).cmp(&(a.created_at, a.attempt, &a.id)));
        let mut truncated = Vec::new();
        truncate(&mut sandboxes, SANDBOXES, "sandboxes", &mut truncated);
        let mut containers: Vec<_> =
            refs.containers.iter().filter_map(|id| self.containers.get(id)).map(|h| h.value.clone()).collect();
        containers.sort_by(|a, b| (b.created_at, b.attempt, &b.id).cmp(&(a.created_at, a.attempt, &a.id)));
        truncate(&mut containers, RUNTIME_CONTAINERS, "containers in the runtime", &mut truncated);
        let object = api.as_ref().or(kubelet.as_ref()).map(|(_, held)| &held.value);
        let (namespace, name) = match (object, sandboxes.first(), containers.first()) {
            (Some(pod), ..) => (pod.metadata.namespace.clone(), pod.metadata.name.clone()),
            (_, Some(s), _) => (s.namespace.clone(), s.name.clone()),
            (_, _, Some(c)) => (c.namespace.clone(), c.pod.clone()),
            _ => self.name_on_disk(key)?,
        };
        let full_name: Text = format!("{namespace}/{name}").into();
        let uids = [Some(key), api.as_ref().map(|(uid, _)| uid)];
        let (events, total) = self.newest_events(uids.into_iter().flatten().collect(), EVENTS_OF_ONE);
        if total > events.len() {
            truncated.push(LeftOut { what: "events", kept: events.len(), total: total as u64 });
        }
        let history = |object: &Option<(Text, StoredObject<Pod>)>, histories: &BTreeMap<Text, ContainerHistory>| {
            object.as_ref().and_then(|(uid, _)| histories.get(uid)).cloned()
        };
        let (api_history, kubelet_history) = (history(&api, histories), history(&kubelet, &self.kubelet_histories));
        let created: Option<Time> = object.and_then(|pod| pod.metadata.creation_timestamp);
        let mut facts = PodFacts {
            key: key.clone(),
            lines: self.logs.lines_of(key, &full_name, created),
            log: self.logs.of(key, &full_name, created),
            spans: self.logs.spans_of(key),
            exits: merged_exits(api_history.as_ref(), kubelet_history.as_ref(), self.cri_histories.get(key)),
            state_since: BTreeMap::new(),
            first_ready: [&api_history, &kubelet_history].into_iter().flatten().filter_map(|t| t.first_ready).min(),
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
            truncated,
            by_container: BTreeMap::new(),
        };
        facts.index_containers();
        let history = match facts.object_source() {
            Source::ApiPods => api_history,
            _ => kubelet_history,
        };
        facts.state_since = facts
            .object()
            .into_iter()
            .flat_map(|pod| pod.status.all_containers())
            .filter_map(|c| Some((c.name.clone(), history.as_ref()?.state_since(&c.name)?)))
            .collect();
        Some(facts)
    }
}

/// Truncates a list to `most` entries, and records the total.
fn truncate<T>(all: &mut Vec<T>, most: usize, what: &'static str, truncated: &mut Vec<LeftOut>) {
    if all.len() > most {
        truncated.push(LeftOut { what, kept: most, total: all.len() as u64 });
        all.truncate(most);
    }
}

fn full_name(pod: &Pod) -> Text {
    format!("{}/{}", pod.metadata.namespace, pod.metadata.name).into()
}
