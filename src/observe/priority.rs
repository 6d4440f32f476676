//! Owns being a guest on a node: other processes run first, and this one is killed first when memory runs out.
//! It must not lower what the user set, nor fail: a node is observed all the same.

use std::io;

use rustix::process::{Pid, getpriority_process, setpriority_process};

/// Nice value while a live node is observed (`setpriority(2)`: -20 to 19, the highest runs last).
pub const NICE: i32 = 10;
/// `oom_score_adj` while a live node is observed: the highest there is, which the kernel kills first
/// (`OOM_SCORE_ADJ_MAX`, include/uapi/linux/oom.h).
pub const OOM_SCORE_ADJ: i32 = 1000;

const THREADS: &str = "/proc/self/task";
const OOM_FILE: &str = "/proc/self/oom_score_adj";

/// What the process runs with from here on.
#[derive(Debug)]
pub struct ProcessPriority {
    /// Nice value.
    pub nice: io::Result<i32>,
    /// `oom_score_adj`.
    pub oom_score_adj: io::Result<i32>,
}

impl ProcessPriority {
    /// Sets both for every thread that runs. Threads and processes that are started later inherit them.
    pub fn lower() -> Self {
        Self {
            nice: nice(),
            oom_score_adj: std::fs::write(OOM_FILE, OOM_SCORE_ADJ.to_string()).map(|()| OOM_SCORE_ADJ),
        }
    }

    /// Both in words: `nice 10, oom_score_adj 1000`; nothing when neither was taken.
    pub fn text(&self) -> Option<String> {
        let nice = self.nice.as_ref().map(|value| format!("nice {value}"));
        let oom = self.oom_score_adj.as_ref().map(|value| format!("oom_score_adj {value}"));
        let both: Vec<String> = nice.into_iter().chain(oom).collect();
        (!both.is_empty()).then(|| both.join(", "))
    }

    /// Each with the call or the file that sets it, and the value or the error.
    pub fn tried(&self) -> [(&'static str, &io::Result<i32>); 2] {
        [("setpriority", &self.nice), (OOM_FILE, &self.oom_score_adj)]
    }
}

fn nice() -> io::Result<i32> {
    let wanted = getpriority_process(None)?.max(NICE);
    setpriority_process(None, wanted)?;
    // Linux keeps the nice value for each thread, and takes the id of a thread for that of a process (setpriority(2)).
    for thread in std::fs::read_dir(THREADS)?.flatten() {
        let id = thread.file_name().to_str().and_then(|name| Pid::from_raw(name.parse().ok()?));
        if let Some(id) = id {
            // It may have ended meanwhile.
            _ = setpriority_process(Some(id), wanted);
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_what_was_taken() {
        let no = || Err(io::ErrorKind::PermissionDenied.into());
        let text = |nice, oom_score_adj| ProcessPriority { nice, oom_score_adj }.text();
        assert_eq!(text(Ok(10), Ok(1000)).unwrap(), "nice 10, oom_score_adj 1000");
        assert_eq!(text(Ok(15), no()).unwrap(), "nice 15");
        assert_eq!(text(no(), no()), None);
    }
}
