//! Owns the thread on which the feed lives: it lets time pass there, and hands over a moment or lines of a log when asked to.
//! It must not be waited for: however long a moment takes, keys and signals are answered meanwhile.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::container_log::LogCommand;
use crate::tui::feed::Feed;
use crate::tui::terminal::watch::Message;
use crate::view::NodeView;

/// Requests that may wait for the thread.
const WAITING: usize = 64;
/// Shortest sleep: a feed in which something is always due does not make the thread spin.
const SHORTEST: Duration = Duration::from_millis(20);
/// How often an open log is read.
const LOG_EVERY: Duration = Duration::from_millis(100);
/// Longest sleep while nothing is asked for.
const LONGEST: Duration = Duration::from_secs(3600);

/// What the loop asks for.
pub enum Request {
    /// One moment, once it differs from the last one.
    NodeView,
    /// Once, what is new of the open log.
    News,
    /// Something of a container's log.
    Log(LogCommand),
}

/// The thread, as the loop sees it.
pub struct Worker {
    requests: SyncSender<Request>,
    ended: Receiver<()>,
}

impl Worker {
    /// Starts it; it sends moments and news to `loop_`, and tells it when the feed has failed.
    pub fn start(feed: Box<dyn Feed + Send>, loop_: SyncSender<Message>) -> io::Result<Self> {
        let (requests, waiting) = sync_channel(WAITING);
        let (to_end, ended) = sync_channel(1);
        thread::Builder::new().name("feed".into()).spawn(move || {
            let end = End { loop_, _ended: to_end };
            Followed::new(feed).follow(&waiting, &end.loop_);
        })?;
        Ok(Self { requests, ended })
    }

    /// Asks for something. Gives the request back while too many wait.
    pub fn ask(&self, request: Request) -> Result<(), Request> {
        self.requests.try_send(request).map_err(|error| match error {
            std::sync::mpsc::TrySendError::Full(request) => request,
            // The loop is told that the thread has ended.
            std::sync::mpsc::TrySendError::Disconnected(request) => request,
        })
    }

    /// Ends it, with all that the feed holds; what takes longer than `limit` is left to the end of the process.
    pub fn end(self, limit: Duration) {
        drop(self.requests);
        _ = self.ended.recv_timeout(limit);
    }
}

/// Tells that the thread has ended, also by a panic.
struct End {
    loop_: SyncSender<Message>,
    _ended: SyncSender<()>,
}

impl Drop for End {
    fn drop(&mut self) {
        // There may be no loop any more.
        _ = self.loop_.send(Message::FeedEnded);
    }
}

struct Followed {
    feed: Box<dyn Feed + Send>,
    /// Until when the feed has been told of time.
    passed: Instant,
    /// When the last moment was made, and the part of a second of its time, milliseconds.
    made: (Instant, u32),
    /// Something changed since then.
    changed: bool,
    wants_moment: bool,
    wants_news: bool,
    /// How often logs were opened and closed, so that lines of one are not taken for another's.
    log: u64,
    log_is_open: bool,
}

impl Followed {
    fn new(feed: Box<dyn Feed + Send>) -> Self {
        let now = Instant::now();
        Self {
            feed,
            passed: now,
            made: (now, 0),
            changed: true,
            wants_moment: false,
            wants_news: false,
            log: 0,
            log_is_open: false,
        }
    }

    fn follow(mut self, requests: &Receiver<Request>, loop_: &SyncSender<Message>) {
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
            let sent = self.news().into_iter().chain(self.moment()).try_for_each(|message| loop_.send(message));
            if sent.is_err() {
                return;
            }
        }
    }

    fn timeout(&mut self) -> Duration {
        let moment = if self.wants_moment { self.until_second() } else { LONGEST };
        let news = if self.wants_news && self.log_is_open { LOG_EVERY } else { LONGEST };
        self.feed.wake_in().min(moment).min(news).max(SHORTEST)
    }

    /// Real time until the clock that is shown moves on.
    fn until_second(&self) -> Duration {
        let (made, shown) = self.made;
        Duration::from_millis(u64::from(1000 - shown)).saturating_sub(made.elapsed())
    }

    fn take(&mut self, request: Request) {
        match request {
            Request::NodeView => self.wants_moment = true,
            Request::News => self.wants_news = true,
            Request::Log(ask) => {
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

    fn moment(&mut self) -> Option<Message> {
        if !self.wants_moment || !(self.changed || self.until_second().is_zero()) {
            return None;
        }
        (self.wants_moment, self.changed) = (false, false);
        let begun = Instant::now();
        let moment: NodeView = self.feed.moment();
        self.made = (begun, moment.now.timestamp_subsec_millis() % 1000);
        Some(Message::NodeView(Box::new(moment), self.feed.title()))
    }

    fn news(&mut self) -> Option<Message> {
        if !self.wants_news || !self.log_is_open {
            return None;
        }
        let news = self.feed.log_news();
        self.wants_news = news.is_empty();
        (!news.is_empty()).then_some(Message::News(self.log, news))
    }
}

/// From then on, news is of another log, or of none.
pub fn opens_or_closes(ask: &LogCommand) -> bool {
    matches!(ask, LogCommand::Open(_) | LogCommand::Close)
}
