//! Responses of the API server other than 200: what each means, and its remedy. Of a body only the Status message is shown.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use super::super::SourceFailure;
use super::access::ApiConnection;
use super::resource::WatchedResource;
use crate::observation::{ErrorKind, SourceError};
use crate::text::Message;

/// Wait after a 429 without `Retry-After`.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);
/// Longest `Retry-After` that is respected.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);
/// Longest body of an error that is read, bytes.
pub(super) const MAX_ERROR_BODY: usize = 64 << 10;

/// Why a list or a watch stopped.
#[derive(Debug)]
pub(super) enum ApiError {
    /// The resource version is too old: list again.
    Expired,
    /// The server rejected the credential.
    Unauthorized(SourceFailure),
    /// No object has that name; the failure applies where the object must exist.
    NotFound(SourceFailure),
    /// Any other failure.
    Failed(SourceFailure),
}

/// Remedy for a credential that the server rejects.
pub(super) const REJECTED_CREDENTIAL: &str =
    "the credential has expired, or is for another cluster: give another with --kubeconfig";
/// Meaning of a 404 without a Status.
pub(super) const NO_API_SERVER: &str = "check the server's address: this server is not an API server";
/// Remedy for a response that an API server does not send.
pub(super) const UNEXPECTED_RESPONSE: &str = "check the server's address: an API server responds differently";

/// The message of the Status in an error's body; empty when the body is not a Status.
pub(super) fn status_message(body: &[u8]) -> Message {
    #[derive(Default, Deserialize)]
    struct ApiStatus {
        #[serde(default)]
        message: Message,
    }
    serde_json::from_slice::<ApiStatus>(body).unwrap_or_default().message
}

/// The error that a status other than 200 stands for.
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
            ApiError::Unauthorized(SourceFailure::Retry(error(ErrorKind::Denied, REJECTED_CREDENTIAL)))
        }
        StatusCode::FORBIDDEN => {
            ApiError::Failed(SourceFailure::Forbidden(error(ErrorKind::Denied, &what.permission_fix(&message))))
        }
        StatusCode::TOO_MANY_REQUESTS => {
            let seconds = headers.get("retry-after").and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
            let wait = seconds.map_or(DEFAULT_RETRY_AFTER, Duration::from_secs).min(MAX_RETRY_AFTER);
            let error =
                error(ErrorKind::Other, "wait: the API server is overloaded and set the time of the next request");
            ApiError::Failed(SourceFailure::RetryAfter(error, wait))
        }
        // Only an API server sends the message of a Status.
        StatusCode::NOT_FOUND if what.is_by_name() && !message.is_empty() => {
            ApiError::NotFound(SourceFailure::Retry(error(ErrorKind::Other, "")))
        }
        StatusCode::NOT_FOUND => retry(ErrorKind::Malformed, NO_API_SERVER),
        _ if message.contains("etcd") => {
            retry(ErrorKind::Other, "the API server is up, etcd is not: check etcd (crictl ps --name etcd)")
        }
        _ if status.is_server_error() => {
            retry(ErrorKind::Other, "the API server or a load balancer in front of it is failing: read its log")
        }
        _ => retry(ErrorKind::Other, ""),
    }
}

/// A response that cannot be decoded.
pub(super) fn malformed(what: &WatchedResource, conn: &ApiConnection, why: &str) -> ApiError {
    ApiError::Failed(failed(what, conn, why, ErrorKind::Malformed, UNEXPECTED_RESPONSE))
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
