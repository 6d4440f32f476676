//! Sorts the error texts of a request into kinds of failure.

use std::borrow::Cow;

use super::{go_unquote, joined};
use crate::observation::{ErrorKind, SourceError};

/// Longest part of an error text that is kept, in characters.
const MAX_ERROR: usize = 600;

/// The failure in the response `body` to the request `tried`.
pub fn failure(tried: &str, body: &str) -> SourceError {
    let kind = failure_kind(body);
    let body = last_message(body.trim());
    let body = body.trim();
    let body: String = if body.is_empty() { "no response".into() } else { body.chars().take(MAX_ERROR).collect() };
    let fix = if body.starts_with("Authorization error") {
        "the kubelet could not authorize the request with the API server; check the API server"
    } else {
        ""
    };
    SourceError { tried: joined(tried, &body).into(), kind, fix: fix.into() }
}

/// Tools that log in logfmt write several lines before they exit; the last error is the reason.
fn last_message(body: &str) -> Cow<'_, str> {
    let begin = body.rfind("level=error msg=").or_else(|| body.rfind("level=fatal msg="));
    let message = begin.and_then(|at| go_unquote(body.get(at..)?.split_once("msg=")?.1));
    message.map_or(Cow::Borrowed(body), |(message, _)| Cow::Owned(message))
}

/// The kind of failure of an error text; an empty text means that there was no response.
pub fn failure_kind(body: &str) -> ErrorKind {
    let lower = body.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| lower.contains(w));
    if body.trim().is_empty() {
        ErrorKind::Unreachable
    // A server that accepted the connection and never spoke: grpc-go closes it after its own deadline.
    } else if has(&["timed out", "timeout", "deadlineexceeded", "deadline exceeded", "reading server preface"]) {
        ErrorKind::Timeout
    } else if has(&["unauthorized", "forbidden", "permission denied", "authorization error"]) {
        ErrorKind::Denied
    } else if has(&["refused", "unavailable", "no such file", "connection error", "reset by peer", "unreachable"]) {
        ErrorKind::Unreachable
    } else if body.trim_start().starts_with(['{', '[', '<']) {
        ErrorKind::Malformed
    } else {
        ErrorKind::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        for (body, kind) in [
            ("", ErrorKind::Unreachable),
            ("curl: (28) Operation timed out after 8001 milliseconds", ErrorKind::Timeout),
            ("Authorization error (user=a, verb=get)", ErrorKind::Denied),
            ("Forbidden (user=system:node:a, verb=get)", ErrorKind::Denied),
            ("rpc error: code = Unavailable desc = x", ErrorKind::Unreachable),
            (
                "code = Unavailable desc = \"error reading server preface: use of closed network connection\"",
                ErrorKind::Timeout,
            ),
            ("{\"items\":3}", ErrorKind::Malformed),
            ("what?", ErrorKind::Other),
        ] {
            assert_eq!(failure_kind(body), kind, "{body}");
        }
        let e = failure("/pods", "Authorization error (user=a)\n");
        assert_eq!(e.tried, "/pods: Authorization error (user=a)");
        assert!(!e.fix.is_empty());
        let logged =
            "time=\"x\" level=warning msg=\"no config\"\ntime=\"y\" level=error msg=\"dial \\\"unix:\\\": refused\"\n";
        assert_eq!(failure("crictl", logged).tried, "crictl: dial \"unix:\": refused");
    }
}
