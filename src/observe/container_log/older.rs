//! Reads a log backwards in chunks: the file, then its rotated files, compressed or not.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::container_log::{LogLine, MAX_LOG_BYTES, OlderLines};
use crate::decode::{LogDecoder, LogForm, first_complete_line};
use crate::observe::discover::Bounds;
use crate::text::Text;

/// Size of a chunk in bytes.
const CHUNK: u64 = 256 << 10;
/// Maximum number of bytes unpacked from a compressed file; a longer one is skipped.
const MAX_UNPACKED: u64 = 128 << 20;
/// Bytes kept from the end of a compressed file.
const KEPT: usize = MAX_LOG_BYTES;

/// The part of a log that was not read yet.
#[derive(Debug)]
pub struct OlderChunks {
    bytes: ChunkSource,
    /// Everything from this offset on was read.
    at: u64,
    /// Rotated files that were not opened yet, newest last.
    rotated: Vec<PathBuf>,
    bounds: Bounds,
    /// Older lines exist and are not available: unreadable, or in a compressed file that is too long.
    is_truncated: bool,
    /// Why reading stopped, until it is taken.
    failure: Option<Text>,
}

#[derive(Debug)]
enum ChunkSource {
    File(File),
    Memory(Vec<u8>),
}

impl OlderChunks {
    /// The part before offset `at` of the open `file`; `path` is its path without symbolic links.
    pub fn new(file: File, path: &Path, at: u64, bounds: &Bounds) -> Self {
        Self {
            bytes: ChunkSource::File(file),
            at,
            rotated: rotated(path),
            bounds: bounds.clone(),
            is_truncated: false,
            failure: None,
        }
    }

    /// True when older lines are available.
    pub fn is_more(&self) -> bool {
        self.at > 0 || !self.rotated.is_empty()
    }

    /// Whether older lines exist.
    pub fn remaining(&self) -> OlderLines {
        match (self.is_more(), self.is_truncated) {
            (true, _) => OlderLines::Available,
            (false, true) => OlderLines::Omitted,
            (false, false) => OlderLines::None,
        }
    }

    /// The bytes of the previous chunk, from the start of a line; empty at the start of the log or after a failure.
    pub fn read_chunk(&mut self) -> Vec<u8> {
        while self.at == 0 {
            let Some(path) = self.rotated.pop() else { return Vec::new() };
            // A file that was deleted meanwhile has no lines.
            if let Ok((bytes, length, cut)) = open_rotated(&path, &self.bounds) {
                (self.bytes, self.at, self.is_truncated) = (bytes, length, cut);
                if cut {
                    // Lines of these files would precede a gap.
                    self.rotated.clear();
                }
            }
        }
        let from = self.at.saturating_sub(CHUNK);
        let (mut bytes, read) = self.bytes.between(from, self.at);
        if let Err(e) = read {
            // All older lines would precede a gap.
            self.failure = Some(format!("cannot read older lines: {e}").into());
            (self.at, self.is_truncated) = (0, true);
            self.rotated.clear();
            return Vec::new();
        }
        let start = if from > 0 || self.is_truncated { first_complete_line(&bytes) } else { 0 };
        // A line that is longer than a chunk is split.
        let start = if start < bytes.len() { start } else { 0 };
        bytes.drain(..start);
        let start = from + start as u64;
        self.at = if from > 0 { start } else { 0 };
        bytes
    }

    /// Why reading stopped, once.
    pub fn take_failure(&mut self) -> Option<Text> {
        self.failure.take()
    }

    /// The lines of the previous chunk.
    pub fn read_lines(&mut self) -> Vec<LogLine> {
        let (mut decoder, mut lines) = (LogDecoder::new(LogForm::Kept), Vec::new());
        decoder.push(&self.read_chunk(), &mut lines);
        decoder.end(&mut lines);
        lines
    }
}

