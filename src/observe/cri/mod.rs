//! Owns the container runtime as a source: CRI over its unix socket, and containerd's own services on the same socket.
//! It must not change anything in the runtime: all it can call is listed in `runtime.rs`.

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
