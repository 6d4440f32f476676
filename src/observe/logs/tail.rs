//! Reads a growing file on its own thread, through rotation and truncation; a disk that hangs blocks only that thread.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::mpsc;

use super::capped::MAX_LINE;
use crate::trust::KnownFile;

/// How much of the file's end is read first.
pub const BACKLOG: u64 = 4 * 1024 * 1024;
/// Period at which the file is read.
pub const POLL: Duration = Duration::from_millis(500);
const CHUNK: usize = 64 * 1024;

/// What became of the file.
#[derive(Debug)]
pub enum Tail {
    /// Whole lines, without their ends.
    Lines(Vec<Vec<u8>>),
    /// Lines that were too long, and are lost.
    TooLong(u64),
    /// Everything there was has been read, up to this place.
    Level(TailPosition),
    /// It cannot be read.
    Failed(io::Error),
}

/// Position in a log: file identity and offset of the first line that was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailPosition {
    dev: u64,
    ino: u64,
    at: u64,
}

/// Starts to read, at `start` if set; the last message is [`Tail::Failed`], unless the receiver was dropped.
pub fn tail(path: KnownFile, start: Option<TailPosition>) -> io::Result<(mpsc::Receiver<Tail>, JoinHandle<()>)> {
    let (tx, rx) = mpsc::channel(4);
    let run = move || {
        if let Err(error) = follow(&path, start, &tx) {
            _ = tx.blocking_send(Tail::Failed(error));
        }
    };
    let handle = thread::Builder::new().name("tail".into()).spawn(run)?;
    Ok((rx, handle))
}

struct TailReader<'a> {
    file: File,
    at: u64,
    line: Vec<u8>,
    skipping: bool,
    tx: &'a mpsc::Sender<Tail>,
}

fn gone() -> io::Error {
    ErrorKind::BrokenPipe.into()
}

/// A log is a file: opening a pipe would wait for a writer, and nothing could be read twice.
fn open(path: &KnownFile) -> io::Result<(File, Metadata)> {
    let file = path.open()?;
    let is = file.metadata()?;
    Ok((file, is))
}

fn follow(path: &KnownFile, start: Option<TailPosition>, tx: &mpsc::Sender<Tail>) -> io::Result<()> {
    let (mut file, is) = open(path)?;
    let known = start.filter(|s| (s.dev, s.ino) == (is.dev(), is.ino()) && s.at <= is.len());
    let at = known.map_or(is.len().saturating_sub(BACKLOG), |s| s.at);
    file.seek(SeekFrom::Start(at))?;
    // What is before the first line feed is the rest of a line.
    let mut first = at > 0 && known.is_none();
    let mut reader = TailReader { file, at, line: Vec::new(), skipping: first, tx };
    loop {
        reader.read_on(&mut first)?;
        let mine = reader.file.metadata()?;
        let at = reader.at.saturating_sub(reader.line.len() as u64);
        let place = TailPosition { dev: mine.dev(), ino: mine.ino(), at };
        tx.blocking_send(Tail::Level(place)).map_err(|_| gone())?;
        thread::sleep(POLL);
        match path.stamp() {
            Ok((inode, ..)) if inode != mine.ino() => {
                reader.read_on(&mut first)?;
                reader.end()?;
                (reader.file, reader.at) = (open(path)?.0, 0);
            }
            Ok((.., length)) if length < reader.at => {
                (reader.at, reader.line, reader.skipping) = (0, Vec::new(), false);
                reader.file.seek(SeekFrom::Start(0))?;
            }
            Ok(_) => {}
            // Between the two steps of a rotation there is no file of that name.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
}

impl TailReader<'_> {
    /// Reads to the end of what is there; `first` is true while the rest of a line that was cut is skipped.
    fn read_on(&mut self, first: &mut bool) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        loop {
            let n = match self.file.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                read => read?,
            };
            self.at += n as u64;
            let (mut lines, mut too_long) = (Vec::new(), 0);
            for part in chunk.get(..n).unwrap_or_default().split_inclusive(|b| *b == b'\n') {
                let ends = part.ends_with(b"\n");
                let text = part.strip_suffix(b"\n").unwrap_or(part);
                if self.line.len() + text.len() > MAX_LINE {
                    (self.skipping, self.line) = (true, Vec::new());
                } else if !self.skipping {
                    self.line.extend_from_slice(text);
                }
                if ends {
                    let line = std::mem::take(&mut self.line);
                    match (std::mem::take(&mut self.skipping), std::mem::take(first)) {
                        (false, _) => lines.push(line),
                        (true, true) => {}
                        (true, false) => too_long += 1,
                    }
                }
            }
            if too_long > 0 {
                self.tx.blocking_send(Tail::TooLong(too_long)).map_err(|_| gone())?;
            }
            if !lines.is_empty() {
                self.tx.blocking_send(Tail::Lines(lines)).map_err(|_| gone())?;
            }
        }
    }

    /// A rotated file's last line may have no end.
    fn end(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.skipping) || line.is_empty() {
            return Ok(());
        }
        self.tx.blocking_send(Tail::Lines(vec![line])).map_err(|_| gone())
    }
}
