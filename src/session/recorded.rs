//! A recording or another input as a session: it is at one time of the input, and plays or moves to another.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::playback::{Playback, PlaybackItem};
use super::{LogFile, RecordedLog, SessionError};
use crate::container_log::{LogCommand, LogStream, LogUpdate};
use crate::diagnose::DiagnosisCache;
use crate::model::Model;
use crate::observation::{Stamp, Time};
use crate::record::import::{Skipped, examine};
use crate::record::{Problem, RecordPoint};
use crate::runbook::Runbook;
use crate::text::Text;
use crate::time::TimeDelta;
use crate::view::NodeView;
use crate::weight::DEFAULT_MEMORY;

/// The recording that `kpodtrace demo` plays: six minutes of a real node.
static DEMO: &[u8] = include_bytes!("../../assets/demo/incident.kpt");

/// Difference between monotonic and wall clock from which the wall clock counts as set.
const CLOCK_STEP: TimeDelta = TimeDelta::seconds(1);

/// Time without an observation that counts as a gap in the recording, microseconds: a live source reports at least every minute.
const QUIET_US: u64 = 600_000_000;

/// How long a looping session stays at its end before it starts again.
const LOOP_PAUSE: Duration = Duration::from_secs(3);

/// An input, the model at one time of it, and the clock that moves it.
pub struct RecordedSession {
    playback: Playback,
    model: Model,
    rounds: DiagnosisCache,
    /// Position on the input's own clock, microseconds.
    at: u64,
    /// Position of the last observation, microseconds.
    last_observation: u64,
    /// Wall time that belongs to `at`.
    now: Time,
    speed: f64,
    /// What the title calls the input.
    label: String,
    /// Starts again after the end.
    is_looping: bool,
    /// Real time spent at the end.
    time_at_end: Duration,
    /// When time alone changes the last view.
    deadline: Option<Time>,
    /// The container log that is read, if any.
    log: Option<RecordedLog>,
}

