//! The container runtime as a source: CRI over its unix socket, and containerd's own services on the same socket. All
//! calls are in `runtime.rs`, and none changes anything.

mod call_error;
mod convert;
mod endpoint;
mod entries;
mod events;
#[doc(hidden)]
pub mod fuzzing;
mod image_poll;
mod images;
mod inventory;
mod pending;
mod pending_events;
mod pulls;
mod runtime;
mod source;
mod timings;

pub use pulls::PullsSource;
pub use source::CriSource;
pub use timings::CriTimings;
