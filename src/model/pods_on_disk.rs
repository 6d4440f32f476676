//! Pod directories and static manifests on disk: those of a listed pod, those of a pod that only the disk shows, and orphaned
//! ones. A complete list of a source takes precedence over a directory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Model, PodFacts};
use crate::observation::{PodDir, Source, Stamp, StaticPod, Time};
use crate::text::Text;

/// Prefix of the key of a static pod with unknown UID; the file name follows.
const FILE_KEY_PREFIX: &str = "file:";

/// The pod directory of a pod that no source lists.
#[derive(Clone, Debug, PartialEq)]
pub struct OrphanedPodDir {
    /// Its content.
    pub dir: Arc<PodDir>,
    /// When it was first found.
    pub first: Time,
}

impl Model {
    pub(super) fn add_pod_dir(&mut self, dir: PodDir, stamp: &Stamp) {
        let uid = dir.uid.clone();
        if self.pod_dirs.upsert(&uid, dir, stamp) {
            self.link_dir(&uid);
        }
    }

    pub(super) fn remove_pod_dir(&mut self, uid: &Text) {
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

    pub(super) fn add_static_pod(&mut self, pod: StaticPod, stamp: &Stamp) {
        let file = pod.file.clone();
        let old = self.static_pods.get(&file).map(|held| held.value.clone());
        if !self.static_pods.upsert(&file, pod, stamp) {
            return;
        }
        if let Some(old) = old {
            self.unlink_static_pod(&old);
        }
        if let Some(held) = self.static_pods.get(&file) {
            let pod = held.value.clone();
            self.link_static_pod(&pod);
        }
    }

    pub(super) fn remove_static_pod(&mut self, file: &Text) {
        if let Some(held) = self.static_pods.remove(file) {
            self.unlink_static_pod(&held.value);
        }
    }

    pub(super) fn link_static_pod(&mut self, pod: &StaticPod) {
        self.index.manifests_by_name.entry(full_name(pod)).or_default().insert(pod.file.clone());
        self.mark_static_pod(pod);
    }

    fn unlink_static_pod(&mut self, pod: &StaticPod) {
        let name = full_name(pod);
        if let Some(files) = self.index.manifests_by_name.get_mut(&name) {
            files.remove(&pod.file);
            if files.is_empty() {
                self.index.manifests_by_name.remove(&name);
            }
        }
        self.mark_static_pod(pod);
    }

    /// Marks the pods with the static pod's name, and the static pod itself.
    fn mark_static_pod(&mut self, pod: &StaticPod) {
        self.index.dirty.insert(file_key(&pod.file));
        self.index.dirty.extend(self.index.joined_by_name.get(&full_name(pod)).into_iter().flatten().cloned());
        // A pod directory may count as a pod because of the manifest.
        self.mark_pods_on_disk();
    }

    /// Marks the pods that only their directory or manifest shows.
    pub(super) fn mark_pods_on_disk(&mut self) {
        let is_only_dir = |uid: &&Text| self.index.refs.get(*uid).is_some_and(|refs| refs.is_only_dir());
        let uids: Vec<Text> = self.pod_dirs.iter().map(|(uid, _)| uid).filter(is_only_dir).cloned().collect();
        self.index.dirty.extend(uids);
        self.index.dirty.extend(self.static_pods.iter().map(|(file, _)| file_key(file)));
    }

    pub(super) fn end_list_of_machine(&mut self) {
        for (uid, _) in self.pod_dirs.end_list() {
            self.unlink_dir(&uid);
        }
        for (_, held) in self.static_pods.end_list() {
            self.unlink_static_pod(&held.value);
        }
        Arc::make_mut(&mut self.certificates).end_list();
        Arc::make_mut(&mut self.usage).end_list();
    }

    /// The manifest of the static pod with that `namespace/name`.
    pub(super) fn manifest_of(&self, name: &Text) -> Option<Arc<StaticPod>> {
        let file = self.index.manifests_by_name.get(name)?.first()?;
        self.static_pods.get(file).map(|held| held.value.clone())
    }

    /// Namespace and name of a pod that only its directory shows; None for a directory that is left over.
    pub(super) fn name_on_disk(&self, uid: &Text) -> Option<(Text, Text)> {
        let held = self.pod_dirs.get(uid)?;
        let is_static = self.index.manifests_by_name.contains_key(&held.value.pod);
        if self.is_not_listed(held.first, is_static) {
            return None;
        }
        // The runtime keeps a sandbox as long as the kubelet keeps its logs. Without both the pod is gone.
        if !held.value.kubelet && self.complete_sources().cri {
            return None;
        }
        let name = held.value.pod.split_once('/').map(|(namespace, name)| (namespace.into(), name.into()));
        Some(name.unwrap_or_else(|| (Text::default(), uid.clone())))
    }

    /// The directory of a pod that a source of pods does not list.
    pub(super) fn orphaned_dir(&self, uid: &Text) -> Option<OrphanedPodDir> {
        let held = self.pod_dirs.get(uid).filter(|held| held.value.kubelet)?;
        let is_static = self.index.manifests_by_name.contains_key(&held.value.pod);
        self.is_not_listed(held.first, is_static).then(|| OrphanedPodDir { dir: held.value.clone(), first: held.first })
    }

    /// A source with a complete list does not list the pod that has been on disk since `first`. The API server may lack the
    /// mirror pod of a static pod; the kubelet lists every pod.
    fn is_not_listed(&self, first: Time, is_static: bool) -> bool {
        let is_complete = |source: Source, complete: bool| {
            let Some(facts) = self.sources.get(&source).filter(|_| complete) else { return false };
            // A source that has stopped responding does not know of later pods.
            facts.is_live() || facts.last_answer.is_some_and(|at| at >= first)
        };
        is_complete(Source::KubeletPods, self.kubelet_pods.is_complete())
            || !is_static && is_complete(Source::ApiPods, self.api_pods.is_complete())
    }

    /// Static pods of which only the manifest is known, by key.
    pub(super) fn pods_of_manifests(&self) -> BTreeMap<Text, PodFacts> {
        let mut out = BTreeMap::new();
        for (file, held) in self.static_pods.iter().filter(|(_, held)| !held.value.name.is_empty()) {
            let name = full_name(&held.value);
            let known =
                self.index.joined_by_name.get(&name).is_some_and(|keys| keys.iter().any(|key| !is_file_key(key)));
            if !known && !self.is_not_listed(held.first, true) {
                let pod = &held.value;
                let facts = PodFacts::from_manifest(file_key(file), pod.clone(), self.complete_sources());
                out.insert(facts.key.clone(), facts);
            }
        }
        out
    }
}

/// The key of a static pod of which only the manifest is known.
pub(super) fn file_key(file: &Text) -> Text {
    format!("{FILE_KEY_PREFIX}{file}").into()
}

/// True for the key of such a pod.
pub(super) fn is_file_key(key: &str) -> bool {
    key.starts_with(FILE_KEY_PREFIX)
}

fn full_name(pod: &StaticPod) -> Text {
    format!("{}/{}", pod.namespace, pod.name).into()
}
