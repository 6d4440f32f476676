//! Proves that a process is the node's kubelet, not one with the same name.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::cgroup::ControlGroup;
use super::root::read_bytes;
use crate::trust::Owners;

/// Namespaces in which the kubelet is with PID 1; the mount and control group namespaces of Talos' kubelet are its own.
const SHARED: [&str; 4] = ["user", "pid", "mnt", "cgroup"];
const SHARED_OF_TALOS: [&str; 2] = ["user", "pid"];
/// What the kernel adds to the name of a program that was replaced while it runs.
const DELETED: &str = " (deleted)";
/// Permission bits with which others than the owner can write.
const WRITABLE: u32 = 0o022;

/// What the kernel knows of a process.
#[derive(Clone, Debug)]
pub struct Facts {
    pub pid: u32,
    pub argv: Vec<String>,
    /// Real, effective, saved and file system user.
    uids: Vec<u32>,
    exe: Result<Exe, io::ErrorKind>,
    /// In the order of [`SHARED`]; None when not readable.
    namespaces: [Option<String>; 4],
    cgroup: String,
}

/// The program that a process runs.
#[derive(Clone, Debug)]
struct Exe {
    /// Name of its file.
    name: String,
    /// Root owns it, and no other user can write to it.
    is_roots: bool,
}

/// What a process is compared with: PID 1 of the process table that is visible here.
#[derive(Clone, Debug)]
pub struct Init {
    namespaces: [Option<String>; 4],
    cgroup: String,
    has_systemd: bool,
    owners: Owners,
}

/// Why a process is not taken for the kubelet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// One of its users is not root.
    User(u32),
    /// The kernel does not show it: without CAP_SYS_PTRACE in a container.
    Hidden(&'static str),
    /// Its program is not root's alone.
    Program(String),
    /// Its program is not a kubelet.
    OtherProgram(String),
    /// It is in another namespace than PID 1.
    Namespace(&'static str),
    /// It is in the control group of a pod, a container or a user.
    Group(String),
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::User(uid) => write!(f, "not trusted: it runs as uid {uid}"),
            Doubt::Hidden(what) => write!(f, "not verified: its {what} cannot be read (CAP_SYS_PTRACE is missing)"),
            Doubt::Program(name) => write!(f, "not trusted: its program {name} is writable by others than root"),
            Doubt::OtherProgram(name) => write!(f, "not a kubelet: its program is {name}"),
            Doubt::Namespace(kind) => write!(f, "not trusted: it is in another {kind} namespace than PID 1"),
            Doubt::Group(group) => write!(f, "not trusted: control group {group} is not a unit of the system"),
        }
    }
}

impl Facts {
    /// Reads them below `/proc/PID`. Blocks while another process holds its memory's lock.
    pub fn read(pid: u32, dir: &Path, argv: Vec<String>) -> Self {
        let text = |name: &str| String::from_utf8_lossy(&read_bytes(&dir.join(name)).unwrap_or_default()).into_owned();
        let namespaces = SHARED.map(|name| namespace(&dir.join("ns"), name));
        Self { pid, argv, uids: uids(&text("status")), exe: exe(dir), namespaces, cgroup: text("cgroup") }
    }

    /// The name of the program's file, if it may be read.
    pub fn program(&self) -> Option<&str> {
        self.exe.as_ref().ok().map(|exe| exe.name.as_str())
    }

    /// The group that it is in, if that matches `known` for the name of its program.
    ///
    /// # Errors
    /// The first [`Doubt`].
    pub fn prove(&self, init: &Init, known: impl Fn(&str) -> bool) -> Result<ControlGroup, Doubt> {
        match self.uids.iter().find(|uid| **uid != 0) {
            Some(uid) => return Err(Doubt::User(*uid)),
            None if self.uids.len() != 4 => return Err(Doubt::Hidden("status")),
            None => {}
        }
        match &self.exe {
            Ok(exe) if !known(&exe.name) => return Err(Doubt::OtherProgram(exe.name.clone())),
            Ok(exe) if !exe.is_roots => return Err(Doubt::Program(exe.name.clone())),
            Ok(_) => {}
            // Without root we cannot read a process of root, and have no privileges to lose.
            Err(_) if init.owners.is_root() => return Err(Doubt::Hidden("program")),
            Err(_) => {}
        }
        let group = match ControlGroup::of(&self.cgroup, &init.cgroup, init.has_systemd) {
            ControlGroup::Workload(path) => return Err(Doubt::Group(path)),
            group => group,
        };
        let shared: &[&str] = if group == ControlGroup::Talos { &SHARED_OF_TALOS } else { &SHARED };
        for ((kind, mine), its) in SHARED.iter().zip(&self.namespaces).zip(&init.namespaces) {
            match (mine, its) {
                _ if !shared.contains(kind) => {}
                (Some(mine), Some(its)) if mine == its => {}
                (Some(_), Some(_)) => return Err(Doubt::Namespace(kind)),
                _ if init.owners.is_root() => return Err(Doubt::Hidden("namespaces")),
                _ => {}
            }
        }
        Ok(group)
    }
}

impl Init {
    /// PID 1 of the process table below `proc`. Where it hides its namespaces they are taken to be ours: no workload is in
    /// our own.
    pub fn read(proc: &Path, has_systemd: bool, owners: Owners) -> Self {
        let of = |pid: &str, name: &str| namespace(&proc.join(pid).join("ns"), name);
        let namespaces = SHARED.map(|name| of("1", name).or_else(|| of("self", name)));
        let cgroup = read_bytes(&proc.join("1/cgroup")).unwrap_or_default();
        Self { namespaces, cgroup: String::from_utf8_lossy(&cgroup).into_owned(), has_systemd, owners }
    }
}

/// `mnt:[4026531841]`.
fn namespace(dir: &Path, name: &str) -> Option<String> {
    Some(fs::read_link(dir.join(name)).ok()?.to_string_lossy().into_owned())
}

/// The four numbers of `Uid:`.
fn uids(status: &str) -> Vec<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    line.split_whitespace().map_while(|uid| uid.parse().ok()).collect()
}

fn exe(dir: &Path) -> Result<Exe, io::ErrorKind> {
    let path = dir.join("exe");
    let target = fs::read_link(&path).map_err(|e| e.kind())?;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    // The link leads to the very file that runs, also if it has no name any more.
    let is = File::open(&path).and_then(|file| file.metadata()).map_err(|e| e.kind())?;
    let is_roots = Owners::of_process().trusts(is.uid()) && is.is_file() && is.mode() & WRITABLE == 0;
    Ok(Exe { name: name.strip_suffix(DELETED).unwrap_or(&name).to_owned(), is_roots })
}
