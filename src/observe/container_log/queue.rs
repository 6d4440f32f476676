//! A bounded queue of updates between reader and consumer. The reader never waits; dropped lines are counted.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::container_log::{LogLine, LogUpdate, MAX_LOG_BYTES, MAX_LOG_LINES, OlderLines};
use crate::text::Text;

/// Maximum number of updates in the queue.
const MAX_UPDATES: usize = 200;
/// Lines of one update, the unit in which lines are dropped.
const CHUNK: usize = 500;

/// Updates that the consumer did not take yet.
#[derive(Debug, Default)]
pub struct UpdateQueue(Mutex<QueuedUpdates>);

#[derive(Debug, Default)]
struct QueuedUpdates {
    updates: VecDeque<LogUpdate>,
    lines: usize,
    bytes: usize,
    /// The reason last reported as [`LogUpdate::Unavailable`]; None while the log is readable.
    unavailable: Option<Vec<Text>>,
}

impl UpdateQueue {
    /// Adds an update.
    pub fn put(&self, update: LogUpdate) {
        let mut waiting = self.locked();
        match update {
            LogUpdate::Opened { .. } => {
                // Earlier updates are obsolete.
                *waiting = QueuedUpdates::default();
                waiting.updates.push_back(update);
            }
            LogUpdate::Lines(lines) => waiting.lines(lines),
            LogUpdate::Older { lines, remaining } => waiting.older(lines, remaining),
            LogUpdate::Unavailable(why) if waiting.unavailable.as_ref() == Some(&why) => return,
            LogUpdate::Unavailable(why) => {
                waiting.unavailable = Some(why.clone());
                waiting.updates.push_back(LogUpdate::Unavailable(why));
            }
            update => waiting.updates.push_back(update),
        }
        waiting.make_room();
    }

    /// Takes all updates.
    pub fn take(&self) -> Vec<LogUpdate> {
        let mut waiting = self.locked();
        (waiting.lines, waiting.bytes) = (0, 0);
        std::mem::take(&mut waiting.updates).into()
    }

    fn locked(&self) -> MutexGuard<'_, QueuedUpdates> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueuedUpdates {
    fn lines(&mut self, mut lines: Vec<LogLine>) {
        self.lines += lines.len();
        self.bytes += bytes(&lines);
        if let Some(LogUpdate::Lines(last)) = self.updates.back_mut()
            && last.len() + lines.len() <= CHUNK
        {
            return last.append(&mut lines);
        }
        while !lines.is_empty() {
            let rest = if lines.len() > CHUNK { lines.split_off(CHUNK) } else { Vec::new() };
            self.updates.push_back(LogUpdate::Lines(std::mem::replace(&mut lines, rest)));
        }
    }

    fn older(&mut self, lines: Vec<LogLine>, remaining: OlderLines) {
        self.lines += lines.len();
        self.bytes += bytes(&lines);
        self.updates.push_back(LogUpdate::Older { lines, remaining });
    }

    /// Drops the oldest of the older lines: no gap follows them.
    fn trim_older(&mut self) {
        for update in &mut self.updates {
            let LogUpdate::Older { lines, remaining } = update else { continue };
            let mut dropped = 0;
            while let Some(line) = lines.get(dropped)
                && (self.lines > MAX_LOG_LINES || self.bytes > MAX_LOG_BYTES)
            {
                (self.lines, self.bytes, dropped) = (self.lines - 1, self.bytes - line.text.len(), dropped + 1);
            }
            if dropped > 0 {
                lines.drain(..dropped);
                *remaining = OlderLines::Omitted;
            }
        }
    }

