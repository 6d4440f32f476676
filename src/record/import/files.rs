//! Owns the reading of input files: plain or gzipped is told by content, missing is not an error, what is too much is one.
//! It must not interpret what is in them, nor hold more of one than it was told to.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use rustix::fs::FileType;

use super::ImportError;
use crate::named_file::{self, Kinds};
use crate::trust::{Policy, Resolved, resolve};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;
/// Longest line of a log that is kept, bytes; what follows on it is left out.
const MAX_LINE: usize = 64 << 10;
/// How many times as large as it was a file may be once it is decompressed: lists of pods reach 60.
const MAX_RATIO: u64 = 200;
/// What any file may be decompressed to, bytes, whatever its ratio.
const UNJUDGED: u64 = 16 << 20;

/// How much of the input is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    memory: u64,
}

impl Limits {
    /// Those of a program that may use so much memory, bytes.
    pub(super) fn of(memory: u64) -> Self {
        Self { memory }
    }

    /// Most bytes of one file, decompressed, where it is taken apart as it is read.
    fn read(self) -> u64 {
        self.memory.saturating_mul(2)
    }

    /// Most bytes of one file that are held as they are.
    fn whole(self) -> u64 {
        self.memory / 4
    }

    /// Most bytes of lines that are held of one log.
    fn lines(self) -> usize {
        usize::try_from(self.memory / 10).unwrap_or(usize::MAX)
    }

    /// What all that is decoded may take, bytes: the model holds much of it once more.
    pub(super) fn decoded(self) -> u64 {
        self.memory / 2
    }
}

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

    /// The file of that name, with or without `.gz`. A link may not leave the folder: its maker may not be the user.
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

    pub(super) fn has(&self, name: &str) -> bool {
        !matches!(self.find(name), Ok(None))
    }

    /// Its text, or None when there is no such file. What is not UTF-8 becomes U+FFFD.
    pub(super) fn read(&self, name: &str) -> Result<Option<String>, ImportError> {
        let Some((path, resolved)) = self.find(name)? else { return Ok(None) };
        let file = resolved.open().map_err(|error| ImportError::Read { path: path.clone(), error })?;
        text_of(|take| decompressed(file, &path, self.limits.whole(), take)).map(Some)
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

/// The whole text of a file. What is not UTF-8 becomes U+FFFD.
pub(super) fn text(path: &Path, limits: Limits) -> Result<String, ImportError> {
    text_of(|take| pieces(path, limits.whole(), Begin::First, take))
}

type Take<'a> = dyn FnMut(&[u8]) -> Result<(), ImportError> + 'a;

fn text_of(read: impl FnOnce(&mut Take<'_>) -> Result<(), ImportError>) -> Result<String, ImportError> {
    let mut bytes = Vec::new();
    read(&mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// Hands the file to `take`, piece by piece; `-` is standard input.
pub(super) fn each_piece(
    path: &Path,
    limits: Limits,
    mut take: impl FnMut(&[u8]) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    pieces(path, limits.read(), Begin::First, &mut take)
}

/// The last `most` lines of a log, without those that are empty; of a long one the end is read alone.
pub(super) fn last_lines(path: &Path, limits: Limits, most: usize) -> Result<VecDeque<String>, ImportError> {
    let (mut lines, mut held) = (VecDeque::new(), 0);
    let mut line: Vec<u8> = Vec::new();
    let mut end = |line: &mut Vec<u8>| {
        let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
        line.clear();
        if text.trim().is_empty() {
            return;
        }
        held += text.len() + size_of::<String>();
        lines.push_back(text);
        while lines.len() > most || held > limits.lines() {
            held -= lines.pop_front().map_or(0, |line: String| line.len() + size_of::<String>());
        }
    };
    pieces(path, limits.read(), Begin::Last, &mut |mut piece| {
        while let Some(at) = memchr::memchr(b'\n', piece) {
            let (part, rest) = piece.split_at(at);
            line.extend(part.iter().take(MAX_LINE.saturating_sub(line.len())));
            end(&mut line);
            piece = rest.get(1..).unwrap_or_default();
        }
        line.extend(piece.iter().take(MAX_LINE.saturating_sub(line.len())));
        Ok(())
    })?;
    end(&mut line);
    Ok(lines)
}

/// Which part of a file that is longer than is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// None: it is refused.
    First,
    /// Its end, where it is a file that is not compressed.
    Last,
}

/// Bytes that a reader has given.
struct Counted<'a, R> {
    reader: R,
    count: &'a Cell<u64>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.count.set(self.count.get() + n as u64);
        Ok(n)
    }
}

fn pieces(path: &Path, limit: u64, begin: Begin, take: &mut Take<'_>) -> Result<(), ImportError> {
    let fail = |error| ImportError::Read { path: path.to_owned(), error };
    if path == Path::new("-") {
        return decompressed(io::stdin().lock(), path, limit, take);
    }
    let mut file = named_file::open(path, Kinds::FileOrPipe).map_err(fail)?;
    let len = file.metadata().map_err(fail)?.len();
    if begin == Begin::Last && len > limit && !is_gzip(&mut file).map_err(fail)? {
        file.seek(SeekFrom::End(-i64::try_from(limit / 2).unwrap_or(i64::MAX))).map_err(fail)?;
    }
    decompressed(file, path, limit, take)
}

/// Whether a file that can be read again begins as gzip does.
fn is_gzip(file: &mut File) -> io::Result<bool> {
    let mut start = [0; 2];
    file.read_exact(&mut start)?;
    file.rewind()?;
    Ok(start == GZIP_MAGIC)
}

fn decompressed(mut from: impl Read, path: &Path, limit: u64, take: &mut Take<'_>) -> Result<(), ImportError> {
    let fail = |error| ImportError::Read { path: path.to_owned(), error };
    let mut start = Vec::new();
    from.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut start).map_err(fail)?;
    let zipped = start == GZIP_MAGIC;
    let packed = Cell::new(0);
    let raw = Counted { reader: io::Cursor::new(start).chain(from), count: &packed };
    let mut reader = match zipped {
        true => Either::Zipped(MultiGzDecoder::new(BufReader::with_capacity(CHUNK, raw))),
        false => Either::Plain(raw),
    };
    let (mut buffer, mut length) = (vec![0; CHUNK], 0u64);
    loop {
        let read = match &mut reader {
            Either::Zipped(reader) => reader.read(&mut buffer),
            Either::Plain(reader) => reader.read(&mut buffer),
        };
        let n = match read {
            Ok(0) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(fail)?,
        };
        length += n as u64;
        if length > limit {
            return Err(ImportError::TooLarge { path: path.to_owned(), limit });
        }
        if zipped && length > UNJUDGED && length / MAX_RATIO > packed.get() {
            return Err(ImportError::Ratio { path: path.to_owned(), ratio: MAX_RATIO });
        }
        take(buffer.get(..n).unwrap_or_default())?;
    }
}

enum Either<Z, P> {
    Zipped(Z),
    Plain(P),
}
