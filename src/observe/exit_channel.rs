//! The channel from the CRI source to the source of container logs: which containers failed, and where their logs are.
//! Sending never waits: what does not fit is not read.

use std::path::PathBuf;

use tokio::sync::mpsc;

use crate::text::Text;

/// Most updates in the channel: more than one round of container details.
const CAPACITY: usize = 128;

/// A container that exited with a code other than 0.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedExit {
    /// Namespace of its pod.
    pub namespace: Text,
    /// Name of its pod.
    pub pod: Text,
    /// UID of its pod.
    pub uid: Text,
    /// Its name.
    pub container: Text,
    /// Path of its log, as the runtime reports it.
    pub log: PathBuf,
}

/// A message to the reader of logs.
#[derive(Clone, Debug, PartialEq)]
pub enum ExitUpdate {
    /// A container exited.
    Failed(FailedExit),
    /// All exits so far that are known were sent.
    Complete,
    /// The runtime does not respond.
    RuntimeDown,
}

/// Creates the channel.
pub fn exit_channel() -> (mpsc::Sender<ExitUpdate>, mpsc::Receiver<ExitUpdate>) {
    mpsc::channel(CAPACITY)
}
