//! Owns an input as a tape: observations in order, and a way to any moment of it.
//! It must not decide what is shown: it hands out a model to begin with, and what follows.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use super::SessionError;
use crate::model::Model;
use crate::named_file::{self, Kinds};
use crate::observation::{Fact, Ledger, Observation, Source, Stamp, Time};
use crate::record::import::{Imported, Skipped, import_within};
use crate::record::{At, Frame, Problem, Reader, State};
use crate::text::Text;
use crate::weight::{DEFAULT_MEMORY, decoded};

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
    /// Frame behind the one that is read, for a recording.
    frame: usize,
    reading: Option<Reading>,
    /// The next observation of it.
    next: Option<Observation>,
    /// State to continue from, after a gap.
    state: Option<Box<Model>>,
    /// What the state and the observations may take, bytes.
    most: u64,
    /// What the state takes that was started with, bytes.
    held: u64,
    /// What each source has added to it.
    kept: BTreeMap<Source, Ledger>,
    unknown: u64,
    malformed: u64,
}

/// A frame whose observations are decoded one by one.
struct Reading {
    frame: Frame,
    /// Bytes of them that were read.
    read: usize,
}

impl Tape {
    /// Opens an input that may take so many bytes of `memory`.
    pub fn open(path: &Path, memory: u64) -> Result<Self, SessionError> {
        let name = path.display().to_string();
        let tape = match is_recording(path) {
            true => Self::from_reader(name, Reader::open(path)?)?,
            false => Self::imported(&name, import_within(path, memory)?),
        };
        Ok(Self { most: share_of(memory), ..tape })
    }

    pub fn imported(name: &str, imported: Imported) -> Self {
        let Imported { observations, begin, end, node, skipped } = imported;
        let input = Input::Import { all: observations, next: 0, skipped, node };
        let span = (begin.min(end), begin.max(end));
        let end = At { mono: u64::try_from((end - begin).num_microseconds()).unwrap_or_default(), wall: end };
        let begin = At { mono: 0, wall: begin };
        Self::on(name.to_owned(), input, (begin, end), span)
    }

    fn on(name: String, input: Input, (begin, end): (At, At), span: (Time, Time)) -> Self {
        let (reading, next, state, kept) = (None, None, None, BTreeMap::new());
        let (most, held, frame, unknown, malformed) = (share_of(DEFAULT_MEMORY), 0, 0, 0, 0);
        Self { name, input, begin, end, span, frame, reading, next, state, most, held, kept, unknown, malformed }
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
        Ok(Self::on(name, Input::Recording(Box::new(reader)), (begin, end), (earliest, latest)))
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
            Input::Recording(_) => self.next.is_none() && !self.has_more(),
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
            // Decoded one by one, and again when they are applied: none is held meanwhile.
            Input::Recording(_) => self.reading.as_ref().and_then(|reading| {
                let due = reading.frame.observations().enumerate().filter(|(_, o)| o.stamp.wall <= to);
                due.last().map(|(at, _)| at)
            }),
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
                while !self.fill() && self.has_more() && self.load_next().is_ok() {}
                self.next.as_ref().map(|o| o.stamp)
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
        while !self.fill() && self.has_more() {
            self.load_next()?;
        }
        if !self.next.as_ref().is_some_and(|o| due(&o.stamp)) {
            return Ok(None);
        }
        if let Some(state) = self.state.take() {
            return Ok(Some(Item::State(state)));
        }
        let Some(observation) = self.next.take() else { return Ok(None) };
        self.keep(&observation)?;
        self.fill();
        Ok(Some(Item::Observation(Box::new(observation))))
    }

    /// Decodes the next observation of the frame, so that one waits as long as there is any; false when there is none.
    fn fill(&mut self) -> bool {
        if self.next.is_none()
            && let Some(Reading { frame, read }) = &mut self.reading
        {
            let mut rest = frame.observations_from(*read);
            self.next = rest.next();
            *read = rest.read();
            self.unknown += rest.unknown();
            self.malformed += rest.malformed();
            if self.next.is_none() {
                self.reading = None;
            }
        }
        self.next.is_some()
    }

    /// Enters what is about to be applied into the account.
    fn keep(&mut self, observation: &Observation) -> Result<(), SessionError> {
        let ledger = self.kept.entry(observation.stamp.source).or_insert_with(|| Ledger::new(u64::MAX / 2));
        match observation.fact {
            Fact::EpochBegin => ledger.begin_epoch(),
            Fact::EpochEnd => ledger.end_epoch(),
            ref fact => _ = ledger.admit(fact, true),
        }
        let kept: u64 = self.kept.values().map(Ledger::total).sum();
        if self.held.saturating_add(kept) > self.most { Err(self.too_much()) } else { Ok(()) }
    }

    fn too_much(&self) -> SessionError {
        SessionError::TooMuch { file: self.name.clone(), frame: self.frame.saturating_sub(1) }
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
        (self.reading, self.next, self.state, self.held) = (None, None, None, 0);
        self.kept.clear();
        let Input::Recording(reader) = &self.input else { return Ok((Model::default(), self.begin)) };
        if frame >= reader.frames().len() {
            return Ok((Model::default(), self.begin));
        }
        let State { mut at, json, next } = reader.state(frame)?;
        self.held = decoded(&json);
        if self.held > self.most {
            return Err(self.too_much());
        }
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
            while self.fill() {
                let Some(observation) = self.next.take() else { break };
                self.keep(&observation)?;
                let Stamp { mono, wall, .. } = observation.stamp;
                at = if mono >= at.mono { At { mono, wall } } else { at };
                model.apply(observation);
            }
        }
        self.decode(frame)?;
        Ok((model, at))
    }

    /// Puts a frame's observations in line; its state is not held, for what comes before it has made it.
    fn decode(&mut self, frame: usize) -> Result<(), SessionError> {
        let Input::Recording(reader) = &self.input else { return Ok(()) };
        let mut read = reader.frame(frame)?;
        read.take_keyframe();
        (self.frame, self.reading, self.next) = (frame + 1, Some(Reading { frame: read, read: 0 }), None);
        self.fill();
        Ok(())
    }
}

/// What of so many bytes of memory a state and its observations may take; the rest is the diagnosis' and the output's.
fn share_of(memory: u64) -> u64 {
    memory / 5 * 3
}

/// A regular file that begins as recordings do; whatever cannot be opened is left to the import to complain of.
fn is_recording(path: &Path) -> bool {
    let mut start = [0u8; 8];
    named_file::open(path, Kinds::File).and_then(|mut f| f.read_exact(&mut start)).is_ok()
        && crate::record::is_recording(&start)
}
