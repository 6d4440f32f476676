//! One pod as every source reports it, joined by the UID that the runtime uses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::container_history::Exit;
use super::lines::{KeptLine, KeptLines};
use super::logs::{PodLog, PodSpans};
use super::object_store::StoredObject;
use crate::objects::{Event, LeftOut, Pod};
use crate::observation::{Container, PodDir, Sandbox, Source, StaticPod, Time};
use crate::text::Text;

/// Which sources are live and complete, so that an object that they do not list is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompleteSources {
    /// Pods of the API server.
    pub api: bool,
    /// The node is one of the API server's: with a wrong name it lists no pods, and that proves nothing.
    pub node: bool,
    /// Pods of the kubelet.
    pub kubelet: bool,
    /// Events of the API server.
    pub events: bool,
    /// Sandboxes and containers of the runtime.
    pub cri: bool,
}

/// One pod in all sources.
#[derive(Clone, Debug, PartialEq)]
pub struct PodFacts {
    /// The UID that runtime and kubelet use; for a static pod its own, not that of its mirror pod.
    pub key: Text,
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// The object in the API server.
    pub api: Option<StoredObject<Pod>>,
    /// The object in the kubelet (`/pods`).
    pub kubelet: Option<StoredObject<Pod>>,
    /// Sandboxes in the runtime, newest first, at most [`SANDBOXES`](crate::objects::limits::SANDBOXES).
    pub sandboxes: Vec<Arc<Sandbox>>,
    /// Containers in the runtime, newest first, at most [`RUNTIME_CONTAINERS`](crate::objects::limits::RUNTIME_CONTAINERS).
    pub containers: Vec<Arc<Container>>,
    /// Events about the pod, newest first, at most [`EVENTS_OF_ONE`](crate::objects::limits::EVENTS_OF_ONE).
    pub events: Vec<Arc<Event>>,
    /// Exits of its containers, oldest first.
    pub exits: Vec<Exit>,
    /// Since when [`PodFacts::object`] reports the current state of each container.
    pub state_since: BTreeMap<Text, Time>,
    /// When a source first reported the pod Ready.
    pub first_ready: Option<Time>,
    /// What the kubelet has logged about the pod.
    pub log: Option<Arc<PodLog>>,
    /// KeptLines of all logs that name the pod.
    pub lines: Vec<Arc<KeptLines>>,
    /// The kubelet's trace spans of the pod.
    pub spans: Option<Arc<PodSpans>>,
    /// Its directories on disk.
    pub dir: Option<Arc<PodDir>>,
    /// The static manifest with its name.
    pub manifest: Option<Arc<StaticPod>>,
    /// Which sources are complete.
    pub complete: CompleteSources,
    /// Which of the lists above were cut at their limit.
    pub(super) truncated: Vec<LeftOut>,
    /// Indices into `containers`, `events` and `exits`, by container.
    pub(super) by_container: BTreeMap<Text, ContainerIndex>,
}

/// Indices of one container in the lists of its pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ContainerIndex {
    containers: Vec<usize>,
    events: Vec<usize>,
    exits: Vec<usize>,
}

impl PodFacts {
    /// A static pod of which only the manifest is known.
    pub(super) fn from_manifest(key: Text, manifest: Arc<StaticPod>, complete: CompleteSources) -> Self {
        Self {
            key,
            namespace: manifest.namespace.clone(),
            name: manifest.name.clone(),
            api: None,
            kubelet: None,
            sandboxes: Vec::new(),
            containers: Vec::new(),
            events: Vec::new(),
            exits: Vec::new(),
            state_since: BTreeMap::new(),
            first_ready: None,
            lines: Vec::new(),
            log: None,
            spans: None,
            dir: None,
            manifest: Some(manifest),
            complete,
            truncated: Vec::new(),
            by_container: BTreeMap::new(),
        }
    }

    /// Only directories or a manifest on disk show the pod, so its state is unknown.
    pub fn is_only_on_disk(&self) -> bool {
        let has_object = self.api.is_some() || self.kubelet.is_some();
        !has_object && self.sandboxes.is_empty() && self.containers.is_empty()
    }

    /// The pod object of [`PodFacts::newest_object`].
    pub fn object(&self) -> Option<&Arc<Pod>> {
        self.newest_object().map(|(_, held)| &held.value)
    }

    /// The pod object and its source: the API server, else the kubelet. `/pods` is read rarely, so a pod that a live API
    /// server no longer has is gone, even if the last response of the kubelet has it; only a static pod exists without the
    /// API server. While the API server is not available, the object that changed last is used.
    pub fn newest_object(&self) -> Option<(Source, &StoredObject<Pod>)> {
        let api = self.api.as_ref().map(|held| (Source::ApiPods, held));
        let kubelet = self.kubelet.as_ref().filter(|_| !self.complete.api || self.is_static());
        let kubelet = kubelet.map(|held| (Source::KubeletPods, held));
        match (api, kubelet) {
            (Some((_, old)), Some(kubelet)) if !self.complete.api && kubelet.1.changed > old.changed => Some(kubelet),
            _ => api.or(kubelet),
        }
    }

