//! Owns the way from the sources to whoever owns the model: it coalesces what waits.
//! It must not look into an observation beyond what the queue needs.

use std::collections::BTreeMap;

use tokio::sync::mpsc;

use crate::observation::{Fact, Observation, Queue, Source};

/// Observations that a source may have ahead of the pump.
pub const SOURCE_CHANNEL: usize = 256;
/// Observations handed over and not yet applied.
pub const OBSERVATIONS_WAITING: usize = 64;

/// The ends of a pump: what sources send into, and what the owner of the model receives from.
#[derive(Debug)]
pub struct Pump {
    /// For [`super::Outlet`]s.
    pub tx: mpsc::Sender<Observation>,
    /// For the owner of the model.
    pub rx: mpsc::Receiver<Observation>,
}

/// Makes the channels and the task between them; the task ends when either side is gone.
pub fn pump() -> (Pump, impl Future<Output = ()> + Send) {
    let (tx, from_sources) = mpsc::channel(SOURCE_CHANNEL);
    let (to_model, rx) = mpsc::channel(OBSERVATIONS_WAITING);
    (Pump { tx, rx }, run(from_sources, to_model))
}

async fn run(mut rx: mpsc::Receiver<Observation>, tx: mpsc::Sender<Observation>) {
    let mut queue = Queue::default();
    let mut lost: BTreeMap<Source, u64> = BTreeMap::new();
    loop {
        for (source, count) in queue.take_dropped() {
            *lost.entry(source).or_default() += count;
        }
        tokio::select! {
            biased;
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
