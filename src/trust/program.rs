//! Programs that run as root: found in fixed directories, never through the inherited PATH.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::{Owners, Policy, resolve};

/// Directories of programs, in order; the last three are Flatcar's, snap's and NixOS'.
pub const PROGRAM_DIRS: &[&str] = &[
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/opt/bin",
    "/snap/bin",
    "/run/current-system/sw/bin",
];

/// The path of a program: unchanged if absolute, else in the first of [`PROGRAM_DIRS`] that has it.
///
/// # Errors
/// When it is not there, or root alone could not have put it there.
pub fn find_program(name: &str, owners: Owners) -> io::Result<PathBuf> {
    if name.starts_with('/') {
        return judged(Path::new(name), owners);
    }
    if name.is_empty() || name.contains('/') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither an absolute path nor a plain name"));
    }
    let mut first = None;
    for dir in PROGRAM_DIRS {
        match judged(&Path::new(dir).join(name), owners) {
            Ok(path) => return Ok(path),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
}

fn judged(path: &Path, owners: Owners) -> io::Result<PathBuf> {
    let resolved = resolve(Path::new("/"), path, Policy::Trusted(owners))?;
    if resolved.kind() == FileType::RegularFile {
        // The requested name: programs such as busybox do what they are called.
        Ok(path.to_owned())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a file"))
    }
}
