//! Owns the reading of input files: plain or gzipped is told by content, missing is not an error.
//! It must not interpret what is in them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::ImportError;

/// Most bytes of one file, decompressed: a bomb must not take the memory of whoever looks at it.
const MAX_BYTES: u64 = 1 << 30;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A folder of input files.
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file of that name, with or without `.gz`.
    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        let plain = self.path.join(name);
        let zipped = self.path.join(format!("{name}.gz"));
        [plain, zipped].into_iter().find(|p| p.is_file())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Its text, or None when there is no such file.
    pub(super) fn read(&self, name: &str) -> Result<Option<String>, ImportError> {
        self.find(name).map(|path| read(&path)).transpose()
    }

    /// Names in `folder` that begin with `prefix`, sorted, without `.gz`.
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

/// The text of a file; `-` is standard input. What is not UTF-8 becomes U+FFFD.
pub(super) fn read(path: &Path) -> Result<String, ImportError> {
    let fail = |error| ImportError::Read { path: path.to_owned(), error };
    let bytes = if path == Path::new("-") { bounded(io::stdin().lock()) } else { File::open(path).and_then(bounded) };
    let mut bytes = bytes.map_err(fail)?;
    if bytes.starts_with(&GZIP_MAGIC) {
        bytes = bounded(MultiGzDecoder::new(bytes.as_slice())).map_err(fail)?;
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ImportError::TooLarge { path: path.to_owned(), limit: MAX_BYTES });
    }
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// One byte more than allowed, so that the excess is seen.
fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
