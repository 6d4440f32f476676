//! Owns what an answer of the API server means when it is not the one that was hoped for.
//! It must not show a body beyond the message of its Status.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use super::super::Failure;
use super::source::Watched;
use crate::observation::{ErrorKind, SourceError};
use crate::text::Text;

/// Why a list or a watch ended.
pub(super) enum Ended {
    /// The version is too old: list again.
    Expired,
    /// The credential was not accepted.
    Unauthorized(Failure),
    /// Anything else.
    Failed(Failure),
}

impl From<Ended> for Failure {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Unauthorized(failure) | Ended::Failed(failure) => failure,
            Ended::Expired => Failure::Retry(SourceError {
                tried: "list: 410 Gone".into(),
                kind: ErrorKind::Other,
                fix: Text::default(),
            }),
        }
    }
}

/// What an answer other than 200 means.
pub(super) fn refused(what: &Watched, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Ended {
    #[derive(Default, Deserialize)]
    struct Status {
        #[serde(default)]
        message: Text,
    }
    let message = serde_json::from_slice::<Status>(body).unwrap_or_default().message;
    let tried: Text = format!("{}: {status} {}", what.request(), message.one_line()).into();
    let error = |kind, fix: String| SourceError { tried: tried.clone(), kind, fix: fix.into() };
    match status {
        StatusCode::GONE => Ended::Expired,
        StatusCode::UNAUTHORIZED => Ended::Unauthorized(Failure::Retry(error(
            ErrorKind::Denied,
            "the credential is expired, or of another cluster: give another with --kubeconfig".into(),
        ))),
        StatusCode::FORBIDDEN => Ended::Failed(Failure::Forbidden(error(ErrorKind::Denied, what.grant()))),
        StatusCode::TOO_MANY_REQUESTS => {
            let seconds = headers.get("retry-after").and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
            let wait = Duration::from_secs(seconds.unwrap_or(1).min(60));
            Ended::Failed(Failure::RetryAfter(
                error(ErrorKind::Other, "the API server is busy; it said when".into()),
                wait,
            ))
        }
        _ => Ended::Failed(Failure::Retry(error(ErrorKind::Other, String::new()))),
    }
}

/// The request brought no answer.
pub(super) fn unanswered(what: &Watched, server: &str, error: &(dyn Error + 'static)) -> Ended {
    let mut cause: &(dyn Error + 'static) = error;
    let mut refused = false;
    while let Some(next) = cause.source() {
        refused |= cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
        cause = next;
    }
    refused |= cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
    let fix = if refused {
        format!("nothing listens at {server}: is kube-apiserver up? (crictl ps --name kube-apiserver)")
    } else {
        format!("see whether {server} can be reached from this node, and with this credential's CA")
    };
    let tried = format!("{} at {server}: {cause}", what.request()).into();
    Ended::Failed(Failure::Retry(SourceError { tried, kind: ErrorKind::Unreachable, fix: fix.into() }))
}

/// Nothing came in time.
pub(super) fn late(what: &Watched, server: &str, waited: Duration) -> Ended {
    let tried = format!("{} at {server}: no answer within {}s", what.request(), waited.as_secs()).into();
    let fix = "the API server hangs, or packets to it are dropped".into();
    Ended::Failed(Failure::Retry(SourceError { tried, kind: ErrorKind::Timeout, fix }))
}

/// An answer that cannot be understood.
pub(super) fn malformed(what: &Watched, why: &str) -> Ended {
    let tried = format!("{}: {why}", what.request()).into();
    let fix = "look at what answers there: an API server answers otherwise".into();
    Ended::Failed(Failure::Retry(SourceError { tried, kind: ErrorKind::Malformed, fix }))
}
