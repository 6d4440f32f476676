//! What a command works on: this node, or a recording of one. The screen, `--watch` and single views use both alike.

use std::sync::Arc;
use std::time::Duration;

use super::live::{self, LiveSession};
use super::{Failure, input};
use crate::cli::Input;
use crate::container_log::{LogCommand, LogUpdate};
use crate::observation::Time;
use crate::report::DiscoveryResult;
use crate::runbook::Runbook;
use crate::session::RecordedSession;
use crate::time::TimeDelta;
use crate::view::NodeView;

/// Added to the time of the next view, so that the change is in it: deadlines are compared in microseconds.
const AFTER_DEADLINE: TimeDelta = TimeDelta::milliseconds(1);

/// A node over time.
pub enum NodeSession {
    /// This node.
    Live(Box<LiveSession>),
    /// The input of `--from`.
    Recorded(Box<RecordedSession>),
}

impl NodeSession {
    /// Opens the input at `--at` or its end; without an input, observes this node until each source has responded or failed, at
    /// most for `--wait`.
    ///
    /// # Errors
    /// When the input cannot be read, or no source can be started.
    pub fn open(input: &Input, own: Option<Arc<Runbook>>) -> Result<Self, Failure> {
        Ok(match input.from {
            Some(_) => Self::Recorded(Box::new(input::open_with(input, own)?)),
            None => Self::Live(Box::new(live::observe(input, own)?)),
        })
    }

    /// True for an input, whose time is not the present.
    pub fn is_recorded(&self) -> bool {
        matches!(self, Self::Recorded(_))
    }

    /// True at the end of an input.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Live(_) => false,
            Self::Recorded(session) => session.is_over(),
        }
    }

    /// What was searched on this node for its sources; empty for an input.
    pub fn discovery(&self) -> Vec<DiscoveryResult> {
        match self {
            Self::Live(session) => session.discovery(),
            Self::Recorded(_) => Vec::new(),
        }
    }

    /// The node now, or at the current position of the input.
    pub fn moment(&mut self) -> NodeView {
        match self {
            Self::Live(session) => session.moment(),
            Self::Recorded(session) => session.moment(),
        }
    }

    /// Lets `elapsed` of real time pass. True if an observation was applied.
    ///
    /// # Errors
    /// When the input cannot be read, or the recording cannot be written.
    pub fn advance(&mut self, elapsed: Duration) -> Result<bool, Failure> {
        Ok(match self {
            Self::Live(session) => session.model.apply_received()?,
            Self::Recorded(session) => session.advance(elapsed)?,
        })
    }

    /// Moves to the next change of the view after the last [`NodeSession::moment`], or to `wanted` if that is earlier: a live node
    /// waits for it, an input skips the time between. Changes within `window` are combined.
    ///
    /// # Errors
    /// Those of [`NodeSession::advance`].
    pub fn advance_to_change(&mut self, wanted: Option<Time>, window: Duration) -> Result<(), Failure> {
        match self {
            Self::Live(session) => session.wait_for_change(wanted, window),
            Self::Recorded(session) => Ok(session.step(wanted.map(|at| at + AFTER_DEADLINE), window)?),
        }
    }

    /// Longest real time until the view can change.
    pub fn wake_in(&mut self) -> Duration {
        match self {
            Self::Live(_) => live::POLL_INTERVAL,
            Self::Recorded(session) => session.wake_in(),
        }
    }

    /// What is shown, for the header of the screen.
    pub fn title(&self) -> String {
        match self {
            Self::Live(session) => session.title(),
            Self::Recorded(session) => session.title(),
        }
    }

    /// Handles a request for a container log. One log is read at a time.
    pub fn handle_log(&mut self, ask: LogCommand) {
        match self {
            Self::Live(session) => session.handle_log(ask),
            Self::Recorded(session) => session.handle_log(ask),
        }
    }

    /// Updates of the container log since the last call. Does not wait.
    pub fn log_news(&mut self) -> Vec<LogUpdate> {
        match self {
            Self::Live(session) => session.log_news(),
            Self::Recorded(session) => session.log_news(),
        }
    }
}
