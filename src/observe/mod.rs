//! All I/O with the node: discovery, the sources, their connections and deadlines. What they learn leaves as
//! observations.

pub mod api;
mod blocking;
mod channel;
mod client_cache;
mod clock;
mod container_log;
mod cri;
mod differences;
pub mod discover;
mod error_chain;
mod exit_channel;
#[doc(hidden)]
pub mod fuzzing;
pub mod guard;
mod identity;
mod kubeconfig;
pub mod kubelet;
mod line_splitter;
pub mod logs;
pub mod machine;
mod plan;
mod priority;
pub mod process_limits;
mod program;
mod sink;
mod start;
mod supervisor;
#[cfg(test)]
mod tests;
pub mod tls;
mod url_path;

pub use channel::{OBSERVATIONS_WAITING, ObservationChannel, ObservationSender, SOURCE_CHANNEL, observation_channel};
pub use clock::Clock;
pub use container_log::{LogReader, OpenLog};
pub use cri::{CriSource, CriTimings, PullsSource};
pub use exit_channel::{ExitUpdate, FailedExit, exit_channel};
pub use plan::{CREDENTIAL, ObserveOptions, Plan, SearchResult};
pub use priority::{NICE, OOM_SCORE_ADJ, ProcessPriority};
pub use sink::{ObservationSink, OmitReason};
pub use start::{StartedSources, start_sources};
pub use supervisor::{Attempt, BackOff, LONGEST_RETRY, SourceFailure, supervise};
