//! The failure of a command: what failed and why, what to do, and the exit code.

use std::fmt;
use std::io;

use crate::record::RecordError;
use crate::record::import::ImportError;
use crate::runbook::RunbookError;
use crate::session::SessionError;
use crate::text::Text;
use crate::tui::TuiError;

/// Exit code: wrong usage.
pub const USAGE: u8 = 2;
/// Exit code: no data available.
pub const COULD_NOT_OBSERVE: u8 = 3;

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    what: String,
    fix: String,
    code: u8,
    silent: bool,
}

impl Failure {
    /// The arguments are invalid or contradict each other.
    pub fn usage(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into(), code: USAGE, silent: false }
    }

    /// No data available.
    pub fn unseen(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into(), code: COULD_NOT_OBSERVE, silent: false }
    }

    /// Standard output cannot be written. A closed pipe exits with 0 and without a message.
    pub fn output(why: &io::Error) -> Self {
        if why.kind() == io::ErrorKind::BrokenPipe {
            return Self::quiet(0);
        }
        Self::unseen(format!("cannot write to standard output: {why}"), "free disk space, or redirect to another file")
    }

    /// An exit without a message.
    pub fn quiet(code: u8) -> Self {
        Self { what: String::new(), fix: String::new(), code, silent: true }
    }

    /// What failed, and why.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        self.code
    }

    /// No message is printed: the output pipe was closed, or the program was stopped by a signal.
    pub fn is_silent(&self) -> bool {
        self.silent
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Paths and server responses in it can hold control sequences.
        write!(f, "error: {}", Text::new(&self.what))?;
        if self.fix.is_empty() { Ok(()) } else { write!(f, "\n  try: {}", Text::new(&self.fix)) }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Import(error) => error.into(),
            other => Self::unseen(other.to_string(), other.remedy()),
        }
    }
}

impl From<TuiError> for Failure {
    fn from(error: TuiError) -> Self {
        let text = error.to_string();
        let (what, fix) = text.split_once("; ").unwrap_or((&text, "kpodtrace pods --from PATH prints a table"));
        Self::unseen(format!("cannot show the screen: {what}"), fix)
    }
}

impl From<RunbookError> for Failure {
    fn from(error: RunbookError) -> Self {
        let fix = match &error {
            RunbookError::Read { .. } => "check the path and its permissions",
            RunbookError::Refused(_) => "fix that line; `kpodtrace runbook check DIR` checks the files",
        };
        Self { what: error.to_string(), fix: fix.into(), code: USAGE, silent: false }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        Self::unseen(error.to_string(), error.remedy())
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        let fix = match &error {
            ImportError::Read { error, .. } if error.kind() == io::ErrorKind::InvalidInput => {
                "use a file, a folder or a pipe"
            }
            ImportError::Read { .. } => "check the path and its permissions",
            ImportError::TooLarge { .. } | ImportError::TooMuch { .. } => {
                "raise --max-memory, or use a smaller input, such as one namespace"
            }
            ImportError::Ratio { .. } => "decompress it and use the result",
            ImportError::Folder { .. } | ImportError::NotObjects { .. } => {
                "use a recording, or the output of: kubectl get pods,events,nodes -A -o json"
            }
            ImportError::NoTime { .. } => "check that the input is not empty",
        };
        Self::unseen(error.to_string(), fix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_to_try_and_never_what_a_path_wants() {
        let failure = Failure::unseen("cannot open the recording a\x1b[31mb: no such file", "check its name");
        assert_eq!(failure.to_string(), "error: cannot open the recording ab: no such file\n  try: check its name");
        let error = RecordError::Exists { file: "x.kpt".into() };
        assert_eq!(
            Failure::from(error).to_string(),
            "error: x.kpt already exists and is not overwritten\n  try: choose another name, or delete the file"
        );
    }

    #[test]
    fn a_closed_pipe_is_silent() {
        assert!(Failure::output(&io::ErrorKind::BrokenPipe.into()).is_silent());
        assert!(!Failure::output(&io::ErrorKind::StorageFull.into()).is_silent());
    }
}
