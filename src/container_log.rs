//! Container logs as they pass between a reader and a consumer. The lines may contain secrets: they are never observations, and
//! never recorded.

mod buffer;

use std::fmt;

pub use buffer::{BufferedLine, LogBuffer, MAX_LOG_BYTES, MAX_LOG_LINES};

use crate::text::Text;
use crate::time::Time;

/// Which run of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instance {
    /// The running one, or the one that exited last, as with `kubectl logs`.
    #[default]
    Current,
    /// The run before it (`kubectl logs --previous`).
    Previous,
}

/// What the newest run of a container does. It decides which run `previous` of the log APIs names (`validateContainerLogStatus`,
/// pkg/kubelet/kubelet_pods.go).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewestRun {
    /// It is running: `previous` is the run before it.
    #[default]
    Running,
    /// It has exited: `previous` is the run before it.
    Exited,
    /// It has exited and waits for its restart: with and without `previous` the APIs return it, and no earlier run.
    Waiting,
}

/// Identifies one container log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRequest {
    /// Namespace of the pod.
    pub namespace: Text,
    /// Name of the pod.
    pub pod: Text,
    /// UID in the runtime's labels and in the name of the kubelet's log directory.
    pub uid: Text,
    /// Name of the container.
    pub container: Text,
    /// Current or previous run.
    pub instance: Instance,
    /// What the newest run does.
    pub newest: NewestRun,
    /// Continue with new lines.
    pub follow: bool,
}

/// The output stream of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
    /// Not reported; the log APIs of API server and kubelet omit it.
    Unknown,
}

/// One line of a container log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When the runtime read it; None for a line in an unknown format.
    pub at: Option<Time>,
    /// Standard output or standard error.
    pub stream: Stream,
    /// The text without its line feed.
    pub text: Text,
}

/// Where a log is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogOrigin {
    /// A file of this node.
    File(Text),
    /// The API server at this address.
    Api(Text),
    /// The kubelet at this address.
    Kubelet(Text),
    /// A recording: only the lines that were observed.
    Recording,
}

/// Whether lines exist that are older than those delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OlderLines {
    /// None known.
    None,
    /// Available on request.
    Available,
    /// Not available: over the limit of the buffer or of one server response.
    Omitted,
}

/// A change of an open log, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogUpdate {
    /// The log was opened at this origin; lines delivered before are obsolete.
    Opened {
        /// The origin.
        origin: LogOrigin,
        /// Restart count of the run; None when the origin does not report it.
        restart: Option<u32>,
        /// Older lines are available on request.
        has_older: bool,
    },
    /// New lines, after those delivered so far.
    Lines(Vec<LogLine>),
    /// Requested older lines, before those delivered so far.
    Older {
        /// The lines, oldest first.
        lines: Vec<LogLine>,
        /// Lines older than these.
        remaining: OlderLines,
    },
    /// Lines were dropped at this point: they arrived faster than they were taken.
    Skipped {
        /// Number of lines.
        lines: u64,
        /// Bytes whose lines were not counted, in addition.
        bytes: u64,
    },
    /// The container restarted; the next lines are of this run.
    Restarted {
        /// Restart count of the run; None when the origin does not report it.
        restart: Option<u32>,
        /// The origin of its log.
        origin: LogOrigin,
    },
    /// A notice between two lines: file truncated, stream lost.
    Notice(Text),
    /// All lines that existed at the request were delivered.
    CaughtUp,
    /// No more lines will follow, with the reason.
    Closed(Text),
    /// No origin has the log, with the reason of each. The reader retries.
    Unavailable(Vec<Text>),
}

/// A command of the screen to the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogCommand {
    /// Open this log and close any other.
    Open(Box<LogRequest>),
    /// Read older lines.
    Older,
    /// Close the log.
    Close,
}

/// An open log: read from the node, or part of a recording.
pub trait LogStream {
    /// The updates since the last call.
    fn take_updates(&mut self) -> Vec<LogUpdate>;

    /// Requests older lines; they arrive as [`LogUpdate::Older`].
    fn request_older(&mut self);
}

impl fmt::Display for LogOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogOrigin::File(path) => write!(f, "{}", path.one_line()),
            LogOrigin::Api(server) => write!(f, "API server {}", server.one_line()),
            LogOrigin::Kubelet(server) => write!(f, "kubelet {}", server.one_line()),
            LogOrigin::Recording => f.write_str("lines in the recording"),
        }
    }
}

impl LogRequest {
    /// True when every name is a plain path component.
    pub fn is_plain(&self) -> bool {
        let plain = |name: &Text| !name.is_empty() && !name.contains(['/', '\0']) && *name != "." && *name != "..";
        [&self.namespace, &self.pod, &self.uid, &self.container].into_iter().all(plain)
    }
}
