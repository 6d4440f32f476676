//! Owns the making of observations from files that others wrote: `kubectl -o json`, captures and incident folders.
//! It must not read a clock: the same input gives the same observations, always.

mod capture;
mod cri_lines;
mod files;
mod incident;
mod kubectl;
mod listing;
mod logs;
mod offline;
mod timeline;

use std::io;
use std::path::{Path, PathBuf};

use crate::observation::{Observation, Time};
use crate::text::Text;
use crate::weight::DEFAULT_MEMORY;

pub use offline::{LogFile, LogOf, examine};

/// What an import gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Observations, ordered by `mono`; within a source by `seq`.
    pub observations: Vec<Observation>,
    /// Wall time of the first observation: `mono` counts from here.
    pub begin: Time,
    /// Wall time at which the input ends; no observation is later.
    pub end: Time,
    /// Name of the node that the input is about; empty when it does not say.
    pub node: Text,
    /// What could not be used.
    pub skipped: Vec<Skipped>,
}

/// Something of the input that could not be used, and is told rather than hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub path: Text,
    /// What was skipped, and why; it never quotes the input.
    pub what: Text,
    /// How many of it.
    pub count: u64,
}

/// Why nothing could be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The path could not be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A file is larger than is read.
    #[error("{} is larger than {} MiB once decompressed", path.display(), limit >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// A compressed file is nearly empty: what it stands for is no input that anybody made.
    #[error(
        "{} decompresses to more than {ratio} times its size, which no real input does",
        path.display()
    )]
    Ratio {
        /// The file.
        path: PathBuf,
        /// The limit.
        ratio: u64,
    },
    /// What is in the input takes more memory than may be used.
    #[error("{} needs more memory than may be used", path.display())]
    TooMuch {
        /// The input.
        path: PathBuf,
    },
    /// A folder that is neither kind.
    #[error(
        "{} is nothing that can be imported: looked for api-pods.jsonl (an incident), for pods.json (a capture)",
        path.display()
    )]
    UnknownFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A file that holds no Kubernetes list.
    #[error(
        "{} is nothing that can be imported: looked for what `kubectl get pods,events,nodes -A -o json` prints ({why})",
        path.display()
    )]
    NotObjects {
        /// The file.
        path: PathBuf,
        /// Where reading failed.
        why: String,
    },
    /// Nothing in the input says when it was made.
    #[error("{} holds nothing that carries a time", path.display())]
    NoTime {
        /// The path.
        path: PathBuf,
    },
}

/// Imports a folder or a file, plain or gzipped, whatever its name; `-` is standard input.
///
/// # Errors
/// Those of [`import_within`], with the memory that is used by default.
pub fn import(path: &Path) -> Result<Imported, ImportError> {
    import_within(path, DEFAULT_MEMORY)
}

/// The same with so many bytes of memory.
///
/// # Errors
/// When the path cannot be read, or is nothing that can be imported. Single bad lines and files are told in
/// [`Imported::skipped`] or as a state of their source instead.
pub fn import_within(path: &Path, memory: u64) -> Result<Imported, ImportError> {
    let limits = files::Limits::of(memory);
    if path == Path::new("-") || !path.is_dir() {
        return kubectl::import(path, limits);
    }
    let folder = files::Folder::new(path, limits);
    if folder.has("api-pods.jsonl") {
        incident::import(&folder)
    } else if folder.has("pods.json") {
        capture::import(&folder)
    } else {
        Err(ImportError::UnknownFolder { path: path.to_owned() })
    }
}
