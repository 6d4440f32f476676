//! The observation and its encoding: one JSON object per line. Variants of a later version are skipped and counted.

use serde::{Deserialize, Serialize};

use super::{
    Call, Certificate, Container, Health, Image, ImageFs, KubeletConfig, LogEntry, LogRecord, NodePaths, PodDir,
    PodUsage, Pull, RuntimeStatus, Sandbox, Scrape, SourceError, SourceState, Span, Stamp, StaticPod, Time, Unit,
    Vitals,
};
use crate::objects::{Event, Lease, Node, Pod};
use crate::text::Text;

/// One observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Source, order and time.
    #[serde(flatten)]
    pub stamp: Stamp,
    /// What was observed.
    #[serde(flatten)]
    pub fact: Fact,
}

/// What can be observed. Variants are only added, never removed.
///
/// A source that lists reports [`Fact::EpochBegin`], every object, [`Fact::EpochEnd`], and then differences. Objects that a new
/// epoch does not report are removed at its end; until then those of the last epoch are valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "kebab-case")]
pub enum Fact {
    /// The state of the source changed.
    SourceState(SourceState),
    /// A full list starts.
    EpochBegin,
    /// The full list is complete.
    EpochEnd,
    /// The source responded without changes (a bookmark, an unchanged list).
    Alive,
    /// Objects that could not be decoded; the others are reported.
    Unreadable {
        /// How many.
        count: u64,
    },
    /// The rest of the list in progress (`remainingItemCount`).
    Remaining {
        /// How many.
        count: u64,
    },
    /// True if the server certificate is verified; the default is true.
    Tls {
        /// False if the user or the credential disables verification: another server can respond.
        verified: bool,
    },
    /// A timed call starts.
    CallBegin(Call),
    /// The timed call has returned.
    CallEnd {
        /// Which.
        call: Call,
        /// Duration, microseconds.
        took_us: u64,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<SourceError>,
    },
    /// A pod is new or has changed.
    Pod(Box<Pod>),
    /// The pod with that UID is gone from this source.
    PodGone(Text),
    /// The node is new or has changed.
    Node(Box<Node>),
    /// The node object with that name is gone.
    NodeGone(Text),
    /// An event is new or has changed.
    Event(Box<Event>),
    /// The event with that UID expired.
    EventGone(Text),
    /// A sandbox is new or has changed.
    Sandbox(Box<Sandbox>),
    /// The sandbox with that id is gone.
    SandboxGone(Text),
    /// A container is new or has changed.
    Container(Box<Container>),
    /// The container with that id is gone.
    ContainerGone(Text),
    /// Version and conditions of the runtime.
    RuntimeStatus(Box<RuntimeStatus>),
    /// An ingest is new or has progressed.
    Pull(Pull),
    /// The ingest with that reference has finished.
    PullGone(Text),
    /// A page of metrics.
    Scrape(Box<Scrape>),
    /// The kubelet's settings.
    KubeletConfig(Box<KubeletConfig>),
    /// The kubelet's health.
    Health(Health),
    /// A log line as recordings of format 1 and 2 hold it; written as [`Fact::LogRecord`] since.
    Log(Box<LogEntry>),
    /// A finished span.
    Span(Box<Span>),
    /// Log lines or spans were dropped because the reader was too slow.
    Dropped {
        /// How many.
        count: u64,
    },
    /// A systemd unit is new or has changed.
    Unit(Box<Unit>),
    /// Boot time of the machine.
    Boot(Time),
    /// Where the parts of this node are.
    NodePaths(Box<NodePaths>),
    /// The directories of a pod are new or have changed.
    PodDir(Box<PodDir>),
    /// The directories of the pod with that UID are gone.
    PodDirGone(Text),
    /// The manifest with that file name exists and was not decoded.
    StaticManifest(Text),
    /// The manifest with that file name is gone.
    StaticManifestGone(Text),
    /// The node's lease is new or was renewed.
    Lease(Box<Lease>),
    /// The lease with that name is gone.
    LeaseGone(Text),
    /// An image is new or has changed.
    Image(Box<Image>),
    /// The image with that id is gone.
    ImageGone(Text),
    /// The file systems of images, or their usage, have changed.
    ImageFs(Box<ImageFs>),
    /// The manifest of a static pod is new or has changed.
    StaticPod(Box<StaticPod>),
    /// The kernel's counters of the whole machine.
    Vitals(Box<Vitals>),
    /// A certificate of the kubelet is new or has changed.
    Certificate(Box<Certificate>),
    /// The certificate in that file is gone.
    CertificateGone(Text),
    /// The resource usage of a pod has changed.
    PodUsage(PodUsage),
    /// The control group of the pod with that UID is gone.
    PodUsageGone(Text),
    /// A log line.
    LogRecord(Box<LogRecord>),
}

