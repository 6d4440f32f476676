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
pub use recorder::Recorder;

use crate::diagnose::Rounds;
use crate::model::Model;
use crate::observation::Time;
use crate::record::import::{ImportError, Skipped, examine};
use crate::record::{Problem, RecordError};
use crate::runbook::Runbook;
use crate::text::Text;
use crate::view::Moment;
use crate::weight::DEFAULT_MEMORY;
use tape::{Item, Tape};

/// The recording of six minutes of a real node that `kpodtrace demo` plays.
static DEMO: &[u8] = include_bytes!("../../assets/demo/incident.kpt");

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
    #[error("{file}: the state that begins frame {frame} needs more memory than may be used; raise --max-memory")]
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
        session.seek(session.span().1)?;
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
        let end = imported.end;
        let mut session = Self::on(Tape::imported("files", imported))?;
        session.seek(end)?;
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
        let mut session =
            Self { tape, model, rounds, at: 0, now, speed: 1.0, looping: false, rest: Duration::ZERO, deadline: None };
        session.seek(now)?;
        Ok(session)
    }

    /// Diagnoses with this runbook from now on, where there is one besides the embedded one.
    pub fn diagnose_with(&mut self, own: Option<Arc<Runbook>>) {
        self.rounds = own.map_or_else(Rounds::default, Rounds::with);
    }

    /// Begin and end of the input.
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

    /// Moves to a time of the input, forwards or backwards: all that was observed until then, and nothing later.
    ///
    /// # Errors
    /// When a recording's frame cannot be read.
    pub fn seek(&mut self, to: Time) -> Result<(), SessionError> {
        let (begin, end) = self.span();
        let to = to.clamp(begin, end);
        self.model = self.tape.seek(to)?;
        self.rounds.forget();
        self.at = self.tape.mono_at(to);
        self.now = to;
        while let Some(item) = self.tape.next_until(|stamp| stamp.wall <= to)? {
            self.take(item);
        }
        Ok(())
    }

    /// Lets `elapsed` of real time pass. True when anything was observed.
    ///
    /// # Errors
    /// When a recording's frame cannot be read.
    pub fn pass(&mut self, elapsed: Duration) -> Result<bool, SessionError> {
        let (begin, end) = self.span();
        let step = elapsed.as_secs_f64() * self.speed;
        if self.now >= end {
            self.rest += elapsed;
            if !self.looping || self.rest < LOOP_PAUSE {
                return Ok(false);
            }
            self.rest = Duration::ZERO;
            self.seek(begin)?;
            return Ok(true);
        }
        let step = (step * 1e6).min(1e15) as u64;
        self.at = self.at.saturating_add(step);
        let step = chrono::TimeDelta::microseconds(step as i64);
        self.now = self.now.checked_add_signed(step).unwrap_or(end).min(end);
        let at = self.at;
        let mut changed = false;
        while let Some(item) = self.tape.next_until(|stamp| stamp.mono <= at)? {
            self.take(item);
            changed = true;
        }
        Ok(changed)
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Observation(observation) => {
                self.at = self.at.max(observation.stamp.mono);
                self.model.apply(*observation);
            }
            Item::State(model) => self.model = *model,
        }
    }

    /// Real time until something changes: the next observation is due, or waiting alone makes something true. At most a
    /// second.
    pub fn wake_in(&mut self) -> Duration {
        let observation = self.tape.peek().map(|stamp| stamp.mono.saturating_sub(self.at) as f64);
        let deadline = self.deadline.map(|at| (at - self.now).num_microseconds().unwrap_or(i64::MAX).max(0) as f64);
        let due = [observation, deadline].into_iter().flatten().fold(1e6, |a: f64, b| a.min(b / self.speed));
        Duration::from_micros(due as u64)
    }

    /// The node as it is known now.
    pub fn moment(&mut self) -> Moment {
        self.model.name_node(self.tape.node().clone());
        let moment = Moment::new(self.model.snapshot(), &mut self.rounds, self.now);
        self.deadline = moment.next_change();
        moment
    }
}