impl ChunkSource {
    fn between(&self, from: u64, to: u64) -> (Vec<u8>, io::Result<()>) {
        match self {
            ChunkSource::File(file) => read_between(file, from, to),
            ChunkSource::Memory(all) => (all.get(from as usize..to as usize).unwrap_or_default().to_vec(), Ok(())),
        }
    }
}

/// The bytes from offset `from` to `to` up to the first read error, and that error.
pub fn read_between(file: &File, from: u64, to: u64) -> (Vec<u8>, io::Result<()>) {
    let mut bytes = vec![0; usize::try_from(to.saturating_sub(from)).unwrap_or(0)];
    let (mut read, mut end) = (0, Ok(()));
    while let Some(room) = bytes.get_mut(read..).filter(|room| !room.is_empty()) {
        match file.read_at(room, from + read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => {
                end = Err(e);
                break;
            }
        }
    }
    bytes.truncate(read);
    (bytes, end)
}

/// The rotated files of a log, newest last: `0.log.20260302-090000` and `….gz` (CRI), `….log.1` (docker).
fn rotated(path: &Path) -> Vec<PathBuf> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str())) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(other) = entry.file_name().into_string() else { continue };
        let Some(suffix) = other.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) else { continue };
        let age = suffix.trim_end_matches(".gz");
        let digits = !age.is_empty() && age.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        if digits {
            // Oldest first: docker's highest number, CRI's lowest time.
            let order = if age.contains('-') {
                (0, age.to_owned())
            } else {
                (u32::MAX - age.parse().unwrap_or(0), String::new())
            };
            found.push((order, dir.join(other)));
        }
    }
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// Opens a rotated file: its bytes, their number, and whether older bytes were dropped.
fn open_rotated(path: &Path, bounds: &Bounds) -> io::Result<(ChunkSource, u64, bool)> {
    let is_compressed = path.extension().is_some_and(|e| e == "gz");
    let (file, _) = match bounds.open(path) {
        // Compressed after it was listed.
        Err(_) if !is_compressed => return open_rotated(&path.with_extension(with_gz(path)), bounds),
        other => other?,
    };
    if !is_compressed {
        let length = file.metadata()?.len();
        return Ok((ChunkSource::File(file), length, false));
    }
    let (mut kept, mut is_cut, mut read) = (Vec::new(), false, 0);
    let mut unpacking = MultiGzDecoder::new(file).take(MAX_UNPACKED);
    let mut piece = vec![0; 64 << 10];
    // The readable part of a damaged file counts.
    while let Ok(count @ 1..) = unpacking.read(&mut piece) {
        read += count as u64;
        kept.extend_from_slice(piece.get(..count).unwrap_or_default());
        if kept.len() > 2 * KEPT {
            kept.drain(..kept.len() - KEPT);
            is_cut = true;
        }
    }
    if read >= MAX_UNPACKED {
        // The newest bytes were not reached: the kept ones would precede a gap.
        kept.clear();
        is_cut = true;
    }
    let length = kept.len() as u64;
    Ok((ChunkSource::Memory(kept), length, is_cut))
}

fn with_gz(path: &Path) -> String {
    let suffix = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    format!("{suffix}.gz")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::discover::LogDirs;
    use crate::observe::tests::Temp;

    #[test]
    fn a_read_error_is_reported_and_stops_reading() {
        let temp = Temp::new();
        temp.write("var/log/a.log", "");
        temp.write("var/log/a.log.1", "2026-03-02T09:00:00Z stdout F before the hole\n");
        // A directory is not readable as a file.
        let broken = File::open(temp.path("var/log")).unwrap();
        let bounds = LogDirs::default().bounds(&temp.root());
        let mut older = OlderChunks::new(broken, &temp.path("var/log/a.log"), 1 << 20, &bounds);
        assert!(older.read_lines().is_empty());
        let failure = older.take_failure().unwrap();
        assert!(failure.starts_with("cannot read older lines: "), "{failure}");
        assert_eq!((older.remaining(), older.take_failure()), (OlderLines::Omitted, None));
        assert!(older.read_lines().is_empty());
    }
}
