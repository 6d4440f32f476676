//! Owns what is known of each source: its state, its order, its last answer, and its calls in flight and done.
//! It must not judge what a source says, only whether and when it speaks.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::observation::{Call, SourceError, SourceState, Stamp, Time};

/// Finished calls kept for timing: fifteen minutes at one every two seconds.
const CALLS_KEPT: usize = 450;

/// One finished call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallTiming {
    /// When it ended.
    pub at: Time,
    /// Microseconds it took.
    pub took_us: u64,
    /// It brought an answer.
    pub ok: bool,
}

/// One kind of timed call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallHistory {
    /// When the call in flight began.
    pub in_flight: Option<Time>,
    /// Begin of the first call since which none has brought an answer.
    pub unanswered_since: Option<Time>,
    /// Finished calls, oldest first.
    pub done: VecDeque<CallTiming>,
}

impl CallHistory {
    fn begin(&mut self, at: Time) {
        self.in_flight = Some(at);
        self.unanswered_since.get_or_insert(at);
    }

    fn end(&mut self, at: Time, took_us: u64, ok: bool) {
        self.in_flight = None;
        if ok {
            self.unanswered_since = None;
        } else if self.unanswered_since.is_none() {
            self.unanswered_since =
                Some(at - crate::time::TimeDelta::microseconds(i64::try_from(took_us).unwrap_or(i64::MAX)));
        }
        self.done.push_back(CallTiming { at, took_us, ok });
        if self.done.len() > CALLS_KEPT {
            self.done.pop_front();
        }
    }
}

/// What is known of one source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceFacts {
    /// Its state.
    pub state: SourceState,
    /// When the state last changed.
    pub since: Time,
    /// When it last answered.
    pub last_answer: Option<Time>,
    /// The last failure, kept after recovery.
    pub last_error: Option<(Time, SourceError)>,
    /// Log lines and spans dropped because the reader was too slow, and events beyond what is kept of them.
    pub dropped: u64,
    /// Objects that came and could not be read.
    #[serde(default)]
    pub unreadable: u64,
    /// The certificate of who answers is not verified.
    #[serde(default)]
    pub unverified: bool,
    /// When it was first heard of.
    #[serde(default)]
    pub begun: Option<Time>,
    /// How many objects of the list under way are still to come, where the server says so.
    #[serde(default)]
    pub remaining: Option<u64>,
    /// Its timed calls.
    pub calls: BTreeMap<Call, CallHistory>,
    epoch: u32,
    seq: u64,
}

impl SourceFacts {
    pub(super) fn new(stamp: &Stamp) -> Self {
        Self {
            state: SourceState::Connecting,
            since: stamp.wall,
            last_answer: None,
            last_error: None,
            dropped: 0,
            unreadable: 0,
            unverified: false,
            begun: Some(stamp.wall),
            remaining: None,
            calls: BTreeMap::new(),
            epoch: 0,
            seq: 0,
        }
    }

    /// True when the stamp is news; false when this observation was seen before.
    pub(super) fn accept(&mut self, stamp: &Stamp) -> bool {
        if stamp.seq <= self.seq || stamp.epoch < self.epoch {
            return false;
        }
        (self.epoch, self.seq) = (stamp.epoch, stamp.seq);
        true
    }

    pub(super) fn answered(&mut self, stamp: &Stamp) {
        self.last_answer = Some(stamp.wall);
        // A source may answer without timing its calls; only a call still in flight stays unanswered.
        for calls in self.calls.values_mut().filter(|c| c.in_flight.is_none()) {
            calls.unanswered_since = None;
        }
    }

    pub(super) fn set_state(&mut self, state: SourceState, stamp: &Stamp) {
        if let SourceState::Retrying { error, .. } | SourceState::Forbidden { error } = &state {
            self.last_error = Some((stamp.wall, error.clone()));
        }
        if self.state != state {
            self.since = stamp.wall;
        }
        self.state = state;
    }

    pub(super) fn call_begin(&mut self, call: Call, stamp: &Stamp) {
        self.calls.entry(call).or_default().begin(stamp.wall);
    }

    pub(super) fn call_end(&mut self, call: Call, took_us: u64, error: Option<SourceError>, stamp: &Stamp) {
        self.calls.entry(call).or_default().end(stamp.wall, took_us, error.is_none());
        match error {
            None => self.answered(stamp),
            Some(error) => self.last_error = Some((stamp.wall, error)),
        }
    }

    /// Since when a call of any kind has brought no answer.
    pub fn unanswered_since(&self) -> Option<Time> {
        self.calls.values().filter_map(|c| c.unanswered_since).min()
    }

    /// True while the source is believed: live, whatever a single call does. Of one that is degraded, what it reports is.
    pub fn is_live(&self) -> bool {
        matches!(self.state, SourceState::Live { .. } | SourceState::Degraded { .. })
    }

    /// True while nothing of it is left out, so that what it does not report is absent.
    pub fn is_whole(&self) -> bool {
        matches!(self.state, SourceState::Live { .. })
    }
}
