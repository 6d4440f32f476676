//! Owns a log that a server serves: its last lines, what comes after them, and what stands before.
//! It must not ask for more than is shown, nor ask again at once where a stream ends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use super::super::SourceFailure;
use super::super::api::{ApiAccess, ApiLogStream};
use super::super::kubelet::{KubeletClient, KubeletLogStream};
use super::tray::Tray;
use crate::container_log::{Instance, LogBuffer, LogLine, LogOrigin, LogRequest, LogUpdate, MAX_LOG_LINES, OlderLines};
use crate::decode::{LogDecoder, LogForm};
use crate::observation::Time;
use crate::text::Text;

/// Lines that are asked for at first, and at most.
const TAIL: (usize, usize) = (2000, MAX_LOG_LINES);
/// A stream that is silent for so long is asked for anew: a connection that is dead is silent too.
const SILENCE: Duration = Duration::from_secs(300);
/// Longest time for older lines to come in, and for the next piece of the last ones.
const WHOLE: Duration = Duration::from_secs(30);
/// Between the end of a stream and the next: at first, and at most where nothing comes.
const AGAIN: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(30));

/// Who serves.
#[derive(Clone)]
pub enum Server {
    /// The API server, which asks the kubelet.
    Api(ApiAccess),
    /// The kubelet itself.
    Kubelet(KubeletClient),
}

enum Answer {
    Api(ApiLogStream),
    Kubelet(KubeletLogStream),
}

impl Server {
    /// Reads until nothing more can be read; says why.
    pub async fn read(&self, request: &LogRequest, tray: &Arc<Tray>, asked: &mut mpsc::Receiver<()>) -> Text {
        let mut log = Log { server: self, request, tray, first: None, last: None };
        match log.begin(asked).await {
            Ok(()) => Text::default(),
            Err(failure) => words(&failure),
        }
    }

    async fn ask(&self, request: &LogRequest, query: &str) -> Result<Answer, SourceFailure> {
        Ok(match self {
            Server::Api(access) => Answer::Api(ApiLogStream::get(access, request, query).await?),
            Server::Kubelet(client) => Answer::Kubelet(KubeletLogStream::get(client, request, query).await?),
        })
    }
}

impl Answer {
    fn place(&self, kubelet: Option<SocketAddr>) -> LogOrigin {
        match self {
            Answer::Api(log) => LogOrigin::Api(Text::new(&log.server())),
            Answer::Kubelet(_) => LogOrigin::Kubelet(kubelet.map(|a| a.to_string()).unwrap_or_default().into()),
        }
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, SourceFailure> {
        match self {
            Answer::Api(log) => log.next().await,
            Answer::Kubelet(log) => log.next().await,
        }
    }
}

/// How a stream ended.
enum Ended {
    /// With its last line; or it was silent for long, and `quiet` is set.
    Stream { told: bool, quiet: bool },
    /// Nobody looks any more.
    Closed,
}

struct Log<'a> {
    server: &'a Server,
    request: &'a LogRequest,
    tray: &'a Tray,
    /// The first line told.
    first: Option<LogLine>,
    /// Time of the last line told, and how many of that time were.
    last: Option<(Time, usize)>,
}

