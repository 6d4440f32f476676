//! Owns the way from the sources to whoever owns the model: it coalesces what waits.
//! It must not look into an observation beyond what the queue needs.

use std::collections::BTreeMap;

use tokio::sync::{mpsc, watch};

use crate::observation::{Fact, Observation, QUEUE_LOSSY_CAPACITY, Queue, Source};

/// Observations that a source may have ahead of the pump.
pub const SOURCE_CHANNEL: usize = 256;
/// Observations handed over and not yet applied.
pub const OBSERVATIONS_WAITING: usize = 64;
/// Log lines that wait before a backlog is held up. What is on its way then still finds room: a channel full, and one line
/// of each log.
const ROOMY: usize = QUEUE_LOSSY_CAPACITY / 2;

/// The ends of a pump: what sources send into, and what the owner of the model receives from.
#[derive(Debug)]
pub struct Pump {
    /// For [`super::Outlet`]s.
    pub tx: mpsc::Sender<Observation>,
    /// For the owner of the model.
    pub rx: mpsc::Receiver<Observation>,
    /// Whether there is room for a backlog.
    pub room: watch::Receiver<bool>,
}

/// Makes the channels and the task between them; the task ends when either side is gone.
pub fn pump() -> (Pump, impl Future<Output = ()> + Send) {
    let (tx, from_sources) = mpsc::channel(SOURCE_CHANNEL);
    let (to_model, rx) = mpsc::channel(OBSERVATIONS_WAITING);
    let (roomy, room) = watch::channel(true);
    (Pump { tx, rx, room }, run(from_sources, to_model, roomy))
}

async fn run(mut rx: mpsc::Receiver<Observation>, tx: mpsc::Sender<Observation>, roomy: watch::Sender<bool>) {
    let mut queue = Queue::default();
    let mut lost: BTreeMap<Source, u64> = BTreeMap::new();
    loop {
        for (source, count) in queue.take_dropped() {
            *lost.entry(source).or_default() += count;
        }
        let room = queue.lossy() < ROOMY;
        roomy.send_if_modified(|told| std::mem::replace(told, room) != room);
        tokio::select! {
            biased;
            () = tx.closed() => return,
            permit = tx.reserve(), if !queue.is_empty() => {
                let Ok(permit) = permit else { return };
                if let Some(observation) = queue.pop() {
                    permit.send(tell_loss(observation, &mut lost));
                }
            }
            received = rx.recv() => match received {
                Some(observation) => queue.push(observation),
                None if queue.is_empty() => return,
                None => {
                    while let Some(observation) = queue.pop() {
                        if tx.send(observation).await.is_err() {
                            return;
                        }
                    }
                    return;
                }
            }
        }
    }
}

/// A loss is told in place of the next log line or span of the same source, whose number it takes.
fn tell_loss(observation: Observation, lost: &mut BTreeMap<Source, u64>) -> Observation {
    if !observation.fact.may_be_dropped() {
        return observation;
    }
    match lost.remove(&observation.stamp.source) {
        Some(count) => Observation { fact: Fact::Dropped { count: count + 1 }, ..observation },
        None => observation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{LogEntry, LogKind, Time};
    use crate::observe::{Clock, Outlet};

    #[tokio::test]
    async fn of_a_backlog_nothing_is_dropped_and_of_a_flood_what_is_dropped_is_counted() {
        const LINES: u64 = 3 * QUEUE_LOSSY_CAPACITY as u64;
        let line = || {
            let what = LogKind::Other { message: "x".into() };
            Fact::Log(Box::new(LogEntry { at: Time::UNIX_EPOCH, severe: true, pod: "".into(), uid: "".into(), what }))
        };
        for backlog in [true, false] {
            let (Pump { tx, mut rx, room }, pumping) = pump();
            tokio::spawn(pumping);
            let mut out = Outlet::new(Source::KubeletLog, Clock::begin(), tx).with_room(room);
            let said = tokio::spawn(async move {
                for _ in 0..LINES {
                    if backlog { out.say_backlog(line()).await } else { out.say(line()).await }
                }
            });
            if !backlog {
                // Nobody takes anything until all was said.
                said.await.unwrap();
            }
            let (mut lines, mut dropped) = (0, 0);
            while let Some(observation) = rx.recv().await {
                match observation.fact {
                    Fact::Dropped { count } => dropped += count,
                    _ => lines += 1,
                }
            }
            assert_eq!((lines + dropped, dropped > 0), (LINES, !backlog));
        }
    }
}
