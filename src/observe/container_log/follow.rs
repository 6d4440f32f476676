//! Follows the log file of one container run through rotation, truncation, restart and deletion. All calls block.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::older::{OlderChunks, read_between};
use crate::container_log::{Instance, LogLine, LogOrigin, LogUpdate};
use crate::decode::{LogDecoder, LogForm};
use crate::observe::discover::Bounds;

/// Minimum number of lines of the first update, if [`FIRST_CHUNKS`] chunks hold so many.
const FIRST_LINES: usize = 200;
/// Maximum number of chunks for the first update.
const FIRST_CHUNKS: usize = 4;
/// Maximum number of bytes read in one poll; older bytes are skipped.
const POLL_BYTES: u64 = 4 << 20;
/// Polls without new bytes after which a partial line is shown.
const IDLE_POLLS: u32 = 2;

/// The log of one run, and how far it was read.
#[derive(Debug)]
pub struct Follower {
    /// The directory of the container's logs, as opened and as shown.
    dir: PathBuf,
    shown: PathBuf,
    bounds: Bounds,
    restart: u32,
    file: File,
    /// Offset of the first byte that was not read.
    at: u64,
    decoder: LogDecoder,
    older: OlderChunks,
    /// Polls since the last new bytes.
    idle: u32,
    /// The directory was deleted.
    is_deleted: bool,
    /// The last read failed and was reported.
    is_failing: bool,
}

impl Follower {
    /// Opens a run's log in `dir`, which is shown as `shown`, with the updates for its last lines.
    ///
    /// # Errors
    /// Without a log of that run, or when it is not readable.
    pub fn open(dir: &Path, shown: &Path, bounds: &Bounds, instance: Instance) -> io::Result<(Self, Vec<LogUpdate>)> {
        let runs = runs(dir)?;
        let run = match instance {
            Instance::Current => runs.last(),
            Instance::Previous => runs.iter().rev().nth(1),
        };
        let restart = *run.ok_or(io::ErrorKind::NotFound)?;
        let (file, path) = bounds.open(&dir.join(name(restart)))?;
        let end = file.metadata()?.len();
        let older = OlderChunks::new(file.try_clone()?, &path, end, bounds);
        let mut follower = Self {
            dir: dir.to_owned(),
            shown: shown.to_owned(),
            bounds: bounds.clone(),
            restart,
            file,
            at: end,
            decoder: LogDecoder::new(LogForm::Kept),
            older,
            idle: 0,
            is_deleted: false,
            is_failing: false,
        };
        let mut lines = Vec::new();
        // A partial line at the end of the file is completed by later bytes.
        let last = follower.older.read_chunk();
        follower.decoder.push(&last, &mut lines);
        if instance == Instance::Previous {
            follower.decoder.end(&mut lines);
        }
        for _ in 1..FIRST_CHUNKS {
            if lines.len() >= FIRST_LINES || !follower.older.is_more() {
                break;
            }
            let mut earlier = follower.older.read_lines();
            earlier.append(&mut lines);
            lines = earlier;
        }
        let has_older = follower.older.is_more();
        let opened = LogUpdate::Opened { origin: follower.origin(), restart: Some(restart), has_older };
        let mut news = vec![opened, LogUpdate::Lines(lines)];
        news.extend(follower.older.take_failure().map(LogUpdate::Notice));
        news.push(LogUpdate::CaughtUp);
        Ok((follower, news))
    }

    fn origin(&self) -> LogOrigin {
        LogOrigin::File(self.shown.join(name(self.restart)).display().to_string().into())
    }

    /// The chunk before the oldest line read so far.
    pub fn read_older(&mut self) -> Vec<LogUpdate> {
        let mut lines = Vec::new();
        while lines.is_empty() && self.older.is_more() {
            lines = self.older.read_lines();
        }
        let failure = self.older.take_failure().map(LogUpdate::Notice);
        failure.into_iter().chain([LogUpdate::Older { lines, remaining: self.older.remaining() }]).collect()
    }