    /// Drops the oldest lines and counts them; updates on the state of the log stay.
    fn make_room(&mut self) {
        self.trim_older();
        while self.lines > MAX_LOG_LINES || self.bytes > MAX_LOG_BYTES || self.updates.len() > MAX_UPDATES {
            let is_droppable = |i: usize| match self.updates.get(i) {
                Some(LogUpdate::Lines(_) | LogUpdate::Notice(_)) => true,
                // The consumer waits for the last one.
                Some(LogUpdate::CaughtUp) => self.updates.iter().skip(i + 1).any(|later| *later == LogUpdate::CaughtUp),
                // Merged into the one before.
                Some(LogUpdate::Skipped { .. }) => i > 0 && matches!(self.updates[i - 1], LogUpdate::Skipped { .. }),
                _ => false,
            };
            let Some(at) = (0..self.updates.len()).find(|i| is_droppable(*i)) else { return };
            let (lines, bytes) = match self.updates.remove(at) {
                Some(LogUpdate::Lines(lines)) => {
                    self.lines -= lines.len();
                    self.bytes -= self::bytes(&lines);
                    (lines.len() as u64, 0)
                }
                Some(LogUpdate::Skipped { lines, bytes }) => (lines, bytes),
                _ => continue,
            };
            match at.checked_sub(1).and_then(|before| self.updates.get_mut(before)) {
                Some(LogUpdate::Skipped { lines: all, bytes: size }) => (*all, *size) = (*all + lines, *size + bytes),
                _ => self.updates.insert(at, LogUpdate::Skipped { lines, bytes }),
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
    fn the_oldest_lines_are_dropped_and_counted() {
        let queue = UpdateQueue::default();
        queue.put(LogUpdate::Lines(vec![line("void")]));
        queue.put(LogUpdate::Opened { origin: LogOrigin::Recording, restart: None, has_older: false });
        for i in 0..300 {
            queue.put(LogUpdate::Lines((0..100).map(|j| line(&format!("{}", i * 100 + j))).collect()));
        }
        let updates = queue.take();
        assert!(matches!(updates[0], LogUpdate::Opened { .. }));
        let LogUpdate::Skipped { lines: skipped, .. } = updates[1] else { panic!("{:?}", updates[1]) };
        let LogUpdate::Lines(first) = &updates[2] else { panic!("{:?}", updates[2]) };
        assert_eq!(first[0].text.as_str(), skipped.to_string());
        let kept: usize = updates.iter().map(|n| if let LogUpdate::Lines(l) = n { l.len() } else { 0 }).sum();
        assert_eq!((kept + skipped as usize, kept <= MAX_LOG_LINES), (30_000, true));
        assert!(queue.take().is_empty());
        let long = "x".repeat(4000);
        queue.put(LogUpdate::Lines((0..5000).map(|_| line(&long)).collect()));
        assert!(matches!(queue.take()[0], LogUpdate::Skipped { lines: 3000..5000, .. }));
        for i in 0..100_000 {
            queue.put(LogUpdate::Skipped { lines: 0, bytes: 7 });
            queue.put(LogUpdate::Lines(vec![line(&i.to_string())]));
        }
        let updates = queue.take();
        let LogUpdate::Skipped { lines, bytes } = updates[0] else { panic!("{:?}", updates[0]) };
        assert!(updates.len() <= MAX_UPDATES && lines > 99_000 && bytes > 7 * 99_000, "{lines} {bytes}");
        assert_eq!(updates.last(), Some(&LogUpdate::Lines(vec![line("99999")])));
    }

    #[test]
    fn older_lines_are_dropped_too_and_reported() {
        let queue = UpdateQueue::default();
        let older = (0..MAX_LOG_LINES + 3).map(|i| line(&i.to_string())).collect();
        queue.put(LogUpdate::Lines(vec![line("a"), line("b")]));
        queue.put(LogUpdate::Older { lines: older, remaining: OlderLines::Available });
        let updates = queue.take();
        let [LogUpdate::Lines(_), LogUpdate::Older { lines, remaining: OlderLines::Omitted }] = updates.as_slice()
        else {
            panic!()
        };
        assert_eq!((lines.len(), lines[0].text.as_str()), (MAX_LOG_LINES - 2, "5"));
        queue.put(LogUpdate::Lines(vec![line("c")]));
        assert_eq!(queue.take(), [LogUpdate::Lines(vec![line("c")])]);
    }

    #[test]
    fn caught_up_survives_a_flood_and_unavailable_is_reported_once_each_time() {
        let queue = UpdateQueue::default();
        (0..2).for_each(|_| queue.put(LogUpdate::CaughtUp));
        (0..30).for_each(|i| queue.put(LogUpdate::Lines((0..1000).map(|j| line(&format!("{i} {j}"))).collect())));
        assert_eq!(queue.take().iter().filter(|update| **update == LogUpdate::CaughtUp).count(), 1);
        let unavailable = || LogUpdate::Unavailable(vec!["why".into()]);
        let opened = LogUpdate::Opened { origin: LogOrigin::Recording, restart: None, has_older: false };
        queue.put(unavailable());
        assert_eq!(queue.take(), [unavailable()]);
        queue.put(unavailable());
        assert!(queue.take().is_empty());
        queue.put(opened.clone());
        queue.put(unavailable());
        assert_eq!(queue.take(), [opened, unavailable()], "readable in between");
    }
}
