//! Owns how one observation changes the model.
//! It must not compute more than what the observation touches: it marks pods, and joining happens later.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ContainerHistory, Model, ObjectStore, SourceFacts};
use crate::objects::{Event, Pod};
use crate::observation::{Container, Fact, Observation, Sandbox, Source, Stamp, StaticPod};
use crate::text::Text;

impl Model {
    /// Takes in an observation. One that was seen before changes nothing.
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
                let was = (source.is_live(), source.is_whole());
                source.set_state(state, &stamp);
                let is = (source.is_live(), source.is_whole());
                // What a source does not say means something only while it is live.
                if was != is
                    && matches!(stamp.source, Source::ApiPods | Source::ApiEvents | Source::Cri | Source::KubeletPods)
                {
                    self.mark_all();
                }
                return;
            }
            Fact::CallBegin(call) => return source.call_begin(call, &stamp),
            Fact::CallEnd { call, took_us, error } => return source.call_end(call, took_us, error, &stamp),
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
                return source.answered(&stamp);
            }
            _ => source.answered(&stamp),
        }
        if matches!(fact, Fact::EpochBegin | Fact::EpochEnd) {
            source.remaining = None;
        }
        if !source.is_live() && matches!(stamp.source, Source::ApiPods | Source::KubeletPods) {
            // Its last answer decides what it would have known of.
            self.mark_disk();
        }
        match fact {
            Fact::EpochBegin => self.epoch_begin(&stamp),
            Fact::EpochEnd => self.epoch_end(&stamp),
            Fact::Pod(pod) => self.pod(*pod, &stamp),
            Fact::PodGone(uid) => self.pod_gone(&uid, stamp.source),
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
            Fact::Event(event) => self.event(*event, &stamp),
            Fact::EventGone(uid) => {
                if let Some(held) = self.events.remove(&uid) {
                    self.unlink_event(&uid, &held.value);
                }
            }
            Fact::Sandbox(sandbox) => self.sandbox(*sandbox, &stamp),
            Fact::SandboxGone(id) => {
                if let Some(held) = self.sandboxes.remove(&id) {
                    self.sandbox_gone(&held.value);
                }
            }
            Fact::Container(container) => self.container(*container, &stamp),
            Fact::ContainerGone(id) => {
                if let Some(held) = self.containers.remove(&id) {
                    self.container_gone(&held.value);
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
            Fact::Scrape(scrape) => Arc::make_mut(&mut self.kubelet).scrape(*scrape, stamp.wall),
            Fact::KubeletConfig(config) => Arc::make_mut(&mut self.kubelet).config = Some(config),
            Fact::Health(health) => {
                Arc::make_mut(&mut self.kubelet).health = Some((stamp.wall, health.ok, health.text));
            }
            Fact::Log(entry) => {
                if stamp.source == Source::KubeletLog {
                    for key in self.logs.entry(&entry) {
                        self.mark_named(&key);
                    }
                }
                if let Some(key) = self.logs.line(stamp.source, &entry) {
                    self.mark_named(&key);
                }
            }
            Fact::Span(span) => {
                if let Some(uid) = self.logs.span(*span) {
                    self.mark(&uid);
                }
            }
            Fact::Unit(unit) => _ = Arc::make_mut(&mut self.machine).units.insert(unit.name.clone(), *unit),
            Fact::Boot(at) => Arc::make_mut(&mut self.machine).boot = Some(at),
            Fact::PodDir(dir) => self.pod_dir(*dir, &stamp),
            Fact::PodDirGone(uid) => self.pod_dir_gone(&uid),
            Fact::StaticManifest(file) => self.static_pod(StaticPod { file, ..StaticPod::default() }, &stamp),
            Fact::StaticManifestGone(file) => self.static_pod_gone(&file),
            Fact::StaticPod(pod) => self.static_pod(*pod, &stamp),
            Fact::Vitals(vitals) => Arc::make_mut(&mut self.machine).vitals(vitals, stamp.wall),
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

    fn epoch_begin(&mut self, stamp: &Stamp) {
        match stamp.source {
            Source::ApiPods => self.api_pods.begin(stamp.epoch),
            Source::ApiUnbound => self.unbound_pods.begin(stamp.epoch),
            Source::KubeletPods => self.kubelet_pods.begin(stamp.epoch),
            Source::ApiEvents => self.events.begin(stamp.epoch),
            Source::ApiNode => self.nodes.begin(stamp.epoch),
            Source::ApiLease => self.leases.begin(stamp.epoch),
            Source::Cri => {
                self.sandboxes.begin(stamp.epoch);
                self.containers.begin(stamp.epoch);
                Arc::make_mut(&mut self.images).begin(stamp.epoch);
            }
            Source::Pulls => self.pulls.begin(stamp.epoch),
            Source::Machine => {
                self.pod_dirs.begin(stamp.epoch);
                self.static_pods.begin(stamp.epoch);
                Arc::make_mut(&mut self.certificates).begin(stamp.epoch);
                Arc::make_mut(&mut self.usage).begin(stamp.epoch);
            }
            _ => {}
        }
    }

    fn epoch_end(&mut self, stamp: &Stamp) {
        let complete = self.complete_sources();
        let listed = |model: &Self| (model.api_pods.is_complete(), model.kubelet_pods.is_complete());
        let before = listed(self);
        match stamp.source {
            source @ (Source::ApiPods | Source::ApiUnbound | Source::KubeletPods) => {
                for (uid, held) in self.pods_of(source).0.end() {
                    self.forget_pod(&uid, &held.value, source);
                }
            }
            Source::ApiEvents => {
                for (uid, held) in self.events.end() {
                    self.unlink_event(&uid, &held.value);
                }
            }
            Source::ApiNode => _ = self.nodes.end(),
            Source::ApiLease => _ = self.leases.end(),
            Source::Cri => {
                for (_, held) in self.sandboxes.end() {
                    self.sandbox_gone(&held.value);
                }
                for (_, held) in self.containers.end() {
                    self.container_gone(&held.value);
                }
                Arc::make_mut(&mut self.images).end();
            }
            Source::Pulls => _ = self.pulls.end(),
            Source::Machine => self.epoch_end_of_machine(),
            _ => {}
        }
        // The first full listing of a source gives absence a meaning, for every pod.
        if complete != self.complete_sources() || before != listed(self) {
            self.mark_all();
        }
    }

    /// What a source lists of pods, and their trails.
    fn pods_of(&mut self, source: Source) -> (&mut ObjectStore<Pod>, &mut BTreeMap<Text, ContainerHistory>) {
        match source {
            Source::KubeletPods => (&mut self.kubelet_pods, &mut self.kubelet_trails),
            Source::ApiUnbound => (&mut self.unbound_pods, &mut self.unbound_trails),
            _ => (&mut self.api_pods, &mut self.api_trails),
        }
    }

    fn pod(&mut self, pod: Pod, stamp: &Stamp) {
        let uid = pod.metadata.uid.clone();
        let (listing, trails) = self.pods_of(stamp.source);
        let old = listing.get(&uid).map(|held| held.value.clone());
        trails.entry(uid.clone()).or_default().pod(&pod, stamp.wall);
        if !listing.upsert(&uid, pod, stamp) {
            return;
        }
        let Some(new) = self.pods_of(stamp.source).0.get(&uid).map(|held| held.value.clone()) else { return };
        if let Some(old) = old.filter(|old| super::runtime_uid(old) != super::runtime_uid(&new)) {
            self.unlink_pod(&uid, &old, stamp.source);
        }
        self.link_pod(&uid, &new, stamp.source);
    }

    fn pod_gone(&mut self, uid: &Text, source: Source) {
        if let Some(held) = self.pods_of(source).0.remove(uid) {
            self.forget_pod(uid, &held.value, source);
        }
    }

    fn forget_pod(&mut self, uid: &Text, pod: &Pod, source: Source) {
        self.pods_of(source).1.remove(uid);
        self.unlink_pod(uid, pod, source);
    }

    fn event(&mut self, event: Event, stamp: &Stamp) {
        let uid = event.metadata.uid.clone();
        self.touch_elsewhere(&event);
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
        let left_out = self.limit_events(&about);
        if let Some(source) = self.sources.get_mut(&stamp.source).filter(|_| left_out > 0) {
            let source = Arc::make_mut(source);
            source.dropped = source.dropped.saturating_add(left_out);
        }
    }

    fn sandbox(&mut self, sandbox: Sandbox, stamp: &Stamp) {
        let (id, key) = (sandbox.id.clone(), sandbox.uid.clone());
        if self.sandboxes.upsert(&id, sandbox, stamp) {
            self.link_sandbox(&id, &key);
        }
    }

    fn container(&mut self, container: Container, stamp: &Stamp) {
        let (id, key) = (container.id.clone(), container.uid.clone());
        self.cri_trails.entry(key.clone()).or_default().container(&container);
        if self.containers.upsert(&id, container, stamp) {
            self.link_container(&id, &key);
        }
    }

    fn sandbox_gone(&mut self, sandbox: &Sandbox) {
        self.unlink_runtime(&sandbox.uid, |refs| _ = refs.sandboxes.remove(&sandbox.id));
    }

    fn container_gone(&mut self, container: &Container) {
        self.unlink_runtime(&container.uid, |refs| _ = refs.containers.remove(&container.id));
    }
}
