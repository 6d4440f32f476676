//! Failed calls to the runtime: the kind of failure, its text and its remedy.

use std::path::Path;
use std::time::Duration;

use tonic::{Code, Status};

use crate::observation::{ErrorKind, SourceError};
use crate::observe::SourceFailure;
use crate::observe::error_chain::root_text;

/// Longest part of the runtime's message that is kept, in characters.
const MAX_MESSAGE: usize = 600;

/// A call that failed.
#[derive(Debug)]
pub(super) struct CallError {
    /// Name of the call.
    pub call: &'static str,
    /// The cause.
    pub cause: CallErrorCause,
}

/// Why a call failed.
#[derive(Debug)]
pub(super) enum CallErrorCause {
    /// The deadline passed.
    TimedOut(Duration),
    /// The runtime or the connection returned a status.
    Status(Box<Status>),
}

impl CallError {
    /// The runtime does not have this service.
    pub fn is_unimplemented(&self) -> bool {
        matches!(&self.cause, CallErrorCause::Status(status) if status.code() == Code::Unimplemented)
    }

    /// The call timed out.
    pub fn is_timeout(&self) -> bool {
        self.kind() == ErrorKind::Timeout
    }

    fn kind(&self) -> ErrorKind {
        match &self.cause {
            CallErrorCause::TimedOut(_) => ErrorKind::Timeout,
            // A status from the runtime has no source error; this one is from the connection.
            CallErrorCause::Status(status) if std::error::Error::source(&**status).is_some() => ErrorKind::Unreachable,
            CallErrorCause::Status(status) => match status.code() {
                Code::DeadlineExceeded => ErrorKind::Timeout,
                Code::PermissionDenied | Code::Unauthenticated => ErrorKind::Denied,
                Code::Unavailable | Code::Cancelled => ErrorKind::Unreachable,
                // tonic's codes for a response that is too large, or that is not protobuf.
                Code::OutOfRange | Code::ResourceExhausted | Code::Internal | Code::DataLoss => ErrorKind::Malformed,
                _ => ErrorKind::Other,
            },
        }
    }

    /// The error of the source's state.
    pub fn to_source_error(&self, endpoint: &Path) -> SourceError {
        let tried = match &self.cause {
            CallErrorCause::TimedOut(deadline) => {
                format!("{}: {}: no response within {}s", endpoint.display(), self.call, deadline.as_secs_f32())
            }
            CallErrorCause::Status(status) => {
                let message: String = status.message().chars().take(MAX_MESSAGE).collect();
                let cause =
                    std::error::Error::source(&**status).map(root_text).filter(|cause| !message.contains(cause));
                let cause = cause.map(|c| format!(" ({c})")).unwrap_or_default();
                format!("{}: {}: {:?}: {message}{cause}", endpoint.display(), self.call, status.code())
            }
        };
        SourceError { tried: tried.into(), kind: self.kind(), fix: self.fix().into() }
    }

    fn fix(&self) -> &'static str {
        match (&self.cause, self.kind()) {
            (_, ErrorKind::Timeout) => {
                "the runtime accepts connections and does not respond, so the kubelet waits too; read its log, and check \
                 whether its process is stopped or waits for a disk"
            }
            (CallErrorCause::Status(status), _) if status.code() == Code::Unimplemented => {
                "no CRI v1: remove \"cri\" from disabled_plugins in containerd's configuration, or name the socket that the kubelet \
                 uses: --runtime-endpoint"
            }
            (CallErrorCause::Status(status), _) if status.code() == Code::OutOfRange => {
                "larger than 16 MiB, which is the kubelet's limit too: remove exited containers and sandboxes (crictl rm, \
                 crictl rmp)"
            }
            (_, ErrorKind::Unreachable) => "check the runtime: systemctl status containerd (or crio)",
            _ => "",
        }
    }

    /// The failure of the attempt.
    pub fn to_failure(&self, endpoint: &Path) -> SourceFailure {
        let error = self.to_source_error(endpoint);
        if error.kind == ErrorKind::Denied { SourceFailure::Forbidden(error) } else { SourceFailure::Retry(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: Status) -> SourceError {
        CallError { call: "ListContainers", cause: CallErrorCause::Status(Box::new(status)) }
            .to_source_error(Path::new("/run/x.sock"))
    }

    #[test]
    fn kinds_texts_and_remedies() {
        let late = CallError { call: "Status", cause: CallErrorCause::TimedOut(Duration::from_secs(10)) }
            .to_source_error(Path::new("/run/x.sock"));
        assert_eq!(late.tried, "/run/x.sock: Status: no response within 10s");
        assert_eq!(late.kind, ErrorKind::Timeout);
        let off = error(Status::unimplemented("unknown service runtime.v1.RuntimeService"));
        assert!(off.fix.contains("disabled_plugins"), "{}", off.fix);
        assert_eq!(error(Status::unavailable("x")).kind, ErrorKind::Unreachable);
        assert_eq!(error(Status::out_of_range("too large")).kind, ErrorKind::Malformed);
        let denied =
            CallError { call: "Version", cause: CallErrorCause::Status(Box::new(Status::permission_denied("no"))) };
        assert!(matches!(denied.to_failure(Path::new("/x")), SourceFailure::Forbidden(_)));
        let long = error(Status::internal("\x1b[31m".to_owned() + &"y".repeat(9999)));
        assert!(long.tried.chars().count() < 700 && !long.tried.contains('\x1b'));
    }
}
