//! Owns the news that wait for who shows them: bounded, the oldest lines make room.
//! It must not make who reads wait, nor lose a line without counting it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::container_log::{LogLine, LogUpdate, MAX_LOG_BYTES, MAX_LOG_LINES, OlderLines};
use crate::text::Text;

/// Most news of all kinds that wait.
const MOST_NEWS: usize = 200;
/// Lines in one piece of news: what makes room does so by these.
const CHUNK: usize = 500;

/// News that wait.
#[derive(Debug, Default)]
pub struct Tray(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    news: VecDeque<LogUpdate>,
    lines: usize,
    bytes: usize,
    /// Why it can be read nowhere, as it was last told; None since it is read.
    nowhere: Option<Vec<Text>>,
}

impl Tray {
    /// Puts news there.
    pub fn put(&self, news: LogUpdate) {
        let mut waiting = self.locked();
        match news {
            LogUpdate::Opened { .. } => {
                // What came before is void.
                *waiting = Waiting::default();
                waiting.news.push_back(news);
            }
            LogUpdate::Lines(lines) => waiting.lines(lines),
            LogUpdate::Older { lines, remaining } => waiting.older(lines, remaining),
            // Said once.
            LogUpdate::Unavailable(why) if waiting.nowhere.as_ref() == Some(&why) => return,
            LogUpdate::Unavailable(why) => {
                waiting.nowhere = Some(why.clone());
                waiting.news.push_back(LogUpdate::Unavailable(why));
            }
            news => waiting.news.push_back(news),
        }
        waiting.make_room();
    }

    /// Takes all of it.
    pub fn take(&self) -> Vec<LogUpdate> {
        let mut waiting = self.locked();
        (waiting.lines, waiting.bytes) = (0, 0);
        std::mem::take(&mut waiting.news).into()
    }

