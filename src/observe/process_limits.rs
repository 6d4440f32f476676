//! Checks before the start that the limits of this process suffice for the sources: a runtime that hits one later aborts
//! without a message.

use std::fs::File;
use std::io;
use std::sync::mpsc;
use std::thread;

use rustix::process::{Resource, getrlimit};

/// Files and sockets that the sources need at the same time: five watches of the API server, three connections to the
/// runtime, the kubelet's pages, logs, the event queue, and the pipes of programs that are started.
const FILES: usize = 40;
/// Threads that they need at the same time: one for the sources, those that wait for file systems and name servers, and
/// those that follow logs.
const THREADS: usize = 12;

/// A limit that is too low.
#[derive(Debug)]
pub struct LimitError {
    /// The problem.
    pub what: String,
    /// The remedy.
    pub fix: &'static str,
}

/// Opens as many files and starts as many threads as are needed, and closes them again.
///
/// # Errors
/// When the limits of the process do not allow that.
pub fn check() -> Result<(), LimitError> {
    let files: io::Result<Vec<File>> = (0..FILES).map(|_| File::open("/dev/null")).collect();
    match files {
        Err(why) if is_limit(&why) => {
            let limit = getrlimit(Resource::Nofile).current.map_or("unlimited".into(), |limit| limit.to_string());
            let what = format!("too many open files (limit {limit}): observing a node needs {FILES} more");
            return Err(LimitError { what, fix: "raise the limit: ulimit -n 1024" });
        }
        // On a machine without /dev/null the check is skipped.
        Err(_) | Ok(_) => {}
    }
    let (release, wait) = mpsc::channel::<()>();
    let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
    let mut threads = Vec::new();
    let mut failed = None;
    for _ in 0..THREADS {
        let wait = wait.clone();
        let idle = move || {
            // All threads wait until the sender is gone.
            if let Ok(wait) = wait.lock() {
                _ = wait.recv();
            }
        };
        match thread::Builder::new().name("limits".into()).spawn(idle) {
            Ok(thread) => threads.push(thread),
            Err(why) => {
                failed = Some(why);
                break;
            }
        }
    }
    drop(release);
    threads.into_iter().for_each(|thread| _ = thread.join());
    match failed {
        Some(why) => Err(LimitError {
            what: format!("cannot start a thread ({why}): observing a node needs {THREADS}"),
            fix: "raise the limits of processes and memory: ulimit -u 1024, ulimit -v unlimited",
        }),
        None => Ok(()),
    }
}

fn is_limit(why: &io::Error) -> bool {
    matches!(rustix::io::Errno::from_io_error(why), Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}