    /// The source of the pod object.
    pub fn object_source(&self) -> Source {
        self.newest_object().map_or(Source::KubeletPods, |(source, _)| source)
    }

    /// The newest sandbox. The kubelet garbage-collects the others.
    pub fn sandbox(&self) -> Option<&Arc<Sandbox>> {
        self.sandboxes.first()
    }

    /// The newest container of that name.
    pub fn container(&self, name: &str) -> Option<&Arc<Container>> {
        self.containers_of(name).next()
    }

    /// The containers of that name in the runtime, newest first.
    pub fn containers_of(&self, name: &str) -> impl DoubleEndedIterator<Item = &Arc<Container>> {
        let indices = self.by_container.get(name).map_or(&[][..], |of| &of.containers);
        indices.iter().filter_map(|i| self.containers.get(*i))
    }

    /// Exits of one container, oldest first.
    pub fn exits_of(&self, container: &str) -> impl DoubleEndedIterator<Item = &Exit> + Clone {
        let indices = self.by_container.get(container).map_or(&[][..], |of| &of.exits);
        indices.iter().filter_map(|i| self.exits.get(*i))
    }

    /// Events about one container, newest first.
    pub fn events_of(&self, container: &str) -> impl Iterator<Item = &Arc<Event>> {
        let indices = self.by_container.get(container).map_or(&[][..], |of| &of.events);
        indices.iter().filter_map(|i| self.events.get(*i))
    }

    /// Rebuilds the index of the lists by container.
    pub(super) fn index_containers(&mut self) {
        let mut all: BTreeMap<Text, ContainerIndex> = BTreeMap::new();
        for (i, container) in self.containers.iter().enumerate() {
            all.entry(container.name.clone()).or_default().containers.push(i);
        }
        for (i, event) in self.events.iter().enumerate() {
            if let Some(container) = event.involved_object.container() {
                match all.get_mut(container) {
                    Some(of) => of.events.push(i),
                    None => all.entry(container.into()).or_default().events.push(i),
                }
            }
        }
        for (i, exit) in self.exits.iter().enumerate() {
            all.entry(exit.container.clone()).or_default().exits.push(i);
        }
        self.by_container = all;
    }

    /// What was left out at a limit: in the objects, in the runtime, in events.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let of_object = self.object().map(|pod| pod.left_out()).unwrap_or_default();
        of_object.into_iter().chain(self.truncated.iter().cloned()).collect()
    }

    /// The newest event with one of these reasons.
    pub fn event(&self, reasons: &[&str]) -> Option<&Arc<Event>> {
        self.events.iter().find(|e| reasons.contains(&e.reason.as_str()))
    }

    /// KeptLines of all logs that name the pod.
    pub fn log_lines(&self) -> impl Iterator<Item = &KeptLine> {
        self.lines.iter().flat_map(|lines| lines.iter())
    }

    /// A static pod: the kubelet reads it from a file or a URL.
    pub fn is_static(&self) -> bool {
        let own = |pod: &Pod| {
            let a = &pod.metadata.annotations;
            !a.mirror.is_empty() || a.source == "file" || a.source == "http"
        };
        self.api.iter().chain(&self.kubelet).any(|held| own(&held.value))
            || self.manifest.is_some()
            || self.sandboxes.iter().any(|s| s.config_source == "file" || s.config_source == "http")
    }
}

/// The UID that the runtime uses: for a mirror pod that of its static pod, from an annotation.
pub fn runtime_uid(pod: &Pod) -> &Text {
    let mirror = &pod.metadata.annotations.mirror;
    if mirror.is_empty() { &pod.metadata.uid } else { mirror }
}

/// The objects of each source that are joined into one pod.
#[derive(Clone, Debug, Default)]
pub(super) struct Refs {
    pub api: BTreeSet<Text>,
    pub unbound: BTreeSet<Text>,
    pub kubelet: BTreeSet<Text>,
    pub sandboxes: BTreeSet<Text>,
    pub containers: BTreeSet<Text>,
    /// The pod has a directory on disk.
    pub dir: bool,
}

impl Refs {
    pub fn is_empty(&self) -> bool {
        !self.dir && self.is_only_dir()
    }

    /// Only the disk shows the pod.
    pub fn is_only_dir(&self) -> bool {
        !self.has_object() && self.sandboxes.is_empty() && self.containers.is_empty()
    }

    /// A source has the pod object.
    pub fn has_object(&self) -> bool {
        !(self.api.is_empty() && self.unbound.is_empty() && self.kubelet.is_empty())
    }
}
