//! Owns running a program that helps to observe: within a deadline, its output capped, in a process group of its own.
//! It must not leave any of it running, nor spawn it on the thread that all sources share: its file may be on a dead mount.

use std::io;
use std::ops::{Deref, DerefMut};
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::blocking::BlockingWorker;
use super::guard::{self, ProcessGroup};
use crate::trust::{Owners, PROGRAM_DIRS, find_program};

/// Longest that a program may take to begin.
const BEGIN: Duration = Duration::from_secs(5);
/// Longest kept of what it says on standard error, bytes.
const MAX_WORDS: u64 = 4096;

/// What a program said, and how it ended.
#[derive(Debug)]
pub struct ProgramOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub out: Vec<u8>,
    /// The read_stderr words on standard error.
    pub words: Vec<u8>,
}

/// Why there is nothing of it.
#[derive(Debug)]
pub enum ProgramError {
    /// It could not be started.
    NotStarted(io::Error),
    /// It did not end in time; it and what it started were killed.
    TimedOut,
    /// It said more than is taken; it and what it started were killed.
    OutputTooLarge,
}

/// A program of the system_command by its name. As root it is found in fixed directories and gets nothing of our environment: the
/// PATH of whoever became root may lead elsewhere. An absolute path is taken as it is.
///
/// # Errors
/// When it is not there, or others than root could have put it there.
pub fn system_command(name: &str) -> io::Result<Command> {
    let owners = Owners::of_process();
    if !owners.is_root() || name.starts_with('/') {
        return Ok(guard::command(name));
    }
    let mut command = guard::command(find_program(name, owners)?);
    command.env_clear().env("PATH", PROGRAM_DIRS.join(":"));
    Ok(command)
}

/// A program that runs; it and all that it started are killed when this is dropped before its end was seen.
#[derive(Debug)]
pub struct RunningProgram {
    child: Child,
    group: Option<ProcessGroup>,
    /// The thread that started it stays until this is dropped: with it, the kernel would end the program.
    _starter: mpsc::Sender<()>,
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        // Until its end is seen its number, which is its group's, belongs to no other.
        if self.child.id().is_none() {
            self.group.take().into_iter().for_each(ProcessGroup::spare);
        }
    }
}

impl Deref for RunningProgram {
    type Target = Child;
    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for RunningProgram {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

/// Starts a program; see [`super::guard`] for one that must end with this program.
pub async fn spawn(worker: &BlockingWorker, mut command: Command) -> Result<RunningProgram, ProgramError> {
    // Not in the group of the terminal: what is pressed there is not for it, and it cannot read there.
    command.process_group(0).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (starter, stays) = mpsc::channel::<()>();
    let started = worker.run_and_hold(BEGIN, move || command.spawn(), move || _ = stays.recv());
    let child = started.await.ok_or(ProgramError::TimedOut)?.map_err(ProgramError::NotStarted)?;
    let group = child.id().and_then(ProcessGroup::led_by);
    Ok(RunningProgram { child, group, _starter: starter })
}

/// Runs a program to its end; takes at most `limit` bytes of what it says.
pub async fn run(
    worker: &BlockingWorker,
    command: Command,
    deadline: Duration,
    limit: u64,
) -> Result<ProgramOutput, ProgramError> {
    let mut child = spawn(worker, command).await?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let whole = async {
        let (out, words) = tokio::join!(capped(out, limit), read_stderr(err));
        let out = out.ok_or(ProgramError::OutputTooLarge)?;
        Ok(ProgramOutput { status: child.wait().await.map_err(ProgramError::NotStarted)?, out, words })
    };
    timeout(deadline, whole).await.unwrap_or(Err(ProgramError::TimedOut))
}

/// All of it, unless that is more than `limit` bytes.
async fn capped(from: Option<impl AsyncRead + Unpin>, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from?.take(limit + 1).read_to_end(&mut bytes).await;
    (read.is_ok() && bytes.len() as u64 <= limit).then_some(bytes)
}

/// The read_stderr words; what follows is read and forgotten, or the writer would stop.
pub async fn read_stderr(from: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        _ = (&mut from).take(MAX_WORDS).read_to_end(&mut bytes).await;
        _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    const PATIENCE: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn what_a_program_says() {
        let worker = BlockingWorker::default();
        let said = run(&worker, shell("echo out; echo err >&2; exit 3"), PATIENCE, 100).await.unwrap();
        assert_eq!((said.status.code(), said.out, said.words), (Some(3), b"out\n".to_vec(), b"err\n".to_vec()));
        let absent = run(&worker, Command::new("/nonexistent/program"), PATIENCE, 100).await;
        assert!(matches!(absent, Err(ProgramError::NotStarted(e)) if e.kind() == io::ErrorKind::NotFound));
        let words = run(&worker, shell("head -c 1000000 /dev/zero >&2"), PATIENCE, 100).await.unwrap().words;
        assert_eq!(words.len() as u64, MAX_WORDS);
    }

    #[tokio::test]
    async fn one_that_does_not_end_or_says_too_much_is_killed_with_all_that_it_started() {
        let temp = crate::observe::tests::Temp::new();
        temp.write("pid", "");
        for (script, late) in [("sleep 600 & echo $! >PID; wait", true), ("yes & echo $! >PID; wait", false)] {
            let file = temp.path("pid");
            let script = script.replace("PID", &file.display().to_string());
            let deadline = if late { Duration::from_millis(500) } else { PATIENCE };
            let silent = run(&BlockingWorker::default(), shell(&script), deadline, 100).await.unwrap_err();
            assert_eq!(matches!(silent, ProgramError::TimedOut), late, "{silent:?}");
            let pid = std::fs::read_to_string(file).unwrap();
            let process = std::path::PathBuf::from(format!("/proc/{}/stat", pid.trim()));
            // A zombie is killed and waits for whoever adopted it.
            let lives = || std::fs::read_to_string(&process).is_ok_and(|stat| !stat.contains(") Z "));
            let end = std::time::Instant::now() + PATIENCE;
            while lives() && std::time::Instant::now() < end {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert!(!lives(), "{script}");
        }
    }
}
