//! Why a path is not trusted, with the component at fault.

use std::fmt;
use std::path::PathBuf;

/// A path component that a user other than root can change, or to which workloads write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distrust {
    /// The component at fault.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: DistrustReason,
}

/// What is wrong with a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistrustReason {
    /// Its owner is this user, who is neither root nor the user that runs the program.
    Owner(u32),
    /// Every user can write to it.
    WritableByAll,
    /// This group can write to it.
    WritableByGroup(u32),
    /// An access control list gives others write access.
    WritableByList,
    /// A file with several names in a directory where every user can add names.
    HardLink,
    /// Pod volumes, container storage, or a mount of either.
    WorkloadPlace,
    /// A file system whose owners and contents a user process invents (FUSE).
    UserFileSystem,
    /// A link that leads out of the folder that the user named.
    LinkLeavesFolder,
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.reason {
            DistrustReason::Owner(uid) => write!(f, "not trusted: {path} is owned by uid {uid}"),
            DistrustReason::WritableByAll => write!(f, "not trusted: {path} is writable by every user"),
            DistrustReason::WritableByGroup(gid) => write!(f, "not trusted: {path} is writable by group {gid}"),
            DistrustReason::WritableByList => {
                write!(f, "not trusted: {path} has an access control list with write access")
            }
            DistrustReason::HardLink => write!(f, "not trusted: {path} is a hard link in a directory of every user"),
            DistrustReason::WorkloadPlace => write!(f, "not trusted: {path} is in pod volumes or container storage"),
            DistrustReason::UserFileSystem => write!(f, "not trusted: {path} is on a FUSE file system"),
            DistrustReason::LinkLeavesFolder => write!(f, "not followed: {path} is a link out of the folder"),
        }
    }
}

impl std::error::Error for Distrust {}

impl From<Distrust> for std::io::Error {
    fn from(distrust: Distrust) -> Self {
        std::io::Error::other(distrust)
    }
}
