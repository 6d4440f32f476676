//! Owns a log read from its end to its begin, chunk by chunk: the file, then those that were rotated away, compressed or not.
//! It must not hold more of a compressed file than is ever shown.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::container_log::{LogLine, OlderLines};
use crate::decode::{LogDecoder, LogForm, first_begin};
use crate::observe::discover::Bounds;
use crate::text::Text;

/// Bytes of a chunk.
const CHUNK: u64 = 256 << 10;
/// Most bytes that are unpacked of a compressed file, and how many of its end are held.
const UNPACKED: (u64, usize) = (128 << 20, 4 << 20);

/// What has not been read yet.
#[derive(Debug)]
pub struct Before {
    bytes: Bytes,
    /// Everything from here on was read.
    at: u64,
    /// Rotated files, newest last.
    earlier: Vec<PathBuf>,
    bounds: Bounds,
    /// What stood before it was left out of a compressed file that is too long.
    cut: bool,
    /// Why no more could be read, until it is taken.
    failure: Option<Text>,
}

#[derive(Debug)]
enum Bytes {
    File(File),
    Held(Vec<u8>),
}

impl Before {
    /// What stands before `at` in the open `file`, which is really at `path`.
    pub fn of(file: File, path: &Path, at: u64, bounds: &Bounds) -> Self {
        Self { bytes: Bytes::File(file), at, earlier: rotated(path), bounds: bounds.clone(), cut: false, failure: None }
    }

    /// There is something.
    pub fn is_more(&self) -> bool {
        self.at > 0 || !self.earlier.is_empty()
    }

    /// What stands before what was read.
    pub fn remaining(&self) -> OlderLines {
        match (self.is_more(), self.cut) {
            (true, _) => OlderLines::Available,
            (false, true) => OlderLines::Omitted,
            (false, false) => OlderLines::None,
        }
    }

    /// The bytes of the chunk before, which begin where a line does; none where nothing is left, or it cannot be read.
    pub fn chunk(&mut self) -> Vec<u8> {
        while self.at == 0 {
            let Some(path) = self.earlier.pop() else { return Vec::new() };
            // A file that is gone meanwhile has no lines.
            if let Ok((bytes, length, cut)) = opened(&path, &self.bounds) {
                (self.bytes, self.at, self.cut) = (bytes, length, cut);
                if cut {
                    // Lines of these would stand before a hole.
                    self.earlier.clear();
                }
            }
        }
        let from = self.at.saturating_sub(CHUNK);
        let (mut bytes, read) = self.bytes.between(from, self.at);
        if let Err(e) = read {
            // What was read stands before a hole, and so does all before it.
            self.failure = Some(format!("older lines cannot be read: {e}").into());
            (self.at, self.cut) = (0, true);
            self.earlier.clear();
            return Vec::new();
        }
        let begin = if from > 0 || self.cut { first_begin(&bytes) } else { 0 };
        // A line that is longer than a chunk is not waited for.
        let begin = if begin < bytes.len() { begin } else { 0 };
        bytes.drain(..begin);
        let begin = from + begin as u64;
        self.at = if from > 0 { begin } else { 0 };
        bytes
    }

    /// Why no more could be read, if that was not taken before.
    pub fn take_failure(&mut self) -> Option<Text> {
        self.failure.take()
    }

    /// The lines of the chunk before.
    pub fn lines(&mut self) -> Vec<LogLine> {
        let (mut decoder, mut lines) = (LogDecoder::new(LogForm::Kept), Vec::new());
        decoder.push(&self.chunk(), &mut lines);
        decoder.end(&mut lines);
        lines
    }
}

impl Bytes {
    fn between(&self, from: u64, to: u64) -> (Vec<u8>, io::Result<()>) {
        match self {
            Bytes::File(file) => read_between(file, from, to),
            Bytes::Held(all) => (all.get(from as usize..to as usize).unwrap_or_default().to_vec(), Ok(())),
        }
    }
}

/// The bytes from `from` to `to`, as many as can be read, and why there are no more. A file that was cut ends earlier.
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

/// The files that a log was rotated to, newest last: `0.log.20260302-090000` and `….gz` of CRI, `….log.1` of docker.
fn rotated(path: &Path) -> Vec<PathBuf> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str())) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(other) = entry.file_name().into_string() else { continue };
        let Some(suffix) = other.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) else { continue };
        let age = suffix.trim_end_matches(".gz");
        let digits = !age.is_empty() && age.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        if digits {
            // Of docker the highest number is the oldest; of CRI the lowest time is.
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

/// The bytes, how many, and whether they are the end of more.
fn opened(path: &Path, bounds: &Bounds) -> io::Result<(Bytes, u64, bool)> {
    let packed = path.extension().is_some_and(|e| e == "gz");
    let (file, _) = match bounds.open(path) {
        // Packed since it was listed.
        Err(_) if !packed => return opened(&path.with_extension(with_gz(path)), bounds),
        other => other?,
    };
    if !packed {
        let length = file.metadata()?.len();
        return Ok((Bytes::File(file), length, false));
    }
    let (mut held, mut cut, mut read) = (Vec::new(), false, 0);
    let mut unpacking = MultiGzDecoder::new(file).take(UNPACKED.0);
    let mut piece = vec![0; 64 << 10];
    // One that breaks off has lines all the same.
    while let Ok(count @ 1..) = unpacking.read(&mut piece) {
        read += count as u64;
        held.extend_from_slice(piece.get(..count).unwrap_or_default());
        if held.len() > 2 * UNPACKED.1 {
            held.drain(..held.len() - UNPACKED.1);
            cut = true;
        }
    }
    if read >= UNPACKED.0 {
        // Its end was not reached: what is held stands before a hole.
        held.clear();
        cut = true;
    }
    let length = held.len() as u64;
    Ok((Bytes::Held(held), length, cut))
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
    fn what_cannot_be_read_is_said_and_nothing_is_told_from_before_it() {
        let temp = Temp::new();
        temp.write("var/log/a.log", "");
        temp.write("var/log/a.log.1", "2026-03-02T09:00:00Z stdout F before the hole\n");
        // Of a directory no byte can be read.
        let broken = File::open(temp.path("var/log")).unwrap();
        let bounds = LogDirs::default().bounds(&temp.root());
        let mut before = Before::of(broken, &temp.path("var/log/a.log"), 1 << 20, &bounds);
        assert!(before.lines().is_empty());
        let failure = before.take_failure().unwrap();
        assert!(failure.starts_with("older lines cannot be read: "), "{failure}");
        assert_eq!((before.remaining(), before.take_failure()), (OlderLines::Omitted, None));
        assert!(before.lines().is_empty());
    }
}
