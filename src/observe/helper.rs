//! Owns running a program that helps to observe: within a deadline, its output capped, in a process group of its own.
//! It must not leave any of it running, nor start it on the thread that all sources share: its file may be on a dead mount.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::aside::Aside;
use crate::trust::{Owners, PROGRAM_DIRS, find_program};

/// Longest that a program may take to begin.
const BEGIN: Duration = Duration::from_secs(5);
/// Longest kept of what it says on standard error, bytes.
const MAX_WORDS: u64 = 4096;

/// What a program said, and how it ended.
#[derive(Debug)]
pub struct Said {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub out: Vec<u8>,
    /// The first words on standard error.
    pub words: Vec<u8>,
}

/// Why there is nothing of it.
#[derive(Debug)]
pub enum Silent {
    /// It could not be started.
    Not(io::Error),
    /// It did not end in time; it and what it started were killed.
    Late,
    /// It said more than is taken; it and what it started were killed.
    TooLong,
}

/// A program of the system by its name. As root it is found in fixed directories and gets nothing of our environment: the
/// PATH of whoever became root may lead elsewhere. An absolute path is taken as it is.
///
/// # Errors
/// When it is not there, or others than root could have put it there.
pub fn system(name: &str) -> io::Result<Command> {
    let owners = Owners::of_process();
    if !owners.is_root() || name.starts_with('/') {
        return Ok(Command::new(name));
    }
    let mut command = Command::new(find_program(name, owners)?);
    command.env_clear().env("PATH", PROGRAM_DIRS.join(":"));
    Ok(command)
}

/// Starts a program; it is killed when the child is dropped.
pub async fn start(aside: &Aside, mut command: Command) -> Result<Child, Silent> {
    // Not in the group of the terminal: what is pressed there is not for it, and it cannot read there.
    command.process_group(0).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    aside.run(BEGIN, move || command.spawn()).await.ok_or(Silent::Late)?.map_err(Silent::Not)
}

/// Runs a program to its end; takes at most `limit` bytes of what it says.
pub async fn run(aside: &Aside, command: Command, deadline: Duration, limit: u64) -> Result<Said, Silent> {
    let mut child = start(aside, command).await?;
    let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let whole = async {
        let (out, words) = tokio::join!(capped(out, limit), first(err));
        let out = out.ok_or(Silent::TooLong)?;
        Ok(Said { status: child.wait().await.map_err(Silent::Not)?, out, words })
    };
    let said = timeout(deadline, whole).await.unwrap_or(Err(Silent::Late))?;
    group.spare();
    Ok(said)
}

/// A process group that is killed unless it is over.
struct Group(Option<Pid>);

impl Group {
    fn spare(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            // It may be gone already.
            _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

/// All of it, unless that is more than `limit` bytes.
async fn capped(from: Option<impl AsyncRead + Unpin>, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from?.take(limit + 1).read_to_end(&mut bytes).await;
    (read.is_ok() && bytes.len() as u64 <= limit).then_some(bytes)
}

/// The first words; what follows is read and forgotten, or the writer would stop.
pub async fn first(from: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
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
        let aside = Aside::default();
        let said = run(&aside, shell("echo out; echo err >&2; exit 3"), PATIENCE, 100).await.unwrap();
        assert_eq!((said.status.code(), said.out, said.words), (Some(3), b"out\n".to_vec(), b"err\n".to_vec()));
        let absent = run(&aside, Command::new("/nonexistent/program"), PATIENCE, 100).await;
        assert!(matches!(absent, Err(Silent::Not(e)) if e.kind() == io::ErrorKind::NotFound));
        let words = run(&aside, shell("head -c 1000000 /dev/zero >&2"), PATIENCE, 100).await.unwrap().words;
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
            let silent = run(&Aside::default(), shell(&script), deadline, 100).await.unwrap_err();
            assert_eq!(matches!(silent, Silent::Late), late, "{silent:?}");
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
