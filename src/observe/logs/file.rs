//! A log in a file as a source: its last part, then new lines, through rotations. Reads run on their own thread: a mount can hang.

use std::io;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::time::{Time, TimeDelta};
use tokio::time::timeout;

use super::failed;
use super::tail::{Tail, TailPosition, tail};
use crate::decode::{LogZone, NodeLog, NodeLogDecoder, RawLogLine};
use crate::observation::{ErrorKind, Fact};
use crate::observe::{Attempt, ObservationSink, SourceFailure};
use crate::trust::{KnownFile, distrust_of};

/// Longest that the reading thread may be silent: it looks twice a second.
const SILENCE: Duration = Duration::from_secs(10);
/// How far back the first look goes, as in the journal: what is older explains nothing of now.
const BACK: TimeDelta = TimeDelta::minutes(30);
/// Period at which a log without new lines reports that it was read.
const ALIVE: Duration = Duration::from_secs(10);

/// A log in a file.
#[derive(Debug)]
pub struct FileSource {
    of: NodeLog,
    path: KnownFile,
    place: Option<TailPosition>,
    /// A reader that did not answer; until it does, no other is sent after it.
    hanging: Option<JoinHandle<()>>,
}

impl FileSource {
    /// The log of `of` in the file `path`.
    pub fn new(of: NodeLog, path: impl Into<KnownFile>) -> Self {
        Self { of, path: path.into(), place: None, hanging: None }
    }

    fn silent(&self) -> SourceFailure {
        let tried = format!("read {}: no answer for {} s", self.path, SILENCE.as_secs());
        SourceFailure::Retry(failed(tried, ErrorKind::Timeout, "check that its file system responds"))
    }

    fn failure(&self, error: &io::Error) -> SourceFailure {
        let tried = format!("read {}: {error}", self.path);
        match error.kind() {
            _ if distrust_of(error).is_some() => SourceFailure::Retry(failed(
                tried,
                ErrorKind::Denied,
                "name the log: --kubelet-log FILE or --runtime-log FILE",
            )),
            io::ErrorKind::PermissionDenied => {
                let fix = format!("run as root, or: setfacl -m u:USER:r {}", self.path);
                SourceFailure::Forbidden(failed(tried, ErrorKind::Denied, fix))
            }
            io::ErrorKind::NotFound => SourceFailure::Retry(failed(tried, ErrorKind::Unreachable, "")),
            _ => SourceFailure::Retry(failed(tried, ErrorKind::Other, "")),
        }
    }
}

impl Attempt for FileSource {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        if self.hanging.as_ref().is_some_and(|reader| !reader.is_finished()) {
            return self.silent();
        }
        let (mut from, reader) = match tail(self.path.clone(), self.place) {
            Ok(from) => from,
            Err(error) => return self.failure(&error),
        };
        let mut lines = NodeLogDecoder::new(self.of, Time::now(), LogZone::Fixed(Time::read_as_local));
        let (mut entries, mut told) = (Vec::new(), Instant::now());
        let (mut grows, mut backlog) = (false, true);
        loop {
            let Ok(tail) = timeout(SILENCE, from.recv()).await else {
                self.hanging = Some(reader);
                return self.silent();
            };
            match tail {
                None => return self.failure(&io::ErrorKind::UnexpectedEof.into()),
                Some(Tail::Failed(error)) => return self.failure(&error),
                Some(Tail::TooLong(count)) => out.emit(Fact::Dropped { count }).await,
                Some(Tail::Lines(texts)) => {
                    grows = true;
                    for text in texts {
                        let text = String::from_utf8_lossy(&text);
                        let line = RawLogLine { text: &text, received: Some(Time::now()), ..RawLogLine::default() };
                        lines.push(line, &mut entries);
                    }
                }
                Some(Tail::Level(place)) => {
                    // A record is complete when the next look finds nothing new.
                    if !std::mem::take(&mut grows) {
                        lines.flush(&mut entries);
                    }
                    self.place = Some(place);
                    backlog = false;
                    out.set_live().await;
                    if told.elapsed() >= ALIVE && entries.is_empty() {
                        out.emit(Fact::Alive).await;
                        told = Instant::now();
                    }
                }
            }
            for (_, entry) in entries.drain(..) {
                told = Instant::now();
                let old = entry.at < Time::now() - BACK;
                let fact = Fact::LogRecord(Box::new(entry));
                match backlog {
                    true if old => {}
                    true => out.emit_backlog(fact).await,
                    false => out.emit(fact).await,
                }
            }
        }
    }
}
