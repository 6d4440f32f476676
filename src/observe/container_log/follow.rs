//! Owns one run's log as a file that is read on: rotated, cut, followed by the next run's, or gone.
//! It must not wait: each step takes what is there. Everything here blocks.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::before::Before;
use crate::container_log::{Instance, LogLine, LogNews, LogPlace};
use crate::decode::{LogDecoder, LogForm};
use crate::observe::discover::open_below;

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
    below: Vec<PathBuf>,
    instance: Instance,
    restart: u32,
    file: File,
    /// Everything before this was told.
    at: u64,
    decoder: LogDecoder,
    before: Before,
    idle: u32,
    gone: bool,
}

impl Follower {
    /// Opens a run's log in `dir`, which is told as `told`: its last lines are the news.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn begin(dir: &Path, told: &Path, below: &[PathBuf], instance: Instance) -> io::Result<(Self, Vec<LogNews>)> {
        let runs = runs(dir)?;
        let run = match instance {
            Instance::Current => runs.last(),
            Instance::Previous => runs.iter().rev().nth(1),
        };
        let restart = *run.ok_or(io::ErrorKind::NotFound)?;
        let (file, path) = open_below(&dir.join(name(restart)), below)?;
        let end = file.metadata()?.len();
        let before = Before::of(file.try_clone()?, &path, end, below);
        let mut follower = Self {
            dir: dir.to_owned(),
            told: told.to_owned(),
            below: below.to_vec(),
            instance,
            restart,
            file,
            at: end,
            decoder: LogDecoder::new(LogForm::Kept),
            before,
            idle: 0,
            gone: false,
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
        let older = follower.before.is_more();
        let begin = LogNews::Begin { place: follower.place(), restart: Some(restart), older };
        Ok((follower, vec![begin, LogNews::Lines(lines), LogNews::End]))
    }

    fn place(&self) -> LogPlace {
        LogPlace::File(self.told.join(name(self.restart)).display().to_string().into())
    }

    /// The chunk before what was told so far.
    pub fn older(&mut self) -> LogNews {
        let mut lines = Vec::new();
        while lines.is_empty() && self.before.is_more() {
            lines = self.before.lines();
        }
        LogNews::Older { lines, more: self.before.is_more() }
    }