    /// New lines since the last poll.
    pub fn poll(&mut self) -> Vec<LogUpdate> {
        let mut news = Vec::new();
        if self.is_deleted {
            return news;
        }
        self.idle = self.idle.saturating_add(1);
        self.read_new(&mut news);
        match self.bounds.open(&self.dir.join(name(self.restart))) {
            Ok((file, _)) if !self.is_same(&file) => {
                // Rotated: the rest of the old file comes first.
                self.read_new(&mut news);
                (self.file, self.at) = (file, 0);
                self.read_new(&mut news);
            }
            Ok(_) => {}
            // Rotation in progress, or the pod was deleted.
            Err(_) => self.is_deleted = fs::metadata(&self.dir).is_err_and(|e| e.kind() == io::ErrorKind::NotFound),
        }
        if let Some(next) = self.next_run() {
            self.read_new(&mut news);
            self.finish(&mut news);
            (self.restart, self.file, self.at) = (next.0, next.1, 0);
            news.push(LogUpdate::Restarted { restart: Some(self.restart), origin: self.origin() });
            self.read_new(&mut news);
        }
        if self.is_deleted {
            self.read_new(&mut news);
            self.finish(&mut news);
            news.push(LogUpdate::Closed("the container was deleted with its log directory".into()));
        }
        if self.idle >= IDLE_POLLS && self.decoder.has_pieces() {
            let mut lines = Vec::new();
            self.decoder.end_pieces(&mut lines);
            push_lines(lines, &mut news);
        }
        news
    }

    /// A later run that has a log file.
    fn next_run(&self) -> Option<(u32, File)> {
        let last = runs(&self.dir).ok()?.pop().filter(|last| *last > self.restart)?;
        let (file, _) = self.bounds.open(&self.dir.join(name(last))).ok()?;
        Some((last, file))
    }

    fn is_same(&self, other: &File) -> bool {
        let id = |file: &File| file.metadata().map(|m| (m.dev(), m.ino())).ok();
        id(&self.file) == id(other)
    }

    fn finish(&mut self, news: &mut Vec<LogUpdate>) {
        let mut lines = Vec::new();
        self.decoder.end(&mut lines);
        push_lines(lines, news);
    }

    fn read_new(&mut self, news: &mut Vec<LogUpdate>) {
        let end = self.file.metadata().map_or(self.at, |m| m.len());
        if end < self.at {
            self.at = 0;
            news.push(LogUpdate::Notice("the log file was truncated; reading from its start".into()));
        }
        let behind = (end - self.at).saturating_sub(POLL_BYTES);
        if behind > 0 {
            self.at += behind;
            self.decoder = LogDecoder::new(LogForm::Kept);
            news.push(LogUpdate::Skipped { lines: 0, bytes: behind });
        }
        let (bytes, read) = read_between(&self.file, self.at, end);
        self.at += bytes.len() as u64;
        self.idle = if bytes.is_empty() { self.idle } else { 0 };
        match read {
            Ok(()) => self.is_failing = false,
            Err(e) if !std::mem::replace(&mut self.is_failing, true) => {
                news.push(LogUpdate::Notice(format!("cannot read the log file: {e}; retrying").into()));
            }
            Err(_) => {}
        }
        let begin = if behind > 0 { crate::decode::first_complete_line(&bytes) } else { 0 };
        let mut lines = Vec::new();
        self.decoder.push(bytes.get(begin..).unwrap_or_default(), &mut lines);
        push_lines(lines, news);
    }
}

fn push_lines(lines: Vec<LogLine>, news: &mut Vec<LogUpdate>) {
    if !lines.is_empty() {
        news.push(LogUpdate::Lines(lines));
    }
}

fn name(restart: u32) -> String {
    format!("{restart}.log")
}

/// Restart counts of the runs that have a log in a container's directory, ascending.
fn runs(dir: &Path) -> io::Result<Vec<u32>> {
    let number = |name: &str| name.strip_suffix(".log")?.parse().ok().filter(|n| self::name(*n) == name);
    let mut runs = Vec::new();
    for entry in fs::read_dir(dir)? {
        runs.extend(entry?.file_name().to_str().and_then(number));
    }
    runs.sort_unstable();
    Ok(runs)
}
