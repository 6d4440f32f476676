//! A log in the journal as a source: the last half hour, then new entries, each once. journalctl stops when the source is dropped.

use std::time::{Duration, Instant};

use crate::time::Time;
use tokio::process::ChildStdout;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::capped::{CappedLine, CappedLines};
use super::failed;
use crate::decode::{LogZone, NodeLog, NodeLogDecoder, RawLogLine, ReceivedRecord, journal_entry};
use crate::observation::{ErrorKind, Fact};
use crate::observe::blocking::BlockingWorker;
use crate::observe::discover::{Miss, Root};
use crate::observe::program::{self, ProgramError, RunningProgram};
use crate::observe::{Attempt, ObservationSink, SourceFailure};

/// How far back the first look goes.
const SINCE: &str = "--since=-30min";
/// Longest silence of journalctl during the backlog: it may have to search a large journal on a slow disk.
const SILENCE: Duration = Duration::from_secs(20);
/// Period at which a silent journalctl is checked: a quiet log does not differ from a stopped one.
const LOOK: Duration = Duration::from_secs(10);
/// A record is complete when nothing has come for so long.
const QUIET: Duration = Duration::from_millis(250);
/// How long a journalctl that was at its end may take to be gone.
const GONE: Duration = Duration::from_secs(2);
const NO_JOURNAL: &str = "this machine keeps no journal, and no log file was named";
/// Fields beside those that are always written: of each entry the others are thirty more.
const FIELDS: &str = "--output-fields=MESSAGE,PRIORITY,_PID";

/// A log in the journal.
#[derive(Debug)]
pub struct JournalSource {
    of: NodeLog,
    units: Vec<String>,
    program: String,
    root: Root,
    cursor: Option<String>,
    silence: Duration,
    look: Duration,
    /// Starts journalctl.
    worker: BlockingWorker,
}

struct JournalProcess {
    child: RunningProgram,
    lines: CappedLines<ChildStdout>,
    words: JoinHandle<Vec<u8>>,
}

/// The part of the journal that one journalctl prints.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JournalPhase {
    /// Existing entries; journalctl then exits.
    Backlog,
    /// New entries, without end.
    New,
}

impl JournalProcess {
    /// The state of the process as the kernel has it: `S` sleeps, `T` was stopped.
    fn state(&self) -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()?)).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }
}

impl JournalSource {
    /// The log of `of`, written by `units`; of the kernel without any.
    pub fn new(of: NodeLog, units: Vec<String>) -> Self {
        Self {
            of,
            units,
            program: "journalctl".into(),
            root: Root::live(),
            cursor: None,
            silence: SILENCE,
            look: LOOK,
            worker: BlockingWorker::default(),
        }
    }

    /// The same with another journalctl, and the journal's files below another root.
    pub fn with_program(self, program: impl Into<String>, root: Root) -> Self {
        Self { program: program.into(), root, ..self }
    }

    /// The same with another longest silence during the backlog.
    pub fn with_silence(self, silence: Duration) -> Self {
        Self { silence, ..self }
    }

    /// The same with another check period.
    pub fn with_look(self, look: Duration) -> Self {
        Self { look, ..self }
    }

