//! Owns that a program which was started ends with this one, even when this one is killed: it is started through this program
//! itself, which asks the kernel for that and then becomes it. It must not run anything for another parent than itself.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, getppid, kill_process_group, set_parent_process_death_signal};
use tokio::process::Command;

/// The first argument that makes this program become another.
const EXEC_ARGUMENT: &str = "--become-program-of";
/// This program.
const OWN: &str = "/proc/self/exe";
/// Exit code of a shell for what cannot be run.
const NOT_RUN: u8 = 126;

/// This program knows [`EXEC_ARGUMENT`]: its tests do not.
static KNOWS: AtomicBool = AtomicBool::new(false);

/// A command that ends with this program. What it is given besides, its environment too, is the program's.
///
/// The kernel ties it to the thread that starts it: that must live as long as the program is to run.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let program = program.as_ref();
    // One that is not there fails to start as it would alone.
    if !KNOWS.load(Ordering::Acquire) || !is_there(program) {
        return Command::new(program);
    }
    let mut command = Command::new(OWN);
    command.arg(EXEC_ARGUMENT).arg(std::process::id().to_string()).arg(program);
    command
}

/// Becomes the program that the arguments name, if they are those of [`command`]; the exit code where that failed.
pub fn exec_if_requested() -> Option<ExitCode> {
    KNOWS.store(true, Ordering::Release);
    let mut args = env::args_os().skip(1);
    if args.next()? != EXEC_ARGUMENT {
        return None;
    }
    let failed = exec_child(args.collect()).err()?;
    // Who reads it is the parent.
    _ = writeln!(io::stderr().lock(), "{failed}");
    Some(ExitCode::from(NOT_RUN))
}

/// The groups of the programs that run, each until its end was seen.
static GROUPS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// A program's group, which is killed when this is dropped or everything ends.
#[derive(Debug)]
pub(super) struct ProcessGroup(i32);

impl ProcessGroup {
    /// The group that the program leads.
    pub fn led_by(id: u32) -> Option<Self> {
        let id = i32::try_from(id).ok().filter(|id| *id > 1)?;
        GROUPS.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        Some(Self(id))
    }

    /// Its leader's end was seen: the number may be another's now.
    pub fn spare(self) {
        GROUPS.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if GROUPS.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0) {
            kill(self.0);
        }
    }
}

/// Kills all that was started and still runs: for the end of the program, which leaves its threads behind.
pub fn kill_all() {
    let running = std::mem::take(&mut *GROUPS.lock().unwrap_or_else(PoisonError::into_inner));
    running.into_iter().for_each(kill);
}

fn kill(group: i32) {
    if let Some(group) = Pid::from_raw(group) {
        // It may be gone already.
        _ = kill_process_group(group, Signal::KILL);
    }
}

fn exec_child(args: Vec<OsString>) -> io::Result<()> {
    let refused = || io::Error::new(io::ErrorKind::PermissionDenied, "this is for the program's own use");
    let [parent, program, args @ ..] = args.as_slice() else { return Err(refused()) };
    let parent = parent.to_str().and_then(|id| id.parse().ok()).and_then(Pid::from_raw).ok_or_else(refused)?;
    let file = |path: &str| fs::metadata(path).map(|is| (is.dev(), is.ino()));
    if file(OWN)? != file(&format!("/proc/{}/exe", parent.as_raw_nonzero()))? {
        return Err(refused());
    }
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before that.
    if getppid() != Some(parent) {
        return Err(refused());
    }
    Err(std::process::Command::new(program).args(args).exec())
}

/// The program is a file, or one in `PATH`.
fn is_there(program: &OsStr) -> bool {
    if program.as_encoded_bytes().contains(&b'/') {
        return Path::new(program).is_file();
    }
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}
