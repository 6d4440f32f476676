//! Applies one observation to the model. It only marks the pods that the observation affects; `join` computes them later.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ContainerHistory, Model, ObjectStore, SourceFacts, runtime_uid};
use crate::objects::{Event, Pod};
use crate::observation::{Container, Fact, LogKind, LogRecord, Observation, Sandbox, Source, Stamp, StaticPod};
use crate::text::Text;

impl Model {
    /// Applies an observation. One that was applied before is ignored.
    pub fn apply(&mut self, observation: Observation) {
        let Observation { stamp, fact } = observation;
        let source = self.sources.entry(stamp.source).or_insert_with(|| Arc::new(SourceFacts::new(&stamp)));
        let source = Arc::make_mut(source);
        if !source.accept(&stamp) {
            return;
        }
        self.newest = self.newest.max(Some(stamp.wall));
        match fact {
            Fact::SourceState(state) => {
                let old = (source.is_live(), source.is_complete());
                source.set_state(state, &stamp);
                let new = (source.is_live(), source.is_complete());
                // A missing object is absent only while its source is live.
                if old != new
                    && matches!(stamp.source, Source::ApiPods | Source::ApiEvents | Source::Cri | Source::KubeletPods)
                {
                    self.mark_all();
                }
                return;
            }
            Fact::CallBegin(call) => return source.start_call(call, &stamp),
            Fact::CallEnd { call, took_us, error } => return source.finish_call(call, took_us, error, &stamp),
            Fact::Dropped { count } => {
                source.dropped = source.dropped.saturating_add(count);
                return;
            }
            Fact::Remaining { count } => {
                source.remaining = Some(count);
                return;
            }
            Fact::Tls { verified } => {
                source.unverified = !verified;
                return;
            }
            Fact::Unreadable { count } => {
                source.unreadable = source.unreadable.saturating_add(count);
                return source.record_response(&stamp);
            }
            _ => source.record_response(&stamp),
        }
        if matches!(fact, Fact::EpochBegin | Fact::EpochEnd) {
            source.remaining = None;
        }
        if !source.is_live() && matches!(stamp.source, Source::ApiPods | Source::KubeletPods) {
            // The time of its last response decides whether it knows a pod directory.
            self.mark_pods_on_disk();
        }
        match fact {
            Fact::EpochBegin => self.begin_list(&stamp),
            Fact::EpochEnd => self.end_list(&stamp),
            Fact::Pod(pod) => self.add_pod(*pod, &stamp),
            Fact::PodGone(uid) => self.remove_pod(&uid, stamp.source),
            Fact::Node(node) => {
                let name = node.metadata.name.clone();
                self.nodes.upsert(&name, *node, &stamp);
            }
            Fact::NodeGone(name) => _ = self.nodes.remove(&name),
            Fact::Lease(lease) => {
                let name = lease.metadata.name.clone();
                self.leases.upsert(&name, *lease, &stamp);
            }
            Fact::LeaseGone(name) => _ = self.leases.remove(&name),
            Fact::Event(event) => self.add_event(*event, &stamp),
            Fact::EventGone(uid) => {
                if let Some(held) = self.events.remove(&uid) {
                    self.unlink_event(&uid, &held.value);
                }
            }
            Fact::Sandbox(sandbox) => self.add_sandbox(*sandbox, &stamp),
            Fact::SandboxGone(id) => {
                if let Some(held) = self.sandboxes.remove(&id) {
                    self.unlink_sandbox(&held.value);
                }
            }
            Fact::Container(container) => self.add_container(*container, &stamp),
            Fact::ContainerGone(id) => {
                if let Some(held) = self.containers.remove(&id) {
                    self.unlink_container(&held.value);
                }
            }
            Fact::RuntimeStatus(status) => self.runtime = Some((*status).into()),
            Fact::Image(image) => {
                let id = image.id.clone();
                Arc::make_mut(&mut self.images).upsert(&id, *image, &stamp);
            }
            Fact::ImageGone(id) => _ = Arc::make_mut(&mut self.images).remove(&id),
            Fact::ImageFs(fs) => self.image_fs = Some((*fs).into()),
            Fact::Pull(pull) => {
                let reference = pull.reference.clone();
                self.pulls.upsert(&reference, pull, &stamp);
            }
            Fact::PullGone(reference) => _ = self.pulls.remove(&reference),
            Fact::Scrape(scrape) => Arc::make_mut(&mut self.kubelet).add_scrape(*scrape, stamp.wall),
            Fact::KubeletConfig(config) => Arc::make_mut(&mut self.kubelet).config = Some(config),
            Fact::Health(health) => {
                Arc::make_mut(&mut self.kubelet).health = Some((stamp.wall, health.ok, health.text));
            }
            Fact::Log(entry) => self.log_record(stamp.source, &LogRecord::from(*entry)),
            Fact::LogRecord(record) => self.log_record(stamp.source, &record),
            Fact::Span(span) => {
                if let Some(uid) = self.logs.span(*span) {
                    self.mark(&uid);
                }
            }
            Fact::Unit(unit) => _ = Arc::make_mut(&mut self.machine).units.insert(unit.name.clone(), *unit),
            Fact::NodePaths(paths) => Arc::make_mut(&mut self.machine).paths = *paths,
            Fact::Boot(at) => Arc::make_mut(&mut self.machine).boot = Some(at),
            Fact::PodDir(dir) => self.add_pod_dir(*dir, &stamp),
            Fact::PodDirGone(uid) => self.remove_pod_dir(&uid),
            Fact::StaticManifest(file) => self.add_static_pod(StaticPod { file, ..StaticPod::default() }, &stamp),
            Fact::StaticManifestGone(file) => self.remove_static_pod(&file),
            Fact::StaticPod(pod) => self.add_static_pod(*pod, &stamp),
            Fact::Vitals(vitals) => Arc::make_mut(&mut self.machine).set_vitals(vitals, stamp.wall),
            Fact::Certificate(certificate) => {
                let path = certificate.path.clone();
                Arc::make_mut(&mut self.certificates).upsert(&path, *certificate, &stamp);
            }
            Fact::CertificateGone(path) => _ = Arc::make_mut(&mut self.certificates).remove(&path),
            Fact::PodUsage(usage) => {
                let uid = usage.uid.clone();
                Arc::make_mut(&mut self.usage).upsert(&uid, usage, &stamp);
            }
            Fact::PodUsageGone(uid) => _ = Arc::make_mut(&mut self.usage).remove(&uid),
            Fact::Alive
            | Fact::Tls { .. }
            | Fact::Unreadable { .. }
            | Fact::Remaining { .. }
            | Fact::SourceState(_)
            | Fact::CallBegin(_)
            | Fact::CallEnd { .. }
            | Fact::Dropped { .. } => {}
        }
    }

