//! Owns an input as a tape: observations in order, and a way to any moment of it.
//! It must not decide what is shown: it hands out a model to begin with, and what follows.

use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;

use super::SessionError;
use crate::model::Model;
use crate::observation::{Observation, Stamp, Time};
use crate::record::import::{Imported, Skipped, import};
use crate::record::{At, Problem, Reader, State};
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
    begin: At,
    /// The end as the input has it; for a recording its clocks may be anything.
    end: At,
    /// The earliest and the latest wall time.
    span: (Time, Time),
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
        let span = (begin.min(end), begin.max(end));
        let end = At { mono: u64::try_from((end - begin).num_microseconds()).unwrap_or_default(), wall: end };
        let begin = At { mono: 0, wall: begin };
        Self { name, input, begin, end, span, frame: 0, waiting, state: None, unknown: 0, malformed: 0 }
    }

    pub fn recording(name: &str, bytes: &'static [u8]) -> Result<Self, SessionError> {
        Self::from_reader(name.to_owned(), Reader::from_bytes(name, bytes)?)
    }

    fn from_reader(name: String, reader: Reader) -> Result<Self, SessionError> {
        let began = reader.header().began;
        let frames = reader.frames();
        let earliest = frames.iter().map(|f| f.first.wall).min().unwrap_or(began);
        let latest = frames.iter().map(|f| f.last.wall).max().unwrap_or(began);
        let begin = frames.first().map_or(At { mono: 0, wall: began }, |f| f.first);
        let end = frames.last().map_or(begin, |f| f.last);
        let (input, span, waiting) = (Input::Recording(Box::new(reader)), (earliest, latest), VecDeque::new());
        Ok(Self { name, input, begin, end, span, frame: 0, waiting, state: None, unknown: 0, malformed: 0 })
    }

    /// The earliest and the latest wall time: not always begin and end, for the clock may have been set.
    pub fn span(&self) -> (Time, Time) {
        self.span
    }

    /// The end, on both clocks.
    pub fn end(&self) -> At {
        self.end
    }

    /// Nothing comes any more behind that point of the input's own clock.
    pub fn is_over(&self, mono: u64) -> bool {
        match &self.input {
            Input::Recording(_) => self.waiting.is_empty() && !self.has_more(),
            Input::Import { all, next, .. } => *next >= all.len() && mono >= self.end.mono,
        }
    }

    /// How far the input's own clock may go before the next observation: past the last one of a recording there is nothing.
    pub fn limit(&mut self, mono: u64) -> u64 {
        let next = self.peek().map(|stamp| stamp.mono);
        match &self.input {
            Input::Recording(_) => next.unwrap_or(mono),
            Input::Import { .. } => next.unwrap_or(self.end.mono),
        }
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

    /// The model to begin with for a moment, the point that it is of, how many observations come before the moment, and the
    /// tape set to them.
    pub fn seek(&mut self, to: Time) -> Result<(Model, At, usize), SessionError> {
        let (model, at) = match &self.input {
            Input::Import { .. } => self.rewind()?,
            Input::Recording(reader) => {
                let frame = reader.find(to).unwrap_or(0);
                self.load(frame)?
            }
        };
        // The last time that the clock showed it: it may have been set back.
        let before = match &self.input {
            Input::Import { all, .. } => all.iter().rposition(|o| o.stamp.wall <= to),
            Input::Recording(_) => self.waiting.iter().rposition(|o| o.stamp.wall <= to),
        };
        Ok((model, at, before.map_or(0, |last| last + 1)))
    }

    /// The model to begin with at the begin, the point that it is of, and the tape set to what follows.
    pub fn rewind(&mut self) -> Result<(Model, At), SessionError> {
        if let Input::Import { next, .. } = &mut self.input {
            *next = 0;
            return Ok((Model::default(), self.begin));
        }
        self.load(0)
    }

    /// The model to begin with for the end, the point that it is of, and the tape set to what follows.
    pub fn seek_end(&mut self) -> Result<(Model, At), SessionError> {
        match &self.input {
            Input::Import { .. } => self.rewind(),
            Input::Recording(reader) => {
                let last = reader.frames().len().saturating_sub(1);
                self.load(last)
            }
        }
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
            self.state = Some(Box::new(self.load(self.frame)?.0));
        }
        Ok(())
    }

    /// The state before a frame's observations, the point that it is of, and the tape set to them.
    fn load(&mut self, frame: usize) -> Result<(Model, At), SessionError> {
        self.waiting.clear();
        self.state = None;
        let Input::Recording(reader) = &self.input else { return Ok((Model::default(), self.begin)) };
        if frame >= reader.frames().len() {
            return Ok((Model::default(), self.begin));
        }
        let State { mut at, json, next } = reader.state(frame)?;
        let mut model: Model = serde_json::from_str(&json).map_err(|why| SessionError::Keyframe {
            file: self.name.clone(),
            frame,
            why: why.to_string(),
            program: reader.header().program.clone(),
        })?;
        drop(json);
        model.reindex();
        for before in next..frame {
            self.decode(before)?;
            for observation in self.waiting.drain(..) {
                let Stamp { mono, wall, .. } = observation.stamp;
                at = if mono >= at.mono { At { mono, wall } } else { at };
                model.apply(observation);
            }
        }
        self.decode(frame)?;
        Ok((model, at))
    }

    /// Puts a frame's observations in line.
    fn decode(&mut self, frame: usize) -> Result<(), SessionError> {
        let Input::Recording(reader) = &self.input else { return Ok(()) };
        let read = reader.frame(frame)?;
        self.frame = frame + 1;
        let mut observations = read.observations();
        self.waiting.extend(&mut observations);
        self.unknown += observations.unknown();
        self.malformed += observations.malformed();
        Ok(())
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
