//! The channel from the sources to the model: it coalesces waiting observations and bounds them in bytes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use crate::observation::{Budget, Fact, Observation, QUEUE_LOSSY_CAPACITY, Queue, Source};

/// Observations that the sources may have in the channel.
pub const SOURCE_CHANNEL: usize = 256;
/// Observations that were handed over and not yet applied.
pub const OBSERVATIONS_WAITING: usize = 64;
/// Waiting log lines from which on a backlog must wait. A full channel and one line of each log still fit then.
const ROOM_FOR_BACKLOG: usize = QUEUE_LOSSY_CAPACITY / 2;

/// The sending side, for sources. Clones share it.
#[derive(Clone, Debug)]
pub struct ObservationSender(SenderKind);

#[derive(Clone, Debug)]
enum SenderKind {
    /// Into an [`ObservationChannel`], which bounds the bytes in flight.
    Metered { tx: mpsc::Sender<Metered>, bytes: Arc<Semaphore>, most: u64 },
    /// Directly to the receiver.
    Direct(mpsc::Sender<Observation>),
}

/// An observation in flight, and its bytes until it is handed over.
#[derive(Debug)]
struct Metered {
    observation: Observation,
    bytes: OwnedSemaphorePermit,
}

impl From<mpsc::Sender<Observation>> for ObservationSender {
    fn from(tx: mpsc::Sender<Observation>) -> Self {
        Self(SenderKind::Direct(tx))
    }
}

impl ObservationSender {
    /// Sends one; waits while too many bytes are in flight. Does nothing when the receiver is gone: the program is exiting.
    pub(super) async fn send(&self, observation: Observation) {
        match &self.0 {
            SenderKind::Direct(tx) => _ = tx.send(observation).await,
            SenderKind::Metered { tx, bytes, most } => {
                // An observation that is larger than the bound is sent alone.
                let units = units(observation.fact.weight().min(*most));
                let Ok(bytes) = Arc::clone(bytes).acquire_many_owned(units).await else { return };
                _ = tx.send(Metered { observation, bytes }).await;
            }
        }
    }

    /// Completes when the receiver is gone.
    pub(super) async fn closed(&self) {
        match &self.0 {
            SenderKind::Direct(tx) => tx.closed().await,
            SenderKind::Metered { tx, .. } => tx.closed().await,
        }
    }
}

/// Permits for a number of bytes: one for each 64, rounded up.
fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(64)).unwrap_or(u32::MAX)
}

/// Both sides of the channel.
#[derive(Debug)]
pub struct ObservationChannel {
    /// For [`super::ObservationSink`]s.
    pub tx: ObservationSender,
    /// For the owner of the model.
    pub rx: mpsc::Receiver<Observation>,
    /// True while there is room for a backlog.
    pub room: watch::Receiver<bool>,
}

/// Creates the channel and the task that runs it; the task completes when either side is gone.
pub fn observation_channel() -> (ObservationChannel, impl Future<Output = ()> + Send) {
    observation_channel_within(Budget::default())
}

/// The same with the bytes in flight that a budget allows.
pub fn observation_channel_within(budget: Budget) -> (ObservationChannel, impl Future<Output = ()> + Send) {
    let most = budget.in_flight();
    let (tx, from_sources) = mpsc::channel(SOURCE_CHANNEL);
    let (to_model, rx) = mpsc::channel(OBSERVATIONS_WAITING);
    let (has_room, room) = watch::channel(true);
    let bytes = Arc::new(Semaphore::new(units(most) as usize));
    let tx = ObservationSender(SenderKind::Metered { tx, bytes, most });
    (ObservationChannel { tx, rx, room }, run(from_sources, to_model, has_room))
}

