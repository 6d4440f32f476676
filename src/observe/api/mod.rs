//! Owns the API server as a source: lists and watches of this node's pods, its node object and lease,
//! events, and unbound pods; and the logs of containers that somebody looks at.
//! It must not send anything but GET, and must not hide a failed request behind a retry of its own.

mod access;
mod body;
mod connection_error;
#[doc(hidden)]
pub mod fuzzing;
mod lease;
mod list_watch;
mod log_stream;
mod plugin;
mod proxy;
mod resource;
mod response;

pub use access::{ApiAccess, PluginRun};
pub use lease::LeaseSource;
pub use list_watch::{ListWatch, WatchTimings};
pub(super) use log_stream::ApiLogStream;
pub use resource::WatchedResource;
pub(super) use resource::encoded;
