//! Owns the way from the sources to whoever owns the model: it coalesces what waits, and bounds it in bytes.
//! It must not look into an observation beyond what the queue needs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use crate::observation::{Budget, Fact, Observation, QUEUE_LOSSY_CAPACITY, Queue, Source};

/// Observations that a source may have ahead of the observation_channel.
pub const SOURCE_CHANNEL: usize = 256;
/// Observations handed over and not yet applied.
pub const OBSERVATIONS_WAITING: usize = 64;
/// Log lines that wait before a backlog is held up. What is on its way then still finds room: a channel full, and one line
/// of each log.
const ROOM_FOR_BACKLOG: usize = QUEUE_LOSSY_CAPACITY / 2;

/// Where sources put observations in. Clones share it.
#[derive(Clone, Debug)]
pub struct ObservationSender(SenderKind);

#[derive(Clone, Debug)]
enum SenderKind {
    /// Into a observation_channel, which bounds what is on its way in bytes.
    Metered { tx: mpsc::Sender<Metered>, bytes: Arc<Semaphore>, most: u64 },
    /// Straight to whoever receives.
    Direct(mpsc::Sender<Observation>),
}

/// An observation on its way, and the bytes that it holds until it is handed over.
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
    /// Puts one in; waits while there is too much on its way. Nobody may listen any more: then the program is ending.
    pub(super) async fn send(&self, observation: Observation) {
        match &self.0 {
            SenderKind::Direct(tx) => _ = tx.send(observation).await,
            SenderKind::Metered { tx, bytes, most } => {
                // One that is larger than all that may be on its way goes alone.
                let units = units(observation.fact.weight().min(*most));
                let Ok(bytes) = Arc::clone(bytes).acquire_many_owned(units).await else { return };
                _ = tx.send(Metered { observation, bytes }).await;
            }
        }
    }

    /// Ends when nobody listens any more.
    pub(super) async fn closed(&self) {
        match &self.0 {
            SenderKind::Direct(tx) => tx.closed().await,
            SenderKind::Metered { tx, .. } => tx.closed().await,
        }
    }
}

/// Bytes as permits: one for each 64 begun.
fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(64)).unwrap_or(u32::MAX)
}

/// The ends of a observation_channel: what sources send into, and what the owner of the model receives from.
#[derive(Debug)]
pub struct ObservationChannel {
    /// For [`super::ObservationSink`]s.
    pub tx: ObservationSender,
    /// For the owner of the model.
    pub rx: mpsc::Receiver<Observation>,
    /// Whether there is room for a backlog.
    pub room: watch::Receiver<bool>,
}

/// Makes the channels and the task between them; the task ends when either side is gone.
pub fn observation_channel() -> (ObservationChannel, impl Future<Output = ()> + Send) {
    observation_channel_within(Budget::default())
}

/// The same with what a budget lets be on its way.
pub fn observation_channel_within(budget: Budget) -> (ObservationChannel, impl Future<Output = ()> + Send) {
    let most = budget.in_flight();
    let (tx, from_sources) = mpsc::channel(SOURCE_CHANNEL);
    let (to_model, rx) = mpsc::channel(OBSERVATIONS_WAITING);
    let (roomy, room) = watch::channel(true);
    let bytes = Arc::new(Semaphore::new(units(most) as usize));
    let tx = ObservationSender(SenderKind::Metered { tx, bytes, most });
    (ObservationChannel { tx, rx, room }, run(from_sources, to_model, roomy))
}

async fn run(mut rx: mpsc::Receiver<Metered>, tx: mpsc::Sender<Observation>, roomy: watch::Sender<bool>) {
    let mut queue = Queue::default();
    // What was handed over, until it was taken: the newest of them may still wait in the channel.
    let mut handed: VecDeque<OwnedSemaphorePermit> = VecDeque::new();
    let mut lost: BTreeMap<Source, u64> = BTreeMap::new();
    loop {
        for (source, count) in queue.take_dropped() {
            *lost.entry(source).or_default() += count;
        }
        let room = queue.lossy() < ROOM_FOR_BACKLOG;
        roomy.send_if_modified(|told| std::mem::replace(told, room) != room);
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
            // Sources may wait for what was handed over last.
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

/// A loss is told in place of the next log line or span of the same source, whose number it takes.
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
    async fn of_a_backlog_nothing_is_dropped_and_of_a_flood_what_is_dropped_is_counted() {
        const LINES: u64 = 3 * QUEUE_LOSSY_CAPACITY as u64;
        let line = || {
            let what = LogKind::Other { message: "x".into() };
            Fact::Log(Box::new(LogEntry { at: Time::UNIX_EPOCH, severe: true, pod: "".into(), uid: "".into(), what }))
        };
        for backlog in [true, false] {
            let (ObservationChannel { tx, mut rx, room }, pumping) = observation_channel();
            tokio::spawn(pumping);
            let mut out = ObservationSink::new(Source::KubeletLog, Clock::start(), tx).with_room(room);
            let said = tokio::spawn(async move {
                for _ in 0..LINES {
                    if backlog { out.emit_backlog(line()).await } else { out.emit(line()).await }
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

    #[tokio::test]
    async fn what_is_on_its_way_is_bounded_in_bytes_and_none_of_it_is_lost() {
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
        let (ObservationChannel { tx, mut rx, .. }, pumping) = observation_channel_within(budget);
        tokio::spawn(pumping);
        let said = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&said);
        // As large as the share of the source never is.
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
            let ahead = said.load(Ordering::Relaxed).saturating_sub(taken);
            assert!(ahead <= most + 1, "{ahead} ahead of {most}");
        }
        assert_eq!(taken, PODS);
    }
}
