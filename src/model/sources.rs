//! The state of each source: order of its observations, last response, errors, and its timed calls.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::observation::{Call, ErrorKind, SourceError, SourceState, Stamp, Time};
use crate::time::TimeDelta;

/// Finished calls kept: 15 minutes at one call every 2 seconds.
const CALLS_KEPT: usize = 450;

/// One finished call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallTiming {
    /// When it finished.
    pub at: Time,
    /// Duration, microseconds.
    pub took_us: u64,
    /// The call succeeded.
    pub ok: bool,
}

/// The calls of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallHistory {
    /// Start of the call in flight.
    pub in_flight: Option<Time>,
    /// Start of the first call since the last successful one.
    pub unanswered_since: Option<Time>,
    /// Finished calls, oldest first.
    pub done: VecDeque<CallTiming>,
}

impl CallHistory {
    fn start(&mut self, at: Time) {
        self.in_flight = Some(at);
        self.unanswered_since.get_or_insert(at);
    }

    fn finish(&mut self, at: Time, took_us: u64, ok: bool) {
        self.in_flight = None;
        if ok {
            self.unanswered_since = None;
        } else if self.unanswered_since.is_none() {
            self.unanswered_since = Some(at - TimeDelta::microseconds(i64::try_from(took_us).unwrap_or(i64::MAX)));
        }
        self.done.push_back(CallTiming { at, took_us, ok });
        if self.done.len() > CALLS_KEPT {
            self.done.pop_front();
        }
    }
}

/// One source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceFacts {
    /// Its state.
    pub state: SourceState,
    /// When the state last changed.
    pub since: Time,
    /// Time of its last response.
    pub last_answer: Option<Time>,
    /// The last error and its time, kept after recovery.
    pub last_error: Option<(Time, SourceError)>,
    /// Log lines and spans dropped because the model was too slow, and events dropped above the limit.
    pub dropped: u64,
    /// Objects that could not be decoded.
    #[serde(default)]
    pub unreadable: u64,
    /// The server certificate is not verified.
    #[serde(default)]
    pub unverified: bool,
    /// Time of its first observation.
    #[serde(default, rename = "begun")]
    pub first_seen: Option<Time>,
    /// Objects of the current list still to come, if the server reports it (`remainingItemCount`).
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
            first_seen: Some(stamp.wall),
            remaining: None,
            calls: BTreeMap::new(),
            epoch: 0,
            seq: 0,
        }
    }

    /// True for a new observation; false for one that was applied before.
    pub(super) fn accept(&mut self, stamp: &Stamp) -> bool {
        if stamp.seq <= self.seq || stamp.epoch < self.epoch {
            return false;
        }
        (self.epoch, self.seq) = (stamp.epoch, stamp.seq);
        true
    }

    pub(super) fn record_response(&mut self, stamp: &Stamp) {
        self.last_answer = Some(stamp.wall);
        // A source may respond without timing its calls. A call in flight has no response yet.
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

    pub(super) fn start_call(&mut self, call: Call, stamp: &Stamp) {
        self.calls.entry(call).or_default().start(stamp.wall);
    }

    pub(super) fn finish_call(&mut self, call: Call, took_us: u64, error: Option<SourceError>, stamp: &Stamp) {
        self.calls.entry(call).or_default().finish(stamp.wall, took_us, error.is_none());
        match error {
            None => self.record_response(stamp),
            Some(error) => self.last_error = Some((stamp.wall, error)),
        }
    }

    /// Since when calls of any kind have had no response.
    pub fn unanswered_since(&self) -> Option<Time> {
        self.calls.values().filter_map(|c| c.unanswered_since).min()
    }

    /// The failure, if nothing listens at the address of the source: a call that hangs is none.
    pub fn refusal(&self) -> Option<&SourceError> {
        match &self.state {
            SourceState::Retrying { error, .. }
                if matches!(error.kind, ErrorKind::Unreachable | ErrorKind::NotRunning) =>
            {
                Some(error)
            }
            _ => None,
        }
    }

    /// True if what the source reports is current, even if a single call fails.
    pub fn is_live(&self) -> bool {
        matches!(self.state, SourceState::Live { .. } | SourceState::Degraded { .. })
    }

    /// True if the source reports everything, so that an object that it does not report is absent.
    pub fn is_complete(&self) -> bool {
        matches!(self.state, SourceState::Live { .. })
    }
}
