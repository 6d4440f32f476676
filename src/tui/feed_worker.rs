//! The feed thread: it advances the feed and sends node views and log updates to the event loop on request.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::container_log::LogCommand;
use crate::tui::feed::Feed;
use crate::tui::terminal::watch::LoopEvent;
use crate::view::NodeView;

/// Capacity of the request channel.
const WAITING: usize = 64;
/// Shortest sleep, so that a busy feed does not spin the thread.
const SHORTEST: Duration = Duration::from_millis(20);
/// Interval of reads of an open log.
const LOG_EVERY: Duration = Duration::from_millis(100);
/// Longest sleep without requests.
const LONGEST: Duration = Duration::from_secs(3600);

/// A request of the event loop.
pub enum FeedRequest {
    /// One node view, once something changed.
    NodeView,
    /// The next updates of the open log.
    LogUpdates,
    /// A command for the log reader.
    Log(LogCommand),
}

/// Handle of the feed thread.
pub struct FeedWorker {
    requests: SyncSender<FeedRequest>,
    ended: Receiver<()>,
}

impl FeedWorker {
    /// Starts the thread. It sends node views, log updates and its own failure to `loop_`.
    pub fn start(feed: Box<dyn Feed + Send>, loop_: SyncSender<LoopEvent>) -> io::Result<Self> {
        let (requests, waiting) = sync_channel(WAITING);
        let (to_end, ended) = sync_channel(1);
        thread::Builder::new().name("feed".into()).spawn(move || {
            let end = EndGuard { loop_, _ended: to_end };
            FeedThread::new(feed).follow(&waiting, &end.loop_);
        })?;
        Ok(Self { requests, ended })
    }

    /// Sends a request; returns it while the channel is full.
    pub fn request(&self, request: FeedRequest) -> Result<(), FeedRequest> {
        self.requests.try_send(request).map_err(|error| match error {
            std::sync::mpsc::TrySendError::Full(request) => request,
            // The loop receives `FeedEnded`.
            std::sync::mpsc::TrySendError::Disconnected(request) => request,
        })
    }

    /// Stops the thread and drops the feed; waits for at most `limit`.
    pub fn end(self, limit: Duration) {
        drop(self.requests);
        _ = self.ended.recv_timeout(limit);
    }
}

/// Reports the end of the thread, also after a panic.
struct EndGuard {
    loop_: SyncSender<LoopEvent>,
    _ended: SyncSender<()>,
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        // The loop may have exited.
        _ = self.loop_.send(LoopEvent::FeedEnded);
    }
}

struct FeedThread {
    feed: Box<dyn Feed + Send>,
    /// Time up to which the feed has advanced.
    passed: Instant,
    /// When the last node view was computed, and the milliseconds of its time.
    made: (Instant, u32),
    /// Something changed since then.
    changed: bool,
    wants_node_view: bool,
    wants_log_updates: bool,
    /// Number of logs opened and closed, to match updates to the open log.
    log: u64,
    log_is_open: bool,
}

impl FeedThread {
    fn new(feed: Box<dyn Feed + Send>) -> Self {
        let now = Instant::now();
        Self {
            feed,
            passed: now,
            made: (now, 0),
            changed: true,
            wants_node_view: false,
            wants_log_updates: false,
            log: 0,
            log_is_open: false,
        }
    }

    fn follow(mut self, requests: &Receiver<FeedRequest>, loop_: &SyncSender<LoopEvent>) {
        loop {
            match requests.recv_timeout(self.timeout()) {
                Ok(request) => self.take(request),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Ok(request) = requests.try_recv() {
                self.take(request);
            }
            let now = Instant::now();
            self.changed |= self.feed.pass(now - self.passed);
            self.passed = now;
            let sent =
                self.log_updates().into_iter().chain(self.node_view()).try_for_each(|message| loop_.send(message));
            if sent.is_err() {
                return;
            }
        }
    }

    fn timeout(&mut self) -> Duration {
        let view = if self.wants_node_view { self.until_second() } else { LONGEST };
        let updates = if self.wants_log_updates && self.log_is_open { LOG_EVERY } else { LONGEST };
        self.feed.wake_in().min(view).min(updates).max(SHORTEST)
    }

    /// Real time until the clock on the screen changes.
    fn until_second(&self) -> Duration {
        let (made, shown) = self.made;
        Duration::from_millis(u64::from(1000 - shown)).saturating_sub(made.elapsed())
    }

    fn take(&mut self, request: FeedRequest) {
        match request {
            FeedRequest::NodeView => self.wants_node_view = true,
            FeedRequest::LogUpdates => self.wants_log_updates = true,
            FeedRequest::Log(ask) => {
                self.log += u64::from(opens_or_closes(&ask));
                match &ask {
                    LogCommand::Open(_) => self.log_is_open = true,
                    LogCommand::Close => self.log_is_open = false,
                    LogCommand::Older => {}
                }
                self.feed.log(ask);
            }
        }
    }

    fn node_view(&mut self) -> Option<LoopEvent> {
        if !self.wants_node_view || !(self.changed || self.until_second().is_zero()) {
            return None;
        }
        (self.wants_node_view, self.changed) = (false, false);
        let started = Instant::now();
        let view: NodeView = self.feed.moment();
        self.made = (started, view.now.timestamp_subsec_millis() % 1000);
        Some(LoopEvent::NodeView(Box::new(view), self.feed.title()))
    }

    fn log_updates(&mut self) -> Option<LoopEvent> {
        if !self.wants_log_updates || !self.log_is_open {
            return None;
        }
        let updates = self.feed.log_news();
        self.wants_log_updates = updates.is_empty();
        (!updates.is_empty()).then_some(LoopEvent::LogUpdates(self.log, updates))
    }
}

/// True if later updates belong to another log, or to none.
pub fn opens_or_closes(ask: &LogCommand) -> bool {
    matches!(ask, LogCommand::Open(_) | LogCommand::Close)
}
