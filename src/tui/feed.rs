//! The source of node views for the screen; a session implements it.

use std::time::Duration;

use crate::container_log::{LogCommand, LogUpdate};
use crate::view::NodeView;

/// A source of node views.
pub trait Feed {
    /// Advances by `elapsed` of real time; true if something changed.
    fn pass(&mut self, elapsed: Duration) -> bool;

    /// The node now.
    fn moment(&mut self) -> NodeView;

    /// Real time until the screen may change, at most.
    fn wake_in(&mut self) -> Duration;

    /// Title for the header: `demo: recorded 2026-11-29, x1`.
    fn title(&self) -> String;

    /// Sends a command to the log reader. One log is open at a time.
    fn log(&mut self, ask: LogCommand);

    /// Updates of the open log. Never blocks.
    fn log_news(&mut self) -> Vec<LogUpdate>;
}
