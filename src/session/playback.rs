//! Reads an input in order, and positions it at any time: returns a model to start with, and the observations after it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use super::SessionError;
use crate::model::Model;
use crate::named_file::{self, Kinds};
use crate::observation::{Fact, Ledger, Observation, Source, Stamp, Time};
use crate::record::import::{Imported, Skipped, import_within};
use crate::record::{Frame, FrameState, Problem, RecordPoint, RecordReader};
use crate::text::Text;
use crate::weight::{DEFAULT_MEMORY, decoded};

/// Where the observations come from.
enum PlaybackInput {
    Recording(Box<RecordReader>),
    Import { all: Vec<Observation>, next: usize, skipped: Vec<Skipped>, node: Text },
}

/// The next step of a playback.
pub(super) enum PlaybackItem {
    /// An observation to apply.
    Observation(Box<Observation>),
    /// The state after a gap in a recording, which replaces the model.
    State(Box<Model>),
}

/// An input, and the position in it.
pub(super) struct Playback {
    name: String,
    input: PlaybackInput,
    start: RecordPoint,
    /// The end, from the last frame of a recording, whose clocks are not checked.
    end: RecordPoint,
    /// The earliest and the latest wall time.
    span: (Time, Time),
    /// Index of the frame after the one that is read; of a recording.
    next_frame: usize,
    open_frame: Option<OpenFrame>,
    /// The next observation in `open_frame`.
    next: Option<Observation>,
    /// State to continue from, after a gap.
    state: Option<Box<Model>>,
    /// Most bytes of memory for the state and the observations.
    limit: u64,
    /// Memory of the state at the start, bytes.
    state_bytes: u64,
    /// Memory that each source has added to it.
    ledgers: BTreeMap<Source, Ledger>,
    /// Lines so far of kinds that this version does not know.
    unknown: u64,
    /// Lines so far that are not observations.
    malformed: u64,
}

/// A frame whose observations are decoded one by one.
struct OpenFrame {
    frame: Frame,
    /// Bytes of the observations that were read.
    read: usize,
}

impl Playback {
    /// Opens an input within the memory limit of the process, bytes.
    ///
    /// # Errors
    /// When the input cannot be read or is not recognised.
    pub fn open(path: &Path, memory: u64) -> Result<Self, SessionError> {
        let name = path.display().to_string();
        let playback = match is_recording(path) {
            true => Self::from_reader(name, RecordReader::open(path)?)?,
            false => Self::from_import(&name, import_within(path, memory)?),
        };
        Ok(Self { limit: memory_share(memory), ..playback })
    }

    /// The playback of an import; `name` is for messages.
    pub fn from_import(name: &str, imported: Imported) -> Self {
        let Imported { observations, begin, end, node, skipped } = imported;
        let input = PlaybackInput::Import { all: observations, next: 0, skipped, node };
        let span = (begin.min(end), begin.max(end));
        let end = RecordPoint { mono: u64::try_from((end - begin).num_microseconds()).unwrap_or_default(), wall: end };
        let start = RecordPoint { mono: 0, wall: begin };
        Self::new(name.to_owned(), input, (start, end), span)
    }

    fn new(name: String, input: PlaybackInput, (start, end): (RecordPoint, RecordPoint), span: (Time, Time)) -> Self {
        Self {
            name,
            input,
            start,
            end,
            span,
            next_frame: 0,
            open_frame: None,
            next: None,
            state: None,
            limit: memory_share(DEFAULT_MEMORY),
            state_bytes: 0,
            ledgers: BTreeMap::new(),
            unknown: 0,
            malformed: 0,
        }
    }

    /// The playback of a recording in memory; `name` is for messages.
    pub fn from_recording(name: &str, bytes: &'static [u8]) -> Result<Self, SessionError> {
        Self::from_reader(name.to_owned(), RecordReader::from_bytes(name, bytes)?)
    }

    fn from_reader(name: String, reader: RecordReader) -> Result<Self, SessionError> {
        let began = reader.header().began;
        let frames = reader.frames();
        let earliest = frames.iter().map(|f| f.first.wall).min().unwrap_or(began);
        let latest = frames.iter().map(|f| f.last.wall).max().unwrap_or(began);
        let start = frames.first().map_or(RecordPoint { mono: 0, wall: began }, |f| f.first);
        let end = frames.last().map_or(start, |f| f.last);
        Ok(Self::new(name, PlaybackInput::Recording(Box::new(reader)), (start, end), (earliest, latest)))
    }

    /// The earliest and the latest wall time: not always start and end, since the clock can be set.
    pub fn span(&self) -> (Time, Time) {
        self.span
    }

    /// The end, on both clocks.
    pub fn end(&self) -> RecordPoint {
        self.end
    }

