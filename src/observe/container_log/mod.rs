//! Reads the log of one container while a consumer has it open: from its files, else from the API server, else from the kubelet.

mod files;
mod follow;
mod older;
mod queue;
mod server;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::api::ApiAccess;
use super::discover::{LogDirs, Root};
use super::kubelet::KubeletClient;
use crate::container_log::{LogRequest, LogStream, LogUpdate};
use crate::text::Text;
use files::NodeFiles;
use queue::UpdateQueue;
use server::ServedLog;

/// Wait before all origins are tried again, after none had the log.
const RETRY: Duration = Duration::from_secs(5);

/// Why a log is not readable from an origin; empty after the consumer closed it.
type ReadEnd<'a> = Pin<Box<dyn Future<Output = Text> + Send + 'a>>;

/// One origin of container logs: files of the node, the API server, or the kubelet.
trait LogOriginReader: Send + Sync {
    /// Reads until nothing more is readable; returns why. Each message of `older` requests one chunk of older lines.
    fn read<'a>(
        &'a self,
        request: &'a LogRequest,
        updates: &'a Arc<UpdateQueue>,
        older: &'a mut mpsc::Receiver<()>,
    ) -> ReadEnd<'a>;
}

/// Opens container logs. Cheap to clone.
#[derive(Clone)]
pub struct LogReader {
    runtime: Handle,
    root: Root,
    files: Arc<NodeFiles>,
    /// Servers, in order of preference, or why there is none.
    servers: Vec<Result<Arc<dyn LogOriginReader>, Text>>,
}

/// A log that is read until this is dropped.
#[derive(Debug)]
pub struct OpenLog {
    updates: Arc<UpdateQueue>,
    older: mpsc::Sender<()>,
    task: AbortHandle,
}

impl LogReader {
    /// Reads on `runtime`: files below `root`, else from a server, or the reason why there is none.
    pub fn new(
        runtime: Handle,
        root: Root,
        api: Result<ApiAccess, Text>,
        kubelet: Result<KubeletClient, Text>,
    ) -> Self {
        let api = api.map(|access| Arc::new(ServedLog::Api(access)) as Arc<dyn LogOriginReader>);
        let kubelet = kubelet.map(|client| Arc::new(ServedLog::Kubelet(client)) as Arc<dyn LogOriginReader>);
        let files = Arc::new(NodeFiles::new(root.clone(), LogDirs::default()));
        Self { runtime, root, files, servers: vec![api, kubelet] }
    }

    /// The same with the kubelet's configured directories.
    #[must_use]
    pub fn with_dirs(self, dirs: LogDirs) -> Self {
        Self { files: Arc::new(NodeFiles::new(self.root.clone(), dirs)), ..self }
    }

    /// Starts to read a log.
    pub fn open(&self, request: LogRequest) -> OpenLog {
        let updates = Arc::new(UpdateQueue::default());
        // One request for older lines at a time.
        let (older, requests) = mpsc::channel(1);
        let reading = self.clone().read(request, updates.clone(), requests);
        OpenLog { updates, older, task: self.runtime.spawn(reading).abort_handle() }
    }

    async fn read(self, request: LogRequest, updates: Arc<UpdateQueue>, mut older: mpsc::Receiver<()>) {
        if !request.is_plain() {
            let why = "invalid name: empty, `.`, `..`, or with a slash or NUL";
            return updates.put(LogUpdate::Unavailable(vec![why.into()]));
        }
        loop {
            let mut why = vec![self.files.read(&request, &updates, &mut older).await];
            for server in &self.servers {
                why.push(match server {
                    Ok(server) => server.read(&request, &updates, &mut older).await,
                    Err(why) => why.clone(),
                });
            }
            updates.put(LogUpdate::Unavailable(why));
            tokio::time::sleep(RETRY).await;
            // A request made meanwhile was for lines that are not available.
            _ = older.try_recv();
        }
    }
}

impl LogStream for OpenLog {
    fn take_updates(&mut self) -> Vec<LogUpdate> {
        self.updates.take()
    }

    fn request_older(&mut self) {
        // A full channel already holds a request.
        _ = self.older.try_send(());
    }
}

impl Drop for OpenLog {
    fn drop(&mut self) {
        self.task.abort();
    }
}
