//! Which files, directories, sockets and programs are trusted: the rule of `docs/SECURITY.md`, applied to the opened file.
//! Processes and listening ports have their own proofs in `observe`.

mod distrust;
mod file;
mod owners;
mod place;
mod program;
#[cfg(test)]
mod tests;
mod walk;

pub use distrust::{Distrust, DistrustReason};
pub use file::{FileStamp, KnownFile, MAX_CREDENTIAL_FILE, distrust_of};
pub use owners::Owners;
pub use place::is_workload_place;
pub use program::{PROGRAM_DIRS, find_program};
pub use walk::{Policy, Resolved, resolve};
