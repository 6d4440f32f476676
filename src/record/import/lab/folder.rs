//! A folder of input files, each plain or gzipped.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::record::import::ImportError;
use crate::record::import::files::{Limits, decompressed, text_of};
use crate::trust::{Policy, Resolved, resolve};

/// A folder of input files.
pub(super) struct Folder {
    path: PathBuf,
    limits: Limits,
}

impl Folder {
    pub(super) fn new(path: &Path, limits: Limits) -> Self {
        Self { path: path.to_owned(), limits }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// The file of that name, with or without `.gz`. Links out of the folder are not followed: another user can have
    /// created the folder.
    fn find(&self, name: &str) -> Result<Option<(PathBuf, Resolved)>, ImportError> {
        for name in [name.to_owned(), format!("{name}.gz")] {
            let path = self.path.join(&name);
            match resolve(&self.path, Path::new(&name), Policy::Inside) {
                Ok(resolved) if resolved.kind() == FileType::RegularFile => return Ok(Some((path, resolved))),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => return Err(ImportError::Read { path, error }),
            }
        }
        Ok(None)
    }

    /// True when the file exists, readable or not.
    pub(super) fn has(&self, name: &str) -> bool {
        !matches!(self.find(name), Ok(None))
    }

    /// The text of the file, or None when it does not exist. Bytes that are not UTF-8 become U+FFFD.
    pub(super) fn read(&self, name: &str) -> Result<Option<String>, ImportError> {
        let Some((path, resolved)) = self.find(name)? else { return Ok(None) };
        let file = resolved.open().map_err(|error| ImportError::Read { path: path.clone(), error })?;
        text_of(|take| decompressed(file, &path, self.limits.whole_file(), take)).map(Some)
    }

    /// Names in `folder` that start with `prefix`, sorted, without `.gz`.
    pub(super) fn names(&self, folder: &str, prefix: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path.join(folder)) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|e| e.file_name().into_string().ok())
            .filter(|n| n.starts_with(prefix))
            .map(|n| format!("{folder}/{}", n.strip_suffix(".gz").unwrap_or(&n)))
            .collect();
        names.sort();
        names.dedup();
        names
    }
}
