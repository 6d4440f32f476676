//! Owns what the source of containers tells the reader of their logs: which has ended badly, and where its log is.
//! It must not hold up the runtime's lists: what finds no room is not read.

use std::path::PathBuf;

use tokio::sync::mpsc;

use crate::text::Text;

/// Ends that may wait: a round of details of the runtime's containers, and more.
const WAITING: usize = 128;

/// A container that ended with a code other than 0.
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
    /// Where the runtime says that its log is.
    pub log: PathBuf,
}

/// What is told.
#[derive(Clone, Debug, PartialEq)]
pub enum ExitUpdate {
    /// One has ended.
    Failed(FailedExit),
    /// Of what had ended by now all was told, as far as it is known.
    Complete,
    /// The runtime does not answer.
    RuntimeDown,
}

/// The ends of the way between the two.
pub fn exit_channel() -> (mpsc::Sender<ExitUpdate>, mpsc::Receiver<ExitUpdate>) {
    mpsc::channel(WAITING)
}
