//! The client of a server that needs credential files: built once for all sources, and rebuilt when a file changes.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::SourceFailure;
use super::blocking::BlockingWorker;
use crate::observation::Time;
use crate::time::TimeDelta;
use crate::trust::{FileStamp, KnownFile};

/// Longest time for reading credential files.
pub(super) const FILES_DEADLINE: Duration = Duration::from_secs(5);
/// A credential that expires within this time is replaced.
const EXPIRY_MARGIN: TimeDelta = TimeDelta::seconds(60);

/// Credential files with their stamps at the time when a client was built from them.
#[derive(Clone, Debug)]
pub(super) struct StampedFiles(Vec<(KnownFile, Option<FileStamp>)>);

impl StampedFiles {
    /// Stamps the files; must run before they are read, so that a change in between counts as one. Blocks.
    pub fn new(files: impl IntoIterator<Item = KnownFile>) -> Self {
        let stamped = |file: KnownFile| {
            let stamp = file.stamp().ok();
            (file, stamp)
        };
        Self(files.into_iter().map(stamped).collect())
    }

    /// True when a file was replaced, or is no longer readable or trusted. Blocks.
    fn have_changed(&self) -> bool {
        self.0.iter().any(|(file, stamp)| file.stamp().ok() != *stamp)
    }
}

/// A client, with what limits its use.
#[derive(Debug)]
pub(super) struct Built<T> {
    /// The client; cheap to clone.
    pub client: T,
    /// The files that it was built from.
    pub files: StampedFiles,
    /// When its credential expires, if that is known.
    pub expires_at: Option<Time>,
}

/// Keeps one client. Cheap to clone; clones share it.
pub(super) struct ClientCache<T> {
    /// Reads the files: their file system may hang.
    worker: BlockingWorker,
    /// A failed build is not repeated within this time: several sources share the client.
    retry_after: Duration,
    state: Arc<Mutex<CacheState<T>>>,
}

struct CacheState<T> {
    built: Option<Built<T>>,
    failed: Option<(Instant, SourceFailure)>,
    /// Number of builds so far; identifies the current client.
    builds: u64,
}

impl<T: Clone> ClientCache<T> {
    /// An empty cache.
    pub fn new(retry_after: Duration) -> Self {
        let state = CacheState { built: None, failed: None, builds: 0 };
        Self { worker: BlockingWorker::default(), retry_after, state: Arc::new(Mutex::new(state)) }
    }

    /// The worker that reads the credential's files; for `build`.
    pub fn worker(&self) -> &BlockingWorker {
        &self.worker
    }

    /// The client; `build` makes another, with the number that it is given, when a file has changed since or the credential
    /// expires soon. A file system that hangs reports no change: the current client stays in use.
    ///
    /// # Errors
    /// Those of `build`.
    pub async fn get<F>(&self, build: impl FnOnce(u64) -> F) -> Result<T, SourceFailure>
    where
        F: Future<Output = Result<Built<T>, SourceFailure>>,
    {
        let mut state = self.state.lock().await;
        if let Some(built) = &state.built {
            let expires = built.expires_at.is_some_and(|at| Time::now() + EXPIRY_MARGIN >= at);
            let files = built.files.clone();
            if !expires && self.worker.run(FILES_DEADLINE, move || files.have_changed()).await != Some(true) {
                return Ok(built.client.clone());
            }
        }
        if let Some((at, failure)) = &state.failed
            && at.elapsed() < self.retry_after
        {
            return Err(failure.clone());
        }
        state.builds += 1;
        match build(state.builds).await {
            Ok(built) => {
                let client = built.client.clone();
                (state.built, state.failed) = (Some(built), None);
                Ok(client)
            }
            Err(failure) => {
                (state.built, state.failed) = (None, Some((Instant::now(), failure.clone())));
                Err(failure)
            }
        }
    }

    /// Drops the client with this number: the server rejected its credential, and the files may have been rotated.
    pub async fn discard(&self, build: u64) {
        let mut state = self.state.lock().await;
        if state.builds == build {
            state.built = None;
        }
    }
}

impl<T> Clone for ClientCache<T> {
    fn clone(&self) -> Self {
        Self { worker: self.worker.clone(), retry_after: self.retry_after, state: Arc::clone(&self.state) }
    }
}

/// Without the client, whose headers may hold a credential.
impl<T> fmt::Debug for ClientCache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCache").finish_non_exhaustive()
    }
}
