//! Owns the check that the limits of this process leave room for the sources, before anything is started: a runtime that
//! finds none later ends the program without a word. It must not raise a limit.

use std::fs::File;
use std::io;
use std::sync::mpsc;
use std::thread;

use rustix::process::{Resource, getrlimit};

/// Files and sockets that the sources need at once: five watches of the API server, three connections to the runtime, the
/// kubelet's pages, logs, and those of the event queue and of the programs that are started.
const FILES: usize = 40;
/// Threads that they need at once: the sources', those that wait for file systems and names, those that follow logs.
const THREADS: usize = 12;

/// Why there is no room, and what to do.
#[derive(Debug)]
pub struct LimitError {
    /// What failed.
    pub what: String,
    /// What to do about it.
    pub fix: &'static str,
}

/// Opens as many files and starts as many threads as are needed, and lets them go again.
///
/// # Errors
/// When the process's limits do not allow that.
pub fn check() -> Result<(), LimitError> {
    let files: io::Result<Vec<File>> = (0..FILES).map(|_| File::open("/dev/null")).collect();
    match files {
        Err(why) if is_limit(&why) => {
            let limit = getrlimit(Resource::Nofile).current.map_or("unlimited".into(), |limit| limit.to_string());
            let what = format!("too many open files (limit {limit}): observing a node needs {FILES} more");
            return Err(LimitError { what, fix: "raise the limit: ulimit -n 1024" });
        }
        // A machine without /dev/null may have everything else.
        Err(_) | Ok(_) => {}
    }
    let (held, hold) = mpsc::channel::<()>();
    let hold = std::sync::Arc::new(std::sync::Mutex::new(hold));
    let mut threads = Vec::new();
    let mut failed = None;
    for _ in 0..THREADS {
        let hold = hold.clone();
        let wait = move || {
            // All wait until the sender is gone.
            if let Ok(hold) = hold.lock() {
                _ = hold.recv();
            }
        };
        match thread::Builder::new().name("room".into()).spawn(wait) {
            Ok(thread) => threads.push(thread),
            Err(why) => {
                failed = Some(why);
                break;
            }
        }
    }
    drop(held);
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
