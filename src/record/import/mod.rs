//! Imports: observations from the output of `kubectl get -o json` and from log files. Nothing here reads the clock: an input
//! always gives the same observations.

mod files;
mod kubectl;
#[cfg(feature = "lab-formats")]
mod lab;
mod offline;
mod timeline;

use std::io;
use std::path::{Path, PathBuf};

use crate::observation::{Observation, Time};
use crate::text::Text;
use crate::weight::DEFAULT_MEMORY;

pub use offline::{LogFile, LogOf, examine};

/// The result of an import.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Observations, ordered by `mono`; within a source by `seq`.
    pub observations: Vec<Observation>,
    /// Wall time of the first observation: `mono` counts from here.
    pub begin: Time,
    /// Wall time at which the input ends; no observation is later.
    pub end: Time,
    /// Name of the node that the input is about; empty when unknown.
    pub node: Text,
    /// Parts that could not be used.
    pub skipped: Vec<Skipped>,
}

/// A part of the input that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub path: Text,
    /// What was skipped, and why. Never quotes the input.
    pub what: Text,
    /// How many.
    pub count: u64,
}

/// Why an input could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The path could not be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A file is above the size limit.
    #[error("{} is larger than {} MiB once decompressed", path.display(), limit >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit, bytes.
        limit: u64,
    },
    /// The compression ratio of a file is above the limit, as in a decompression bomb.
    #[error("{} decompresses to more than {ratio} times its size", path.display())]
    Ratio {
        /// The file.
        path: PathBuf,
        /// The limit.
        ratio: u64,
    },
    /// The decoded input is above the memory limit.
    #[error("{} needs more memory than --max-memory allows", path.display())]
    TooMuch {
        /// The input.
        path: PathBuf,
    },
    /// A folder; no folder is an accepted input.
    #[error("{}: not a recognised input (a folder)", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// A file without a Kubernetes object that is used.
    #[error("{}: not a recognised input ({why})", path.display())]
    NotObjects {
        /// The file.
        path: PathBuf,
        /// Where reading failed.
        why: String,
    },
    /// Nothing in the input has a time.
    #[error("{} contains no time", path.display())]
    NoTime {
        /// The path.
        path: PathBuf,
    },
}

/// Imports a file, plain or gzipped, whatever its name; `-` is standard input.
///
/// # Errors
/// Those of [`import_within`], with the default memory limit.
pub fn import(path: &Path) -> Result<Imported, ImportError> {
    import_within(path, DEFAULT_MEMORY)
}

/// Imports a file with at most `memory` bytes of memory.
///
/// # Errors
/// When the path cannot be read or is not a recognised input. Single unusable lines and objects are listed in
/// [`Imported::skipped`] instead.
pub fn import_within(path: &Path, memory: u64) -> Result<Imported, ImportError> {
    let limits = files::Limits::new(memory);
    if path == Path::new("-") || !path.is_dir() {
        return kubectl::import(path, limits);
    }
    #[cfg(feature = "lab-formats")]
    if let Some(imported) = lab::import(path, limits)? {
        return Ok(imported);
    }
    Err(ImportError::Folder { path: path.to_owned() })
}
