//! Reads a container's log from the API server or the kubelet: last lines, new lines, older lines on request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use super::super::SourceFailure;
use super::super::api::{ApiAccess, ApiLogStream};
use super::super::kubelet::{KubeletClient, KubeletLogStream};
use super::queue::UpdateQueue;
use super::{LogOriginReader, ReadEnd};
use crate::container_log::{
    Instance, LogBuffer, LogLine, LogOrigin, LogRequest, LogUpdate, MAX_LOG_LINES, NewestRun, OlderLines,
};
use crate::decode::{LogDecoder, LogForm};
use crate::observation::Time;
use crate::text::Text;

/// `tailLines` of the first request.
const FIRST_LINES: usize = 2000;
/// A stream without data for this long is requested again: the connection may be dead.
const MAX_SILENCE: Duration = Duration::from_secs(300);
/// Deadline for all older lines, and for each piece of the last lines.
const ANSWER_DEADLINE: Duration = Duration::from_secs(30);
/// First wait before a closed stream is requested again; it doubles while no line arrives.
const RETRY_MIN: Duration = Duration::from_secs(3);
/// Maximum of that wait.
const RETRY_MAX: Duration = Duration::from_secs(30);

/// A server of container logs.
#[derive(Clone)]
pub enum ServedLog {
    /// The API server, which proxies to the kubelet.
    Api(ApiAccess),
    /// The kubelet itself.
    Kubelet(KubeletClient),
}

enum LogBody {
    Api(ApiLogStream),
    Kubelet(KubeletLogStream),
}

impl LogOriginReader for ServedLog {
    fn read<'a>(
        &'a self,
        request: &'a LogRequest,
        updates: &'a Arc<UpdateQueue>,
        older: &'a mut mpsc::Receiver<()>,
    ) -> ReadEnd<'a> {
        Box::pin(async move {
            let mut session = LogSession { server: self, request, updates, error: None, first: None, last: None };
            match session.read(older).await {
                Ok(()) => Text::default(),
                Err(failure) => failure_text(&failure),
            }
        })
    }
}

impl ServedLog {
    async fn get(&self, request: &LogRequest, query: &str) -> Result<LogBody, SourceFailure> {
        Ok(match self {
            ServedLog::Api(access) => LogBody::Api(ApiLogStream::get(access, request, query).await?),
            ServedLog::Kubelet(client) => LogBody::Kubelet(KubeletLogStream::get(client, request, query).await?),
        })
    }
}

impl LogBody {
    fn origin(&self, kubelet: Option<SocketAddr>) -> LogOrigin {
        match self {
            LogBody::Api(log) => LogOrigin::Api(Text::new(&log.server())),
            LogBody::Kubelet(_) => LogOrigin::Kubelet(kubelet.map(|a| a.to_string()).unwrap_or_default().into()),
        }
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, SourceFailure> {
        match self {
            LogBody::Api(log) => log.next().await,
            LogBody::Kubelet(log) => log.next().await,
        }
    }
}

/// Why a stream is over.
enum StreamEnd {
    /// The server closed it, or `is_late`: no data within the limit.
    Ended { had_lines: bool, is_late: bool },
    /// The consumer closed the log.
    Closed,
}

/// Starts of the errors that the kubelet writes into the body of a log (`GetContainerLogs` in
/// pkg/kubelet/kuberuntime/kuberuntime_container.go, `ReadLogs` in staging/src/k8s.io/cri-client/pkg/logs/logs.go).
const SERVER_ERRORS: [&str; 3] =
    ["unable to retrieve container logs for ", "failed to try resolving symlinks in path ", "failed to open log file "];

/// A line of the server about the log: every line of the container has a time.
fn is_server_error(line: &LogLine) -> bool {
    line.at.is_none() && SERVER_ERRORS.iter().any(|start| line.text.starts_with(start))
}

/// One open log.
struct LogSession<'a> {
    server: &'a ServedLog,
    request: &'a LogRequest,
    updates: &'a UpdateQueue,
    /// The last error that the server sent in place of lines.
    error: Option<Text>,
    /// The oldest line read.
    first: Option<LogLine>,
    /// Time of the newest line read, and number of lines with that time.
    last: Option<(Time, usize)>,
}