impl Fact {
    /// True for log lines and spans, the only facts that can be dropped when the model is slow; all others are state.
    pub fn may_be_dropped(&self) -> bool {
        matches!(self, Fact::Log(_) | Fact::LogRecord(_) | Fact::Span(_))
    }

    /// The key of keyed state: a later fact of the same source with the same key replaces it.
    pub fn key(&self) -> Option<(&'static str, &str)> {
        Some(match self {
            Fact::SourceState(_) => ("state", ""),
            Fact::Alive => ("alive", ""),
            Fact::Tls { .. } => ("tls", ""),
            Fact::Pod(p) => ("pod", &p.metadata.uid),
            Fact::PodGone(uid) => ("pod", uid),
            Fact::Node(n) => ("node", &n.metadata.name),
            Fact::NodeGone(name) => ("node", name),
            Fact::Event(e) => ("event", &e.metadata.uid),
            Fact::EventGone(uid) => ("event", uid),
            Fact::Sandbox(s) => ("sandbox", &s.id),
            Fact::SandboxGone(id) => ("sandbox", id),
            Fact::Container(c) => ("container", &c.id),
            Fact::ContainerGone(id) => ("container", id),
            Fact::RuntimeStatus(_) => ("runtime-status", ""),
            Fact::Pull(p) => ("pull", &p.reference),
            Fact::PullGone(reference) => ("pull", reference),
            Fact::KubeletConfig(_) => ("config", ""),
            Fact::Health(_) => ("health", ""),
            Fact::Unit(unit) => ("unit", &unit.name),
            Fact::Boot(_) => ("boot", ""),
            Fact::NodePaths(_) => ("node-paths", ""),
            Fact::PodDir(dir) => ("pod-dir", &dir.uid),
            Fact::PodDirGone(uid) => ("pod-dir", uid),
            Fact::StaticManifest(name) | Fact::StaticManifestGone(name) => ("static-manifest", name),
            Fact::Lease(lease) => ("lease", &lease.metadata.name),
            Fact::LeaseGone(name) => ("lease", name),
            Fact::Image(image) => ("image", &image.id),
            Fact::ImageGone(id) => ("image", id),
            Fact::ImageFs(_) => ("image-fs", ""),
            Fact::StaticPod(pod) => ("static-manifest", &pod.file),
            Fact::Vitals(_) => ("vitals", ""),
            Fact::Certificate(certificate) => ("certificate", &certificate.path),
            Fact::CertificateGone(path) => ("certificate", path),
            Fact::PodUsage(usage) => ("pod-usage", &usage.uid),
            Fact::PodUsageGone(uid) => ("pod-usage", uid),
            Fact::EpochBegin
            | Fact::EpochEnd
            | Fact::Unreadable { .. }
            | Fact::Remaining { .. }
            | Fact::CallBegin(_)
            | Fact::CallEnd { .. }
            | Fact::Scrape(_)
            | Fact::Log(_)
            | Fact::LogRecord(_)
            | Fact::Span(_)
            | Fact::Dropped { .. } => return None,
        })
    }
}

/// The result of decoding one line.
#[derive(Clone, Debug, PartialEq)]
pub enum Decoded {
    /// A known observation.
    Known(Box<Observation>),
    /// Valid, but with a kind, a source or fields of a later version.
    Unknown,
    /// Not an observation.
    Malformed,
}

impl Observation {
    /// Encodes the observation as one line of JSON, without the line feed.
    ///
    /// # Errors
    /// Only for a number that JSON does not have, such as infinity.
    pub fn encode(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Decodes one line.
    pub fn decode(line: &str) -> Decoded {
        #[derive(Deserialize)]
        struct Shape {
            #[serde(rename = "source")]
            _source: String,
            #[serde(rename = "seq")]
            _seq: u64,
            #[serde(rename = "kind")]
            _kind: String,
        }
        if let Ok(observation) = serde_json::from_str(line) {
            return Decoded::Known(Box::new(observation));
        }
        if serde_json::from_str::<Shape>(line).is_ok() { Decoded::Unknown } else { Decoded::Malformed }
    }
}
