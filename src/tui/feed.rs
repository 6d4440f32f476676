//! Owns the seam through which the screen gets its moments: what a session must be able to do.
//! It must not know where a moment comes from: a node, a recording or a test.

use std::time::Duration;

use crate::container_log::{LogCommand, LogUpdate};
use crate::view::NodeView;

/// Something whose moments can be shown while time passes.
pub trait Feed {
    /// Lets `elapsed` of real time pass; true when something changed.
    fn pass(&mut self, elapsed: Duration) -> bool;

    /// The moment now.
    fn moment(&mut self) -> NodeView;

    /// Real time until the next thing that may change the picture, at most.
    fn wake_in(&mut self) -> Duration;

    /// What is shown, for the header: `demo: recorded 2026-11-29, x1`.
    fn title(&self) -> String;

    /// Takes in what is asked of a container's log. One log is read at a time.
    fn log(&mut self, ask: LogCommand);

    /// What is new of it. This must not wait.
    fn log_news(&mut self) -> Vec<LogUpdate>;
}
