//! Reads a container's log from its files on the node, without blocking on a file system that hangs.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::follow::Follower;
use super::queue::UpdateQueue;
use super::{LogOriginReader, ReadEnd};
use crate::container_log::{Instance, LogRequest};
use crate::observe::discover::{LogDirs, Miss, Root};
use crate::text::Text;

/// Period of the reads of a followed file.
const POLL: Duration = Duration::from_millis(500);
/// Deadline of one read; it includes unpacking a rotated file.
const DEADLINE: Duration = Duration::from_secs(5);

/// The log files of a node.
pub struct NodeFiles {
    root: Root,
    dirs: LogDirs,
}

impl NodeFiles {
    /// Files below `root`, in these directories.
    pub fn new(root: Root, dirs: LogDirs) -> Self {
        Self { root: root.with_deadline(DEADLINE), dirs }
    }
}

impl LogOriginReader for NodeFiles {
    fn read<'a>(
        &'a self,
        request: &'a LogRequest,
        updates: &'a Arc<UpdateQueue>,
        older: &'a mut mpsc::Receiver<()>,
    ) -> ReadEnd<'a> {
        Box::pin(read(&self.root, &self.dirs, request, updates, older))
    }
}

async fn read(
    root: &Root,
    dirs: &LogDirs,
    request: &LogRequest,
    updates: &UpdateQueue,
    requests: &mut mpsc::Receiver<()>,
) -> Text {
    let pod = format!("{}_{}_{}", request.namespace, request.pod, request.uid);
    let dir = dirs.pods.join(pod).join(request.container.as_str());
    let bounds = dirs.bounds(root);
    let (shown, instance) = (dir.clone(), request.instance);
    let opened = on_file_system(root, &dir, move |real| Follower::open(real, &shown, &bounds, instance)).await;
    let mut follower = match opened {
        Ok((follower, new)) => {
            new.into_iter().for_each(|update| updates.put(update));
            follower
        }
        Err(miss) => return miss_reason(miss, &dir, instance),
    };
    // A previous run writes no more lines.
    let follows = request.follow && instance == Instance::Current;
    let mut ticks = tokio::time::interval(POLL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let older = tokio::select! {
            request = requests.recv() => match request {
                Some(()) => true,
                // The consumer closed the log.
                None => return Text::default(),
            },
            _ = ticks.tick(), if follows => false,
        };
        let read = on_file_system(root, &dir, move |_| {
            let new = if older { follower.read_older() } else { follower.poll() };
            Ok((follower, new))
        });
        match read.await {
            Ok((back, new)) => {
                follower = back;
                new.into_iter().for_each(|update| updates.put(update));
            }
            Err(miss) => return miss_reason(miss, &dir, instance),
        }
    }
}

async fn on_file_system<T: Send + 'static>(
    root: &Root,
    dir: &Path,
    task: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> Result<T, Miss> {
    let (root, dir) = (root.clone(), dir.to_owned());
    let result = tokio::task::spawn_blocking(move || root.walk(dir, task)).await;
    result.unwrap_or(Err(Miss::Unreadable))?.map_err(Miss::from)
}

fn miss_reason(miss: Miss, dir: &Path, instance: Instance) -> Text {
    let dir = dir.display();
    match (miss, instance) {
        (Miss::Absent, Instance::Current) => format!("{dir}: no log file, or a link to another directory"),
        (Miss::Absent, Instance::Previous) => {
            format!("{dir}: no log of a previous run (the kubelet keeps at most one)")
        }
        (Miss::Unreadable, _) => format!("cannot read {dir}: not a directory, or an I/O error"),
        (miss, _) => format!("{dir}: {miss}"),
    }
    .into()
}
