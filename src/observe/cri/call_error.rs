//! Owns what is said when the runtime does not answer a call: the kind of failure in words, and its remedy.
//! It must not connect or retry.

use std::path::Path;
use std::time::Duration;

use tonic::{Code, Status};

use crate::observation::{ErrorKind, SourceError};
use crate::observe::SourceFailure;

/// Longest part of the runtime's message that is kept, in characters.
const MAX_MESSAGE: usize = 600;

/// A call that brought no answer.
#[derive(Debug)]
pub(super) struct CallError {
    /// Name of the call.
    pub call: &'static str,
    /// CallErrorCause.
    pub why: CallErrorCause,
}

/// CallErrorCause a call brought no answer.
#[derive(Debug)]
pub(super) enum CallErrorCause {
    /// Its deadline passed.
    TimedOut(Duration),
    /// The runtime, or the way to it, said so.
    Status(Box<Status>),
}

impl CallError {
    /// The runtime does not have this service.
    pub fn is_unimplemented(&self) -> bool {
        matches!(&self.why, CallErrorCause::Status(status) if status.code() == Code::Unimplemented)
    }

    /// Nothing came in time.
    pub fn is_late(&self) -> bool {
        self.kind() == ErrorKind::Timeout
    }

    fn kind(&self) -> ErrorKind {
        match &self.why {
            CallErrorCause::TimedOut(_) => ErrorKind::Timeout,
            // Only what did not come from the runtime has a cause: the connection broke.
            CallErrorCause::Status(status) if std::error::Error::source(&**status).is_some() => ErrorKind::Unreachable,
            CallErrorCause::Status(status) => match status.code() {
                Code::DeadlineExceeded => ErrorKind::Timeout,
                Code::PermissionDenied | Code::Unauthenticated => ErrorKind::Denied,
                Code::Unavailable | Code::Cancelled => ErrorKind::Unreachable,
                // What tonic says of an answer that is too large, or that is no protobuf.
                Code::OutOfRange | Code::ResourceExhausted | Code::Internal | Code::DataLoss => ErrorKind::Malformed,
                _ => ErrorKind::Other,
            },
        }
    }

    /// The same for the source's state.
    pub fn to_source_error(&self, endpoint: &Path) -> SourceError {
        let tried = match &self.why {
            CallErrorCause::TimedOut(deadline) => {
                format!("{}: {}: no answer within {} s", endpoint.display(), self.call, deadline.as_secs_f32())
            }
            CallErrorCause::Status(status) => {
                let message: String = status.message().chars().take(MAX_MESSAGE).collect();
                let cause = std::error::Error::source(&**status).map(root).filter(|cause| !message.contains(cause));
                let cause = cause.map(|c| format!(" ({c})")).unwrap_or_default();
                format!("{}: {}: {:?}: {message}{cause}", endpoint.display(), self.call, status.code())
            }
        };
        SourceError { tried: tried.into(), kind: self.kind(), fix: self.fix().into() }
    }

    fn fix(&self) -> &'static str {
        match (&self.why, self.kind()) {
            (_, ErrorKind::Timeout) => {
                "the runtime accepts connections and does not answer: the kubelet waits for it too; look at its log, and \
                 whether it is stopped or waits for a disk"
            }
            (CallErrorCause::Status(status), _) if status.code() == Code::Unimplemented => {
                "no CRI v1 here: in containerd's configuration, \"cri\" must not be among disabled_plugins; or the kubelet \
                 uses another runtime: --runtime-endpoint"
            }
            (CallErrorCause::Status(status), _) if status.code() == Code::OutOfRange => {
                "larger than 16 MiB, which is the kubelet's limit too: remove dead containers and sandboxes (crictl rm, \
                 crictl rmp)"
            }
            (_, ErrorKind::Unreachable) => "is the runtime running? systemctl status containerd (or crio)",
            _ => "",
        }
    }

    /// What it means for the attempt.
    pub fn to_failure(&self, endpoint: &Path) -> SourceFailure {
        let error = self.to_source_error(endpoint);
        if error.kind == ErrorKind::Denied { SourceFailure::Forbidden(error) } else { SourceFailure::Retry(error) }
    }
}

/// The last error of a chain says what happened; those before it say where.
pub(super) fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string().chars().take(MAX_MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: Status) -> SourceError {
        CallError { call: "ListContainers", why: CallErrorCause::Status(Box::new(status)) }
            .to_source_error(Path::new("/run/x.sock"))
    }

    #[test]
    fn kinds_and_words() {
        let late = CallError { call: "Status", why: CallErrorCause::TimedOut(Duration::from_secs(10)) }
            .to_source_error(Path::new("/run/x.sock"));
        assert_eq!(late.tried, "/run/x.sock: Status: no answer within 10 s");
        assert_eq!(late.kind, ErrorKind::Timeout);
        let off = told(Status::unimplemented("unknown service runtime.v1.RuntimeService"));
        assert!(off.fix.contains("disabled_plugins"), "{}", off.fix);
        assert_eq!(told(Status::unavailable("x")).kind, ErrorKind::Unreachable);
        assert_eq!(told(Status::out_of_range("too large")).kind, ErrorKind::Malformed);
        let denied =
            CallError { call: "Version", why: CallErrorCause::Status(Box::new(Status::permission_denied("no"))) };
        assert!(matches!(denied.to_failure(Path::new("/x")), SourceFailure::Forbidden(_)));
        let long = told(Status::internal("\x1b[31m".to_owned() + &"y".repeat(9999)));
        assert!(long.tried.chars().count() < 700 && !long.tried.contains('\x1b'));
    }
}
