//! Owns how a failure is told: what was tried and why it failed, what to do, and the exit code.
//! It must not print.

use std::fmt;
use std::io;

use crate::record::RecordError;
use crate::record::import::ImportError;
use crate::runbook::RunbookError;
use crate::session::SessionError;
use crate::text::Text;
use crate::tui::TuiError;

/// Exit code for wrong usage.
pub const USAGE: u8 = 2;
/// Exit code when nothing could be observed.
pub const COULD_NOT_OBSERVE: u8 = 3;

/// Why a command could not do what it was asked for.
#[derive(Debug)]
pub struct Failure {
    what: String,
    fix: String,
    code: u8,
    silent: bool,
}

impl Failure {
    /// What was asked for makes no sense.
    pub fn usage(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into(), code: USAGE, silent: false }
    }

    /// Nothing could be observed.
    pub fn unseen(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into(), code: COULD_NOT_OBSERVE, silent: false }
    }

    /// Standard output cannot be written to. That its reader has seen enough is no failure.
    pub fn output(why: &io::Error) -> Self {
        if why.kind() == io::ErrorKind::BrokenPipe {
            return Self::quiet(0);
        }
        Self::unseen(format!("writing to standard output: {why}"), "write to another place, or free some space")
    }

    /// An end that nobody needs to be told of.
    pub fn quiet(code: u8) -> Self {
        Self { what: String::new(), fix: String::new(), code, silent: true }
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        self.code
    }

    /// Nobody needs to be told: the reader of the output went away, or a signal ended the program.
    pub fn is_silent(&self) -> bool {
        self.silent
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A path may be named in it, and a path may be named anything.
        write!(f, "error: {}", Text::new(&self.what))?;
        if self.fix.is_empty() { Ok(()) } else { write!(f, "\n  try: {}", Text::new(&self.fix)) }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Import(error) => error.into(),
            SessionError::Record(error) => error.into(),
            other => Self::told(&other.to_string()),
        }
    }
}

impl From<TuiError> for Failure {
    fn from(error: TuiError) -> Self {
        let text = error.to_string();
        let (what, fix) = text.split_once("; ").unwrap_or((&text, "kpodtrace pods --from PATH prints a table"));
        Self::unseen(format!("showing the screen: {what}"), fix)
    }
}

impl From<RunbookError> for Failure {
    fn from(error: RunbookError) -> Self {
        let fix = match &error {
            RunbookError::Read { .. } => "check the name, and that you may read it",
            RunbookError::Refused(_) => "mend that line; `kpodtrace runbook check DIR` reads the files alone",
        };
        Self { what: error.to_string(), fix: fix.into(), code: USAGE, silent: false }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        Self::told(&error.to_string())
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        let fix = match &error {
            ImportError::Read { error, .. } if error.kind() == io::ErrorKind::InvalidInput => {
                "give a file, a folder or a pipe that ends"
            }
            ImportError::Read { .. } => "check the name, and that you may read it",
            ImportError::TooLarge { .. } | ImportError::TooMuch { .. } => {
                "raise --max-memory, or give a smaller part of it, such as one namespace"
            }
            ImportError::Ratio { .. } => "decompress it yourself and give the result",
            ImportError::Folder { .. } | ImportError::NotObjects { .. } => {
                "give a recording, or the output of: kubectl get pods,events,nodes -A -o json"
            }
            ImportError::NoTime { .. } => "see that the input is not empty",
        };
        Self::unseen(error.to_string(), fix)
    }
}

impl Failure {
    /// A message that ends with what to do, behind the last `; ` or `: `.
    fn told(message: &str) -> Self {
        let (what, fix) = message.rsplit_once("; ").or_else(|| message.rsplit_once(": ")).unwrap_or((message, ""));
        Self::unseen(what, fix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_to_try_and_never_what_a_path_wants() {
        let failure = Failure::told("cannot open the recording a\x1b[31mb: no such file; check its name");
        assert_eq!(failure.to_string(), "error: cannot open the recording ab: no such file\n  try: check its name");
        let error = RecordError::Exists { file: "x.kpt".into() };
        assert_eq!(
            Failure::from(error).to_string(),
            "error: x.kpt exists already and is not overwritten\n  try: choose another name, or remove it first"
        );
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure() {
        assert!(Failure::output(&io::ErrorKind::BrokenPipe.into()).is_silent());
        assert!(!Failure::output(&io::ErrorKind::StorageFull.into()).is_silent());
    }
}