impl Log<'_> {
    async fn begin(&mut self, asked: &mut mpsc::Receiver<()>) -> Result<(), SourceFailure> {
        // A stream that is followed does not say which of its lines was the last of before: those are asked for alone.
        let answer = self.server.ask(self.request, &self.query(&format!("tailLines={}", TAIL.0), false)).await?;
        let kubelet = match self.server {
            Server::Kubelet(client) => Some(client.address()),
            Server::Api(_) => None,
        };
        self.tray.put(LogUpdate::Opened { origin: answer.place(kubelet), restart: None, has_older: true });
        match self.stream(answer, asked, WHOLE).await {
            Ok(Ended::Closed) => return Ok(()),
            Ok(Ended::Stream { quiet: false, .. }) => {}
            Ok(Ended::Stream { .. }) => {
                self.tray.put(LogUpdate::Notice("the server did not send all lines in time".into()))
            }
            Err(failure) => self.tray.put(LogUpdate::Notice(words(&failure))),
        }
        self.tray.put(LogUpdate::CaughtUp);
        self.follow(asked).await;
        Ok(())
    }

    /// Goes on until nobody looks any more.
    async fn follow(&mut self, asked: &mut mpsc::Receiver<()>) {
        let mut follow = self.request.follow && self.request.instance == Instance::Current;
        let (mut wait, mut ended_said, mut failed) = (Duration::ZERO, false, false);
        loop {
            loop {
                tokio::select! {
                    wish = asked.recv() => match wish {
                        Some(()) => self.older().await,
                        None => return,
                    },
                    () = tokio::time::sleep(wait), if follow => break,
                }
            }
            let since = match self.last {
                Some((last, _)) => format!("sinceTime={}", last.to_rfc3339_seconds()),
                None => format!("tailLines={}", TAIL.0),
            };
            let ended = match self.server.ask(self.request, &self.query(&since, true)).await {
                Ok(answer) => self.stream(answer, asked, SILENCE).await,
                Err(failure) => Err(failure),
            };
            wait = match &ended {
                Ok(Ended::Closed) => return,
                Ok(Ended::Stream { told: false, quiet: false }) | Err(_) => (2 * wait).clamp(AGAIN.0, AGAIN.1),
                Ok(Ended::Stream { .. }) => AGAIN.0,
            };
            match &ended {
                Ok(Ended::Stream { told, quiet: false }) if *told || !ended_said => {
                    let why = "the stream ended: the container has ended, or the connection was cut; asked again";
                    self.tray.put(LogUpdate::Notice(why.into()));
                    ended_said = true;
                }
                Err(SourceFailure::Off(why)) => {
                    self.tray.put(LogUpdate::Closed(why.clone()));
                    follow = false;
                }
                // What was read stays.
                Err(failure) if !failed => {
                    self.tray.put(LogUpdate::Notice(format!("{}; asked again", words(failure)).into()));
                }
                _ => {}
            }
            failed = ended.is_err();
        }
    }

    fn query(&self, which: &str, follow: bool) -> String {
        let previous = self.request.instance == Instance::Previous;
        format!("timestamps=true&{which}&follow={follow}&previous={previous}")
    }

    /// Tells what an answer brings, as far as it was not told before, until it is silent for so long.
    async fn stream(
        &mut self,
        mut answer: Answer,
        asked: &mut mpsc::Receiver<()>,
        silence: Duration,
    ) -> Result<Ended, SourceFailure> {
        let mut decoder = LogDecoder::new(LogForm::Served);
        // Seconds are asked for: what was told within the last one comes again.
        let (mut known, mut told) = (self.last, false);
        loop {
            let piece = tokio::select! {
                piece = timeout(silence, answer.next()) => piece,
                wish = asked.recv() => match wish {
                    Some(()) => {
                        self.older().await;
                        continue;
                    }
                    None => return Ok(Ended::Closed),
                },
            };
            let mut lines = Vec::new();
            let ended = match piece {
                Err(_) => Some(true),
                Ok(piece) => match piece? {
                    Some(bytes) => {
                        decoder.push(&bytes, &mut lines);
                        None
                    }
                    None => {
                        decoder.end(&mut lines);
                        Some(false)
                    }
                },
            };
            if let Some((last, count)) = &mut known {
                lines.retain(|line| match line.at {
                    Some(at) if at == *last => {
                        let again = *count > 0;
                        *count = count.saturating_sub(1);
                        !again
                    }
                    at => at.is_some_and(|at| at > *last),
                });
                known = known.filter(|_| lines.is_empty());
            }
            told |= !lines.is_empty();
            self.tell(lines);
            if let Some(quiet) = ended {
                return Ok(Ended::Stream { told, quiet });
            }
        }
    }

    fn tell(&mut self, lines: Vec<LogLine>) {
        if lines.is_empty() {
            return;
        }
        if self.first.is_none() {
            self.first = lines.first().cloned();
        }
        for at in lines.iter().filter_map(|line| line.at) {
            self.last = match self.last {
                Some((last, count)) if at == last => Some((last, count + 1)),
                Some((last, count)) if at < last => Some((last, count)),
                _ => Some((at, 1)),
            };
        }
        self.tray.put(LogUpdate::Lines(lines));
    }

    /// Tells what stands before the first line, as far as a server gives it in one answer.
    async fn older(&mut self) {
        let (mut lines, mut remaining) = (Vec::new(), OlderLines::None);
        if let Some(first) = self.first.clone() {
            match timeout(WHOLE, self.before(&first)).await {
                Ok(Ok(older)) => (lines, remaining) = older,
                Ok(Err(failure)) => self.tray.put(LogUpdate::Notice(words(&failure))),
                Err(_) => self.tray.put(LogUpdate::Notice("the server did not send older lines in time".into())),
            }
        }
        self.first = lines.first().cloned().or(self.first.take());
        self.tray.put(LogUpdate::Older { lines, remaining });
    }

    async fn before(&self, first: &LogLine) -> Result<(Vec<LogLine>, OlderLines), SourceFailure> {
        let mut answer = self.server.ask(self.request, &self.query(&format!("tailLines={}", TAIL.1), false)).await?;
        let (mut decoder, mut held) = (LogDecoder::new(LogForm::Served), LogBuffer::new(TAIL.1));
        let (mut count, mut found) = (0, false);
        loop {
            let mut lines = Vec::new();
            let piece = answer.next().await?;
            match &piece {
                Some(bytes) => decoder.push(bytes, &mut lines),
                None => decoder.end(&mut lines),
            }
            count += lines.len();
            if !found {
                let known = lines.iter().position(|line| line == first);
                found = known.is_some();
                lines.truncate(known.unwrap_or(lines.len()));
                held.extend(lines);
            }
            if piece.is_none() {
                break;
            }
        }
        // As many as were asked for: there may be older ones.
        let rest = if count >= TAIL.1 || held.is_truncated() { OlderLines::Omitted } else { OlderLines::None };
        let mut lines = held.into_vec();
        if !found {
            lines.truncate(lines.iter().take_while(|line| line.at < first.at).count());
        }
        Ok((lines, rest))
    }
}

fn words(failure: &SourceFailure) -> Text {
    match failure {
        SourceFailure::Off(why) => why.clone(),
        SourceFailure::Retry(error) | SourceFailure::RetryAfter(error, _) | SourceFailure::Forbidden(error) => {
            match error.fix.is_empty() {
                true => error.tried.text(),
                false => format!("{}; {}", error.tried, error.fix).into(),
            }
        }
    }
}
