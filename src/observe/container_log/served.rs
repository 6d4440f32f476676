//! Owns a log that a server serves: its last lines, what comes after them, and what stands before.
//! It must not ask for more than is shown, nor ask again at once where a stream ends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chrono::SecondsFormat;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::super::Failure;
use super::super::api::{ApiAccess, PodLog};
use super::super::kubelet::{ContainerLog, KubeletClient};
use super::tray::Tray;
use crate::container_log::{Instance, LogLine, LogNews, LogPlace, LogRequest};
use crate::decode::{LogDecoder, LogForm};
use crate::observation::Time;
use crate::text::Text;

/// Lines that are asked for at first, and at most.
const TAIL: (usize, usize) = (2000, 10_000);
/// A stream that is silent for so long is asked for anew: a connection that is dead is silent too.
const SILENCE: Duration = Duration::from_secs(300);
/// Longest time for an answer that is not followed to come in.
const WHOLE: Duration = Duration::from_secs(30);
/// Between the end of a stream and the next.
const AGAIN: Duration = Duration::from_secs(3);

/// Who serves.
#[derive(Clone)]
pub enum Server {
    /// The API server, which asks the kubelet.
    Api(ApiAccess),
    /// The kubelet itself.
    Kubelet(KubeletClient),
}

enum Answer {
    Api(PodLog),
    Kubelet(ContainerLog),
}

impl Server {
    /// Reads until nothing more can be read; says why.
    pub async fn read(&self, request: &LogRequest, tray: &Arc<Tray>, asked: &mut mpsc::Receiver<()>) -> Text {
        let mut log = Log { server: self, request, tray, first: None, last: None, begun: false };
        match log.begin(asked).await {
            Ok(()) => Text::default(),
            Err(failure) => words(&failure),
        }
    }

    async fn ask(&self, request: &LogRequest, query: &str) -> Result<Answer, Failure> {
        Ok(match self {
            Server::Api(access) => Answer::Api(PodLog::get(access, request, query).await?),
            Server::Kubelet(client) => Answer::Kubelet(ContainerLog::get(client, request, query).await?),
        })
    }
}

impl Answer {
    fn place(&self, kubelet: Option<SocketAddr>) -> LogPlace {
        match self {
            Answer::Api(log) => LogPlace::Api(Text::new(&log.server())),
            Answer::Kubelet(_) => LogPlace::Kubelet(kubelet.map(|a| a.to_string()).unwrap_or_default().into()),
        }
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
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
    /// Time of the last line told.
    last: Option<Time>,
    /// A stream has ended before.
    begun: bool,
}

impl Log<'_> {
    async fn begin(&mut self, asked: &mut mpsc::Receiver<()>) -> Result<(), Failure> {
        let follow = self.request.follow && self.request.instance == Instance::Current;
        let answer = self.server.ask(self.request, &self.query(&format!("tailLines={}", TAIL.0), follow)).await?;
        let kubelet = match self.server {
            Server::Kubelet(client) => Some(client.address()),
            Server::Api(_) => None,
        };
        self.tray.put(LogNews::Begin { place: answer.place(kubelet), restart: None, older: true });
        let mut next = Some(answer);
        loop {
            let ended = match next.take() {
                Some(answer) => self.stream(answer, asked).await,
                None => Ok(Ended::Stream { told: false, quiet: true }),
            };
            match ended {
                Ok(Ended::Closed) => return Ok(()),
                Ok(Ended::Stream { told: true, quiet: false }) if follow => {
                    let why = "the stream ended: the container has ended, or the connection was cut; asked again";
                    self.tray.put(LogNews::Said(why.into()));
                }
                Ok(Ended::Stream { .. }) => self.tray.put(LogNews::End),
                Err(failure) => {
                    self.tray.put(LogNews::Said(words(&failure)));
                    self.tray.put(LogNews::End);
                }
            }
            loop {
                tokio::select! {
                    wish = asked.recv() => match wish {
                        Some(()) => self.older().await,
                        None => return Ok(()),
                    },
                    () = tokio::time::sleep(AGAIN), if follow => break,
                }
            }
            let since = match self.last {
                Some(last) => format!("sinceTime={}", last.to_rfc3339_opts(SecondsFormat::Secs, true)),
                None => format!("tailLines={}", TAIL.0),
            };
            // What fails now may be a pod that is being deleted; what was read stays.
            next = self.server.ask(self.request, &self.query(&since, follow)).await.ok();
        }
    }

    fn query(&self, which: &str, follow: bool) -> String {
        let previous = self.request.instance == Instance::Previous;
        format!("timestamps=true&{which}&follow={follow}&previous={previous}")
    }

    /// Tells what an answer brings, as far as it was not told before.
    async fn stream(&mut self, mut answer: Answer, asked: &mut mpsc::Receiver<()>) -> Result<Ended, Failure> {
        let mut decoder = LogDecoder::new(LogForm::Served);
        // Seconds are asked for: what was told within the last one comes again.
        let (mut known, mut told) = (self.last, !std::mem::replace(&mut self.begun, true));
        loop {
            let piece = tokio::select! {
                piece = timeout(SILENCE, answer.next()) => piece,
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
            if let Some(last) = known {
                lines.retain(|line| line.at.is_some_and(|at| at > last));
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
        self.last = lines.iter().filter_map(|line| line.at).max().max(self.last);
        self.tray.put(LogNews::Lines(lines));
    }

    /// Tells what stands before the first line, as far as a server gives it in one answer.
    async fn older(&mut self) {
        let mut lines = Vec::new();
        if let Some(first) = self.first.clone() {
            let read = async {
                let query = self.query(&format!("tailLines={}", TAIL.1), false);
                let mut answer = self.server.ask(self.request, &query).await?;
                let (mut decoder, mut all) = (LogDecoder::new(LogForm::Served), Vec::new());
                while let Some(bytes) = answer.next().await? {
                    decoder.push(&bytes, &mut all);
                }
                decoder.end(&mut all);
                Ok::<_, Failure>(all)
            };
            match timeout(WHOLE, read).await {
                Ok(Ok(mut all)) => {
                    let known = all.iter().position(|line| *line == first);
                    let end = known.unwrap_or_else(|| all.iter().take_while(|line| line.at < first.at).count());
                    all.truncate(end);
                    lines = all;
                }
                Ok(Err(failure)) => self.tray.put(LogNews::Said(words(&failure))),
                Err(_) => self.tray.put(LogNews::Said("the server did not send older lines in time".into())),
            }
        }
        self.first = lines.first().cloned().or(self.first.take());
        self.tray.put(LogNews::Older { lines, more: false });
    }
}

fn words(failure: &Failure) -> Text {
    match failure {
        Failure::Off(why) => why.clone(),
        Failure::Retry(error) | Failure::RetryAfter(error, _) | Failure::Forbidden(error) => match error.fix.is_empty()
        {
            true => error.tried.clone(),
            false => format!("{}; {}", error.tried, error.fix).into(),
        },
    }
}
