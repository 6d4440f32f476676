//! Lab formats, behind the cargo feature `lab-formats`: capture and incident folders, from which the tests and the demo
//! recording are made. They are not inputs of the released binary.

mod capture;
mod cri_lines;
mod folder;
mod incident;
mod line;
mod list_state;
mod log_lines;

use std::path::Path;

use super::files::Limits;
use super::{ImportError, Imported};
use folder::Folder;

/// Imports a capture or an incident folder; None for a folder of another kind.
///
/// # Errors
/// When a file of the folder cannot be read, or no file has a time.
pub(super) fn import(path: &Path, limits: Limits) -> Result<Option<Imported>, ImportError> {
    let folder = Folder::new(path, limits);
    if folder.has("api-pods.jsonl") {
        incident::import(&folder).map(Some)
    } else if folder.has("pods.json") {
        capture::import(&folder).map(Some)
    } else {
        Ok(None)
    }
}
