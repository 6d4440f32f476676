//! Owns the news that wait for who shows them: bounded, the oldest lines make room.
//! It must not make who reads wait, nor lose a line without counting it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::container_log::{LogLine, LogNews};

/// Most lines that wait, and their bytes: what is shown is no more.
const MOST: (usize, usize) = (10_000, 4 << 20);
/// Lines in one piece of news: what makes room does so by these.
const CHUNK: usize = 500;

/// News that wait.
#[derive(Debug, Default)]
pub struct Tray(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    news: VecDeque<LogNews>,
    lines: usize,
    bytes: usize,
}

impl Tray {
    /// Puts news there.
    pub fn put(&self, news: LogNews) {
        let mut waiting = self.locked();
        match news {
            LogNews::Begin { .. } => {
                // What came before is void.
                *waiting = Waiting::default();
                waiting.news.push_back(news);
            }
            LogNews::Lines(lines) => waiting.lines(lines),
            news => waiting.news.push_back(news),
        }
        waiting.make_room();
    }

    /// Takes all of it.
    pub fn take(&self) -> Vec<LogNews> {
        std::mem::take(&mut *self.locked()).news.into()
    }

    fn locked(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn lines(&mut self, mut lines: Vec<LogLine>) {
        while !lines.is_empty() {
            let rest = if lines.len() > CHUNK { lines.split_off(CHUNK) } else { Vec::new() };
            self.lines += lines.len();
            self.bytes += bytes(&lines);
            self.news.push_back(LogNews::Lines(std::mem::replace(&mut lines, rest)));
        }
    }

    fn make_room(&mut self) {
        while self.lines > MOST.0 || self.bytes > MOST.1 {
            let Some(first) = self.news.iter().position(|news| matches!(news, LogNews::Lines(_))) else { return };
            let Some(LogNews::Lines(lines)) = self.news.remove(first) else { return };
            self.lines -= lines.len();
            self.bytes -= bytes(&lines);
            let count = lines.len() as u64;
            match first.checked_sub(1).and_then(|before| self.news.get_mut(before)) {
                Some(LogNews::Skipped { lines, .. }) => *lines += count,
                _ => self.news.insert(first, LogNews::Skipped { lines: count, bytes: 0 }),
            }
        }
    }
}

fn bytes(lines: &[LogLine]) -> usize {
    lines.iter().map(|line| line.text.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container_log::{LogPlace, Stream};

    fn line(text: &str) -> LogLine {
        LogLine { at: None, stream: Stream::Out, text: text.into() }
    }

    #[test]
    fn the_oldest_lines_make_room_and_are_counted() {
        let tray = Tray::default();
        tray.put(LogNews::Lines(vec![line("void")]));
        tray.put(LogNews::Begin { place: LogPlace::Recording, restart: None, older: false });
        for i in 0..300 {
            tray.put(LogNews::Lines((0..100).map(|j| line(&format!("{}", i * 100 + j))).collect()));
        }
        let news = tray.take();
        assert!(matches!(news[0], LogNews::Begin { .. }));
        let LogNews::Skipped { lines: skipped, .. } = news[1] else { panic!("{:?}", news[1]) };
        let LogNews::Lines(first) = &news[2] else { panic!("{:?}", news[2]) };
        assert_eq!(first[0].text.as_str(), skipped.to_string());
        let kept: usize = news.iter().map(|n| if let LogNews::Lines(l) = n { l.len() } else { 0 }).sum();
        assert_eq!((kept + skipped as usize, kept <= MOST.0), (30_000, true));
        assert!(tray.take().is_empty());
        let long = "x".repeat(4000);
        tray.put(LogNews::Lines((0..5000).map(|_| line(&long)).collect()));
        assert!(matches!(tray.take()[0], LogNews::Skipped { lines: 3000..5000, .. }));
    }
}
