//! A file and its origin, which decides what is verified each time it is opened.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::walk::invalid;
use super::{Distrust, Owners, Policy, Resolved, resolve};
use crate::named_file::{self, Kinds};

/// Largest file of certificates, keys, a token or a kubeconfig that is read, bytes.
pub const MAX_CREDENTIAL_FILE: u64 = 1 << 20;

/// Distinguishes a file from the one that had its name before: inode, change time (seconds, nanoseconds), length. Seen
/// through symbolic links, which are what rotation replaces.
pub type FileStamp = (u64, i64, i64, u64);

/// A file, and whether the user named it or it was discovered on the node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KnownFile {
    /// The user's choice: any regular file.
    Named(PathBuf),
    /// Found on the node: believed only if root alone could have put it there.
    Discovered {
        /// Directory below which the path is resolved: `/` on the node itself.
        root: PathBuf,
        /// Absolute path below it.
        path: PathBuf,
    },
}

impl KnownFile {
    /// The path, for display.
    pub fn path(&self) -> &Path {
        match self {
            Self::Named(path) | Self::Discovered { path, .. } => path,
        }
    }

    /// True when the user named it.
    pub fn is_named(&self) -> bool {
        matches!(self, Self::Named(_))
    }

    /// A file that this one refers to, relative to it, known in the same way.
    #[must_use]
    pub fn refers_to(&self, other: impl AsRef<Path>) -> Self {
        let path = self.path().parent().unwrap_or(Path::new("/")).join(other);
        match self {
            Self::Named(_) => Self::Named(path),
            Self::Discovered { root, .. } => Self::Discovered { root: root.clone(), path },
        }
    }

    /// Opens it. Blocks as long as its file system does.
    ///
    /// # Errors
    /// When it is not a regular file, not readable, or not trusted ([`distrust_of`]).
    pub fn open(&self) -> io::Result<File> {
        match self {
            Self::Named(path) => named_file::open(path, Kinds::File),
            Self::Discovered { .. } => self.resolved()?.open(),
        }
    }

    fn resolved(&self) -> io::Result<Resolved> {
        match self {
            Self::Named(_) => Err(io::ErrorKind::InvalidInput.into()),
            Self::Discovered { root, path } => resolve(root, path, Policy::Trusted(Owners::of_process())),
        }
    }

    /// Its bytes, at most [`MAX_CREDENTIAL_FILE`].
    ///
    /// # Errors
    /// As [`KnownFile::open`], and when it is longer.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open()?.take(MAX_CREDENTIAL_FILE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_CREDENTIAL_FILE { Err(invalid("it is longer than 1 MiB")) } else { Ok(bytes) }
    }

    /// Its text.
    ///
    /// # Errors
    /// As [`KnownFile::bytes`], and when it is not UTF-8.
    pub fn text(&self) -> io::Result<String> {
        String::from_utf8(self.bytes()?).map_err(|_| invalid("it is not text"))
    }

    /// Its stamp.
    ///
    /// # Errors
    /// As [`KnownFile::open`].
    pub fn stamp(&self) -> io::Result<FileStamp> {
        let stat = match self {
            Self::Named(path) => rustix::fs::stat(path)?,
            Self::Discovered { .. } => *self.resolved()?.stat(),
        };
        Ok((stat.st_ino, stat.st_ctime, stat.st_ctime_nsec.cast_signed(), stat.st_size.cast_unsigned()))
    }

    /// The path to connect to, if there is a socket.
    ///
    /// # Errors
    /// When it is not a socket, or not trusted.
    pub fn socket(&self) -> io::Result<PathBuf> {
        let (path, stat) = match self {
            Self::Named(path) => (path.clone(), rustix::fs::stat(path)?),
            // Its directories are root's alone: nothing else can be put there between now and the connection.
            Self::Discovered { root, .. } => {
                let resolved = self.resolved()?;
                let below = resolved.path().strip_prefix("/").unwrap_or(resolved.path());
                (root.join(below), *resolved.stat())
            }
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Socket => Ok(path),
            FileType::Directory => Err(invalid("it is a directory, not a socket")),
            _ => Err(invalid("it is a file, not a socket")),
        }
    }

    /// Why others than root could have written it; also of a file that the user named.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn distrust(&self, owners: Owners) -> io::Result<Option<Distrust>> {
        let judged = match self {
            Self::Named(path) => resolve(Path::new("/"), &std::path::absolute(path)?, Policy::Trusted(owners)),
            Self::Discovered { root, path } => resolve(root, path, Policy::Trusted(owners)),
        };
        match judged {
            Ok(_) => Ok(None),
            Err(error) => match distrust_of(&error) {
                Some(distrust) => Ok(Some(distrust.clone())),
                None => Err(error),
            },
        }
    }
}

impl<P: Into<PathBuf>> From<P> for KnownFile {
    /// A file that the user named.
    fn from(path: P) -> Self {
        Self::Named(path.into())
    }
}

impl fmt::Display for KnownFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().display().fmt(f)
    }
}

impl fmt::Debug for KnownFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.path(), f)
    }
}

/// The distrust inside of an error.
pub fn distrust_of(error: &io::Error) -> Option<&Distrust> {
    error.get_ref()?.downcast_ref()
}
