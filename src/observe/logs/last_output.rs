//! The last output lines of containers that failed, each read once. Only the end of a file below the log directories is read:
//! the paths come from a node whose pods can mount these directories.

use tokio::sync::mpsc;

use super::failed;
use crate::decode::cri_log;
use crate::observation::{ErrorKind, Fact, LogLevel, LogRecord, SourceState, Time};
use crate::observe::discover::{LogDirs, Miss, Root};
use crate::observe::exit_channel::{ExitUpdate, FailedExit};
use crate::observe::{Attempt, ObservationSink, SourceFailure};

/// Bytes read from the end of a log, and lines emitted from them.
const TAIL: (u64, usize) = (8 * 1024, 20);

/// The logs of failed containers, as reported by the CRI source.
#[derive(Debug)]
pub struct LastOutput {
    root: Root,
    places: LogDirs,
    ends: mpsc::Receiver<ExitUpdate>,
}

impl LastOutput {
    /// Reads the logs of the exits received from `ends`, below `root`, in these directories.
    pub fn new(root: Root, places: LogDirs, ends: mpsc::Receiver<ExitUpdate>) -> Self {
        Self { root, places, ends }
    }

    async fn read(&self, ended: &FailedExit) -> Result<Vec<(Time, String)>, Miss> {
        let (root, path) = (self.root.clone(), ended.log.clone());
        let bounds = self.places.bounds(&root);
        let look = move || root.tail(path, TAIL.0, bounds);
        let (bytes, cut) = tokio::task::spawn_blocking(look).await.unwrap_or(Err(Miss::Unreadable))?;
        Ok(cri_log(&bytes, cut, TAIL.1))
    }
}

impl Attempt for LastOutput {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        loop {
            let ended = match self.ends.recv().await {
                Some(ExitUpdate::Failed(ended)) => ended,
                Some(ExitUpdate::Complete) if out.is_live() => {
                    out.emit(Fact::Alive).await;
                    continue;
                }
                Some(ExitUpdate::Complete) => {
                    out.set_live().await;
                    continue;
                }
                Some(ExitUpdate::RuntimeDown) => {
                    let error = failed("ask the runtime which containers ended", ErrorKind::Unreachable, "");
                    out.set_state(SourceState::Retrying { at: None, error }).await;
                    continue;
                }
                None => return SourceFailure::Off("the runtime is not observed any more".into()),
            };
            let tried = |miss| format!("read {}: {miss}", ended.log.display());
            match self.read(&ended).await {
                Ok(lines) => {
                    for (at, line) in lines {
                        out.emit_backlog(Fact::LogRecord(Box::new(entry(&ended, at, &line)))).await;
                    }
                }
                // It was collected with its container, or is kept in another way.
                Err(Miss::Absent | Miss::Unreadable) => {}
                Err(miss @ Miss::Hangs) => {
                    let fix = "check that its file system responds";
                    return SourceFailure::Retry(failed(tried(miss), ErrorKind::Timeout, fix));
                }
                // A log that others than root could have put there is not one that the kubelet had written.
                Err(Miss::Untrusted(_)) => {}
                Err(miss @ Miss::Denied) => {
                    return SourceFailure::Forbidden(failed(tried(miss), ErrorKind::Denied, "run as root"));
                }
            }
        }
    }
}

fn entry(ended: &FailedExit, at: Time, line: &str) -> LogRecord {
    let record = LogRecord { container: ended.container.clone(), ..LogRecord::new(at, LogLevel::Info, line) };
    record.of_pod(format!("{}/{}", ended.namespace, ended.pod), ended.uid.clone())
}
