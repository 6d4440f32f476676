//! Owns all I/O with the node: every source, its connection, its deadlines, and how it is found.
//! It must not import the model, the pipeline or the screens: what it learns leaves as observations.

mod clock;
mod cri;
mod outlet;
mod pump;
mod supervisor;

pub use clock::Clock;
pub use cri::{CriSource, Pace as CriPace, PullsSource};
pub use outlet::Outlet;
pub use pump::{OBSERVATIONS_WAITING, Pump, SOURCE_CHANNEL, pump};
pub use supervisor::{Attempt, BackOff, Failure, supervise};