    fn locked(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn lines(&mut self, mut lines: Vec<LogLine>) {
        self.lines += lines.len();
        self.bytes += bytes(&lines);
        if let Some(LogUpdate::Lines(last)) = self.news.back_mut()
            && last.len() + lines.len() <= CHUNK
        {
            return last.append(&mut lines);
        }
        while !lines.is_empty() {
            let rest = if lines.len() > CHUNK { lines.split_off(CHUNK) } else { Vec::new() };
            self.news.push_back(LogUpdate::Lines(std::mem::replace(&mut lines, rest)));
        }
    }

    fn older(&mut self, lines: Vec<LogLine>, remaining: OlderLines) {
        self.lines += lines.len();
        self.bytes += bytes(&lines);
        self.news.push_back(LogUpdate::Older { lines, remaining });
    }

    /// The oldest of all stand before what was told; what goes leaves a hole before itself, and none behind.
    fn trim_older(&mut self) {
        for news in &mut self.news {
            let LogUpdate::Older { lines, remaining } = news else { continue };
            let mut gone = 0;
            while let Some(line) = lines.get(gone)
                && (self.lines > MAX_LOG_LINES || self.bytes > MAX_LOG_BYTES)
            {
                (self.lines, self.bytes, gone) = (self.lines - 1, self.bytes - line.text.len(), gone + 1);
            }
            if gone > 0 {
                lines.drain(..gone);
                *remaining = OlderLines::Omitted;
            }
        }
    }

    /// The oldest give way, and what was in them is counted; what says where lines are read stays.
    fn make_room(&mut self) {
        self.trim_older();
        while self.lines > MAX_LOG_LINES || self.bytes > MAX_LOG_BYTES || self.news.len() > MOST_NEWS {
            let gives_way = |i: usize| match self.news.get(i) {
                Some(LogUpdate::Lines(_) | LogUpdate::Notice(_)) => true,
                // The last is waited for.
                Some(LogUpdate::CaughtUp) => self.news.iter().skip(i + 1).any(|later| *later == LogUpdate::CaughtUp),
                // One alone is the count itself.
                Some(LogUpdate::Skipped { .. }) => i > 0 && matches!(self.news[i - 1], LogUpdate::Skipped { .. }),
                _ => false,
            };
            let Some(at) = (0..self.news.len()).find(|i| gives_way(*i)) else { return };
            let (lines, bytes) = match self.news.remove(at) {
                Some(LogUpdate::Lines(lines)) => {
                    self.lines -= lines.len();
                    self.bytes -= self::bytes(&lines);
                    (lines.len() as u64, 0)
                }
                Some(LogUpdate::Skipped { lines, bytes }) => (lines, bytes),
                _ => continue,
            };
            match at.checked_sub(1).and_then(|before| self.news.get_mut(before)) {
                Some(LogUpdate::Skipped { lines: all, bytes: size }) => (*all, *size) = (*all + lines, *size + bytes),
                _ => self.news.insert(at, LogUpdate::Skipped { lines, bytes }),
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
    use crate::container_log::{LogOrigin, Stream};

    fn line(text: &str) -> LogLine {
        LogLine { at: None, stream: Stream::Out, text: text.into() }
    }

    #[test]
    fn the_oldest_lines_make_room_and_are_counted() {
        let tray = Tray::default();
        tray.put(LogUpdate::Lines(vec![line("void")]));
        tray.put(LogUpdate::Opened { origin: LogOrigin::Recording, restart: None, has_older: false });
        for i in 0..300 {
            tray.put(LogUpdate::Lines((0..100).map(|j| line(&format!("{}", i * 100 + j))).collect()));
        }
        let news = tray.take();
        assert!(matches!(news[0], LogUpdate::Opened { .. }));
        let LogUpdate::Skipped { lines: skipped, .. } = news[1] else { panic!("{:?}", news[1]) };
        let LogUpdate::Lines(first) = &news[2] else { panic!("{:?}", news[2]) };
        assert_eq!(first[0].text.as_str(), skipped.to_string());
        let kept: usize = news.iter().map(|n| if let LogUpdate::Lines(l) = n { l.len() } else { 0 }).sum();
        assert_eq!((kept + skipped as usize, kept <= MAX_LOG_LINES), (30_000, true));
        assert!(tray.take().is_empty());
        let long = "x".repeat(4000);
        tray.put(LogUpdate::Lines((0..5000).map(|_| line(&long)).collect()));
        assert!(matches!(tray.take()[0], LogUpdate::Skipped { lines: 3000..5000, .. }));
        for i in 0..100_000 {
            tray.put(LogUpdate::Skipped { lines: 0, bytes: 7 });
            tray.put(LogUpdate::Lines(vec![line(&i.to_string())]));
        }
        let news = tray.take();
        let LogUpdate::Skipped { lines, bytes } = news[0] else { panic!("{:?}", news[0]) };
        assert!(news.len() <= MOST_NEWS && lines > 99_000 && bytes > 7 * 99_000, "{lines} {bytes}");
        assert_eq!(news.last(), Some(&LogUpdate::Lines(vec![line("99999")])));
    }

    #[test]
    fn older_lines_make_room_too_and_it_is_told() {
        let tray = Tray::default();
        let older = (0..MAX_LOG_LINES + 3).map(|i| line(&i.to_string())).collect();
        tray.put(LogUpdate::Lines(vec![line("a"), line("b")]));
        tray.put(LogUpdate::Older { lines: older, remaining: OlderLines::Available });
        let news = tray.take();
        let [LogUpdate::Lines(_), LogUpdate::Older { lines, remaining: OlderLines::Omitted }] = news.as_slice() else {
            panic!()
        };
        assert_eq!((lines.len(), lines[0].text.as_str()), (MAX_LOG_LINES - 2, "5"));
        tray.put(LogUpdate::Lines(vec![line("c")]));
        assert_eq!(tray.take(), [LogUpdate::Lines(vec![line("c")])]);
    }

    #[test]
    fn the_end_of_before_waits_through_a_flood_and_what_is_nowhere_is_said_once_each_time() {
        let tray = Tray::default();
        (0..2).for_each(|_| tray.put(LogUpdate::CaughtUp));
        (0..30).for_each(|i| tray.put(LogUpdate::Lines((0..1000).map(|j| line(&format!("{i} {j}"))).collect())));
        assert_eq!(tray.take().iter().filter(|news| **news == LogUpdate::CaughtUp).count(), 1);
        let nowhere = || LogUpdate::Unavailable(vec!["why".into()]);
        let begin = LogUpdate::Opened { origin: LogOrigin::Recording, restart: None, has_older: false };
        tray.put(nowhere());
        assert_eq!(tray.take(), [nowhere()]);
        tray.put(nowhere());
        assert!(tray.take().is_empty());
        tray.put(begin.clone());
        tray.put(nowhere());
        assert_eq!(tray.take(), [begin, nowhere()], "it was read between");
    }
}
