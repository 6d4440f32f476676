//! Reads input files within size limits. gzip is recognised by content, not by name.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::ImportError;
use crate::named_file::{self, Kinds};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Size of one read, bytes.
const CHUNK: usize = 64 << 10;
/// Longest part of a log line that is kept, bytes; the rest of the line is dropped.
const MAX_LINE: usize = 64 << 10;
/// Highest compression ratio that is accepted; lists of pods reach 60.
const MAX_RATIO: u64 = 200;
/// Decompressed size up to which any ratio is accepted, bytes.
const RATIO_EXEMPT: u64 = 16 << 20;

/// How much of an input is read and held, from the memory limit of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Memory limit, bytes.
    memory: u64,
}

impl Limits {
    /// The limits for a process that may use `memory` bytes.
    pub(super) fn new(memory: u64) -> Self {
        Self { memory }
    }

    /// Most bytes of one file, decompressed, that is decoded while it is read.
    fn streamed_file(self) -> u64 {
        self.memory.saturating_mul(2)
    }

    /// Most bytes of one file, decompressed, that is held as a whole.
    pub(super) fn whole_file(self) -> u64 {
        self.memory / 4
    }

    /// Most bytes of lines that are held of one log.
    fn log_lines(self) -> usize {
        usize::try_from(self.memory / 10).unwrap_or(usize::MAX)
    }

    /// Most bytes of decoded facts; the model holds many of them a second time.
    pub(super) fn decoded(self) -> u64 {
        self.memory / 2
    }
}

/// The whole text of a file. Bytes that are not UTF-8 become U+FFFD.
pub(super) fn text(path: &Path, limits: Limits) -> Result<String, ImportError> {
    text_of(|take| pieces(path, limits.whole_file(), Oversize::Refuse, take))
}

/// Takes the next piece of a file.
pub(super) type Take<'a> = dyn FnMut(&[u8]) -> Result<(), ImportError> + 'a;

/// Collects what `read` hands over. Bytes that are not UTF-8 become U+FFFD.
pub(super) fn text_of(read: impl FnOnce(&mut Take<'_>) -> Result<(), ImportError>) -> Result<String, ImportError> {
    let mut bytes = Vec::new();
    read(&mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// Passes the content of a file to `take`, piece by piece; `-` is standard input.
pub(super) fn each_piece(
    path: &Path,
    limits: Limits,
    mut take: impl FnMut(&[u8]) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    pieces(path, limits.streamed_file(), Oversize::Refuse, &mut take)
}

/// The last `max_lines` lines of a log that are not empty. Of a log above the limits only the end is read.
pub(super) fn last_lines(path: &Path, limits: Limits, max_lines: usize) -> Result<VecDeque<String>, ImportError> {
    let (mut lines, mut bytes) = (VecDeque::new(), 0);
    let mut line: Vec<u8> = Vec::new();
    let mut end = |line: &mut Vec<u8>| {
        let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
        line.clear();
        if text.trim().is_empty() {
            return;
        }
        bytes += text.len() + size_of::<String>();
        lines.push_back(text);
        while lines.len() > max_lines || bytes > limits.log_lines() {
            bytes -= lines.pop_front().map_or(0, |line: String| line.len() + size_of::<String>());
        }
    };
    pieces(path, limits.streamed_file(), Oversize::ReadEnd, &mut |mut piece| {
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

/// What is read of a file above the limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Oversize {
    /// Nothing: it is an error.
    Refuse,
    /// The end, if the file is not compressed.
    ReadEnd,
}

/// A reader that counts its bytes.
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

fn pieces(path: &Path, limit: u64, oversize: Oversize, take: &mut Take<'_>) -> Result<(), ImportError> {
    let fail = |error| ImportError::Read { path: path.to_owned(), error };
    if path == Path::new("-") {
        return decompressed(io::stdin().lock(), path, limit, take);
    }
    let mut file = named_file::open(path, Kinds::FileOrPipe).map_err(fail)?;
    let len = file.metadata().map_err(fail)?.len();
    if oversize == Oversize::ReadEnd && len > limit && !is_gzip(&mut file).map_err(fail)? {
        file.seek(SeekFrom::End(-i64::try_from(limit / 2).unwrap_or(i64::MAX))).map_err(fail)?;
    }
    decompressed(file, path, limit, take)
}

/// True for a gzip file. Rewinds the file.
fn is_gzip(file: &mut File) -> io::Result<bool> {
    let mut start = [0; 2];
    file.read_exact(&mut start)?;
    file.rewind()?;
    Ok(start == GZIP_MAGIC)
}

/// Passes the decompressed content to `take`.
///
/// # Errors
/// [`ImportError::Read`], [`ImportError::TooLarge`] above `limit` bytes, and [`ImportError::Ratio`].
pub(super) fn decompressed(
    mut from: impl Read,
    path: &Path,
    limit: u64,
    take: &mut Take<'_>,
) -> Result<(), ImportError> {
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
        if zipped && length > RATIO_EXEMPT && length / MAX_RATIO > packed.get() {
            return Err(ImportError::Ratio { path: path.to_owned(), ratio: MAX_RATIO });
        }
        take(buffer.get(..n).unwrap_or_default())?;
    }
}

enum Either<Z, P> {
    Zipped(Z),
    Plain(P),
}
