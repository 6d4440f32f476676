//! Owns one run's log as a file that is read on: rotated, cut, followed by the next run's, or gone.
//! It must not wait: each step takes what is there. Everything here blocks.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::before::{Before, read_between};
use crate::container_log::{Instance, LogLine, LogOrigin, LogUpdate};
use crate::decode::{LogDecoder, LogForm};
use crate::observe::discover::Bounds;

/// Lines that are shown at first, if there are so many in the first chunks.
const FIRST: usize = 200;
/// Chunks that are read for them, at most.
const CHUNKS: usize = 4;
/// Most bytes that are read in one step. What is further behind is left out up to the last of these.
const STEP: u64 = 4 << 20;
/// Steps without news after which what was begun and not ended is shown.
const PATIENCE: u32 = 2;

/// A log that is read on.
#[derive(Debug)]
pub struct Follower {
    /// The directory of the container's logs, as it is read and as it is told.
    dir: PathBuf,
    told: PathBuf,
    bounds: Bounds,
    restart: u32,
    file: File,
    /// Everything before this was told.
    at: u64,
    decoder: LogDecoder,
    before: Before,
    idle: u32,
    gone: bool,
    /// The last read failed, which was said.
    failed: bool,
}

impl Follower {
    /// Opens a run's log in `dir`, which is told as `told`: its last lines are the news.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn begin(dir: &Path, told: &Path, bounds: &Bounds, instance: Instance) -> io::Result<(Self, Vec<LogUpdate>)> {
        let runs = runs(dir)?;
        let run = match instance {
            Instance::Current => runs.last(),
            Instance::Previous => runs.iter().rev().nth(1),
        };
        let restart = *run.ok_or(io::ErrorKind::NotFound)?;
        let (file, path) = bounds.open(&dir.join(name(restart)))?;
        let end = file.metadata()?.len();
        let before = Before::of(file.try_clone()?, &path, end, bounds);
        let mut follower = Self {
            dir: dir.to_owned(),
            told: told.to_owned(),
            bounds: bounds.clone(),
            restart,
            file,
            at: end,
            decoder: LogDecoder::new(LogForm::Kept),
            before,
            idle: 0,
            gone: false,
            failed: false,
        };
        let mut lines = Vec::new();
        // What the last chunk begins and does not end goes on with what comes.
        let last = follower.before.chunk();
        follower.decoder.push(&last, &mut lines);
        if instance == Instance::Previous {
            follower.decoder.end(&mut lines);
        }
        for _ in 1..CHUNKS {
            if lines.len() >= FIRST || !follower.before.is_more() {
                break;
            }
            let mut earlier = follower.before.lines();
            earlier.append(&mut lines);
            lines = earlier;
        }
        let has_older = follower.before.is_more();
        let begin = LogUpdate::Opened { origin: follower.place(), restart: Some(restart), has_older };
        let mut news = vec![begin, LogUpdate::Lines(lines)];
        news.extend(follower.before.take_failure().map(LogUpdate::Notice));
        news.push(LogUpdate::CaughtUp);
        Ok((follower, news))
    }

    fn place(&self) -> LogOrigin {
        LogOrigin::File(self.told.join(name(self.restart)).display().to_string().into())
    }

    /// The chunk before what was told so far.
    pub fn older(&mut self) -> Vec<LogUpdate> {
        let mut lines = Vec::new();
        while lines.is_empty() && self.before.is_more() {
            lines = self.before.lines();
        }
        let failure = self.before.take_failure().map(LogUpdate::Notice);
        failure.into_iter().chain([LogUpdate::Older { lines, remaining: self.before.remaining() }]).collect()
    }

    /// What came since the last step.
    pub fn step(&mut self) -> Vec<LogUpdate> {
        let mut news = Vec::new();
        if self.gone {
            return news;
        }
        self.idle = self.idle.saturating_add(1);
        self.read_on(&mut news);
        match self.bounds.open(&self.dir.join(name(self.restart))) {
            Ok((file, _)) if !self.is_same(&file) => {
                // Rotated: what was still written to the old file comes first.
                self.read_on(&mut news);
                (self.file, self.at) = (file, 0);
                self.read_on(&mut news);
            }
            Ok(_) => {}
            // Between its renaming and the new file; or with its pod.
            Err(_) => self.gone = fs::metadata(&self.dir).is_err_and(|e| e.kind() == io::ErrorKind::NotFound),
        }
        if let Some(next) = self.next_run() {
            self.read_on(&mut news);
            self.end(&mut news);
            (self.restart, self.file, self.at) = (next.0, next.1, 0);
            news.push(LogUpdate::Restarted { restart: Some(self.restart), origin: self.place() });
            self.read_on(&mut news);
        }
        if self.gone {
            self.read_on(&mut news);
            self.end(&mut news);
            news.push(LogUpdate::Closed("the directory of its logs is gone, and the container with it".into()));
        }
        if self.idle >= PATIENCE && self.decoder.has_pieces() {
            let mut lines = Vec::new();
            self.decoder.end_pieces(&mut lines);
            tell(lines, &mut news);
        }
        news
    }

    /// A later run that has begun to write.
    fn next_run(&self) -> Option<(u32, File)> {
        let last = runs(&self.dir).ok()?.pop().filter(|last| *last > self.restart)?;
        let (file, _) = self.bounds.open(&self.dir.join(name(last))).ok()?;
        Some((last, file))
    }

    fn is_same(&self, other: &File) -> bool {
        let id = |file: &File| file.metadata().map(|m| (m.dev(), m.ino())).ok();
        id(&self.file) == id(other)
    }

    fn end(&mut self, news: &mut Vec<LogUpdate>) {
        let mut lines = Vec::new();
        self.decoder.end(&mut lines);
        tell(lines, news);
    }

    fn read_on(&mut self, news: &mut Vec<LogUpdate>) {
        let end = self.file.metadata().map_or(self.at, |m| m.len());
        if end < self.at {
            self.at = 0;
            news.push(LogUpdate::Notice("the file was cut; what follows is read from its begin".into()));
        }
        let behind = (end - self.at).saturating_sub(STEP);
        if behind > 0 {
            self.at += behind;
            self.decoder = LogDecoder::new(LogForm::Kept);
            news.push(LogUpdate::Skipped { lines: 0, bytes: behind });
        }
        let (bytes, read) = read_between(&self.file, self.at, end);
        self.at += bytes.len() as u64;
        self.idle = if bytes.is_empty() { self.idle } else { 0 };
        match read {
            Ok(()) => self.failed = false,
            Err(e) if !std::mem::replace(&mut self.failed, true) => {
                news.push(LogUpdate::Notice(
                    format!("the file cannot be read any more: {e}; it is tried again").into(),
                ));
            }
            Err(_) => {}
        }
        let begin = if behind > 0 { crate::decode::first_begin(&bytes) } else { 0 };
        let mut lines = Vec::new();
        self.decoder.push(bytes.get(begin..).unwrap_or_default(), &mut lines);
        tell(lines, news);
    }
}

fn tell(lines: Vec<LogLine>, news: &mut Vec<LogUpdate>) {
    if !lines.is_empty() {
        news.push(LogUpdate::Lines(lines));
    }
}

fn name(restart: u32) -> String {
    format!("{restart}.log")
}

/// The runs that have a log in a container's directory, by number.
fn runs(dir: &Path) -> io::Result<Vec<u32>> {
    let number = |name: &str| name.strip_suffix(".log")?.parse().ok().filter(|n| self::name(*n) == name);
    let mut runs = Vec::new();
    for entry in fs::read_dir(dir)? {
        runs.extend(entry?.file_name().to_str().and_then(number));
    }
    runs.sort_unstable();
    Ok(runs)
}
