//! The logs of kubelet, runtime and kernel as sources, from the journal or a file, and the last output of failed containers.

mod capped;
mod file;
#[doc(hidden)]
pub mod fuzzing;
mod journal;
mod last_output;
mod tail;

pub use file::FileSource;
pub use journal::{JournalSource, journal_is_readable};
pub use last_output::LastOutput;

use super::discover::LogPlan;
use super::{Attempt, ObservationSink, SourceFailure};
use crate::decode::NodeLog;
use crate::observation::{ErrorKind, SourceError};
use crate::text::{Message, Text};

/// A log, wherever it is.
#[derive(Debug)]
pub enum LogSource {
    /// In the journal.
    Journal(JournalSource),
    /// In a file.
    File(FileSource),
    /// Nowhere, and why.
    Nowhere(Text),
}

impl LogSource {
    /// The log of `of` at the place in `plan`; `why` is reported if there is no plan.
    pub fn new(of: NodeLog, plan: Option<LogPlan>, why: impl Into<Text>) -> Self {
        match plan {
            Some(LogPlan { file: Some(file), .. }) => Self::File(FileSource::new(of, file)),
            Some(LogPlan { units, file: None }) => Self::Journal(JournalSource::new(of, units)),
            None if of == NodeLog::Kernel => Self::Journal(JournalSource::new(of, Vec::new())),
            None => Self::Nowhere(why.into()),
        }
    }
}

impl Attempt for LogSource {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        match self {
            Self::Journal(source) => source.attempt(out).await,
            Self::File(source) => source.attempt(out).await,
            Self::Nowhere(why) => SourceFailure::Off(why.clone()),
        }
    }
}

fn failed(tried: impl Into<Message>, kind: ErrorKind, fix: impl Into<Message>) -> SourceError {
    SourceError { tried: tried.into(), kind, fix: fix.into() }
}
