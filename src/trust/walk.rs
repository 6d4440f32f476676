//! Resolves a path component by component and checks each one on the opened descriptor.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat};

use super::owners::is_sticky;
use super::place::{is_workload_mount, is_workload_place};
use super::{Distrust, DistrustReason, Owners};

/// Most links on one path, as in the kernel (`MAXSYMLINKS`, include/linux/namei.h).
const MAX_LINKS: usize = 40;
/// `FUSE_SUPER_MAGIC`, include/uapi/linux/magic.h.
const FUSE: u64 = 0x6573_5546;
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What the components of a path must prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Root alone (or the user that runs the program) put it there: for everything that is believed.
    Trusted(Owners),
    /// The same, but a directory may be writable by a group, as Ubuntu's /var/log is, and container storage is allowed: for
    /// logs, whose lines are shown and never believed.
    Shown(Owners),
    /// Links stay inside the folder: for a folder that the user named.
    Inside,
}

/// A path that was resolved, and what is there.
#[derive(Debug)]
pub struct Resolved {
    fd: OwnedFd,
    stat: Stat,
    path: PathBuf,
}

/// Resolves `path` below the directory `root`, which is not judged itself; absolute links and `..` stay below it.
///
/// # Errors
/// A [`Distrust`] inside an [`io::Error`], or an error of the kernel.
pub fn resolve(root: &Path, path: &Path, policy: Policy) -> io::Result<Resolved> {
    let top = rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut dirs = vec![DirEntry { stat: rustix::fs::fstat(&top)?, fd: top, path: PathBuf::from("/") }];
    let mut rest: VecDeque<OsString> = VecDeque::new();
    push(&mut rest, path);
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            if dirs.len() > 1 {
                dirs.pop();
            } else if policy == Policy::Inside {
                return Err(Distrust { path: path.to_owned(), reason: DistrustReason::LinkLeavesFolder }.into());
            }
            continue;
        }
        let Some(dir) = dirs.last() else { return Err(io::ErrorKind::NotFound.into()) };
        if FileType::from_raw_mode(dir.stat.st_mode) != FileType::Directory {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let entry = dir.entry(&name)?;
        entry.judge(dir, policy)?;
        if FileType::from_raw_mode(entry.stat.st_mode) != FileType::Symlink {
            dirs.push(entry);
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(rustix::io::Errno::LOOP.into());
        }
        let target = rustix::fs::readlinkat(&entry.fd, "", Vec::new())?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            if policy == Policy::Inside {
                return Err(Distrust { path: entry.path, reason: DistrustReason::LinkLeavesFolder }.into());
            }
            dirs.truncate(1);
        }
        push(&mut rest, &target);
    }
    let Some(DirEntry { fd, stat, path }) = dirs.pop() else { return Err(io::ErrorKind::NotFound.into()) };
    let resolved = Resolved { fd, stat, path };
    if let Policy::Trusted(_) = policy {
        resolved.judge_place()?;
    }
    Ok(resolved)
}

/// Puts the components of `path` before the rest.
fn push(rest: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => rest.push_front(name.to_owned()),
            Component::ParentDir => rest.push_front("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
}

/// An opened component.
struct DirEntry {
    fd: OwnedFd,
    stat: Stat,
    path: PathBuf,
}

impl DirEntry {
    fn entry(&self, name: &OsStr) -> io::Result<DirEntry> {
        let fd = rustix::fs::openat(&self.fd, name.as_bytes(), LOOK, Mode::empty())?;
        Ok(DirEntry { stat: rustix::fs::fstat(&fd)?, fd, path: self.path.join(name) })
    }

    fn judge(&self, dir: &DirEntry, policy: Policy) -> Result<(), Distrust> {
        let distrust = |reason| Distrust { path: self.path.clone(), reason };
        let (owners, group_may_write) = match policy {
            Policy::Trusted(owners) => (owners, false),
            Policy::Shown(owners) => (owners, FileType::from_raw_mode(self.stat.st_mode) == FileType::Directory),
            Policy::Inside => return Ok(()),
        };
        owners.judge(&self.stat, self.fd.as_fd(), group_may_write).map_err(distrust)?;
        let is_file = FileType::from_raw_mode(self.stat.st_mode) == FileType::RegularFile;
        if is_file && self.stat.st_nlink > 1 && is_sticky(&dir.stat) {
            return Err(distrust(DistrustReason::HardLink));
        }
        Ok(())
    }
}

impl Resolved {
    /// The path without links, below the root that it was resolved in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is there.
    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Its kind.
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// Opens the regular file that was judged for reading: this very one, whatever has its name by now.
    ///
    /// # Errors
    /// When it is not a regular file, or not readable.
    pub fn open(&self) -> io::Result<File> {
        match self.kind() {
            FileType::RegularFile => {}
            FileType::Directory => return Err(invalid("it is a directory")),
            _ => return Err(invalid("it is a pipe, a socket or a device, not a file")),
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(format!("/proc/self/fd/{}", self.fd.as_raw_fd()), flags, Mode::empty())?.into())
    }

    fn judge_place(&self) -> Result<(), Distrust> {
        let distrust = |reason| Distrust { path: self.path.clone(), reason };
        if is_workload_place(&self.path) || is_workload_mount(&self.fd) {
            return Err(distrust(DistrustReason::WorkloadPlace));
        }
        if rustix::fs::fstatfs(&self.fd).is_ok_and(|fs| fs.f_type as u64 == FUSE) {
            return Err(distrust(DistrustReason::UserFileSystem));
        }
        Ok(())
    }
}

pub(super) fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
