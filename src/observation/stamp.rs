//! When and in which order an observation was made. The caller passes the time.

use serde::{Deserialize, Serialize};

use super::{Source, Time};

/// Source, order and time of an observation: `epoch` and `seq` order one source, `mono` orders all sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The source.
    pub source: Source,
    /// Increases by one after every gap; a list is valid within one epoch.
    pub epoch: u32,
    /// Increases by one with every observation of the source, across epochs; starts at 1.
    pub seq: u64,
    /// Microseconds since the start of observation, on the monotonic clock.
    pub mono: u64,
    /// Wall clock at receipt; this time is shown.
    pub wall: Time,
}

/// Numbers the observations of one source.
#[derive(Clone, Debug)]
pub struct Sequencer {
    source: Source,
    epoch: u32,
    seq: u64,
}

impl Sequencer {
    /// A source without observations.
    pub fn new(source: Source) -> Self {
        Self { source, epoch: 0, seq: 0 }
    }

    /// The next stamp. For the start of an epoch use [`Sequencer::next_epoch`].
    pub fn stamp(&mut self, mono: u64, wall: Time) -> Stamp {
        self.seq += 1;
        Stamp { source: self.source, epoch: self.epoch, seq: self.seq, mono, wall }
    }

    /// The first stamp of a new epoch.
    pub fn next_epoch(&mut self, mono: u64, wall: Time) -> Stamp {
        self.epoch += 1;
        self.stamp(mono, wall)
    }
}
