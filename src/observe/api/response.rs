//! Owns what an answer of the API server means when it is not the one that was hoped for.
//! It must not show a body beyond the message of its Status.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use super::super::SourceFailure;
use super::access::ApiConnection;
use super::resource::WatchedResource;
use crate::observation::{ErrorKind, SourceError};
use crate::text::Message;

/// What a server that is busy is spared where it does not say for how long.
const BUSY: Duration = Duration::from_secs(1);
/// Longest time that a server is believed.
const BUSY_LIMIT: Duration = Duration::from_secs(60);

/// Why a list or a watch ended.
#[derive(Debug)]
pub(super) enum ApiError {
    /// The version is too old: list again.
    Expired,
    /// The credential was not accepted.
    Unauthorized(SourceFailure),
    /// There is no object of that name; what it would mean of anything else.
    NotFound(SourceFailure),
    /// Anything else.
    Failed(SourceFailure),
}

/// What is to be done about a credential that is not accepted.
pub(super) const REFUSED_CREDENTIAL: &str =
    "the credential is expired, or of another cluster: give another with --kubeconfig";
/// What a 404 without a Status means.
pub(super) const NO_API_SERVER: &str = "what answers there is not an API server";

/// The message of the Status that an API server sends instead of what was asked for; empty where the body is none.
pub(super) fn status_message(body: &[u8]) -> Message {
    #[derive(Default, Deserialize)]
    struct Status {
        #[serde(default)]
        message: Message,
    }
    serde_json::from_slice::<Status>(body).unwrap_or_default().message
}

/// What an answer other than 200 means.
pub(super) fn refused(
    what: &WatchedResource,
    conn: &ApiConnection,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> ApiError {
    let message = status_message(body);
    let message = message.one_line();
    let tried: Message = format!("{} at {}: {status} {message}", what.request(), conn.server).into();
    let error = |kind, fix: &str| SourceError { tried: tried.clone(), kind, fix: fix.into() };
    let retry = |kind, fix: &str| ApiError::Failed(SourceFailure::Retry(error(kind, fix)));
    match status {
        StatusCode::GONE => ApiError::Expired,
        StatusCode::UNAUTHORIZED => {
            ApiError::Unauthorized(SourceFailure::Retry(error(ErrorKind::Denied, REFUSED_CREDENTIAL)))
        }
        StatusCode::FORBIDDEN => {
            ApiError::Failed(SourceFailure::Forbidden(error(ErrorKind::Denied, &what.grant(&message))))
        }
        StatusCode::TOO_MANY_REQUESTS => {
            let seconds = headers.get("retry-after").and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
            let wait = seconds.map_or(BUSY, Duration::from_secs).min(BUSY_LIMIT);
            ApiError::Failed(SourceFailure::RetryAfter(
                error(ErrorKind::Other, "the API server is busy; it said when"),
                wait,
            ))
        }
        // The message of a Status: an API server said so.
        StatusCode::NOT_FOUND if what.is_by_name() && !message.is_empty() => {
            ApiError::NotFound(SourceFailure::Retry(error(ErrorKind::Other, "")))
        }
        StatusCode::NOT_FOUND => retry(ErrorKind::Malformed, NO_API_SERVER),
        _ if message.contains("etcd") => {
            retry(ErrorKind::Other, "the API server is up and its etcd is not: look at etcd (crictl ps --name etcd)")
        }
        _ if status.is_server_error() => {
            retry(ErrorKind::Other, "the API server, or a load balancer before it, is in trouble: look at its log")
        }
        _ => retry(ErrorKind::Other, ""),
    }
}

/// An answer that cannot be understood.
pub(super) fn malformed(what: &WatchedResource, conn: &ApiConnection, why: &str) -> ApiError {
    let fix = "look at what answers there: an API server answers otherwise";
    ApiError::Failed(failed(what, conn, why, ErrorKind::Malformed, fix))
}

/// Any other failure.
pub(super) fn failed(
    what: &WatchedResource,
    conn: &ApiConnection,
    why: &str,
    kind: ErrorKind,
    fix: &str,
) -> SourceFailure {
    let tried = format!("{} at {}: {why}", what.request(), conn.server).into();
    SourceFailure::Retry(SourceError { tried, kind, fix: fix.into() })
}