impl RecordedSession {
    /// Opens a recording, or the output of `kubectl get -o json`, at its end; `-` is standard input.
    ///
    /// # Errors
    /// When the input cannot be read or is not recognised.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        Self::open_within(path, DEFAULT_MEMORY)
    }

    /// Opens an input with at most `memory` bytes of memory.
    ///
    /// # Errors
    /// When the input cannot be read, is not recognised, or needs more memory.
    pub fn open_within(path: &Path, memory: u64) -> Result<Self, SessionError> {
        let mut session = Self::new(Playback::open(path, memory)?)?;
        session.seek_end()?;
        Ok(session)
    }

    /// Opens single files: objects, logs, metrics, each optional, at the time `now`, with at most `memory` bytes of memory.
    ///
    /// # Errors
    /// When a file cannot be read, or no file has a time.
    pub fn examine(
        objects: Option<&Path>,
        logs: &[LogFile],
        now: Option<Time>,
        subject: &str,
        memory: u64,
    ) -> Result<Self, SessionError> {
        let imported = examine(objects, logs, now, subject, memory)?;
        let mut session = Self::new(Playback::from_import("files", imported))?;
        session.seek_end()?;
        Ok(session)
    }

    /// Opens the embedded recording at its start; it is played in a loop.
    ///
    /// # Errors
    /// Only if the embedded recording is damaged, which the tests exclude.
    pub fn demo() -> Result<Self, SessionError> {
        let mut session = Self::new(Playback::from_recording("demo", DEMO)?)?;
        session.label = "demo".into();
        session.is_looping = true;
        Ok(session)
    }

    fn new(playback: Playback) -> Result<Self, SessionError> {
        let now = playback.span().0;
        let (model, rounds) = (Model::default(), DiagnosisCache::default());
        let mut session = Self {
            playback,
            model,
            rounds,
            at: 0,
            last_observation: 0,
            now,
            speed: 1.0,
            label: format!("recorded {}", now.format("%Y-%m-%d")),
            is_looping: false,
            time_at_end: Duration::ZERO,
            deadline: None,
            log: None,
        };
        session.rewind()?;
        Ok(session)
    }

    /// Sets the runbook of the diagnosis; None for the embedded one.
    pub fn diagnose_with(&mut self, own: Option<Arc<Runbook>>) {
        self.rounds = own.map_or_else(DiagnosisCache::default, DiagnosisCache::with);
    }

    /// The earliest and the latest wall time of the input: start and end, unless the clock was set in between.
    pub fn span(&self) -> (Time, Time) {
        self.playback.span()
    }

    /// The wall time at the current position.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Name of the node; empty when unknown.
    pub fn node(&self) -> &Text {
        self.playback.node()
    }

    /// Sets the speed: 2 is twice as fast as recorded. Values that are not positive and finite count as 1.
    pub fn set_speed(&mut self, speed: f64) {
        self.speed = if speed.is_finite() && speed > 0.0 { speed } else { 1.0 };
    }

    /// The speed; 1 is as recorded.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Damaged parts of a recording.
    pub fn problems(&self) -> &[Problem] {
        self.playback.problems()
    }

    /// Parts that an import could not use.
    pub fn skipped(&self) -> &[Skipped] {
        self.playback.skipped()
    }

    /// Number of lines so far of kinds that this version does not know, and of lines that are not observations.
    pub fn unread_lines(&self) -> (u64, u64) {
        self.playback.unread_lines()
    }

    /// Moves to a time of the input, forwards or backwards, and applies every observation until then. If the clock showed that
    /// time more than once, moves to the last; if it skipped that time, to the observation before.
    ///
    /// # Errors
    /// When a recording's frame cannot be read.
    pub fn seek(&mut self, to: Time) -> Result<(), SessionError> {
        let (earliest, latest) = self.span();
        let to = to.clamp(earliest, latest);
        let (model, at, before) = self.playback.seek(to)?;
        self.reset(model, at);
        for _ in 0..before {
            if let Some(item) = self.playback.next_until(|_| true)? {
                self.apply(item);
            }
        }
        let left = u64::try_from((to - self.now).num_microseconds()).unwrap_or_default();
        let limit = self.playback.limit(self.at);
        self.move_clocks(self.at.saturating_add(left).min(limit));
        self.now = if is_near(self.now, to) { to } else { self.now };
        Ok(())
    }

    /// Moves to the start of the input.
    ///
    /// # Errors
    /// When a recording's first frame cannot be read.
    pub fn rewind(&mut self) -> Result<(), SessionError> {
        let (model, at) = self.playback.rewind()?;
        self.reset(model, at);
        while let Some(item) = self.playback.next_until(|stamp| stamp.mono <= at.mono)? {
            self.apply(item);
        }
        Ok(())
    }

    /// Moves to the end of the input.
    ///
    /// # Errors
    /// When a recording's last frame cannot be read.
    pub fn seek_end(&mut self) -> Result<(), SessionError> {
        let (model, at) = self.playback.seek_end()?;
        self.reset(model, at);
        while let Some(item) = self.playback.next_until(|_| true)? {
            self.apply(item);
        }
        let limit = self.playback.limit(self.at);
        self.move_clocks(limit);
        self.align_at_end();
        Ok(())
    }

    fn reset(&mut self, model: Model, at: RecordPoint) {
        self.model = model;
        self.rounds.forget();
        (self.at, self.now, self.last_observation) = (at.mono, at.wall, at.mono);
        self.time_at_end = Duration::ZERO;
    }

    /// True at the end of the input.
    pub fn is_over(&self) -> bool {
        self.playback.is_over(self.at)
    }

    /// Plays `elapsed` of real time. True if an observation was applied.
    ///
    /// # Errors
    /// When a recording's frame cannot be read.
    pub fn advance(&mut self, elapsed: Duration) -> Result<bool, SessionError> {
        if self.is_over() {
            self.time_at_end += elapsed;
            if !self.is_looping || self.time_at_end < LOOP_PAUSE {
                return Ok(false);
            }
            self.rewind()?;
            return Ok(true);
        }
        self.play_to(self.at.saturating_add((elapsed.as_secs_f64() * self.speed * 1e6).min(1e15) as u64))
    }

    /// Moves to the next observation, the next time at which the view changes, or `wanted`, whichever is first, and at least by
    /// `least`.
    ///
    /// # Errors
    /// When a recording's frame cannot be read.
    pub fn step(&mut self, wanted: Option<Time>, least: Duration) -> Result<(), SessionError> {
        let until = |at: Time| u64::try_from((at - self.now).num_microseconds()).unwrap_or_default();
        // After a gap in the recording, deadlines prove nothing.
        let is_quiet = self.at.saturating_sub(self.last_observation) >= QUIET_US;
        let times = [wanted, self.deadline].into_iter().flatten().filter(|_| !is_quiet);
        let times = times.map(|at| until(at).saturating_add(1));
        let next = times.chain([self.playback.limit(self.at).saturating_sub(self.at)]).min().unwrap_or_default();
        let least = u64::try_from(least.as_micros()).unwrap_or(u64::MAX);
        self.play_to(self.at.saturating_add(next.max(least)))?;
        Ok(())
    }

    fn play_to(&mut self, to: u64) -> Result<bool, SessionError> {
        let mut changed = false;
        while let Some(item) = self.playback.next_until(|stamp| stamp.mono <= to)? {
            self.apply(item);
            changed = true;
        }
        let limit = self.playback.limit(self.at);
        self.move_clocks(to.min(limit));
        self.align_at_end();
        Ok(changed)
    }

    /// Moves both clocks forward, to `to` microseconds on the input's own clock.
    fn move_clocks(&mut self, to: u64) {
        let step = to.saturating_sub(self.at);
        self.at += step;
        self.now += TimeDelta::microseconds(i64::try_from(step).unwrap_or(i64::MAX));
    }

    /// Sets the exact end time: positions are in microseconds, the end in nanoseconds.
    fn align_at_end(&mut self) {
        let end = self.playback.end().wall;
        if self.is_over() && is_near(self.now, end) {
            self.now = end;
        }
    }

    fn apply(&mut self, item: PlaybackItem) {
        match item {
            PlaybackItem::Observation(observation) => {
                let Stamp { mono, wall, .. } = observation.stamp;
                self.move_clocks(mono);
                self.last_observation = self.last_observation.max(mono);
                // An observation stamped before one that is already applied does not prove a clock step.
                if mono == self.at && !is_near(self.now, wall) {
                    self.now = wall;
                }
                self.model.apply(*observation);
            }
            PlaybackItem::State(model) => self.model = *model,
        }
    }

    /// Real time until the next observation or the next time at which the view changes; at most a second.
    pub fn wake_in(&mut self) -> Duration {
        let observation = self.playback.peek().map(|stamp| stamp.mono.saturating_sub(self.at) as f64);
        let deadline = self.deadline.map(|at| (at - self.now).num_microseconds().max(0) as f64);
        let due = [observation, deadline].into_iter().flatten().fold(1e6, |a: f64, b| a.min(b / self.speed));
        Duration::from_micros(due as u64)
    }

    /// The node at the current position.
    pub fn moment(&mut self) -> NodeView {
        self.model.set_node_name(self.playback.node().clone());
        let moment = NodeView::new(self.model.snapshot(), &mut self.rounds, self.now);
        self.deadline = moment.next_change();
        self.log.iter_mut().for_each(|log| log.advance(&moment));
        moment
    }

    /// What is played, with the speed if that is not 1: `demo`, `recorded 2026-11-29 x4`.
    pub fn title(&self) -> String {
        if (self.speed - 1.0).abs() < 1e-9 { self.label.clone() } else { format!("{} x{}", self.label, self.speed) }
    }

    /// Handles a request for a container log.
    pub fn handle_log(&mut self, ask: LogCommand) {
        match ask {
            LogCommand::Open(request) => {
                let mut log = RecordedLog::new(*request);
                log.advance(&self.moment());
                self.log = Some(log);
            }
            LogCommand::Older => self.log.iter_mut().for_each(LogStream::request_older),
            LogCommand::Close => self.log = None,
        }
    }

    /// Updates of the container log since the last call.
    pub fn log_news(&mut self) -> Vec<LogUpdate> {
        self.log.as_mut().map(LogStream::take_updates).unwrap_or_default()
    }
}

fn is_near(a: Time, b: Time) -> bool {
    (a - b).abs() <= CLOCK_STEP
}
