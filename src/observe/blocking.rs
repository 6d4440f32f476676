//! Work that may hang, on a thread that is abandoned at its deadline. While it hangs no new work starts, or every retry
//! would leave another thread behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Runs one piece of work at a time. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct BlockingWorker {
    busy: Arc<AtomicBool>,
}

/// Marks the worker as busy until it is dropped.
struct BusyGuard(Arc<AtomicBool>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl BlockingWorker {
    /// The result of `work`; None when it takes longer than `deadline`, at once when earlier work still hangs.
    pub async fn run<T: Send + 'static>(
        &self,
        deadline: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.run_and_hold(deadline, work, || {}).await
    }

    /// The same on a thread that exists until `hold` returns: a process that `work` starts may depend on its thread.
    pub async fn run_and_hold<T: Send + 'static>(
        &self,
        deadline: Duration,
        work: impl FnOnce() -> T + Send + 'static,
        hold: impl FnOnce() + Send + 'static,
    ) -> Option<T> {
        if self.busy.swap(true, Ordering::AcqRel) {
            return None;
        }
        let busy = BusyGuard(Arc::clone(&self.busy));
        let (tx, rx) = oneshot::channel();
        // What `work` creates may need this runtime: a child process, a client.
        let runtime = Handle::current();
        let run = move || {
            let _context = runtime.enter();
            let result = work();
            drop(busy);
            // A result that arrives after the deadline is dropped here.
            if tx.send(result).is_ok() {
                hold();
            }
        };
        thread::Builder::new().name("blocking".into()).spawn(run).ok()?;
        timeout(deadline, rx).await.ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hanging_work_is_abandoned_and_no_other_starts() {
        let worker = BlockingWorker::default();
        let patience = Duration::from_secs(10);
        assert_eq!(worker.run(patience, || 1).await, Some(1));
        let (free, held) = std::sync::mpsc::channel::<()>();
        assert_eq!(worker.run(Duration::from_millis(20), move || held.recv().is_ok()).await, None);
        assert_eq!(worker.run(patience, || 2).await, None, "the first still hangs");
        assert_eq!(BlockingWorker::default().run(patience, || 3).await, Some(3), "other workers do not");
        drop(free);
        let mut freed = None;
        while freed.is_none() {
            freed = worker.run(patience, || 4).await;
        }
        assert_eq!(freed, Some(4));
        let panicked: Option<()> = worker.run(patience, || std::panic::resume_unwind(Box::new(()))).await;
        assert_eq!((panicked, worker.run(patience, || 5).await), (None, Some(5)));
    }
}
