//! Owns the container runtime as a source: CRI over its unix socket, and containerd's own services on the same socket.
//! It must not change anything in the runtime: all it can call is listed in `runtime.rs`.

mod convert;
mod endpoint;
mod entries;
mod events;
mod failure;
#[doc(hidden)]
pub mod fuzzing;
mod inventory;
mod looking;
mod owed;
mod pace;
mod pulls;
mod runtime;
mod shelf;
mod source;
mod waits;

pub use pace::Pace;
pub use pulls::PullsSource;
pub use source::CriSource;
