//! Owns the API server as a source: lists and watches of this node's pods, its node object and lease,
//! events, and unbound pods; and the logs of containers that somebody looks at.
//! It must not send anything but GET, and must not hide a failed request behind a retry of its own.

mod access;
mod answer;
#[doc(hidden)]
pub mod fuzzing;
mod lease;
mod plugin;
mod pod_log;
mod proxy;
mod source;
mod stream;
mod trouble;
mod watched;

pub use access::{ApiAccess, PluginRun};
pub use lease::LeaseSource;
pub(super) use pod_log::PodLog;
pub use source::{ListWatch, Pace};
pub use watched::Watched;
pub(super) use watched::encoded;
