//! Owns one pod as every source shows it, joined by the UID that the runtime knows.
//! It must not choose between the sources: it holds each one's word beside the others'.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::container_history::Exit;
use super::lines::{Line, Lines};
use super::logs::{PodLog, PodSpans};
use super::object_store::StoredObject;
use crate::objects::{Event, LeftOut, Pod};
use crate::observation::{Container, PodDir, Sandbox, Source, StaticPod, Time};
use crate::text::Text;

/// Which sources are live and have said all they know, so that what they do not say is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompleteSources {
    /// Pods of the API server.
    pub api: bool,
    /// Pods of the kubelet.
    pub kubelet: bool,
    /// Events of the API server.
    pub events: bool,
    /// Sandboxes and containers of the runtime.
    pub cri: bool,
}

/// A pod, from all sources.
#[derive(Clone, Debug, PartialEq)]
pub struct PodFacts {
    /// The UID by which the runtime and the kubelet know it; of a static pod its own, not its mirror's.
    pub key: Text,
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// The API server's word.
    pub api: Option<StoredObject<Pod>>,
    /// The kubelet's word (`/pods`).
    pub kubelet: Option<StoredObject<Pod>>,
    /// The runtime's sandboxes, newest first, [`SANDBOXES`](crate::objects::limits::SANDBOXES) at most.
    pub sandboxes: Vec<Arc<Sandbox>>,
    /// The runtime's containers, newest first, [`RUNTIME_CONTAINERS`](crate::objects::limits::RUNTIME_CONTAINERS) at most.
    pub containers: Vec<Arc<Container>>,
    /// Events about it, newest first, [`EVENTS_OF_ONE`](crate::objects::limits::EVENTS_OF_ONE) at most.
    pub events: Vec<Arc<Event>>,
    /// Ends of its containers, oldest first.
    pub exits: Vec<Exit>,
    /// Since when the API server says a container's state word, by container.
    pub state_since: BTreeMap<Text, Time>,
    /// First time it was shown Ready.
    pub first_ready: Option<Time>,
    /// What the kubelet's log says of it.
    pub log: Option<Arc<PodLog>>,
    /// Lines of all logs that name it.
    pub lines: Vec<Arc<Lines>>,
    /// What the kubelet's spans say of it.
    pub spans: Option<Arc<PodSpans>>,
    /// What lies on disk of it.
    pub dir: Option<Arc<PodDir>>,
    /// The manifest of a static pod of its name.
    pub manifest: Option<Arc<StaticPod>>,
    /// Which sources have said all they know.
    pub complete: CompleteSources,
    /// What of the above there is more of than is kept.
    pub(super) more: Vec<LeftOut>,
    /// Places in `containers`, `events` and `exits`, by container.
    pub(super) by_container: BTreeMap<Text, OfContainer>,
}

/// What is about one container: places in the lists of its pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OfContainer {
    containers: Vec<usize>,
    events: Vec<usize>,
    exits: Vec<usize>,
}

