//! Owns all I/O with the node: every source, its connection, its deadlines, and how it is found.
//! It must not import the model, the pipeline or the screens: what it learns leaves as observations.

pub mod api;
mod aside;
mod clock;
mod container_log;
mod cri;
pub mod discover;
mod ended;
#[doc(hidden)]
pub mod fuzzing;
pub mod guard;
mod guest;
mod helper;
mod identity;
mod kubeconfig;
pub mod kubelet;
pub mod logs;
pub mod machine;
mod outlet;
mod plan;
mod pump;
pub mod room;
mod start;
mod supervisor;
#[cfg(test)]
mod tests;
pub mod tls;

pub use clock::Clock;
pub use container_log::{LogReader, OpenLog};
pub use cri::{CriSource, Pace as CriPace, PullsSource};
pub use ended::{Ended, Told, ends};
pub use guest::{Guest, NICE, OOM_SCORE_ADJ};
pub use outlet::{LeftOut, Outlet};
pub use plan::{CREDENTIAL, LookedFor, Plan, Wants};
pub use pump::{Inlet, OBSERVATIONS_WAITING, Pump, SOURCE_CHANNEL, pump};
pub use start::{Started, start};
pub use supervisor::{Attempt, BackOff, Failure, LONGEST_RETRY, supervise};
