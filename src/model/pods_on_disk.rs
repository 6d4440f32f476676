//! Owns what lies on disk of pods: which of it belongs to a known pod, which is a pod of its own, and which is left over.
//! It must not let the disk contradict a source that lists pods: a directory says less than a list without its pod.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Model, PodFacts};
use crate::observation::{PodDir, Source, Stamp, StaticPod, Time};
use crate::text::Text;

/// Begin of the key of a static pod whose UID nobody says; the file's name follows.
const OF_FILE: &str = "file:";

/// A directory of the kubelet's for a pod that nobody lists.
#[derive(Clone, Debug, PartialEq)]
pub struct OrphanedPodDir {
    /// What lies in it.
    pub dir: Arc<PodDir>,
    /// When the machine first showed it.
    pub first: Time,
}

impl Model {
    pub(super) fn pod_dir(&mut self, dir: PodDir, stamp: &Stamp) {
        let uid = dir.uid.clone();
        if self.pod_dirs.upsert(&uid, dir, stamp) {
            self.link_dir(&uid);
        }
    }

    pub(super) fn pod_dir_gone(&mut self, uid: &Text) {
        if self.pod_dirs.remove(uid).is_some() {
            self.unlink_dir(uid);
        }
    }

    pub(super) fn link_dir(&mut self, uid: &Text) {
        self.index.refs.entry(uid.clone()).or_default().dir = true;
        self.index.dirty.insert(uid.clone());
    }

    fn unlink_dir(&mut self, uid: &Text) {
        if let Some(refs) = self.index.refs.get_mut(uid) {
            refs.dir = false;
        }
        self.index.dirty.insert(uid.clone());
    }

    pub(super) fn static_pod(&mut self, pod: StaticPod, stamp: &Stamp) {
        let file = pod.file.clone();
        let old = self.static_pods.get(&file).map(|held| held.value.clone());
        if !self.static_pods.upsert(&file, pod, stamp) {
            return;
        }
        if let Some(old) = old {
            self.unlink_static(&old);
        }
        if let Some(held) = self.static_pods.get(&file) {
            let pod = held.value.clone();
            self.link_static(&pod);
        }
    }

    pub(super) fn static_pod_gone(&mut self, file: &Text) {
        if let Some(held) = self.static_pods.remove(file) {
            self.unlink_static(&held.value);
        }
    }

    pub(super) fn link_static(&mut self, pod: &StaticPod) {
        self.index.static_of.entry(named(pod)).or_default().insert(pod.file.clone());
        self.mark_static(pod);
    }

    fn unlink_static(&mut self, pod: &StaticPod) {
        let name = named(pod);
        if let Some(files) = self.index.static_of.get_mut(&name) {
            files.remove(&pod.file);
            if files.is_empty() {
                self.index.static_of.remove(&name);
            }
        }
        self.mark_static(pod);
    }

    /// Marks the pods of a static pod's name, and its own.
    fn mark_static(&mut self, pod: &StaticPod) {
        self.index.dirty.insert(key_of_file(&pod.file));
        self.index.dirty.extend(self.index.named.get(&named(pod)).into_iter().flatten().cloned());
        // A directory of that name may be a pod because of it.
        self.mark_disk();
    }

    /// Marks what may be a pod for its directory alone.
    pub(super) fn mark_disk(&mut self) {
        let alone = |uid: &&Text| self.index.refs.get(*uid).is_some_and(|refs| refs.is_only_dir());
        let alone: Vec<Text> = self.pod_dirs.iter().map(|(uid, _)| uid).filter(alone).cloned().collect();
        self.index.dirty.extend(alone);
        self.index.dirty.extend(self.static_pods.iter().map(|(file, _)| key_of_file(file)));
    }

    pub(super) fn epoch_end_of_machine(&mut self) {
        for (uid, _) in self.pod_dirs.end() {
            self.unlink_dir(&uid);
        }
        for (_, held) in self.static_pods.end() {
            self.unlink_static(&held.value);
        }
        Arc::make_mut(&mut self.certificates).end();
        Arc::make_mut(&mut self.usage).end();
    }

    /// The manifest of the pod of that name.
    pub(super) fn manifest_of(&self, name: &Text) -> Option<Arc<StaticPod>> {
        let file = self.index.static_of.get(name)?.first()?;
        self.static_pods.get(file).map(|held| held.value.clone())
    }

    /// Namespace and name of a pod that only its directory shows; nothing when it is no pod, but left over.
    pub(super) fn pod_on_disk(&self, uid: &Text) -> Option<(Text, Text)> {
        let held = self.pod_dirs.get(uid)?;
        let is_static = self.index.static_of.contains_key(&held.value.pod);
        if self.is_denied(held.first, is_static) {
            return None;
        }
        // The runtime keeps a sandbox as long as the kubelet keeps its logs: without either the pod is over.
        if !held.value.kubelet && self.complete_sources().cri {
            return None;
        }
        let name = held.value.pod.split_once('/').map(|(namespace, name)| (namespace.into(), name.into()));
        Some(name.unwrap_or_else(|| (Text::default(), uid.clone())))
    }

    /// The directory of a pod that a source of pods does not list.
    pub(super) fn orphan(&self, uid: &Text) -> Option<OrphanedPodDir> {
        let held = self.pod_dirs.get(uid).filter(|held| held.value.kubelet)?;
        let is_static = self.index.static_of.contains_key(&held.value.pod);
        self.is_denied(held.first, is_static).then(|| OrphanedPodDir { dir: held.value.clone(), first: held.first })
    }

    /// A source that lists pods lists none for what has been on disk since `first`. The API server may lack the mirror of
    /// a static pod; the kubelet lacks none.
    fn is_denied(&self, first: Time, is_static: bool) -> bool {
        let denies = |source: Source, complete: bool| {
            let Some(facts) = self.sources.get(&source).filter(|_| complete) else { return false };
            // One that has fallen silent knows nothing of what came later.
            facts.is_live() || facts.last_answer.is_some_and(|at| at >= first)
        };
        denies(Source::KubeletPods, self.kubelet_pods.is_complete())
            || !is_static && denies(Source::ApiPods, self.api_pods.is_complete())
    }

    /// Static pods of which nothing else is known, by their key.
    pub(super) fn static_alone(&self) -> BTreeMap<Text, PodFacts> {
        let mut out = BTreeMap::new();
        for (file, held) in self.static_pods.iter().filter(|(_, held)| !held.value.name.is_empty()) {
            let name = named(&held.value);
            let known = self.index.named.get(&name).is_some_and(|keys| keys.iter().any(|key| !is_of_file(key)));
            if !known && !self.is_denied(held.first, true) {
                let pod = &held.value;
                let facts = PodFacts::of_manifest(key_of_file(file), pod.clone(), self.complete_sources());
                out.insert(facts.key.clone(), facts);
            }
        }
        out
    }
}

/// The key of a pod that is known from that manifest alone.
pub(super) fn key_of_file(file: &Text) -> Text {
    format!("{OF_FILE}{file}").into()
}

/// True for such a key.
pub(super) fn is_of_file(key: &str) -> bool {
    key.starts_with(OF_FILE)
}

fn named(pod: &StaticPod) -> Text {
    format!("{}/{}", pod.namespace, pod.name).into()
}
