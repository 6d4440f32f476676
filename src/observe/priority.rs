//! Lowers the priority of this process: other processes run first, and the kernel kills this one first when memory runs
//! out. A failure is not fatal.

use std::io;

use rustix::process::{Pid, getpriority_process, setpriority_process};

/// Nice value while a live node is observed (`setpriority(2)`: -20 to 19, the highest has the least priority).
pub const NICE: i32 = 10;
/// `oom_score_adj` while a live node is observed: the maximum, which the kernel kills first
/// (`OOM_SCORE_ADJ_MAX`, include/uapi/linux/oom.h).
pub const OOM_SCORE_ADJ: i32 = 1000;

const THREADS: &str = "/proc/self/task";
const OOM_FILE: &str = "/proc/self/oom_score_adj";

/// The values that the process has, or why they were not set.
#[derive(Debug)]
pub struct ProcessPriority {
    /// Nice value.
    pub nice: io::Result<i32>,
    /// `oom_score_adj`.
    pub oom_score_adj: io::Result<i32>,
}

impl ProcessPriority {
    /// Sets both for all current threads; later threads and processes inherit them. A higher nice value of the user stays.
    pub fn lower() -> Self {
        Self {
            nice: nice(),
            oom_score_adj: std::fs::write(OOM_FILE, OOM_SCORE_ADJ.to_string()).map(|()| OOM_SCORE_ADJ),
        }
    }

    /// Both values: `nice 10, oom_score_adj 1000`; None when neither was set.
    pub fn text(&self) -> Option<String> {
        let nice = self.nice.as_ref().map(|value| format!("nice {value}"));
        let oom = self.oom_score_adj.as_ref().map(|value| format!("oom_score_adj {value}"));
        let both: Vec<String> = nice.into_iter().chain(oom).collect();
        (!both.is_empty()).then(|| both.join(", "))
    }

    /// Each with the call or the file that sets it, and the value or the error.
    pub fn results(&self) -> [(&'static str, &io::Result<i32>); 2] {
        [("setpriority", &self.nice), (OOM_FILE, &self.oom_score_adj)]
    }
}

fn nice() -> io::Result<i32> {
    let wanted = getpriority_process(None)?.max(NICE);
    setpriority_process(None, wanted)?;
    // Linux keeps a nice value per thread, and accepts a thread's id as a process id (setpriority(2)).
    for thread in std::fs::read_dir(THREADS)?.flatten() {
        let id = thread.file_name().to_str().and_then(|name| Pid::from_raw(name.parse().ok()?));
        if let Some(id) = id {
            // The thread may have exited in the meantime.
            _ = setpriority_process(Some(id), wanted);
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_contains_the_values_that_were_set() {
        let denied = || Err(io::ErrorKind::PermissionDenied.into());
        let text = |nice, oom_score_adj| ProcessPriority { nice, oom_score_adj }.text();
        assert_eq!(text(Ok(10), Ok(1000)).unwrap(), "nice 10, oom_score_adj 1000");
        assert_eq!(text(Ok(15), denied()).unwrap(), "nice 15");
        assert_eq!(text(denied(), denied()), None);
    }
}
