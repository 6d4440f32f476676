//! Owns the way from an input to moments of the model: every command and the screen start here.
//! It must not print or draw; it is the only place where the model meets a recording.

mod convert;
mod cutter;
mod live;
mod recorded_log;
mod recorder;
mod tape;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

pub use crate::record::import::{LogFile, LogOf};
pub use convert::write_recording;
pub use live::Live;
pub use recorded_log::RecordedLog;
pub use recorder::{Recorded, Recorder};

use crate::diagnose::Rounds;
use crate::model::Model;
use crate::observation::{Stamp, Time};
use crate::record::import::{ImportError, Skipped, examine};
use crate::record::{At, Problem, RecordError};
use crate::runbook::Runbook;
use crate::text::Text;
use crate::time::TimeDelta;
use crate::view::NodeView;
use crate::weight::DEFAULT_MEMORY;
use tape::{Item, Tape};

/// The recording of six minutes of a real node that `kpodtrace demo` plays.
static DEMO: &[u8] = include_bytes!("../../assets/demo/incident.kpt");

/// Difference between the clock that never jumps and the wall clock from which on the latter was set.
const CLOCK_STEP: TimeDelta = TimeDelta::seconds(1);

/// Time without any observation after which a walk goes to the next one at once, microseconds: a source that lives tells
/// something every minute at least.
const QUIET_US: u64 = 600_000_000;

/// How long a looping session shows its end before it begins again.
const LOOP_PAUSE: Duration = Duration::from_secs(3);

/// Why an input could not be observed.
#[derive(Debug, Error)]
pub enum SessionError {
    /// A recording could not be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Files could not be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A recording's state takes more memory than may be used.
    #[error(
        "{file}: the state that begins frame {frame} needs more memory than --max-memory allows; raise --max-memory"
    )]
    TooMuch {
        /// The recording.
        file: String,
        /// Number of the frame.
        frame: usize,
    },
    /// A keyframe was written by a program whose model is not understood.
    #[error(
        "{file}: the state that begins frame {frame} was not understood ({why}); it was written by {program}: read it with that version"
    )]
    Keyframe {
        /// The recording.
        file: String,
        /// Number of the frame.
        frame: usize,
        /// What was wrong.
        why: String,
        /// The program that wrote it.
        program: Text,
    },
}

/// An input, the model at one moment of it, and a clock that moves both.
pub struct Session {
    tape: Tape,
    model: Model,
    rounds: Rounds,
    /// Position on the input's own clock, microseconds.
    at: u64,
    /// Where the last observation stood on it.
    heard: u64,
    /// Wall time that belongs to `at`.
    now: Time,
    speed: f64,
    looping: bool,
    rest: Duration,
    /// When waiting alone changes the last moment.
    deadline: Option<Time>,
}

