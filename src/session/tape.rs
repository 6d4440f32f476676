//! Owns an input as a tape: observations in order, and a way to any moment of it.
//! It must not apply anything: it hands out a model to begin with, and what follows.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use super::SessionError;
use crate::model::Model;
use crate::named_file::{self, Kinds};
use crate::observation::{Fact, Ledger, Observation, Source, Stamp, Time};
use crate::record::import::{Imported, Skipped, import_within};
use crate::record::{Frame, Problem, Reader};
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
    begin: Time,
    end: Time,
    /// Frame whose observations wait, for a recording.
    frame: usize,
    reading: Option<Reading>,
    /// The next observation of it.
    next: Option<Observation>,
    /// State to go on from, after a gap.
    state: Option<Box<Model>>,
    /// What the state and the observations may take, bytes.
    most: u64,
    /// What the state takes that was begun with.
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
    pub fn open(path: &Path, memory: u64) -> Result<Self, SessionError> {
        let name = path.display().to_string();
        let tape = match is_recording(path) {
            true => Self::from_reader(name, Reader::open(path)?)?,
            false => Self::imported(&name, import_within(path, memory)?),
        };
        Ok(Self { most: memory / 5 * 3, ..tape })
    }

    pub fn imported(name: &str, imported: Imported) -> Self {
        let Imported { observations, begin, end, node, skipped } = imported;
        let input = Input::Import { all: observations, next: 0, skipped, node };
        Self::on(name.to_owned(), input, begin, end)
    }

    pub fn recording(name: &str, bytes: &'static [u8]) -> Result<Self, SessionError> {
        Self::from_reader(name.to_owned(), Reader::from_bytes(name, bytes)?)
    }

    fn from_reader(name: String, reader: Reader) -> Result<Self, SessionError> {
        let began = reader.header().began;
        let begin = reader.frames().iter().map(|f| f.first.wall).min().unwrap_or(began);
        let end = reader.frames().iter().map(|f| f.last.wall).max().unwrap_or(began);
        let input = Input::Recording(Box::new(reader));
        Ok(Self::on(name, input, begin, end))
    }

    fn on(name: String, input: Input, begin: Time, end: Time) -> Self {
        let most = DEFAULT_MEMORY / 5 * 3;
        let (reading, next, state) = (None, None, None);
        let (kept, held) = (BTreeMap::new(), 0);
        Self { name, input, begin, end, most, frame: 0, reading, next, state, held, kept, unknown: 0, malformed: 0 }
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
        (self.reading, self.next, self.state) = (None, None, None);
        self.kept.clear();
        self.held = 0;
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
        let after = (to - wall).num_microseconds().unwrap_or(0).max(0);
        mono.saturating_add(after as u64)
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
        Ok(Some(Item::Observation(Box::new(observation))))
    }

    /// Decodes the next observation of the frame, if there is one.
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
            if let Some(reading) = &mut self.reading {
                reading.frame.take_keyframe();
            }
        } else {
            self.state = Some(Box::new(self.load(self.frame)?));
        }
        Ok(())
    }

    fn load(&mut self, frame: usize) -> Result<Model, SessionError> {
        let Some(program) = self.decode(frame)? else { return Ok(Model::default()) };
        let Some(reading) = &mut self.reading else { return Ok(Model::default()) };
        let keyframe = reading.frame.take_keyframe();
        self.held = decoded(keyframe.get());
        self.kept.clear();
        if self.held > self.most {
            return Err(self.too_much());
        }
        let mut model: Model = serde_json::from_str(keyframe.get()).map_err(|why| SessionError::Keyframe {
            file: self.name.clone(),
            frame,
            why: why.to_string(),
            program,
        })?;
        model.reindex();
        Ok(model)
    }

    /// Puts a frame's observations in line; gives who wrote it.
    fn decode(&mut self, frame: usize) -> Result<Option<Text>, SessionError> {
        let Input::Recording(reader) = &self.input else { return Ok(None) };
        if frame >= reader.frames().len() {
            return Ok(None);
        }
        self.frame = frame + 1;
        self.reading = Some(Reading { frame: reader.frame(frame)?, read: 0 });
        Ok(Some(reader.header().program.clone()))
    }
}

/// A regular file that begins as recordings do; whatever cannot be opened is left to the import to complain of.
fn is_recording(path: &Path) -> bool {
    let mut start = [0u8; 8];
    named_file::open(path, Kinds::File).and_then(|mut f| f.read_exact(&mut start)).is_ok()
        && crate::record::is_recording(&start)
}
