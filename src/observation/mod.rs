//! What can be observed of a node: serializable values with their stamps. Recordings consist of them: fields and variants are
//! only added. No I/O, no clock, no conclusions.

mod budget;
mod cri;
mod fact;
mod images;
mod kubelet;
mod log_entry;
mod log_kind;
mod log_record;
mod log_words;
mod machine;
mod node_paths;
mod queue;
mod source;
mod stamp;
mod vitals;
mod weight;

pub use budget::{Admission, Budget, Ledger, size};
pub use cri::{Container, ContainerPhase, Pull, RuntimeCondition, RuntimeStatus, Sandbox};
pub use fact::{Decoded, Fact, Observation};
pub use images::{FilesystemUsage, Image, ImageFs};
pub use kubelet::{Bucket, Health, Histogram, KubeletConfig, OperationTotals, Scrape, Span};
pub use log_entry::LogEntry;
pub use log_kind::LogKind;
pub use log_record::{LogLevel, LogRecord};
pub use log_words::{reports_failure, reports_recovery};
pub use machine::{ContainerDir, PodDir, StaticPod, Unit, UnitExit};
pub use node_paths::NodePaths;
pub use queue::{QUEUE_LOSSY_CAPACITY, Queue};
pub use source::{Call, ErrorKind, Source, SourceError, SourceState};
pub use stamp::{Sequencer, Stamp};
pub use vitals::{Certificate, CpuTicks, Filesystem, MemoryInfo, PodUsage, Pressure, Vitals};

pub use crate::time::Time;