    async fn start(&self, more: &[String]) -> Result<JournalProcess, SourceFailure> {
        let mut command = program::system_command(&self.program).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                SourceFailure::Off("there is no journalctl here, and no log file was named".into())
            }
            _ => SourceFailure::Retry(failed(format!("{} {}: {e}", self.program, self.what()), ErrorKind::Denied, "")),
        })?;
        // Without --all, a field of more than 4 KiB is null.
        command.args(["--output=json", "--no-pager", "--all", FIELDS]).args(more);
        match self.of {
            NodeLog::Kernel => _ = command.arg("-k"),
            _ => self.units.iter().for_each(|unit| _ = command.args(["-u", unit])),
        }
        command.env("LC_ALL", "C");
        let tried = || format!("{} {}", self.program, self.what());
        let mut child = program::spawn(&self.worker, command).await.map_err(|silent| match silent {
            ProgramError::NotStarted(e) if e.kind() == std::io::ErrorKind::NotFound => {
                SourceFailure::Off("there is no journalctl here, and no log file was named".into())
            }
            ProgramError::NotStarted(e) => {
                SourceFailure::Retry(failed(format!("{}: {e}", tried()), ErrorKind::Other, ""))
            }
            ProgramError::TimedOut | ProgramError::OutputTooLarge => {
                let tried = format!("{}: it does not start", tried());
                SourceFailure::Retry(failed(tried, ErrorKind::Timeout, "the file system that holds it hangs"))
            }
        })?;
        let (Some(out), err) = (child.stdout.take(), child.stderr.take()) else {
            return Err(SourceFailure::Retry(failed(tried(), ErrorKind::Other, "")));
        };
        Ok(JournalProcess { child, lines: CappedLines::new(out), words: tokio::spawn(program::read_stderr(err)) })
    }

    fn what(&self) -> String {
        if self.of == NodeLog::Kernel { "-k".into() } else { format!("-u {}", self.units.join(" -u ")) }
    }

    /// Reads until journalctl ends; of a backlog until it is silent for too long, then until it was stopped. True if it
    /// printed anything.
    async fn read(
        &mut self,
        running: &mut JournalProcess,
        what: JournalPhase,
        out: &mut ObservationSink,
    ) -> Result<bool, SourceFailure> {
        let mut lines = NodeLogDecoder::new(self.of, Time::now(), LogZone::OfReceipt);
        let (mut entries, mut told, mut heard) = (Vec::new(), false, Instant::now());
        loop {
            let wait = match what {
                _ if lines.is_open() => QUIET,
                JournalPhase::Backlog => self.silence,
                JournalPhase::New => self.look,
            };
            match timeout(wait, running.lines.next()).await {
                Err(_) if lines.is_open() => lines.flush(&mut entries),
                Err(_) if what == JournalPhase::New => match running.state() {
                    Some('T' | 't') => {
                        let tried = format!("journalctl --follow {}: it was stopped", self.what());
                        return Err(SourceFailure::Retry(failed(tried, ErrorKind::Other, "")));
                    }
                    // It waits for news.
                    Some('S') => out.emit(Fact::Alive).await,
                    _ => {}
                },
                Err(_) => {}
                Ok(Ok(Some(CappedLine::Whole(line)))) => {
                    heard = Instant::now();
                    told |= self.line(&line, &mut lines, &mut entries);
                }
                Ok(Ok(Some(CappedLine::TooLong))) => {
                    heard = Instant::now();
                    out.emit(Fact::Dropped { count: 1 }).await;
                }
                Ok(Ok(None) | Err(_)) => {
                    lines.flush(&mut entries);
                    say(&mut entries, what, out).await;
                    return Ok(told);
                }
            }
            if !entries.is_empty() {
                say(&mut entries, what, out).await;
                heard = Instant::now();
            }
            if what == JournalPhase::Backlog && heard.elapsed() > self.silence {
                let tried = format!("journalctl {}: silent for {} s", self.what(), self.silence.as_secs_f32());
                return Err(SourceFailure::Retry(failed(
                    tried,
                    ErrorKind::Timeout,
                    "check that the disk of /var/log/journal responds",
                )));
            }
        }
    }

    fn line(&mut self, line: &[u8], lines: &mut NodeLogDecoder, entries: &mut Vec<ReceivedRecord>) -> bool {
        let Some(entry) = journal_entry(line) else { return false };
        if entry.cursor.is_some() && entry.cursor == self.cursor {
            return false;
        }
        self.cursor = entry.cursor.or(self.cursor.take());
        let (text, received) = (entry.message.as_str(), Some(entry.at));
        // A message may hold line feeds: one entry, several lines.
        for text in text.split('\n') {
            let line = RawLogLine { text, received, pid: entry.pid, priority: entry.priority, is_separate: false };
            lines.push(line, entries);
        }
        true
    }

    /// Why the journal cannot be read: without the right, and without a journal, journalctl shows an empty one
    /// without an error.
    async fn refused(&self) -> Option<SourceFailure> {
        let root = self.root.clone();
        match tokio::task::spawn_blocking(move || journal_is_readable(&root)).await.unwrap_or(Ok(())) {
            Err(Miss::Denied) => Some(self.forbidden("permission denied: the files of the system journal")),
            Err(Miss::Absent) => Some(SourceFailure::Off(NO_JOURNAL.into())),
            _ => None,
        }
    }

    fn forbidden(&self, answer: &str) -> SourceFailure {
        let fix = "run as root, or once: usermod -aG systemd-journal USER, then log in again";
        SourceFailure::Forbidden(failed(format!("journalctl {}: {answer}", self.what()), ErrorKind::Denied, fix))
    }

    /// The error of a journalctl that exited; None after exit code 0.
    async fn end(&self, mut running: JournalProcess) -> Option<SourceFailure> {
        let status = timeout(GONE, running.child.wait()).await.ok().and_then(Result::ok);
        let words = timeout(GONE, running.words).await.ok().and_then(Result::ok).unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        if words.contains("insufficient permissions") || words.contains("not seeing messages from other users") {
            return Some(self.forbidden("No journal files were opened due to insufficient permissions."));
        }
        if words.contains("No journal files were found") {
            return Some(SourceFailure::Off(NO_JOURNAL.into()));
        }
        let status = match status {
            Some(status) if status.success() => return None,
            Some(status) => status.to_string(),
            None => "does not end".into(),
        };
        let answer = [status.as_str(), words.trim()].join(" ");
        let tried = format!("journalctl {}: {}", self.what(), answer.trim());
        Some(SourceFailure::Retry(failed(tried, ErrorKind::Other, "")))
    }

    async fn observe(&mut self, out: &mut ObservationSink) -> Result<(), SourceFailure> {
        let began = Time::now().timestamp();
        let after = |cursor: &String| format!("--after-cursor={cursor}");
        let start = self.cursor.as_ref().map_or(SINCE.into(), after);
        let mut running = self.start(&[start]).await?;
        let told = self.read(&mut running, JournalPhase::Backlog, out).await?;
        if let Some(failure) = self.end(running).await {
            return Err(failure);
        }
        if !told
            && self.cursor.is_none()
            && let Some(failure) = self.refused().await
        {
            return Err(failure);
        }
        let start = self.cursor.as_ref().map_or(format!("--since=@{began}"), after);
        let mut running = self.start(&["--follow".into(), "--no-tail".into(), start]).await?;
        out.set_live().await;
        self.read(&mut running, JournalPhase::New, out).await?;
        Err(self.end(running).await.unwrap_or_else(|| {
            SourceFailure::Retry(failed(format!("journalctl --follow {}: it ended", self.what()), ErrorKind::Other, ""))
        }))
    }
}

