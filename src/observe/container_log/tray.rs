//! Owns the news that wait for who shows them: bounded, the oldest lines make room.
//! It must not make who reads wait, nor lose a line without counting it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::container_log::{LogLine, LogNews};

/// Most lines that wait, and their bytes: what is shown is no more.
const MOST: (usize, usize) = (10_000, 4 << 20);
/// Most news of all kinds that wait.
const MOST_NEWS: usize = 200;
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
        self.lines += lines.len();
        self.bytes += bytes(&lines);
        if let Some(LogNews::Lines(last)) = self.news.back_mut()
            && last.len() + lines.len() <= CHUNK
        {
            return last.append(&mut lines);
        }
        while !lines.is_empty() {
            let rest = if lines.len() > CHUNK { lines.split_off(CHUNK) } else { Vec::new() };
            self.news.push_back(LogNews::Lines(std::mem::replace(&mut lines, rest)));
        }
    }

    /// The oldest give way, and what was in them is counted; what says where lines are read stays.
    fn make_room(&mut self) {
        while self.lines > MOST.0 || self.bytes > MOST.1 || self.news.len() > MOST_NEWS {
            let gives_way = |i: usize| match self.news.get(i) {
                Some(LogNews::Lines(_) | LogNews::Said(_) | LogNews::End) => true,
                // One alone is the count itself.
                Some(LogNews::Skipped { .. }) => i > 0 && matches!(self.news[i - 1], LogNews::Skipped { .. }),
                _ => false,
            };
            let Some(at) = (0..self.news.len()).find(|i| gives_way(*i)) else { return };
            let (lines, bytes) = match self.news.remove(at) {
                Some(LogNews::Lines(lines)) => {
                    self.lines -= lines.len();
                    self.bytes -= self::bytes(&lines);
                    (lines.len() as u64, 0)
                }
                Some(LogNews::Skipped { lines, bytes }) => (lines, bytes),
                _ => continue,
            };
            match at.checked_sub(1).and_then(|before| self.news.get_mut(before)) {
                Some(LogNews::Skipped { lines: all, bytes: size }) => (*all, *size) = (*all + lines, *size + bytes),
                _ => self.news.insert(at, LogNews::Skipped { lines, bytes }),
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
        for i in 0..100_000 {
            tray.put(LogNews::Skipped { lines: 0, bytes: 7 });
            tray.put(LogNews::Lines(vec![line(&i.to_string())]));
        }
        let news = tray.take();
        let LogNews::Skipped { lines, bytes } = news[0] else { panic!("{:?}", news[0]) };
        assert!(news.len() <= MOST_NEWS && lines > 99_000 && bytes > 7 * 99_000, "{lines} {bytes}");
        assert_eq!(news.last(), Some(&LogNews::Lines(vec![line("99999")])));
    }
}
