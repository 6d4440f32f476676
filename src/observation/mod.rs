//! What can be observed of a node: serializable values with their stamps. Recordings consist of them: fields and variants are
//! only added. No I/O, no clock, no conclusions.

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