impl PodFacts {
    /// A static pod of which only the manifest is known.
    pub(super) fn of_manifest(key: Text, manifest: Arc<StaticPod>, complete: CompleteSources) -> Self {
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
            more: Vec::new(),
            by_container: BTreeMap::new(),
        }
    }

    /// Nothing but what lies on disk shows it: it is not known how it fares.
    pub fn is_only_on_disk(&self) -> bool {
        let said = self.api.is_some() || self.kubelet.is_some();
        !said && self.sandboxes.is_empty() && self.containers.is_empty()
    }

    /// Spec and status, in the word of [`PodFacts::spoken`].
    pub fn object(&self) -> Option<&Arc<Pod>> {
        self.newest_object().map(|(_, held)| &held.value)
    }

    /// The pod object and whose it is: the API server's, else the kubelet's. The kubelet's pages come rarely: a pod that a
    /// live API server no longer has is gone, whatever the last page said; only a static pod lives without it. An API
    /// server that is away keeps what it said last while the kubelet goes on: then the later word is taken.
    pub fn newest_object(&self) -> Option<(Source, &StoredObject<Pod>)> {
        let api = self.api.as_ref().map(|held| (Source::ApiPods, held));
        let kubelet = self.kubelet.as_ref().filter(|_| !self.complete.api || self.is_static());
        let kubelet = kubelet.map(|held| (Source::KubeletPods, held));
        match (api, kubelet) {
            (Some((_, old)), Some(kubelet)) if !self.complete.api && kubelet.1.changed > old.changed => Some(kubelet),
            _ => api.or(kubelet),
        }
    }

    /// Whose word the pod object is.
    pub fn object_source(&self) -> Source {
        self.newest_object().map_or(Source::KubeletPods, |(source, _)| source)
    }

    /// The newest sandbox: the others are left-overs until the kubelet collects them.
    pub fn sandbox(&self) -> Option<&Arc<Sandbox>> {
        self.sandboxes.first()
    }

    /// The newest container of that name.
    pub fn container(&self, name: &str) -> Option<&Arc<Container>> {
        self.containers_of(name).next()
    }

    /// The runtime's containers of that name, newest first.
    pub fn containers_of(&self, name: &str) -> impl DoubleEndedIterator<Item = &Arc<Container>> {
        let places = self.by_container.get(name).map_or(&[][..], |of| &of.containers);
        places.iter().filter_map(|i| self.containers.get(*i))
    }

    /// Ends of one container, oldest first.
    pub fn exits_of(&self, container: &str) -> impl DoubleEndedIterator<Item = &Exit> + Clone {
        let places = self.by_container.get(container).map_or(&[][..], |of| &of.exits);
        places.iter().filter_map(|i| self.exits.get(*i))
    }

    /// Events about one container, newest first.
    pub fn events_of(&self, container: &str) -> impl Iterator<Item = &Arc<Event>> {
        let places = self.by_container.get(container).map_or(&[][..], |of| &of.events);
        places.iter().filter_map(|i| self.events.get(*i))
    }

    /// Notes which of the lists' entries are about which container.
    pub(super) fn index(&mut self) {
        let mut all: BTreeMap<Text, OfContainer> = BTreeMap::new();
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

    /// What there is more of than is kept: in its objects, in the runtime, in events.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let of_object = self.object().map(|pod| pod.left_out()).unwrap_or_default();
        of_object.into_iter().chain(self.more.iter().cloned()).collect()
    }

    /// The newest event with one of these reasons.
    pub fn event(&self, reasons: &[&str]) -> Option<&Arc<Event>> {
        self.events.iter().find(|e| reasons.contains(&e.reason.as_str()))
    }

    /// Lines of all logs that name it.
    pub fn log_lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().flat_map(|lines| lines.iter())
    }

    /// Read from a file or a URL by the kubelet itself.
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

/// The UID by which the runtime knows a pod: a mirror pod names its static pod's in an annotation.
pub fn runtime_uid(pod: &Pod) -> &Text {
    let mirror = &pod.metadata.annotations.mirror;
    if mirror.is_empty() { &pod.metadata.uid } else { mirror }
}

/// What is joined under one key.
#[derive(Clone, Debug, Default)]
pub(super) struct Refs {
    pub api: BTreeSet<Text>,
    pub unbound: BTreeSet<Text>,
    pub kubelet: BTreeSet<Text>,
    pub sandboxes: BTreeSet<Text>,
    pub containers: BTreeSet<Text>,
    /// Something lies on disk.
    pub dir: bool,
}

impl Refs {
    pub fn is_empty(&self) -> bool {
        !self.dir && self.is_only_dir()
    }

    /// No source but the disk has it.
    pub fn is_only_dir(&self) -> bool {
        !self.has_object() && self.sandboxes.is_empty() && self.containers.is_empty()
    }

    /// A source has the pod object.
    pub fn has_object(&self) -> bool {
        !(self.api.is_empty() && self.unbound.is_empty() && self.kubelet.is_empty())
    }
}