    /// True when no observation follows `mono`, microseconds on the input's own clock.
    pub fn is_over(&self, mono: u64) -> bool {
        match &self.input {
            PlaybackInput::Recording(_) => self.next.is_none() && !self.has_more(),
            PlaybackInput::Import { all, next, .. } => *next >= all.len() && mono >= self.end.mono,
        }
    }

    /// How far the input's own clock can advance before the next observation. A recording ends at its last observation.
    pub fn limit(&mut self, mono: u64) -> u64 {
        let next = self.peek().map(|stamp| stamp.mono);
        match &self.input {
            PlaybackInput::Recording(_) => next.unwrap_or(mono),
            PlaybackInput::Import { .. } => next.unwrap_or(self.end.mono),
        }
    }

    /// Name of the node; empty when unknown.
    pub fn node(&self) -> &Text {
        match &self.input {
            PlaybackInput::Recording(reader) => &reader.header().node,
            PlaybackInput::Import { node, .. } => node,
        }
    }

    /// Damaged parts of a recording.
    pub fn problems(&self) -> &[Problem] {
        match &self.input {
            PlaybackInput::Recording(reader) => reader.problems(),
            PlaybackInput::Import { .. } => &[],
        }
    }

    /// Parts that an import could not use.
    pub fn skipped(&self) -> &[Skipped] {
        match &self.input {
            PlaybackInput::Recording(_) => &[],
            PlaybackInput::Import { skipped, .. } => skipped,
        }
    }

    /// Lines so far of unknown kinds, and lines that are not observations.
    pub fn unread_lines(&self) -> (u64, u64) {
        (self.unknown, self.malformed)
    }

    /// Positions the input before the time `to`. Returns the model to start with, its point, and how many observations must be
    /// applied to reach `to`.
    ///
    /// # Errors
    /// When a frame cannot be read.
    pub fn seek(&mut self, to: Time) -> Result<(Model, RecordPoint, usize), SessionError> {
        let (model, at) = match &self.input {
            PlaybackInput::Import { .. } => self.rewind()?,
            PlaybackInput::Recording(reader) => {
                let frame = reader.find_frame(to).unwrap_or(0);
                self.load(frame)?
            }
        };
        // The last time at which the clock showed `to`: it can be set back.
        let before = match &self.input {
            PlaybackInput::Import { all, .. } => all.iter().rposition(|o| o.stamp.wall <= to),
            // Decoded one by one, and again when applied, so that no more than one is in memory.
            PlaybackInput::Recording(_) => self.open_frame.as_ref().and_then(|open| {
                let due = open.frame.observations().enumerate().filter(|(_, o)| o.stamp.wall <= to);
                due.last().map(|(at, _)| at)
            }),
        };
        Ok((model, at, before.map_or(0, |last| last + 1)))
    }

    /// Positions the input at its start. Returns the model to start with, and its point.
    ///
    /// # Errors
    /// When the first frame cannot be read.
    pub fn rewind(&mut self) -> Result<(Model, RecordPoint), SessionError> {
        if let PlaybackInput::Import { next, .. } = &mut self.input {
            *next = 0;
            return Ok((Model::default(), self.start));
        }
        self.load(0)
    }

    /// Positions a recording at its last frame, an import at its start. Returns the model to start with, and its point.
    ///
    /// # Errors
    /// When the last frame cannot be read.
    pub fn seek_end(&mut self) -> Result<(Model, RecordPoint), SessionError> {
        match &self.input {
            PlaybackInput::Import { .. } => self.rewind(),
            PlaybackInput::Recording(reader) => {
                let last = reader.frames().len().saturating_sub(1);
                self.load(last)
            }
        }
    }

    /// The stamp of the next observation.
    pub fn peek(&mut self) -> Option<Stamp> {
        match &self.input {
            PlaybackInput::Import { all, next, .. } => all.get(*next).map(|o| o.stamp),
            PlaybackInput::Recording(_) => {
                // `next_until` reports a frame that cannot be read.
                while !self.decode_next() && self.has_more() && self.load_next().is_ok() {}
                self.next.as_ref().map(|o| o.stamp)
            }
        }
    }

    /// The next item, if `due` is true for it.
    ///
    /// # Errors
    /// When a frame cannot be read, or the memory limit is exceeded.
    pub fn next_until(&mut self, due: impl Fn(&Stamp) -> bool) -> Result<Option<PlaybackItem>, SessionError> {
        if let PlaybackInput::Import { all, next, .. } = &mut self.input {
            let found = all.get(*next).filter(|o| due(&o.stamp)).cloned();
            *next += usize::from(found.is_some());
            return Ok(found.map(|o| PlaybackItem::Observation(Box::new(o))));
        }
        while !self.decode_next() && self.has_more() {
            self.load_next()?;
        }
        if !self.next.as_ref().is_some_and(|o| due(&o.stamp)) {
            return Ok(None);
        }
        if let Some(state) = self.state.take() {
            return Ok(Some(PlaybackItem::State(state)));
        }
        let Some(observation) = self.next.take() else { return Ok(None) };
        self.account_for(&observation)?;
        self.decode_next();
        Ok(Some(PlaybackItem::Observation(Box::new(observation))))
    }