impl LogSession<'_> {
    async fn read(&mut self, requests: &mut mpsc::Receiver<()>) -> Result<(), SourceFailure> {
        if self.request.instance == Instance::Previous && self.request.newest == NewestRun::Waiting {
            let why = "the newest run waits for its restart: the log APIs return no earlier run";
            return Err(SourceFailure::Off(why.into()));
        }
        // A followed stream does not mark where the existing lines end: they are requested on their own first.
        let answer = self.server.get(self.request, &self.query(&format!("tailLines={}", FIRST_LINES), false)).await?;
        let kubelet = match self.server {
            ServedLog::Kubelet(client) => Some(client.address()),
            ServedLog::Api(_) => None,
        };
        self.updates.put(LogUpdate::Opened { origin: answer.origin(kubelet), restart: None, has_older: true });
        match self.stream(answer, requests, ANSWER_DEADLINE).await {
            Ok(StreamEnd::Closed) => return Ok(()),
            Ok(StreamEnd::Ended { is_late: false, .. }) => {}
            Ok(StreamEnd::Ended { .. }) => {
                self.updates.put(LogUpdate::Notice("the server did not send all lines in time".into()))
            }
            Err(failure) => self.updates.put(LogUpdate::Notice(failure_text(&failure))),
        }
        // The response is an error and no log: the next origin may have it.
        if let (None, Some(error)) = (&self.first, self.error.take()) {
            return Err(SourceFailure::Off(error));
        }
        self.updates.put(LogUpdate::CaughtUp);
        self.follow(requests).await;
        Ok(())
    }

    /// Follows until the consumer closes the log.
    async fn follow(&mut self, requests: &mut mpsc::Receiver<()>) {
        let mut follow = self.request.follow && self.request.instance == Instance::Current;
        let (mut wait, mut is_end_reported, mut is_failing) = (Duration::ZERO, false, false);
        loop {
            loop {
                tokio::select! {
                    request = requests.recv() => match request {
                        Some(()) => self.read_older().await,
                        None => return,
                    },
                    () = tokio::time::sleep(wait), if follow => break,
                }
            }
            let since = match self.last {
                Some((last, _)) => format!("sinceTime={}", last.to_rfc3339_seconds()),
                None => format!("tailLines={}", FIRST_LINES),
            };
            let ended = match self.server.get(self.request, &self.query(&since, true)).await {
                Ok(answer) => self.stream(answer, requests, MAX_SILENCE).await,
                Err(failure) => Err(failure),
            };
            wait = match &ended {
                Ok(StreamEnd::Closed) => return,
                Ok(StreamEnd::Ended { had_lines: false, is_late: false }) | Err(_) => {
                    (2 * wait).clamp(RETRY_MIN, RETRY_MAX)
                }
                Ok(StreamEnd::Ended { .. }) => RETRY_MIN,
            };
            match &ended {
                Ok(StreamEnd::Ended { had_lines, is_late: false }) if *had_lines || !is_end_reported => {
                    let why = "the server closed the stream: container exited or connection lost; retrying";
                    self.updates.put(LogUpdate::Notice(why.into()));
                    is_end_reported = true;
                }
                Err(SourceFailure::Off(why)) => {
                    self.updates.put(LogUpdate::Closed(why.clone()));
                    follow = false;
                }
                Err(failure) if !is_failing => {
                    self.updates.put(LogUpdate::Notice(format!("{}; retrying", failure_text(failure)).into()));
                }
                _ => {}
            }
            is_failing = ended.is_err();
        }
    }

    fn query(&self, which: &str, follow: bool) -> String {
        let previous = self.request.instance == Instance::Previous;
        format!("timestamps=true&{which}&follow={follow}&previous={previous}")
    }

    /// Forwards the new lines of a stream until it ends, or has no data for `silence`.
    async fn stream(
        &mut self,
        mut answer: LogBody,
        requests: &mut mpsc::Receiver<()>,
        silence: Duration,
    ) -> Result<StreamEnd, SourceFailure> {
        let mut decoder = LogDecoder::new(LogForm::Served);
        // `sinceTime` has seconds: lines of the last one arrive again and are dropped.
        let (mut known, mut had_lines) = (self.last, false);
        loop {
            let piece = tokio::select! {
                piece = timeout(silence, answer.next()) => piece,
                request = requests.recv() => match request {
                    Some(()) => {
                        self.read_older().await;
                        continue;
                    }
                    None => return Ok(StreamEnd::Closed),
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
            had_lines |= !lines.is_empty();
            self.push_lines(lines);
            if let Some(is_late) = ended {
                return Ok(StreamEnd::Ended { had_lines, is_late });
            }
        }
    }

    fn push_lines(&mut self, mut lines: Vec<LogLine>) {
        lines.retain(|line| {
            let is_error = is_server_error(line);
            if is_error {
                self.error = Some(line.text.clone());
                self.updates.put(LogUpdate::Notice(line.text.clone()));
            }
            !is_error
        });
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
        self.updates.put(LogUpdate::Lines(lines));
    }

    /// Reads the lines before the oldest one: a server returns at most [`MAX_LOG_LINES`] in one response.
    async fn read_older(&mut self) {
        let (mut lines, mut remaining) = (Vec::new(), OlderLines::None);
        if let Some(first) = self.first.clone() {
            match timeout(ANSWER_DEADLINE, self.lines_before(&first)).await {
                Ok(Ok(older)) => (lines, remaining) = older,
                Ok(Err(failure)) => self.updates.put(LogUpdate::Notice(failure_text(&failure))),
                Err(_) => self.updates.put(LogUpdate::Notice("the server did not send older lines in time".into())),
            }
        }
        self.first = lines.first().cloned().or(self.first.take());
        self.updates.put(LogUpdate::Older { lines, remaining });
    }

    async fn lines_before(&self, first: &LogLine) -> Result<(Vec<LogLine>, OlderLines), SourceFailure> {
        let mut answer =
            self.server.get(self.request, &self.query(&format!("tailLines={}", MAX_LOG_LINES), false)).await?;
        let (mut decoder, mut buffer) = (LogDecoder::new(LogForm::Served), LogBuffer::new(MAX_LOG_LINES));
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
                buffer.extend(lines);
            }
            if piece.is_none() {
                break;
            }
        }
        // As many as requested: older ones may exist.
        let remaining =
            if count >= MAX_LOG_LINES || buffer.is_truncated() { OlderLines::Omitted } else { OlderLines::None };
        let mut lines = buffer.into_vec();
        if !found {
            lines.truncate(lines.iter().take_while(|line| line.at < first.at).count());
        }
        Ok((lines, remaining))
    }
}

fn failure_text(failure: &SourceFailure) -> Text {
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
