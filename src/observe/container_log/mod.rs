//! Owns the reading of one container's log while somebody looks at it: from its files, else from the API server, else from
//! the kubelet. It must not read anything once nobody looks, nor let a line become an observation.

mod before;
mod files;
mod follow;
mod served;
#[cfg(test)]
mod tests;
mod tray;

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::api::ApiAccess;
use super::discover::{LogDirs, Root};
use super::kubelet::KubeletClient;
use crate::container_log::{LogRequest, LogUpdate};
use crate::text::Text;
use served::Server;
use tray::Tray;

/// Between two tries where no place has the log.
const AGAIN: Duration = Duration::from_secs(5);

/// Everything that a log can be read from. Cheap to clone.
#[derive(Clone)]
pub struct LogReader {
    runtime: Handle,
    root: Root,
    places: LogDirs,
    servers: Vec<Result<Server, Text>>,
}

/// A log that is being read, until this is dropped.
#[derive(Debug)]
pub struct OpenLog {
    tray: Arc<Tray>,
    older: mpsc::Sender<()>,
    task: AbortHandle,
}

impl LogReader {
    /// Reads on `runtime`: files below `root`, and from servers, or why there is none.
    pub fn new(
        runtime: Handle,
        root: Root,
        api: Result<ApiAccess, Text>,
        kubelet: Result<KubeletClient, Text>,
    ) -> Self {
        Self {
            runtime,
            root,
            places: LogDirs::default(),
            servers: vec![api.map(Server::Api), kubelet.map(Server::Kubelet)],
        }
    }

    /// The same with other directories of the kubelet's.
    #[must_use]
    pub fn places(self, places: LogDirs) -> Self {
        Self { places, ..self }
    }

    /// Begins to read.
    pub fn open(&self, request: LogRequest) -> OpenLog {
        let tray = Arc::new(Tray::default());
        // One wish at a time: who scrolls asks again.
        let (older, asked) = mpsc::channel(1);
        let reading = self.clone().read(request, tray.clone(), asked);
        OpenLog { tray, older, task: self.runtime.spawn(reading).abort_handle() }
    }

    async fn read(self, request: LogRequest, tray: Arc<Tray>, mut asked: mpsc::Receiver<()>) {
        if !request.is_plain() {
            return tray.put(LogUpdate::Unavailable(vec!["a name of it is none that a container can have".into()]));
        }
        loop {
            let mut why = vec![files::read(&self.root, &self.places, &request, &tray, &mut asked).await];
            for server in &self.servers {
                why.push(match server {
                    Ok(server) => server.read(&request, &tray, &mut asked).await,
                    Err(why) => why.clone(),
                });
            }
            tray.put(LogUpdate::Unavailable(why));
            tokio::time::sleep(AGAIN).await;
            // What was wished for meanwhile was wished of what is not there.
            _ = asked.try_recv();
        }
    }
}

impl OpenLog {
    /// What is new since this was last called.
    pub fn take(&self) -> Vec<LogUpdate> {
        self.tray.take()
    }

    /// Wishes for what stands before the lines told so far.
    pub fn older(&self) {
        // One wish is under way already.
        _ = self.older.try_send(());
    }
}

impl Drop for OpenLog {
    fn drop(&mut self) {
        self.task.abort();
    }
}