    fn log_record(&mut self, source: Source, record: &LogRecord) {
        let kind = if source == Source::KubeletLog { record.kind() } else { None };
        let is_progress = kind.as_ref().is_some_and(LogKind::is_progress);
        if let Some(key) = kind.and_then(|kind| self.logs.apply_kind(record, kind)) {
            self.mark_named(&key);
        }
        if !is_progress && let Some(key) = self.logs.keep(source, record) {
            self.mark_named(&key);
        }
    }

    fn begin_list(&mut self, stamp: &Stamp) {
        match stamp.source {
            Source::ApiPods => self.api_pods.begin_list(stamp.epoch),
            Source::ApiUnbound => self.unbound_pods.begin_list(stamp.epoch),
            Source::KubeletPods => self.kubelet_pods.begin_list(stamp.epoch),
            Source::ApiEvents => self.events.begin_list(stamp.epoch),
            Source::ApiNode => self.nodes.begin_list(stamp.epoch),
            Source::ApiLease => self.leases.begin_list(stamp.epoch),
            Source::Cri => {
                self.sandboxes.begin_list(stamp.epoch);
                self.containers.begin_list(stamp.epoch);
                Arc::make_mut(&mut self.images).begin_list(stamp.epoch);
            }
            Source::Pulls => self.pulls.begin_list(stamp.epoch),
            Source::Machine => {
                self.pod_dirs.begin_list(stamp.epoch);
                self.static_pods.begin_list(stamp.epoch);
                Arc::make_mut(&mut self.certificates).begin_list(stamp.epoch);
                Arc::make_mut(&mut self.usage).begin_list(stamp.epoch);
            }
            _ => {}
        }
    }

