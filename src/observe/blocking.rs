//! Owns work that may hang for ever: it runs on a thread of its own, which is left behind at the deadline.
//! It must not begin new work while the last still hangs, or every try would leave one more thread behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// One piece of work at a time. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct BlockingWorker {
    busy: Arc<AtomicBool>,
}

/// The work that is under way, until this is dropped.
struct Busy(Arc<AtomicBool>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl BlockingWorker {
    /// What `work` gives; nothing when that takes longer than `deadline`, at once when the last still hangs.
    pub async fn run<T: Send + 'static>(
        &self,
        deadline: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.run_and_hold(deadline, work, || {}).await
    }

    /// The same on a thread that stays until `stay` returns: what was begun there may be tied to it.
    pub async fn run_and_hold<T: Send + 'static>(
        &self,
        deadline: Duration,
        work: impl FnOnce() -> T + Send + 'static,
        stay: impl FnOnce() + Send + 'static,
    ) -> Option<T> {
        if self.busy.swap(true, Ordering::AcqRel) {
            return None;
        }
        let busy = Busy(Arc::clone(&self.busy));
        let (tx, rx) = oneshot::channel();
        // What is begun there may still belong to the runtime here: a child, a client.
        let runtime = Handle::current();
        let run = move || {
            let _here = runtime.enter();
            let done = work();
            drop(busy);
            // Of what nobody waits for any more nothing may stay.
            if tx.send(done).is_ok() {
                stay();
            }
        };
        thread::Builder::new().name("worker".into()).spawn(run).ok()?;
        timeout(deadline, rx).await.ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_hangs_is_left_behind_and_not_begun_again() {
        let worker = BlockingWorker::default();
        let patience = Duration::from_secs(10);
        assert_eq!(worker.run(patience, || 1).await, Some(1));
        let (free, held) = std::sync::mpsc::channel::<()>();
        assert_eq!(worker.run(Duration::from_millis(20), move || held.recv().is_ok()).await, None);
        assert_eq!(worker.run(patience, || 2).await, None, "the first still hangs");
        assert_eq!(BlockingWorker::default().run(patience, || 3).await, Some(3), "others do not");
        drop(free);
        let mut freed = None;
        while freed.is_none() {
            freed = worker.run(patience, || 4).await;
        }
        assert_eq!(freed, Some(4));
        let lost: Option<()> = worker.run(patience, || std::panic::resume_unwind(Box::new(()))).await;
        assert_eq!((lost, worker.run(patience, || 5).await), (None, Some(5)));
    }
}
