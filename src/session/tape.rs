//! Owns an input as a tape: observations in order, and a way to any moment of it.
//! It must not apply anything: it hands out a model to begin with, and what follows.

use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;

use super::SessionError;
use crate::model::Model;
use crate::observation::{Observation, Stamp, Time};
use crate::record::import::{Imported, Skipped, import};
use crate::record::{Problem, Reader, RecordError};
use crate::text::Text;

/// Where the observations come from.
enum Input {
    Recording(Box<Reader>),
    Import { all: Vec<Observation>, next: usize, skipped: Vec<Skipped>, node: Text },
}

/// What comes next on a tape.
pub(super) enum Item {
    /// An observation to apply.
    Observation(Box<Observation>),
    /// What came before is lost: the state goes on from here.
    State(Box<Model>),
}

pub(super) struct Tape {
    name: String,
    input: Input,
    begin: Time,
    end: Time,
    /// Frame whose observations wait, for a recording.
    frame: usize,
    waiting: VecDeque<Observation>,
    /// State to go on from, after a gap.
    state: Option<Box<Model>>,
    unknown: u64,
    malformed: u64,
}

impl Tape {
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        if is_recording(path) {
            let name = path.display().to_string();
            return Self::from_reader(name, Reader::open(path)?);
        }
        Ok(Self::imported(&path.display().to_string(), import(path)?))
    }

    pub fn imported(name: &str, imported: Imported) -> Self {
        let Imported { observations, begin, end, node, skipped } = imported;
        let input = Input::Import { all: observations, next: 0, skipped, node };
        let (name, waiting) = (name.to_owned(), VecDeque::new());
        Self { name, input, begin, end, frame: 0, waiting, state: None, unknown: 0, malformed: 0 }
    }

    pub fn recording(name: &str, bytes: &'static [u8]) -> Result<Self, SessionError> {
        Self::from_reader(name.to_owned(), Reader::from_bytes(name, bytes)?)
    }

    fn from_reader(name: String, reader: Reader) -> Result<Self, SessionError> {
        let began = reader.header().began;
        let begin = reader.frames().iter().map(|f| f.first.wall).min().unwrap_or(began);
        let end = reader.frames().iter().map(|f| f.last.wall).max().unwrap_or(began);
        let input = Input::Recording(Box::new(reader));
        Ok(Self { name, input, begin, end, frame: 0, waiting: VecDeque::new(), state: None, unknown: 0, malformed: 0 })
    }

    pub fn span(&self) -> (Time, Time) {
        (self.begin, self.end)
    }

    pub fn node(&self) -> &Text {
        match &self.input {
            Input::Recording(reader) => &reader.header().node,
            Input::Import { node, .. } => node,
        }
    }

    pub fn problems(&self) -> &[Problem] {
        match &self.input {
            Input::Recording(reader) => reader.problems(),
            Input::Import { .. } => &[],
        }
    }

    pub fn skipped(&self) -> &[Skipped] {
        match &self.input {
            Input::Recording(_) => &[],
            Input::Import { skipped, .. } => skipped,
        }
    }

    pub fn not_understood(&self) -> (u64, u64) {
        (self.unknown, self.malformed)
    }

    /// The model to begin with for a moment, and the tape set to what follows it.
    pub fn seek(&mut self, to: Time) -> Result<Model, SessionError> {
        self.waiting.clear();
        self.state = None;
        let frame = match &mut self.input {
            Input::Import { next, .. } => {
                *next = 0;
                return Ok(Model::default());
            }
            Input::Recording(reader) => reader.find(to).unwrap_or(0),
        };
        self.load(frame)
    }

    /// The input's own clock at a wall time, as the observation before it has it.
    pub fn mono_at(&self, to: Time) -> u64 {
        let first = match &self.input {
            Input::Recording(reader) => reader.frames().get(self.frame.saturating_sub(1)).map(|f| f.first),
            Input::Import { .. } => None,
        };
        let (mono, wall) = first.map_or((0, self.begin), |at| (at.mono, at.wall));
        let after = (to - wall).num_microseconds().max(0);
        mono.saturating_add(after as u64)
    }

    /// The stamp of the next observation.
    pub fn peek(&mut self) -> Option<Stamp> {
        match &self.input {
            Input::Import { all, next, .. } => all.get(*next).map(|o| o.stamp),
            Input::Recording(_) => {
                // A frame that cannot be read is told when it is played.
                while self.waiting.is_empty() && self.has_more() && self.load_next().is_ok() {}
                self.waiting.front().map(|o| o.stamp)
            }
        }
    }

    /// The next item, if it is due.
    pub fn next_until(&mut self, due: impl Fn(&Stamp) -> bool) -> Result<Option<Item>, SessionError> {
        if let Input::Import { all, next, .. } = &mut self.input {
            let found = all.get(*next).filter(|o| due(&o.stamp)).cloned();
            *next += usize::from(found.is_some());
            return Ok(found.map(|o| Item::Observation(Box::new(o))));
        }
        while self.waiting.is_empty() && self.has_more() {
            self.load_next()?;
        }
        if !self.waiting.front().is_some_and(|o| due(&o.stamp)) {
            return Ok(None);
        }
        if let Some(state) = self.state.take() {
            return Ok(Some(Item::State(state)));
        }
        Ok(self.waiting.pop_front().map(|o| Item::Observation(Box::new(o))))
    }

    fn has_more(&self) -> bool {
        matches!(&self.input, Input::Recording(reader) if self.frame < reader.frames().len())
    }

    /// A frame that follows the one before goes on from its state; behind a gap its own keyframe is the state.
    fn load_next(&mut self) -> Result<(), SessionError> {
        let follows = match &self.input {
            Input::Recording(reader) => {
                let number = |frame: usize| reader.frames().get(frame).map(|f| f.number);
                let before = self.frame.checked_sub(1).and_then(number);
                before.zip(number(self.frame)).is_some_and(|(a, b)| b == a + 1)
            }
            Input::Import { .. } => true,
        };
        if follows {
            self.decode(self.frame)?;
        } else {
            self.state = Some(Box::new(self.load(self.frame)?));
        }
        Ok(())
    }

    fn load(&mut self, frame: usize) -> Result<Model, SessionError> {
        let (keyframe, program) = match self.decode(frame)? {
            Some(found) => found,
            None => return Ok(Model::default()),
        };
        let mut model: Model = serde_json::from_str(&keyframe).map_err(|why| SessionError::Keyframe {
            file: self.name.clone(),
            frame,
            why: why.to_string(),
            program,
        })?;
        model.reindex();
        Ok(model)
    }

    /// Puts a frame's observations in line; gives its keyframe and who wrote it.
    fn decode(&mut self, frame: usize) -> Result<Option<(String, Text)>, SessionError> {
        let Input::Recording(reader) = &self.input else { return Ok(None) };
        if frame >= reader.frames().len() {
            return Ok(None);
        }
        self.frame = frame + 1;
        let read: Result<_, RecordError> = reader.frame(frame);
        let read = read?;
        let mut observations = read.observations();
        self.waiting.extend(&mut observations);
        self.unknown += observations.unknown();
        self.malformed += observations.malformed();
        Ok(Some((read.keyframe.get().to_owned(), reader.header().program.clone())))
    }
}

/// A regular file that begins as recordings do; whatever cannot be opened is left to the import to complain of.
fn is_recording(path: &Path) -> bool {
    let mut start = [0u8; 8];
    let regular = std::fs::metadata(path).is_ok_and(|m| m.is_file());
    regular
        && std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut start)).is_ok()
        && crate::record::is_recording(&start)
}