    /// Decodes the next observation of the frame into `next`, unless there is one. False at the end of the frame.
    fn decode_next(&mut self) -> bool {
        if self.next.is_none()
            && let Some(OpenFrame { frame, read }) = &mut self.open_frame
        {
            let mut rest = frame.observations_from(*read);
            self.next = rest.next();
            *read = rest.read();
            self.unknown += rest.unknown();
            self.malformed += rest.malformed();
            if self.next.is_none() {
                self.open_frame = None;
            }
        }
        self.next.is_some()
    }

    /// Adds an observation that is about to be applied to the memory account.
    fn account_for(&mut self, observation: &Observation) -> Result<(), SessionError> {
        let ledger = self.ledgers.entry(observation.stamp.source).or_insert_with(|| Ledger::new(u64::MAX / 2));
        match observation.fact {
            Fact::EpochBegin => ledger.begin_epoch(),
            Fact::EpochEnd => ledger.end_epoch(),
            ref fact => _ = ledger.admit(fact, true),
        }
        let observed: u64 = self.ledgers.values().map(Ledger::total).sum();
        if self.state_bytes.saturating_add(observed) > self.limit { Err(self.too_much()) } else { Ok(()) }
    }

    fn too_much(&self) -> SessionError {
        SessionError::TooMuch { file: self.name.clone(), frame: self.next_frame.saturating_sub(1) }
    }

    fn has_more(&self) -> bool {
        matches!(&self.input, PlaybackInput::Recording(reader) if self.next_frame < reader.frames().len())
    }

    /// Opens the next frame. If frames are missing before it, its own keyframe replaces the state.
    fn load_next(&mut self) -> Result<(), SessionError> {
        let follows = match &self.input {
            PlaybackInput::Recording(reader) => {
                let number = |frame: usize| reader.frames().get(frame).map(|f| f.number);
                let before = self.next_frame.checked_sub(1).and_then(number);
                before.zip(number(self.next_frame)).is_some_and(|(a, b)| b == a + 1)
            }
            PlaybackInput::Import { .. } => true,
        };
        if follows {
            self.read_frame(self.next_frame)?;
        } else {
            self.state = Some(Box::new(self.load(self.next_frame)?.0));
        }
        Ok(())
    }

    /// Opens a frame. Returns the state before its observations, and the point of that state.
    fn load(&mut self, frame: usize) -> Result<(Model, RecordPoint), SessionError> {
        (self.open_frame, self.next, self.state, self.state_bytes) = (None, None, None, 0);
        self.ledgers.clear();
        let PlaybackInput::Recording(reader) = &self.input else { return Ok((Model::default(), self.start)) };
        if frame >= reader.frames().len() {
            return Ok((Model::default(), self.start));
        }
        let FrameState { mut at, json, next } = reader.state(frame)?;
        self.state_bytes = decoded(&json);
        if self.state_bytes > self.limit {
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
            self.read_frame(before)?;
            while self.decode_next() {
                let Some(observation) = self.next.take() else { break };
                self.account_for(&observation)?;
                let Stamp { mono, wall, .. } = observation.stamp;
                at = if mono >= at.mono { RecordPoint { mono, wall } } else { at };
                model.apply(observation);
            }
        }
        self.read_frame(frame)?;
        Ok((model, at))
    }

    /// Opens a frame for its observations, and drops its keyframe.
    fn read_frame(&mut self, frame: usize) -> Result<(), SessionError> {
        let PlaybackInput::Recording(reader) = &self.input else { return Ok(()) };
        let mut read = reader.frame(frame)?;
        read.take_keyframe();
        (self.next_frame, self.open_frame, self.next) = (frame + 1, Some(OpenFrame { frame: read, read: 0 }), None);
        self.decode_next();
        Ok(())
    }
}

/// The part of the memory limit for a state and its observations, bytes; the rest is for diagnosis and output.
fn memory_share(memory: u64) -> u64 {
    memory / 5 * 3
}

/// True for a regular file that starts like a recording. For a file that cannot be opened, the import reports the error.
fn is_recording(path: &Path) -> bool {
    let mut start = [0u8; 8];
    named_file::open(path, Kinds::File).and_then(|mut f| f.read_exact(&mut start)).is_ok()
        && crate::record::is_recording(&start)
}