impl Attempt for JournalSource {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        match self.observe(out).await {
            Err(failure) => failure,
            Ok(()) => SourceFailure::Retry(failed("journalctl", ErrorKind::Other, "")),
        }
    }
}

async fn say(entries: &mut Vec<ReceivedRecord>, what: JournalPhase, out: &mut ObservationSink) {
    for (_, entry) in entries.drain(..) {
        let fact = Fact::LogRecord(Box::new(entry));
        match what {
            JournalPhase::Backlog => out.emit_backlog(fact).await,
            JournalPhase::New => out.emit(fact).await,
        }
    }
}

/// Whether a file of the system's journal may be read.
///
/// # Errors
/// [`Miss::Absent`] when there is none, [`Miss::Denied`] when none of them may be read.
pub fn journal_is_readable(root: &Root) -> Result<(), Miss> {
    let mut worst = Miss::Absent;
    for dir in ["/var/log/journal", "/run/log/journal"] {
        let names = match root.names(dir) {
            Ok(names) => names,
            Err(Miss::Absent) => continue,
            Err(miss) => {
                worst = miss;
                continue;
            }
        };
        for name in names {
            match root.may_read(format!("{dir}/{name}/system.journal")) {
                Ok(()) => return Ok(()),
                Err(Miss::Absent) => {}
                Err(miss) => worst = miss,
            }
        }
    }
    Err(worst)
}
