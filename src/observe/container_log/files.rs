//! Owns where on the node a container's log lies, and the pace at which it is looked at.
//! It must not wait for a file system that hangs.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::follow::Follower;
use super::tray::Tray;
use crate::container_log::{Instance, LogRequest};
use crate::observe::discover::{LogDirs, Miss, Root};
use crate::text::Text;

/// Between two looks at a file that is followed.
const EVERY: Duration = Duration::from_millis(500);
/// How long one look may take: what was rotated away must be unpacked.
const DEADLINE: Duration = Duration::from_secs(5);

/// Reads in such places until nothing more can be read; says why.
pub async fn read(
    root: &Root,
    places: &LogDirs,
    request: &LogRequest,
    tray: &Arc<Tray>,
    asked: &mut mpsc::Receiver<()>,
) -> Text {
    let root = root.clone().with_deadline(DEADLINE);
    let pod = format!("{}_{}_{}", request.namespace, request.pod, request.uid);
    let dir = places.pods.join(pod).join(request.container.as_str());
    let bounds = places.bounds(&root);
    let (told, instance) = (dir.clone(), request.instance);
    let begun = look(&root, &dir, move |real| Follower::begin(real, &told, &bounds, instance)).await;
    let mut follower = match begun {
        Ok((follower, news)) => {
            news.into_iter().for_each(|news| tray.put(news));
            follower
        }
        Err(miss) => return why(miss, &dir, instance),
    };
    // A run that is over writes nothing more.
    let follows = request.follow && instance == Instance::Current;
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let older = tokio::select! {
            wish = asked.recv() => match wish {
                Some(()) => true,
                // Nobody looks any more.
                None => return Text::default(),
            },
            _ = ticks.tick(), if follows => false,
        };
        let looked = look(&root, &dir, move |_| {
            let news = if older { follower.older() } else { follower.step() };
            Ok((follower, news))
        });
        match looked.await {
            Ok((back, news)) => {
                follower = back;
                news.into_iter().for_each(|news| tray.put(news));
            }
            Err(miss) => return why(miss, &dir, instance),
        }
    }
}

async fn look<T: Send + 'static>(
    root: &Root,
    dir: &Path,
    look: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> Result<T, Miss> {
    let (root, dir) = (root.clone(), dir.to_owned());
    let looked = tokio::task::spawn_blocking(move || root.walk(dir, look)).await;
    looked.unwrap_or(Err(Miss::Unreadable))?.map_err(Miss::from)
}

fn why(miss: Miss, dir: &Path, instance: Instance) -> Text {
    let dir = dir.display();
    match (miss, instance) {
        (Miss::Absent, Instance::Current) => format!("{dir}: no log is there, or a link that leads elsewhere"),
        (Miss::Absent, Instance::Previous) => {
            format!("{dir}: no log of an earlier run is there: the kubelet keeps one, at most")
        }
        (Miss::Unreadable, _) => format!("{dir}: cannot be read: no directory of files, or its disk fails"),
        (miss, _) => format!("{dir}: {miss}"),
    }
    .into()
}
