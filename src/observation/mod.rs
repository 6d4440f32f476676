//! Owns what can be observed of a node: additive values with their stamps, the format that recordings are made of.
//! It must not do I/O, read the clock, or know what anybody concludes from an observation.

mod budget;
mod cri;
mod fact;
mod images;
mod kubelet;
mod machine;
mod queue;
mod source;
mod stamp;
mod vitals;
mod weight;

pub use budget::{Admission, Budget, Ledger, size};
pub use cri::{Container, ContainerPhase, Pull, RuntimeCondition, RuntimeStatus, Sandbox};
pub use fact::{Decoded, Fact, Observation};
pub use images::{FilesystemUsage, Image, ImageFs};
pub use kubelet::{Bucket, Health, Histogram, KubeletConfig, LogEntry, LogKind, OperationTotals, Scrape, Span};
pub use machine::{ContainerDir, PodDir, StaticPod, Unit, UnitExit};
pub use queue::{QUEUE_LOSSY_CAPACITY, Queue};
pub use source::{Call, ErrorKind, Source, SourceError, SourceState};
pub use stamp::{Sequencer, Stamp};
pub use vitals::{Certificate, CpuTicks, Filesystem, MemoryInfo, PodUsage, Pressure, Vitals};

pub use crate::time::Time;