    /// What came since the last step.
    pub fn step(&mut self) -> Vec<LogNews> {
        let mut news = Vec::new();
        if self.gone || self.instance == Instance::Previous {
            return news;
        }
        self.idle = self.idle.saturating_add(1);
        self.read_on(&mut news);
        match open_below(&self.dir.join(name(self.restart)), &self.below) {
            Ok((file, _)) if !self.is_same(&file) => {
                // Rotated: what was still written to the old file comes first.
                self.read_on(&mut news);
                (self.file, self.at) = (file, 0);
                self.read_on(&mut news);
            }
            Ok(_) => {}
            // Between its renaming and the new file; or with its pod.
            Err(_) => self.gone = !self.dir.exists(),
        }
        if let Some(next) = self.next_run() {
            self.read_on(&mut news);
            self.end(&mut news);
            (self.restart, self.file, self.at) = (next.0, next.1, 0);
            news.push(LogNews::Restarted { restart: Some(self.restart), place: self.place() });
            self.read_on(&mut news);
        }
        if self.gone {
            self.read_on(&mut news);
            self.end(&mut news);
            news.push(LogNews::Said("the directory of its logs is gone, and the container with it".into()));
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
        let (file, _) = open_below(&self.dir.join(name(last)), &self.below).ok()?;
        Some((last, file))
    }

    fn is_same(&self, other: &File) -> bool {
        let id = |file: &File| file.metadata().map(|m| (m.dev(), m.ino())).ok();
        id(&self.file) == id(other)
    }

    fn end(&mut self, news: &mut Vec<LogNews>) {
        let mut lines = Vec::new();
        self.decoder.end(&mut lines);
        tell(lines, news);
    }

    fn read_on(&mut self, news: &mut Vec<LogNews>) {
        let end = self.file.metadata().map_or(self.at, |m| m.len());
        if end < self.at {
            self.at = 0;
            news.push(LogNews::Said("the file was cut; what follows is read from its begin".into()));
        }
        let behind = (end - self.at).saturating_sub(STEP);
        if behind > 0 {
            self.at += behind;
            self.decoder = LogDecoder::new(LogForm::Kept);
            news.push(LogNews::Skipped { lines: 0, bytes: behind });
        }
        let mut bytes = vec![0; usize::try_from(end - self.at).unwrap_or(0)];
        let mut read = 0;
        while let Some(room) = bytes.get_mut(read..).filter(|room| !room.is_empty()) {
            match self.file.read_at(room, self.at + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.at += read as u64;
        self.idle = if read > 0 { 0 } else { self.idle };
        let bytes = bytes.get(..read).unwrap_or_default();
        let begin = if behind > 0 { crate::decode::first_begin(bytes) } else { 0 };
        let mut lines = Vec::new();
        self.decoder.push(bytes.get(begin..).unwrap_or_default(), &mut lines);
        tell(lines, news);
    }
}

fn tell(lines: Vec<LogLine>, news: &mut Vec<LogNews>) {
    if !lines.is_empty() {
        news.push(LogNews::Lines(lines));
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::observe::tests::Temp;

    const DIR: &str = "var/log/pods/ns_web_u/app";

    fn cri(second: u32, text: &str) -> String {
        format!("2026-03-02T09:{:02}:{:02}Z stdout F {text}\n", second / 60, second % 60)
    }

    fn below(temp: &Temp) -> Vec<PathBuf> {
        ["var/log", "var/lib"].iter().map(|dir| temp.path(dir)).collect()
    }

    fn begin(temp: &Temp, instance: Instance) -> io::Result<(Follower, Vec<LogNews>)> {
        let told = Path::new("/").join(DIR);
        Follower::begin(&temp.path(DIR), &told, &below(temp), instance)
    }

    fn append(temp: &Temp, file: &str, text: &str) {
        let path = temp.path(&format!("{DIR}/{file}"));
        let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn gz(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    /// The texts of the lines, and what else is told in angle brackets.
    fn told(news: Vec<LogNews>) -> Vec<String> {
        let texts = |lines: Vec<LogLine>| lines.into_iter().map(|l| l.text.to_string()).collect::<Vec<_>>();
        news.into_iter()
            .flat_map(|news| match news {
                LogNews::Lines(lines) => texts(lines),
                LogNews::Older { lines, more } => [vec![format!("<older {more}>")], texts(lines)].concat(),
                LogNews::Begin { place: LogPlace::File(path), restart, older } => {
                    vec![format!("<{path} {restart:?} {older}>")]
                }
                LogNews::Restarted { restart, .. } => vec![format!("<restarted {restart:?}>")],
                LogNews::Said(text) => vec![format!("<{text}>")],
                LogNews::Skipped { .. } => vec!["<skipped>".into()],
                LogNews::End => Vec::new(),
                other => vec![format!("{other:?}")],
            })
            .collect()
    }

    #[test]
    fn the_last_lines_then_what_is_written() {
        let temp = Temp::new();
        temp.write(&format!("{DIR}/2.log"), cri(0, "of before"));
        temp.write(&format!("{DIR}/3.log"), cri(1, "a") + "2026-03-02T09:00:02Z stdout P b\n2026-03-02T09:00:02Z stdo");
        let (mut follower, news) = begin(&temp, Instance::Current).unwrap();
        assert_eq!(told(news), ["</var/log/pods/ns_web_u/app/3.log Some(3) false>", "a"]);
        assert!(follower.step().is_empty());
        append(&temp, "3.log", "ut F  and c\n");
        assert_eq!(told(follower.step()), ["b and c"], "cut within a line, and within its pieces");
        append(&temp, "3.log", "2026-03-02T09:00:04Z stdout P $ \n");
        assert!(follower.step().is_empty() && follower.step().is_empty());
        assert_eq!(told(follower.step()), ["$ "], "what waits for input is shown all the same");
        let (mut before, news) = begin(&temp, Instance::Previous).unwrap();
        assert_eq!(told(news), ["</var/log/pods/ns_web_u/app/2.log Some(2) false>", "of before"]);
        append(&temp, "2.log", &cri(9, "never"));
        assert!(before.step().is_empty());
        fs::remove_file(temp.path(&format!("{DIR}/2.log"))).unwrap();
        assert_eq!(begin(&temp, Instance::Previous).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn rotation_truncation_restart_and_the_end_of_the_pod() {
        let temp = Temp::new();
        temp.write(&format!("{DIR}/0.log"), cri(1, "a"));
        let (mut follower, _) = begin(&temp, Instance::Current).unwrap();
        append(&temp, "0.log", &cri(2, "last of the old file"));
        let path = |name: &str| temp.path(&format!("{DIR}/{name}"));
        fs::rename(path("0.log"), path("0.log.20260302-090003")).unwrap();
        assert_eq!(told(follower.step()), ["last of the old file"], "between renaming and the new file");
        append(&temp, "0.log.20260302-090003", &cri(3, "still to the old file"));
        append(&temp, "0.log", &cri(4, "new file"));
        assert_eq!(told(follower.step()), ["still to the old file", "new file"]);
        fs::OpenOptions::new().write(true).open(path("0.log")).unwrap().set_len(0).unwrap();
        assert_eq!(told(follower.step()), ["<the file was cut; what follows is read from its begin>"]);
        append(&temp, "0.log", &cri(5, "after"));
        assert_eq!(told(follower.step()), ["after"]);
        append(&temp, "0.log", "2026-03-02T09:00:06Z stderr P panic");
        append(&temp, "1.log", &cri(7, "next run"));
        assert_eq!(told(follower.step()), ["panic", "<restarted Some(1)>", "next run"]);
        append(&temp, "1.log", &cri(8, "bye"));
        fs::remove_dir_all(temp.path(DIR)).unwrap();
        assert_eq!(told(follower.step()), ["bye", "<the directory of its logs is gone, and the container with it>"]);
        assert!(follower.step().is_empty());
    }

    #[test]
    fn older_lines_across_rotated_files() {
        let temp = Temp::new();
        let lines = |from: u32, count: u32| {
            (from..from + count).map(|i| cri(i % 3000, &format!("{i} {}", "x".repeat(80)))).collect::<String>()
        };
        temp.write(&format!("{DIR}/0.log.20260301-000000.gz"), gz(&lines(0, 3000)));
        temp.write(&format!("{DIR}/0.log.20260302-000000"), lines(3000, 3000));
        temp.write(&format!("{DIR}/0.log"), lines(6000, 10));
        temp.write(&format!("{DIR}/0.log.tmp"), "2026-03-02T09:00:00Z stdout F none of it\n");
        let (mut follower, news) = begin(&temp, Instance::Current).unwrap();
        let mut all: Vec<String> = told(news).split_off(1);
        assert!(all.len() > 200, "what was just rotated away is shown at first: {}", all.len());
        let mut chunks = 0;
        // While it is read, the kubelet packs a file.
        let path = |name: &str| temp.path(&format!("{DIR}/{name}"));
        fs::remove_file(path("0.log.20260302-000000")).unwrap();
        temp.write(&format!("{DIR}/0.log.20260302-000000.gz"), gz(&lines(3000, 3000)));
        loop {
            let LogNews::Older { lines, more } = follower.older() else { panic!("not older") };
            all.splice(0..0, lines.into_iter().map(|l| l.text.to_string()));
            chunks += 1;
            if !more {
                break;
            }
        }
        assert!(chunks > 2, "{chunks}");
        let numbers: Vec<u32> = all.iter().map(|l| l.split(' ').next().unwrap().parse().unwrap()).collect();
        assert_eq!(numbers, (0..6010).collect::<Vec<_>>(), "each once, in order");
        assert_eq!(told(vec![follower.older()]), ["<older false>"]);
    }

    #[test]
    fn what_comes_too_fast_is_left_out_and_it_is_said() {
        let temp = Temp::new();
        temp.write(&format!("{DIR}/0.log"), "");
        let (mut follower, _) = begin(&temp, Instance::Current).unwrap();
        let flood: String = (0..100_000).map(|i| cri(i % 3000, &format!("{i} {}", "y".repeat(60)))).collect();
        append(&temp, "0.log", &flood);
        let news = told(follower.step());
        assert_eq!(news[0], "<skipped>");
        assert!(news[1].ends_with(&"y".repeat(60)) && news.last().unwrap().starts_with("99999 "));
        assert!(follower.step().is_empty());
    }

    #[test]
    fn no_file_that_lies_elsewhere_and_none_that_is_no_file() {
        let temp = Temp::new();
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(temp.path(to), temp.path(at)).unwrap();
        temp.write("etc/shadow", "hunter2");
        temp.write(
            "var/lib/docker/x-json.log",
            r#"{"log":"of docker\n","stream":"stderr","time":"2026-03-02T09:00:00Z"}"#.to_owned() + "\n",
        );
        temp.write(
            "var/lib/docker/x-json.log.1",
            r#"{"log":"before\n","stream":"stdout","time":"2026-03-02T08:00:00Z"}"#.to_owned() + "\n",
        );
        fs::create_dir_all(temp.path(DIR)).unwrap();
        link("etc/shadow", &format!("{DIR}/0.log"));
        assert_eq!(begin(&temp, Instance::Current).unwrap_err().kind(), io::ErrorKind::NotFound);
        link("var/lib/docker/x-json.log", &format!("{DIR}/1.log"));
        let (mut follower, news) = begin(&temp, Instance::Current).unwrap();
        assert_eq!(told(news), ["</var/log/pods/ns_web_u/app/1.log Some(1) false>", "before", "of docker"]);
        link("etc/shadow", &format!("{DIR}/2.log"));
        assert!(told(follower.step()).is_empty(), "a next run that is none");
        let pipe = temp.path(&format!("{DIR}/3.log"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(told(follower.step()).is_empty());
        assert!(begin(&temp, Instance::Current).is_err());
    }
}
