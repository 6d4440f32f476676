//! Programs that exit with this one, even when it is killed: they are started through this program, which sets a parent-
//! death signal for itself and then executes them.

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

/// The first argument with which this program executes another.
const EXEC_ARGUMENT: &str = "--become-program-of";
/// This program.
const OWN: &str = "/proc/self/exe";
/// Exit code of a shell for a command that cannot be executed.
const NOT_RUN: u8 = 126;

/// True in the program, which handles [`EXEC_ARGUMENT`]; false in the test binaries, which do not.
static CAN_EXEC: AtomicBool = AtomicBool::new(false);

/// A command that is killed when this program exits. Arguments and environment added to it are the program's.
///
/// The kernel ties it to the thread that starts it, which must exist for as long as the program is to run.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let program = program.as_ref();
    // A program that does not exist fails to start with the usual error.
    if !CAN_EXEC.load(Ordering::Acquire) || !exists(program) {
        return Command::new(program);
    }
    let mut command = Command::new(OWN);
    command.arg(EXEC_ARGUMENT).arg(std::process::id().to_string()).arg(program);
    command
}

/// Executes the program that the arguments name, if they are those of [`command`]; returns only on failure, with the exit code.
pub fn exec_if_requested() -> Option<ExitCode> {
    CAN_EXEC.store(true, Ordering::Release);
    let mut args = env::args_os().skip(1);
    if args.next()? != EXEC_ARGUMENT {
        return None;
    }
    let failed = exec_child(args.collect()).err()?;
    // The parent reads it.
    _ = writeln!(io::stderr().lock(), "{failed}");
    Some(ExitCode::from(NOT_RUN))
}

/// Process groups of running programs, each until its exit was observed.
static GROUPS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// A program's process group, which is killed when this is dropped, and by [`kill_all`].
#[derive(Debug)]
pub(super) struct ProcessGroup(i32);

impl ProcessGroup {
    /// The group whose leader has this process id.
    pub fn led_by(id: u32) -> Option<Self> {
        let id = i32::try_from(id).ok().filter(|id| *id > 1)?;
        GROUPS.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        Some(Self(id))
    }

    /// Does not kill it: its leader exited, and the id may belong to another process now.
    pub fn release(self) {
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

/// Kills all programs that were started and still run, before this program exits without joining its threads.
pub fn kill_all() {
    let running = std::mem::take(&mut *GROUPS.lock().unwrap_or_else(PoisonError::into_inner));
    running.into_iter().for_each(kill);
}

fn kill(group: i32) {
    if let Some(group) = Pid::from_raw(group) {
        // The group may have exited already.
        _ = kill_process_group(group, Signal::KILL);
    }
}

fn exec_child(args: Vec<OsString>) -> io::Result<()> {
    let refused = || io::Error::new(io::ErrorKind::PermissionDenied, "this argument is internal");
    let [parent, program, args @ ..] = args.as_slice() else { return Err(refused()) };
    let parent = parent.to_str().and_then(|id| id.parse().ok()).and_then(Pid::from_raw).ok_or_else(refused)?;
    let file = |path: &str| fs::metadata(path).map(|is| (is.dev(), is.ino()));
    if file(OWN)? != file(&format!("/proc/{}/exe", parent.as_raw_nonzero()))? {
        return Err(refused());
    }
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have exited before that.
    if getppid() != Some(parent) {
        return Err(refused());
    }
    Err(std::process::Command::new(program).args(args).exec())
}

/// True when the program is a file, or one in `PATH`.
fn exists(program: &OsStr) -> bool {
    if program.as_encoded_bytes().contains(&b'/') {
        return Path::new(program).is_file();
    }
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}
