//! Owners whose files are trusted, and permission bits that give others write access.

use std::os::fd::AsRawFd;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FileType, Stat};

use super::DistrustReason;

const STICKY: u32 = 0o1000;
const GROUP_WRITE: u32 = 0o020;
const OTHER_WRITE: u32 = 0o002;
/// Extended attribute of POSIX access control lists.
const ACCESS_LIST: &str = "system.posix_acl_access";
/// Tags of entries in such a list (`include/uapi/linux/posix_acl.h`): a named user, a named group.
const NAMED: [u16; 2] = [0x02, 0x08];
/// Write permission of an entry.
const LIST_WRITE: u16 = 0x02;
/// Version word before the entries, and length of one entry: tag, permissions, id.
const LIST_HEADER: usize = 4;
const LIST_ENTRY: usize = 8;

/// Users whose files are believed: root, and the user that runs the program. As root these are root alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owners {
    own: u32,
}

impl Owners {
    /// For the effective user of this process.
    pub fn of_process() -> Self {
        Self { own: rustix::process::geteuid().as_raw() }
    }

    /// For a user by id.
    pub fn of_user(uid: u32) -> Self {
        Self { own: uid }
    }

    /// True when the program runs as root, so that believing the wrong file gives root's rights away.
    pub fn is_root(self) -> bool {
        self.own == 0
    }

    /// True for a user whose files are believed.
    pub fn trusts(self, uid: u32) -> bool {
        uid == 0 || uid == self.own
    }

    /// What is wrong with a component of a path, `entry`, opened with `O_PATH` as `fd`.
    ///
    /// A directory that others can write to passes if it is sticky: only its owner can then rename or remove what
    /// root has put there, and every component is judged by its own owner.
    pub(super) fn judge(self, entry: &Stat, fd: BorrowedFd<'_>, group_may_write: bool) -> Result<(), DistrustReason> {
        if !self.trusts(entry.st_uid) {
            return Err(DistrustReason::Owner(entry.st_uid));
        }
        let kind = FileType::from_raw_mode(entry.st_mode);
        // The mode of a link has no effect; to replace it a user needs write access to its directory.
        if kind == FileType::Symlink || (kind == FileType::Directory && is_sticky(entry)) {
            return Ok(());
        }
        if entry.st_mode & OTHER_WRITE != 0 {
            return Err(DistrustReason::WritableByAll);
        }
        if entry.st_mode & GROUP_WRITE != 0 && !group_may_write && kind != FileType::Socket {
            if entry.st_gid != 0 && !(entry.st_gid == self.own && self.own == entry.st_uid) {
                return Err(DistrustReason::WritableByGroup(entry.st_gid));
            }
            if others_in_list(fd) {
                return Err(DistrustReason::WritableByList);
            }
        }
        Ok(())
    }
}

/// True for a directory in which every user can add names but only owners can remove or rename them.
pub(super) fn is_sticky(entry: &Stat) -> bool {
    entry.st_mode & STICKY != 0
}

/// With a list, the group bits are its mask: a named user or group may be behind them.
fn others_in_list(fd: BorrowedFd<'_>) -> bool {
    let mut list = [0u8; 4096];
    let path = format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd());
    match rustix::fs::getxattr(path, ACCESS_LIST, &mut list[..]) {
        Ok(len) => list
            .get(LIST_HEADER..len)
            .unwrap_or_default()
            .chunks_exact(LIST_ENTRY)
            .any(|entry| matches!(entry, [t0, t1, p0, p1, ..] if NAMED.contains(&u16::from_le_bytes([*t0, *t1])) && u16::from_le_bytes([*p0, *p1]) & LIST_WRITE != 0)),
        // No list, or a file system without them.
        Err(rustix::io::Errno::NODATA | rustix::io::Errno::OPNOTSUPP) => false,
        Err(_) => true,
    }
}

#[cfg(test)]
impl Owners {
    /// The effective user of this process.
    pub(super) fn of_process_uid() -> u32 {
        Self::of_process().own
    }
}
