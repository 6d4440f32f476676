//! The memory cost of a fact: its own, and that of what the model derives from it.

use super::{
    Certificate, Container, ContainerDir, Fact, FilesystemUsage, Health, Image, ImageFs, LogEntry, LogRecord, Pull,
    RuntimeCondition, RuntimeStatus, Sandbox, Span, StaticPod, Unit, Vitals,
};
use super::{Filesystem, KubeletConfig, Observation, PodDir, PodUsage, Pressure};
use crate::objects::{Event, Lease, Node, Pod};
use crate::text::Text;
use crate::weight::{Weigh, weighs};

weighs!(Sandbox: id, name, namespace, uid, config_source, ip);
weighs!(Container: id, sandbox, name, pod, namespace, uid, reason, message, image);
weighs!(Pull: reference);
weighs!(RuntimeStatus: name, version, conditions);
weighs!(RuntimeCondition: kind, reason, message);
weighs!(Image: id, tags, digests);
weighs!(ImageFs: images, containers);
weighs!(FilesystemUsage: mountpoint);
weighs!(Unit: name, active, sub, result);
weighs!(PodDir: uid, pod, containers, volumes);
weighs!(ContainerDir: name);
weighs!(StaticPod: file, namespace, name, containers);
weighs!(Certificate: path);
weighs!(PodUsage: uid);
weighs!(Vitals: pressure, filesystems);
weighs!(Filesystem: path);
weighs!(KubeletConfig: settings);
weighs!(Health: text);
weighs!(Span: name, trace, id, parent, uid);
weighs!(LogEntry: pod, uid, what);
weighs!(LogRecord: pod, uid, container, location, message, fields);

impl Weigh for Pressure {
    fn heap(&self) -> usize {
        0
    }
}

/// What the model, the pipeline and the view derive from one pod, bytes: its place in the indexes, its trail, its joined
/// facts, its diagnosis and its row. An estimate.
const OF_POD: usize = 4 << 10;
/// Estimate for a sandbox or a container, bytes; for most of them the pod has its own weight.
const OF_CONTAINER: usize = 1 << 10;
/// Estimate for an event, bytes.
const OF_EVENT: usize = 512;
/// Estimate for other facts, bytes.
const OF_OTHER: usize = 256;
/// A page of metrics, bytes: at most 256 histograms of 128 buckets; a real one has about 30 of 15.
const OF_SCRAPE: usize = 16 << 10;

impl Fact {
    /// Memory cost of the fact with what is derived from it, bytes. An estimate that is rather too high.
    pub fn weight(&self) -> u64 {
        let (held, derived) = match self {
            Fact::Pod(pod) => (Box::<Pod>::heap(pod), OF_POD),
            Fact::Node(node) => (Box::<Node>::heap(node), OF_OTHER),
            Fact::Lease(lease) => (Box::<Lease>::heap(lease), OF_OTHER),
            Fact::Event(event) => (Box::<Event>::heap(event), OF_EVENT),
            Fact::Sandbox(sandbox) => (sandbox.heap(), OF_CONTAINER),
            Fact::Container(container) => (container.heap(), OF_CONTAINER),
            Fact::RuntimeStatus(status) => (status.heap(), OF_OTHER),
            Fact::Image(image) => (image.heap(), OF_OTHER),
            Fact::ImageFs(fs) => (fs.heap(), OF_OTHER),
            Fact::Pull(pull) => (pull.heap(), OF_OTHER),
            Fact::KubeletConfig(config) => (config.heap(), OF_OTHER),
            Fact::Health(health) => (health.heap(), 0),
            Fact::Log(entry) => (entry.heap(), 0),
            Fact::LogRecord(line) => (line.heap(), 0),
            Fact::Span(span) => (span.heap(), 0),
            Fact::Unit(unit) => (unit.heap(), OF_OTHER),
            Fact::NodePaths(paths) => (size_of_val(&**paths) + paths.all().map(Text::heap).sum::<usize>(), OF_OTHER),
            Fact::PodDir(dir) => (dir.heap(), OF_CONTAINER),
            Fact::StaticPod(pod) => (pod.heap(), OF_CONTAINER),
            Fact::Vitals(vitals) => (vitals.heap(), OF_OTHER),
            Fact::Certificate(certificate) => (certificate.heap(), OF_OTHER),
            Fact::PodUsage(usage) => (usage.heap(), OF_OTHER),
            Fact::Scrape(_) => (OF_SCRAPE, 0),
            Fact::StaticManifest(text)
            | Fact::PodGone(text)
            | Fact::NodeGone(text)
            | Fact::LeaseGone(text)
            | Fact::EventGone(text)
            | Fact::SandboxGone(text)
            | Fact::ContainerGone(text)
            | Fact::ImageGone(text)
            | Fact::PullGone(text)
            | Fact::PodDirGone(text)
            | Fact::StaticManifestGone(text)
            | Fact::CertificateGone(text)
            | Fact::PodUsageGone(text) => (Text::heap(text), 0),
            Fact::SourceState(_) | Fact::CallEnd { .. } => (OF_OTHER, 0),
            Fact::EpochBegin
            | Fact::EpochEnd
            | Fact::Alive
            | Fact::Unreadable { .. }
            | Fact::Remaining { .. }
            | Fact::Tls { .. }
            | Fact::CallBegin(_)
            | Fact::Dropped { .. }
            | Fact::Boot(_) => (0, 0),
        };
        (size_of::<Observation>() + held + derived) as u64
    }

    /// The fact that removes this keyed state; None if there is none.
    pub fn gone(&self) -> Option<Fact> {
        Some(match self {
            Fact::Pod(pod) => Fact::PodGone(pod.metadata.uid.clone()),
            Fact::Node(node) => Fact::NodeGone(node.metadata.name.clone()),
            Fact::Lease(lease) => Fact::LeaseGone(lease.metadata.name.clone()),
            Fact::Event(event) => Fact::EventGone(event.metadata.uid.clone()),
            Fact::Sandbox(sandbox) => Fact::SandboxGone(sandbox.id.clone()),
            Fact::Container(container) => Fact::ContainerGone(container.id.clone()),
            Fact::Image(image) => Fact::ImageGone(image.id.clone()),
            Fact::Pull(pull) => Fact::PullGone(pull.reference.clone()),
            Fact::PodDir(dir) => Fact::PodDirGone(dir.uid.clone()),
            Fact::StaticManifest(file) => Fact::StaticManifestGone(file.clone()),
            Fact::StaticPod(pod) => Fact::StaticManifestGone(pod.file.clone()),
            Fact::Certificate(certificate) => Fact::CertificateGone(certificate.path.clone()),
            Fact::PodUsage(usage) => Fact::PodUsageGone(usage.uid.clone()),
            _ => return None,
        })
    }

    /// True for a fact that removes keyed state.
    pub fn is_gone(&self) -> bool {
        matches!(
            self,
            Fact::PodGone(_)
                | Fact::NodeGone(_)
                | Fact::LeaseGone(_)
                | Fact::EventGone(_)
                | Fact::SandboxGone(_)
                | Fact::ContainerGone(_)
                | Fact::ImageGone(_)
                | Fact::PullGone(_)
                | Fact::PodDirGone(_)
                | Fact::StaticManifestGone(_)
                | Fact::CertificateGone(_)
                | Fact::PodUsageGone(_)
        )
    }
}