async fn run(mut rx: mpsc::Receiver<Metered>, tx: mpsc::Sender<Observation>, has_room: watch::Sender<bool>) {
    let mut queue = Queue::default();
    // Permits of observations that were handed over; the newest may still wait in the channel to the model.
    let mut handed: VecDeque<OwnedSemaphorePermit> = VecDeque::new();
    let mut lost: BTreeMap<Source, u64> = BTreeMap::new();
    loop {
        for (source, count) in queue.take_dropped() {
            *lost.entry(source).or_default() += count;
        }
        let room = queue.lossy() < ROOM_FOR_BACKLOG;
        has_room.send_if_modified(|known| std::mem::replace(known, room) != room);
        handed.drain(..handed.len().saturating_sub(tx.max_capacity() - tx.capacity()));
        tokio::select! {
            biased;
            () = tx.closed() => return,
            permit = tx.reserve(), if !queue.is_empty() => {
                let Ok(permit) = permit else { return };
                if let Some((observation, bytes)) = queue.pop_with() {
                    permit.send(replace_with_loss(observation, &mut lost));
                    handed.push_back(bytes);
                }
            }
            // Sources may wait for the permits that were handed over last.
            all = tx.reserve_many(tx.max_capacity()), if queue.is_empty() && !handed.is_empty() => {
                let Ok(_) = all else { return };
            }
            received = rx.recv() => match received {
                Some(Metered { observation, bytes }) => queue.push_with(observation, bytes),
                None if queue.is_empty() => return,
                None => {
                    while let Some((observation, _)) = queue.pop_with() {
                        if tx.send(replace_with_loss(observation, &mut lost)).await.is_err() {
                            return;
                        }
                    }
                    return;
                }
            }
        }
    }
}

/// A loss is reported in place of the next log line or span of the same source, and takes its sequence number.
fn replace_with_loss(observation: Observation, lost: &mut BTreeMap<Source, u64>) -> Observation {
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::objects::Pod;
    use crate::observation::{LogEntry, LogKind, Time};
    use crate::observe::{Clock, ObservationSink};

    #[tokio::test]
    async fn a_backlog_waits_and_dropped_lines_of_a_flood_are_counted() {
        const LINES: u64 = 3 * QUEUE_LOSSY_CAPACITY as u64;
        let line = || {
            let what = LogKind::Other { message: "x".into() };
            Fact::Log(Box::new(LogEntry { at: Time::UNIX_EPOCH, severe: true, pod: "".into(), uid: "".into(), what }))
        };
        for backlog in [true, false] {
            let (ObservationChannel { tx, mut rx, room }, running) = observation_channel();
            tokio::spawn(running);
            let mut out = ObservationSink::new(Source::KubeletLog, Clock::start(), tx).with_room(room);
            let sending = tokio::spawn(async move {
                for _ in 0..LINES {
                    if backlog { out.emit_backlog(line()).await } else { out.emit(line()).await }
                }
            });
            if !backlog {
                // Nothing is received until all was sent.
                sending.await.unwrap();
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

    #[tokio::test]
    async fn bytes_in_flight_are_bounded_and_no_state_is_lost() {
        const PODS: usize = 4000;
        let pod = |n: usize| {
            let mut pod = Pod::default();
            pod.metadata.uid = n.to_string().into();
            pod.metadata.name = "x".repeat(16_000).into();
            pod.spec.volumes = vec![Default::default(); 256].into();
            Fact::Pod(Box::new(pod))
        };
        let budget = Budget::new(0);
        let most = usize::try_from(budget.in_flight() / pod(0).weight()).unwrap();
        assert!(most * 4 < PODS, "the test would hold them all");
        let (ObservationChannel { tx, mut rx, .. }, running) = observation_channel_within(budget);
        tokio::spawn(running);
        let sent = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&sent);
        // A larger share than any source has.
        let mut out = ObservationSink::new(Source::ApiEvents, Clock::start(), tx).with_budget(Budget::new(64 << 30));
        tokio::spawn(async move {
            for n in 0..PODS {
                out.emit(pod(n)).await;
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        let mut taken = 0;
        while let Some(observation) = rx.recv().await {
            assert!(matches!(observation.fact, Fact::Pod(_)), "{observation:?}");
            taken += 1;
            let ahead = sent.load(Ordering::Relaxed).saturating_sub(taken);
            assert!(ahead <= most + 1, "{ahead} ahead of {most}");
        }
        assert_eq!(taken, PODS);
    }
}
