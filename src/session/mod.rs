//! A node over time: the model of a live node, and the playback of recordings and other inputs. The model and recordings meet
//! only here.

mod frame_cutter;
mod live_model;
mod playback;
mod recorded;
mod recorded_log;
mod recorder;
mod write_recording;

use thiserror::Error;

pub use crate::record::import::{LogFile, LogOf};
pub use live_model::LiveModel;
pub use recorded::RecordedSession;
pub use recorded_log::RecordedLog;
pub use recorder::{Recorder, RecordingTotals};
pub use write_recording::write_recording;

use crate::record::RecordError;
use crate::record::import::ImportError;
use crate::text::Text;

/// Why an input could not be read.
#[derive(Debug, Error)]
pub enum SessionError {
    /// A recording could not be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Files could not be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The state of a recording is above the memory limit.
    #[error("{file}: the state at frame {frame} needs more memory than --max-memory allows")]
    TooMuch {
        /// The recording.
        file: String,
        /// Number of the frame.
        frame: usize,
    },
    /// A keyframe is not readable by this version.
    #[error("{file}: the state at frame {frame} cannot be decoded ({why})")]
    Keyframe {
        /// The recording.
        file: String,
        /// Number of the frame.
        frame: usize,
        /// The decoder's error.
        why: String,
        /// The program that wrote it.
        program: Text,
    },
}

impl SessionError {
    /// What the user can do about it; empty if nothing. For [`SessionError::Import`] the command decides.
    pub fn remedy(&self) -> String {
        match self {
            SessionError::Record(error) => error.remedy(),
            SessionError::Import(_) => String::new(),
            SessionError::TooMuch { .. } => "raise --max-memory".into(),
            SessionError::Keyframe { program, .. } => format!("read it with the program that wrote it, {program}"),
        }
    }
}
