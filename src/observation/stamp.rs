//! Owns when and in which order something was observed.
//! It must not read a clock: whoever observes passes the time in.

use serde::{Deserialize, Serialize};

use super::{Source, Time};

/// Where an observation stands: the source orders its own by `epoch` and `seq`, everything together is ordered by `mono`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Who said it.
    pub source: Source,
    /// Grows by one after every gap; a listing is valid within one epoch.
    pub epoch: u32,
    /// Grows with every observation of this source, through all epochs; starts at 1.
    pub seq: u64,
    /// Microseconds since observing began, on a clock that never jumps.
    pub mono: u64,
    /// Wall clock at receipt: what is shown.
    pub wall: Time,
}

/// Numbers one source's observations.
#[derive(Clone, Debug)]
pub struct Sequencer {
    source: Source,
    epoch: u32,
    seq: u64,
}

impl Sequencer {
    /// A source that has said nothing yet.
    pub fn new(source: Source) -> Self {
        Self { source, epoch: 0, seq: 0 }
    }

    /// The next stamp. An epoch's begin must be stamped with [`Sequencer::next_epoch`].
    pub fn stamp(&mut self, mono: u64, wall: Time) -> Stamp {
        self.seq += 1;
        Stamp { source: self.source, epoch: self.epoch, seq: self.seq, mono, wall }
    }

    /// The stamp that begins a new epoch.
    pub fn next_epoch(&mut self, mono: u64, wall: Time) -> Stamp {
        self.epoch += 1;
        self.stamp(mono, wall)
    }
}