    fn end_list(&mut self, stamp: &Stamp) {
        let complete = self.complete_sources();
        let listed = |model: &Self| (model.api_pods.is_complete(), model.kubelet_pods.is_complete());
        let before = listed(self);
        match stamp.source {
            source @ (Source::ApiPods | Source::ApiUnbound | Source::KubeletPods) => {
                for (uid, held) in self.pods_of(source).0.end_list() {
                    self.forget_pod(&uid, &held.value, source);
                }
            }
            Source::ApiEvents => {
                for (uid, held) in self.events.end_list() {
                    self.unlink_event(&uid, &held.value);
                }
            }
            Source::ApiNode => _ = self.nodes.end_list(),
            Source::ApiLease => _ = self.leases.end_list(),
            Source::Cri => {
                for (_, held) in self.sandboxes.end_list() {
                    self.unlink_sandbox(&held.value);
                }
                for (_, held) in self.containers.end_list() {
                    self.unlink_container(&held.value);
                }
                Arc::make_mut(&mut self.images).end_list();
            }
            Source::Pulls => _ = self.pulls.end_list(),
            Source::Machine => self.end_list_of_machine(),
            _ => {}
        }
        // After the first complete list of a source, what it does not list is absent: this affects every pod.
        if complete != self.complete_sources() || before != listed(self) {
            self.mark_all();
        }
    }

    /// The pods of a source, and the histories of their containers.
    fn pods_of(&mut self, source: Source) -> (&mut ObjectStore<Pod>, &mut BTreeMap<Text, ContainerHistory>) {
        match source {
            Source::KubeletPods => (&mut self.kubelet_pods, &mut self.kubelet_histories),
            Source::ApiUnbound => (&mut self.unbound_pods, &mut self.unbound_histories),
            _ => (&mut self.api_pods, &mut self.api_histories),
        }
    }

    fn add_pod(&mut self, pod: Pod, stamp: &Stamp) {
        let uid = pod.metadata.uid.clone();
        let (store, histories) = self.pods_of(stamp.source);
        let old = store.get(&uid).map(|held| held.value.clone());
        histories.entry(uid.clone()).or_default().add_pod(&pod, stamp.wall);
        if !store.upsert(&uid, pod, stamp) {
            return;
        }
        let Some(new) = self.pods_of(stamp.source).0.get(&uid).map(|held| held.value.clone()) else { return };
        if let Some(old) = old.filter(|old| runtime_uid(old) != runtime_uid(&new)) {
            self.unlink_pod(&uid, &old, stamp.source);
        }
        self.link_pod(&uid, &new, stamp.source);
    }

    fn remove_pod(&mut self, uid: &Text, source: Source) {
        if let Some(held) = self.pods_of(source).0.remove(uid) {
            self.forget_pod(uid, &held.value, source);
        }
    }

    fn forget_pod(&mut self, uid: &Text, pod: &Pod, source: Source) {
        self.pods_of(source).1.remove(uid);
        self.unlink_pod(uid, pod, source);
    }

    fn add_event(&mut self, event: Event, stamp: &Stamp) {
        let uid = event.metadata.uid.clone();
        self.invalidate_event_lists(&event);
        let about = event.involved_object.uid.clone();
        let old = self.events.get(&uid).map(|held| held.value.clone());
        if !self.events.upsert(&uid, event, stamp) {
            return;
        }
        if let Some(old) = old {
            self.unlink_event(&uid, &old);
        }
        if let Some(new) = self.events.get(&uid).map(|held| held.value.clone()) {
            self.link_event(&uid, &new);
        }
        let dropped = self.drop_oldest_events(&about);
        if let Some(source) = self.sources.get_mut(&stamp.source).filter(|_| dropped > 0) {
            let source = Arc::make_mut(source);
            source.dropped = source.dropped.saturating_add(dropped);
        }
    }

    fn add_sandbox(&mut self, sandbox: Sandbox, stamp: &Stamp) {
        let (id, key) = (sandbox.id.clone(), sandbox.uid.clone());
        if self.sandboxes.upsert(&id, sandbox, stamp) {
            self.link_sandbox(&id, &key);
        }
    }

    fn add_container(&mut self, container: Container, stamp: &Stamp) {
        let (id, key) = (container.id.clone(), container.uid.clone());
        self.cri_histories.entry(key.clone()).or_default().add_container(&container);
        if self.containers.upsert(&id, container, stamp) {
            self.link_container(&id, &key);
        }
    }

    fn unlink_sandbox(&mut self, sandbox: &Sandbox) {
        self.unlink_runtime(&sandbox.uid, |refs| _ = refs.sandboxes.remove(&sandbox.id));
    }

    fn unlink_container(&mut self, container: &Container) {
        self.unlink_runtime(&container.uid, |refs| _ = refs.containers.remove(&container.id));
    }
}
