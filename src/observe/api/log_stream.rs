//! A container's log from the API server (`pods/log`): the request, its errors, and the response in chunks.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, StatusCode};
use kube::client::Body;
use tokio::time::timeout;

use super::super::SourceFailure;
use super::super::url_path::encode_segment;
use super::access::{ApiAccess, ApiConnection};
use super::body::{BodyError, next_chunk, read_all};
use super::connection_error::{request_failed, timed_out};
use super::resource::{shell_safe_user, user_in};
use super::response::{MAX_ERROR_BODY, NO_API_SERVER, REJECTED_CREDENTIAL, status_message};
use crate::container_log::LogRequest;
use crate::observation::{ErrorKind, SourceError};

/// Longest wait for the response's head: the API server sends a request to the kubelet first.
const RESPONSE_DEADLINE: Duration = Duration::from_secs(15);

/// A response in progress.
pub struct ApiLogStream {
    body: Body,
    conn: ApiConnection,
    request: String,
}

impl ApiLogStream {
    /// Requests a log; `query` holds the options beside the container.
    pub async fn get(access: &ApiAccess, of: &LogRequest, query: &str) -> Result<Self, SourceFailure> {
        let mut rejected = false;
        loop {
            let conn = access.connection().await?;
            match Self::send(&conn, of, query).await {
                // The files may have been rotated in the meantime.
                Err((StatusCode::UNAUTHORIZED, _)) if !std::mem::replace(&mut rejected, true) => {
                    access.discard(&conn).await;
                }
                other => return other.map_err(|(_, failure)| failure),
            }
        }
    }

    async fn send(conn: &ApiConnection, of: &LogRequest, query: &str) -> Result<Self, (StatusCode, SourceFailure)> {
        let [namespace, pod, container] = [&of.namespace, &of.pod, &of.container].map(|name| encode_segment(name));
        let uri = format!("/api/v1/namespaces/{namespace}/pods/{pod}/log?container={container}&{query}");
        let request = format!("get pods/log of {}/{}", of.namespace.one_line(), of.pod.one_line());
        let without_status = |failure| (StatusCode::OK, failure);
        let sent = Request::get(uri)
            .body(Body::empty())
            .map_err(|e| without_status(failed(&format!("{request}: {e}"), ErrorKind::Other, "")))?;
        let response = match timeout(RESPONSE_DEADLINE, conn.client.send(sent)).await {
            Err(_) => return Err(without_status(timed_out(&request, conn, RESPONSE_DEADLINE))),
            Ok(Err(error)) => return Err(without_status(request_failed(&request, conn, &error))),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        if status == StatusCode::OK {
            return Ok(Self { body: response.into_body(), conn: conn.clone(), request });
        }
        let body = read_all(response, MAX_ERROR_BODY, RESPONSE_DEADLINE).await.unwrap_or_default();
        Err((status, refused(&request, &conn.server, status, &body)))
    }

    /// The address of the server.
    pub fn server(&self) -> Arc<str> {
        self.conn.server.clone()
    }

    /// The next chunk; None at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, SourceFailure> {
        let chunk = next_chunk(&mut self.body).await.map_err(|error| match error {
            BodyError::Connection(error) => request_failed(&self.request, &self.conn, &error),
            BodyError::TimedOut(waited) => timed_out(&self.request, &self.conn, waited),
            BodyError::TooLong => failed(&self.request, ErrorKind::Malformed, ""),
        })?;
        Ok(chunk.map(|chunk| chunk.to_vec()))
    }
}

/// The failure that a status other than 200 stands for. The message of a 400 is the kubelet's: the container is waiting to
/// start, or has no previous run.
fn refused(request: &str, server: &str, status: StatusCode, body: &[u8]) -> SourceFailure {
    let message = status_message(body);
    let message = message.one_line();
    let tried = format!("{request} at {server}: {status} {message}");
    match status {
        StatusCode::UNAUTHORIZED => failed(&tried, ErrorKind::Denied, REJECTED_CREDENTIAL),
        StatusCode::FORBIDDEN => {
            let user = user_in(&message);
            let is_node = user.is_some_and(|user| user.starts_with("system:node:"));
            let why = if is_node { "A node's own credential does not have this permission. " } else { "" };
            let fix = format!(
                "{why}`get pods/log` is missing: give another credential with --kubeconfig, or grant it: kubectl create \
                 clusterrole kpodtrace-log --verb=get --resource=pods/log && kubectl create clusterrolebinding \
                 kpodtrace-log --clusterrole=kpodtrace-log --user={}",
                shell_safe_user(user)
            );
            SourceFailure::Forbidden(SourceError { tried: tried.into(), kind: ErrorKind::Denied, fix: fix.into() })
        }
        StatusCode::NOT_FOUND if message.is_empty() => failed(&tried, ErrorKind::Malformed, NO_API_SERVER),
        // The pod is deleted; a pod of the same name is another one. The API server words the kubelet's own 404 differently,
        // which a restarted kubelet returns for pods that it does not know yet.
        StatusCode::NOT_FOUND if message.starts_with("pods \"") => SourceFailure::Off(tried.into()),
        StatusCode::NOT_FOUND => {
            failed(&tried, ErrorKind::Other, "wait: the kubelet may not know the pod yet, and the request is repeated")
        }
        _ if status.is_server_error() => {
            let fix = "check the kubelet and the API server: the API server gets logs from the kubelet";
            failed(&tried, ErrorKind::Other, fix)
        }
        _ => failed(&tried, ErrorKind::Other, ""),
    }
}

fn failed(tried: &str, kind: ErrorKind, fix: &str) -> SourceFailure {
    SourceFailure::Retry(SourceError { tried: tried.into(), kind, fix: fix.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_pod_ends_the_log_and_one_unknown_to_the_kubelet_does_not() {
        let of = |message: &str| {
            let body = serde_json::json!({ "message": message }).to_string();
            refused("get pods/log of n/p", "https://a", StatusCode::NOT_FOUND, body.as_bytes())
        };
        assert!(matches!(of("pods \"p\" not found"), SourceFailure::Off(_)));
        let relayed = of("the server could not find the requested resource ( pods/log p)");
        assert!(
            matches!(&relayed, SourceFailure::Retry(error) if error.fix.contains("the request is repeated")),
            "{relayed:?}"
        );
    }
}
