//! Runs a program with a deadline, capped output and its own process group. It is not started on the thread of the
//! sources: its file may be on a dead mount.

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

/// Longest time for starting a program.
const START_DEADLINE: Duration = Duration::from_secs(5);
/// Most bytes kept of standard error.
const MAX_STDERR: u64 = 4096;

/// Output and exit status of a program.
#[derive(Debug)]
pub struct ProgramOutput {
    /// Exit status.
    pub status: ExitStatus,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// The first bytes of standard error.
    pub stderr: Vec<u8>,
}

/// Why a program has no output.
#[derive(Debug)]
pub enum ProgramError {
    /// It did not start.
    NotStarted(io::Error),
    /// It did not exit in time; its process group was killed.
    TimedOut,
    /// Its output exceeded the limit; its process group was killed.
    OutputTooLarge,
}

/// A system program by its name. As root it is searched in fixed directories and gets none of our environment: the PATH of
/// the user who became root may name others. An absolute path is used unchanged.
///
/// # Errors
/// When it does not exist, or is writable by others than root.
pub fn system_command(name: &str) -> io::Result<Command> {
    let owners = Owners::of_process();
    if !owners.is_root() || name.starts_with('/') {
        return Ok(guard::command(name));
    }
    let mut command = guard::command(find_program(name, owners)?);
    command.env_clear().env("PATH", PROGRAM_DIRS.join(":"));
    Ok(command)
}

/// A running program; its process group is killed when this is dropped before the exit was observed.
#[derive(Debug)]
pub struct RunningProgram {
    child: Child,
    group: Option<ProcessGroup>,
    /// Keeps the thread that started it until this is dropped: the kernel kills the program when that thread exits.
    _starter: mpsc::Sender<()>,
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        // Until its exit is observed, no other process gets its id, which is also that of its group.
        if self.child.id().is_none() {
            self.group.take().into_iter().for_each(ProcessGroup::release);
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

/// Starts a program; [`super::guard`] makes one that is killed when this program exits.
pub async fn spawn(worker: &BlockingWorker, mut command: Command) -> Result<RunningProgram, ProgramError> {
    // Not in the terminal's process group: it gets no signal from keys and cannot read input.
    command.process_group(0).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (starter, dropped) = mpsc::channel::<()>();
    let started = worker.run_and_hold(START_DEADLINE, move || command.spawn(), move || _ = dropped.recv());
    let child = started.await.ok_or(ProgramError::TimedOut)?.map_err(ProgramError::NotStarted)?;
    let group = child.id().and_then(ProcessGroup::led_by);
    Ok(RunningProgram { child, group, _starter: starter })
}

/// Runs a program until it exits; reads at most `limit` bytes of standard output.
pub async fn run(
    worker: &BlockingWorker,
    command: Command,
    deadline: Duration,
    limit: u64,
) -> Result<ProgramOutput, ProgramError> {
    let mut child = spawn(worker, command).await?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let output = async {
        let (stdout, stderr) = tokio::join!(read_limited(stdout, limit), read_stderr(stderr));
        let stdout = stdout.ok_or(ProgramError::OutputTooLarge)?;
        Ok(ProgramOutput { status: child.wait().await.map_err(ProgramError::NotStarted)?, stdout, stderr })
    };
    timeout(deadline, output).await.unwrap_or(Err(ProgramError::TimedOut))
}

/// All output, or None when it exceeds `limit` bytes.
async fn read_limited(from: Option<impl AsyncRead + Unpin>, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from?.take(limit + 1).read_to_end(&mut bytes).await;
    (read.is_ok() && bytes.len() as u64 <= limit).then_some(bytes)
}

/// The first bytes; the rest is read and dropped, or the program would block.
pub async fn read_stderr(from: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        _ = (&mut from).take(MAX_STDERR).read_to_end(&mut bytes).await;
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
    async fn output_and_exit_status() {
        let worker = BlockingWorker::default();
        let output = run(&worker, shell("echo out; echo err >&2; exit 3"), PATIENCE, 100).await.unwrap();
        assert_eq!(
            (output.status.code(), output.stdout, output.stderr),
            (Some(3), b"out\n".to_vec(), b"err\n".to_vec())
        );
        let absent = run(&worker, Command::new("/nonexistent/program"), PATIENCE, 100).await;
        assert!(matches!(absent, Err(ProgramError::NotStarted(e)) if e.kind() == io::ErrorKind::NotFound));
        let stderr = run(&worker, shell("head -c 1000000 /dev/zero >&2"), PATIENCE, 100).await.unwrap().stderr;
        assert_eq!(stderr.len() as u64, MAX_STDERR);
    }

    #[tokio::test]
    async fn after_a_timeout_or_too_much_output_the_process_group_is_killed() {
        let temp = crate::observe::tests::Temp::new();
        temp.write("pid", "");
        for (script, late) in [("sleep 600 & echo $! >PID; wait", true), ("yes & echo $! >PID; wait", false)] {
            let file = temp.path("pid");
            let script = script.replace("PID", &file.display().to_string());
            let deadline = if late { Duration::from_millis(500) } else { PATIENCE };
            let error = run(&BlockingWorker::default(), shell(&script), deadline, 100).await.unwrap_err();
            assert_eq!(matches!(error, ProgramError::TimedOut), late, "{error:?}");
            let pid = std::fs::read_to_string(file).unwrap();
            let process = std::path::PathBuf::from(format!("/proc/{}/stat", pid.trim()));
            // A zombie was killed and waits for its new parent.
            let lives = || std::fs::read_to_string(&process).is_ok_and(|stat| !stat.contains(") Z "));
            let end = std::time::Instant::now() + PATIENCE;
            while lives() && std::time::Instant::now() < end {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert!(!lives(), "{script}");
        }
    }
}