impl Session {
    /// Opens a recording, an incident folder, a capture folder, or what kubectl printed; `-` is standard input.
    ///
    /// The session stands at the end of the input.
    ///
    /// # Errors
    /// When the input cannot be read or holds nothing that is understood.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        Self::open_within(path, DEFAULT_MEMORY)
    }

    /// The same with so many bytes of memory.
    ///
    /// # Errors
    /// When the input cannot be read, holds nothing that is understood, or needs more.
    pub fn open_within(path: &Path, memory: u64) -> Result<Self, SessionError> {
        let mut session = Self::on(Tape::open(path, memory)?)?;
        session.seek_end()?;
        Ok(session)
    }

    /// What someone sent to be explained: objects, logs, metrics, each optional, looked at `now`, with so many bytes of memory.
    ///
    /// # Errors
    /// When a file cannot be read, or nothing says when it all was.
    pub fn examine(
        objects: Option<&Path>,
        logs: &[LogFile],
        now: Option<Time>,
        subject: &str,
        memory: u64,
    ) -> Result<Self, SessionError> {
        let imported = examine(objects, logs, now, subject, memory)?;
        let mut session = Self::on(Tape::imported("files", imported))?;
        session.seek_end()?;
        Ok(session)
    }

    /// The embedded recording, at its begin, played in a loop.
    ///
    /// # Errors
    /// Only if the embedded recording is not readable, which the tests rule out.
    pub fn demo() -> Result<Self, SessionError> {
        let mut session = Self::on(Tape::recording("demo", DEMO)?)?;
        session.looping = true;
        Ok(session)
    }

    fn on(tape: Tape) -> Result<Self, SessionError> {
        let now = tape.span().0;
        let (model, rounds) = (Model::default(), Rounds::default());
        let mut session = Self {
            tape,
            model,
            rounds,
            at: 0,
            heard: 0,
            now,
            speed: 1.0,
            looping: false,
            rest: Duration::ZERO,
            deadline: None,
        };
        session.rewind()?;
        Ok(session)
    }

    /// Diagnoses with this runbook from now on, where there is one besides the embedded one.
    pub fn diagnose_with(&mut self, own: Option<Arc<Runbook>>) {
        self.rounds = own.map_or_else(Rounds::default, Rounds::with);
    }

    /// The earliest and the latest wall time of the input: begin and end, unless the clock was set meanwhile.
    pub fn span(&self) -> (Time, Time) {
        self.tape.span()
    }

    /// The time the session stands at.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Node name, as the input has it.
    pub fn node(&self) -> &Text {
        self.tape.node()
    }

    /// Plays `speed` times as fast as it was recorded; values that are not positive and finite count as 1.
    pub fn set_speed(&mut self, speed: f64) {
        self.speed = if speed.is_finite() && speed > 0.0 { speed } else { 1.0 };
    }

    /// Speed of play.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Damage found in a recording, the parts of it that were lost.
    pub fn problems(&self) -> &[Problem] {
        self.tape.problems()
    }

    /// What an import could not read.
    pub fn skipped(&self) -> &[Skipped] {
        self.tape.skipped()
    }

    /// Observations of kinds that this version does not know, and lines that were none, so far.
    pub fn not_understood(&self) -> (u64, u64) {
        self.tape.not_understood()
    }

    /// Moves to a time of the input, forwards or backwards: all that was observed until then, and nothing later. Of several
    /// moments at which the clock showed that time, to the last; where it skipped that time, to the moment before.
    ///
    /// # Errors
    /// When a recording's frame cannot be read.
    pub fn seek(&mut self, to: Time) -> Result<(), SessionError> {
        let (earliest, latest) = self.span();
        let to = to.clamp(earliest, latest);
        let (model, at, before) = self.tape.seek(to)?;
        self.begin_with(model, at);
        for _ in 0..before {
            if let Some(item) = self.tape.next_until(|_| true)? {
                self.take(item);
            }
        }
        let left = u64::try_from((to - self.now).num_microseconds()).unwrap_or_default();
        let limit = self.tape.limit(self.at);
        self.advance(self.at.saturating_add(left).min(limit));
        self.now = if is_near(self.now, to) { to } else { self.now };
        Ok(())
    }

    /// Moves to the begin of the input.
    ///
    /// # Errors
    /// When a recording's first frame cannot be read.
    pub fn rewind(&mut self) -> Result<(), SessionError> {
        let (model, at) = self.tape.rewind()?;
        self.begin_with(model, at);
        while let Some(item) = self.tape.next_until(|stamp| stamp.mono <= at.mono)? {
            self.take(item);
        }
        Ok(())
    }

    /// Moves to the end of the input.
    ///
    /// # Errors
    /// When a recording's last frame cannot be read.
    pub fn seek_end(&mut self) -> Result<(), SessionError> {
        let (model, at) = self.tape.seek_end()?;
        self.begin_with(model, at);
        while let Some(item) = self.tape.next_until(|_| true)? {
            self.take(item);
        }
        let limit = self.tape.limit(self.at);
        self.advance(limit);
        self.settle_at_end();
        Ok(())
    }

    fn begin_with(&mut self, model: Model, at: At) {
        self.model = model;
        self.rounds.forget();
        (self.at, self.now, self.heard) = (at.mono, at.wall, at.mono);
        self.rest = Duration::ZERO;
    }

    /// True at the end of the input.
    pub fn is_over(&self) -> bool {
        self.tape.is_over(self.at)
    }

    /// Lets `elapsed` of real time pass. True when anything was observed.
    ///
    /// # Errors
    /// When a recording's frame cannot be read.
    pub fn pass(&mut self, elapsed: Duration) -> Result<bool, SessionError> {
        if self.is_over() {
            self.rest += elapsed;
            if !self.looping || self.rest < LOOP_PAUSE {
                return Ok(false);
            }
            self.rewind()?;
            return Ok(true);
        }
        self.play_to(self.at.saturating_add((elapsed.as_secs_f64() * self.speed * 1e6).min(1e15) as u64))
    }

    /// Moves on to where the next observation is due, waiting makes something true, or it is `wanted`, whichever is first, and
    /// at least by `least`: nothing is looked at in between, however long that is.
    ///
    /// # Errors
    /// When a recording's frame cannot be read.
    pub fn step(&mut self, wanted: Option<Time>, least: Duration) -> Result<(), SessionError> {
        let until = |at: Time| u64::try_from((at - self.now).num_microseconds()).unwrap_or_default();
        // Where nothing was recorded for long, nothing is known of what waiting made true.
        let is_quiet = self.at.saturating_sub(self.heard) >= QUIET_US;
        let times = [wanted, self.deadline].into_iter().flatten().filter(|_| !is_quiet);
        let times = times.map(|at| until(at).saturating_add(1));
        let next = times.chain([self.tape.limit(self.at).saturating_sub(self.at)]).min().unwrap_or_default();
        let least = u64::try_from(least.as_micros()).unwrap_or(u64::MAX);
        self.play_to(self.at.saturating_add(next.max(least)))?;
        Ok(())
    }

    fn play_to(&mut self, to: u64) -> Result<bool, SessionError> {
        let mut changed = false;
        while let Some(item) = self.tape.next_until(|stamp| stamp.mono <= to)? {
            self.take(item);
            changed = true;
        }
        let limit = self.tape.limit(self.at);
        self.advance(to.min(limit));
        self.settle_at_end();
        Ok(changed)
    }

    /// Moves both clocks on, to `to` of the input's own.
    fn advance(&mut self, to: u64) {
        let step = to.saturating_sub(self.at);
        self.at += step;
        self.now += TimeDelta::microseconds(i64::try_from(step).unwrap_or(i64::MAX));
    }

    /// The end is given to the nanosecond, the way there is counted in microseconds.
    fn settle_at_end(&mut self) {
        let end = self.tape.end().wall;
        if self.is_over() && is_near(self.now, end) {
            self.now = end;
        }
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Observation(observation) => {
                let Stamp { mono, wall, .. } = observation.stamp;
                self.advance(mono);
                self.heard = self.heard.max(mono);
                // What was stamped before something else that was taken in already says nothing of a step of the clock.
                if mono == self.at && !is_near(self.now, wall) {
                    self.now = wall;
                }
                self.model.apply(*observation);
            }
            Item::State(model) => self.model = *model,
        }
    }

    /// Real time until something changes: the next observation is due, or waiting alone makes something true. At most a
    /// second.
    pub fn wake_in(&mut self) -> Duration {
        let observation = self.tape.peek().map(|stamp| stamp.mono.saturating_sub(self.at) as f64);
        let deadline = self.deadline.map(|at| (at - self.now).num_microseconds().max(0) as f64);
        let due = [observation, deadline].into_iter().flatten().fold(1e6, |a: f64, b| a.min(b / self.speed));
        Duration::from_micros(due as u64)
    }

    /// The node as it is known now.
    pub fn moment(&mut self) -> NodeView {
        self.model.set_node_name(self.tape.node().clone());
        let moment = NodeView::new(self.model.snapshot(), &mut self.rounds, self.now);
        self.deadline = moment.next_change();
        moment
    }
}

fn is_near(a: Time, b: Time) -> bool {
    (a - b).abs() <= CLOCK_STEP
}
