//! The API server as a source: lists and watches of this node's pods, its Node and Lease, events, unscheduled pods, and
//! container logs. Only GET is sent, and every failed request is reported.

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

pub use access::ApiAccess;
pub use lease::LeaseSource;
pub use list_watch::{ListWatch, WatchTimings};
pub(super) use log_stream::ApiLogStream;
pub use plugin::PluginRun;
pub use resource::WatchedResource;
