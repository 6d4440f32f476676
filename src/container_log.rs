//! Container logs as they pass between a reader and a consumer. The lines may contain secrets: they are never observations, and
//! never recorded.

mod buffer;

pub use buffer::{BufferedLine, LogBuffer, MAX_LOG_BYTES, MAX_LOG_LINES};

use crate::text::Text;
use crate::time::Time;

/// Which run of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instance {
    /// The latest: the one that runs, or that ended last, as with `kubectl logs`.
    #[default]
    Current,
    /// The one before it.
    Previous,
}

/// Which log is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRequest {
    /// Namespace of the pod.
    pub namespace: Text,
    /// Name of the pod.
    pub pod: Text,
    /// The UID by which the runtime knows the pod, and the kubelet names its directory.
    pub uid: Text,
    /// Name of the container.
    pub container: Text,
    /// Which of its runs.
    pub instance: Instance,
    /// Go on with what is written from now on.
    pub follow: bool,
}

/// Where a container wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
    /// Not told: neither API server nor kubelet does.
    Unknown,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When the runtime took it in; absent for what is of no form that is known.
    pub at: Option<Time>,
    /// By which stream.
    pub stream: Stream,
    /// What was written, without its line feed.
    pub text: Text,
}

/// Where a log is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogOrigin {
    /// A file of this node.
    File(Text),
    /// The API server at this address.
    Api(Text),
    /// The kubelet at this address.
    Kubelet(Text),
    /// A recording, which has only what was observed.
    Recording,
}

/// What stands before the lines that are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OlderLines {
    /// Nothing, as far as it is known.
    None,
    /// Lines that can be asked for.
    Available,
    /// Lines that cannot be had: more than are held, or than a server gives.
    Omitted,
}

/// What is new of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogUpdate {
    /// It is read here from now on; what was told before is void.
    Opened {
        /// Where.
        origin: LogOrigin,
        /// Which run it is, counted from 0, where that is told.
        restart: Option<u32>,
        /// There are older lines that can be asked for.
        has_older: bool,
    },
    /// Lines behind those told so far.
    Lines(Vec<LogLine>),
    /// Lines before those told so far.
    Older {
        /// The lines.
        lines: Vec<LogLine>,
        /// What stands before them.
        remaining: OlderLines,
    },
    /// More came than could be told, and is left out here.
    Skipped {
        /// So many lines.
        lines: u64,
        /// So many bytes besides, whose lines were not counted.
        bytes: u64,
    },
    /// The container was started again: what follows is of this run.
    Restarted {
        /// Which run, counted from 0, where that is told.
        restart: Option<u32>,
        /// Where it is read.
        origin: LogOrigin,
    },
    /// Something to be said between the lines: the file was cut, the pod is gone.
    Notice(Text),
    /// Everything that was there when it was asked for was told. What is not followed ends here.
    CaughtUp,
    /// Nothing more will ever come, for this reason.
    Closed(Text),
    /// It can be read nowhere; why, for each place that was tried. It is tried again.
    Unavailable(Vec<Text>),
}

/// What is asked of who reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogCommand {
    /// This log, and no other any more.
    Open(Box<LogRequest>),
    /// What stands before the lines told so far.
    Older,
    /// No log any more.
    Close,
}

impl LogRequest {
    /// No part of it leads out of a directory that it names.
    pub fn is_plain(&self) -> bool {
        let plain = |name: &Text| !name.is_empty() && !name.contains(['/', '\0']) && *name != "." && *name != "..";
        [&self.namespace, &self.pod, &self.uid, &self.container].into_iter().all(plain)
    }
}
