//! Owns the observation itself and its additive encoding: one JSON object a line.
//! It must not fail on what a later version wrote: an unknown variant is skipped and counted.

use serde::{Deserialize, Serialize};

use super::{
    Call, Certificate, Container, Health, Image, ImageFs, KubeletConfig, LogEntry, LogRecord, PodDir, PodUsage, Pull,
    RuntimeStatus, Sandbox, Scrape, SourceError, SourceState, Span, Stamp, StaticPod, Time, Unit, Vitals,
};
use crate::objects::{Event, Lease, Node, Pod};
use crate::text::Text;

/// Something that was observed, and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Source, order and time.
    #[serde(flatten)]
    pub stamp: Stamp,
    /// What was observed.
    #[serde(flatten)]
    pub fact: Fact,
}

/// What can be observed. Variants are only ever added.
///
/// A source that lists says [`Fact::EpochBegin`], everything that is, [`Fact::EpochEnd`], then differences. What it did
/// not say again in the new epoch is gone at its end; until then what the last epoch said stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "kebab-case")]
pub enum Fact {
    /// The source's state changed.
    SourceState(SourceState),
    /// A full listing begins.
    EpochBegin,
    /// The full listing is complete.
    EpochEnd,
    /// The source answered, and had nothing new (a bookmark, an unchanged list).
    Alive,
    /// Objects came that could not be read; each costs itself alone.
    Unreadable {
        /// How many.
        count: u64,
    },
    /// The list under way has so many more objects, as the server says.
    Remaining {
        /// How many.
        count: u64,
    },
    /// Whether the certificate of who answers is verified; it is until this says otherwise.
    Tls {
        /// It is. Otherwise somebody else may answer, because the user or the credential says so.
        verified: bool,
    },
    /// A timed call begins.
    CallBegin(Call),
    /// The timed call ended.
    CallEnd {
        /// Which.
        call: Call,
        /// Microseconds it took.
        took_us: u64,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<SourceError>,
    },
    /// A pod is or has changed.
    Pod(Box<Pod>),
    /// The pod of that UID is gone from this source.
    PodGone(Text),
    /// The node is or has changed.
    Node(Box<Node>),
    /// The node object of that name is gone.
    NodeGone(Text),
    /// An event is or has changed.
    Event(Box<Event>),
    /// The event of that UID expired.
    EventGone(Text),
    /// A sandbox is or has changed.
    Sandbox(Box<Sandbox>),
    /// The sandbox of that id is gone.
    SandboxGone(Text),
    /// A container is or has changed.
    Container(Box<Container>),
    /// The container of that id is gone.
    ContainerGone(Text),
    /// Version and conditions of the runtime.
    RuntimeStatus(Box<RuntimeStatus>),
    /// An ingest is or has moved.
    Pull(Pull),
    /// The ingest of that reference is over.
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
    /// A systemd unit is or has changed.
    Unit(Box<Unit>),
    /// When the machine booted.
    Boot(Time),
    /// What lies on disk of a pod is or has changed.
    PodDir(Box<PodDir>),
    /// Nothing lies on disk any more of the pod of that UID.
    PodDirGone(Text),
    /// A static pod's manifest of that file name is there, and what it says is not known.
    StaticManifest(Text),
    /// The manifest of that file name is gone.
    StaticManifestGone(Text),
    /// The node's lease is or was renewed.
    Lease(Box<Lease>),
    /// The lease of that name is gone.
    LeaseGone(Text),
    /// An image is or has changed.
    Image(Box<Image>),
    /// The image of that id is gone.
    ImageGone(Text),
    /// Where images lie and what they take has changed.
    ImageFs(Box<ImageFs>),
    /// A static pod's manifest is there or has changed.
    StaticPod(Box<StaticPod>),
    /// What the kernel says of the machine as a whole.
    Vitals(Box<Vitals>),
    /// A certificate of the kubelet's is there or has changed.
    Certificate(Box<Certificate>),
    /// The certificate in that file is gone.
    CertificateGone(Text),
    /// What a pod uses has changed.
    PodUsage(PodUsage),
    /// The pod of that UID has no control group any more.
    PodUsageGone(Text),
    /// A log line.
    LogRecord(Box<LogRecord>),
}

impl Fact {
    /// Only log lines and spans may be dropped under pressure; everything else is state.
    pub fn may_be_dropped(&self) -> bool {
        matches!(self, Fact::Log(_) | Fact::LogRecord(_) | Fact::Span(_))
    }

    /// What a later observation of the same source replaces, if this is keyed state.
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

/// What became of one encoded line.
#[derive(Clone, Debug, PartialEq)]
pub enum Decoded {
    /// Understood.
    Known(Box<Observation>),
    /// Well formed, but of a kind, a source or a shape that a later version added.
    Unknown,
    /// Not an observation at all.
    Malformed,
}

impl Observation {
    /// One line of JSON, without the line feed.
    ///
    /// # Errors
    /// Only if a number cannot be written as JSON (an infinite one).
    pub fn encode(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Reads one line.
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
