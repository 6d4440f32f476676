//! Owns the log of a container as the API server serves it: the request, its refusals, the answer piece by piece.
//! It must not decode or keep a line.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, StatusCode};
use kube::client::Body;
use tokio::time::timeout;

use super::super::SourceFailure;
use super::access::{ApiAccess, ApiConnection};
use super::body::{BodyError, chunk, whole};
use super::connection_error::{request_failed, timed_out};
use super::resource::{encoded, pasted, user};
use super::response::{NO_API_SERVER, REFUSED_CREDENTIAL, status_message};
use crate::container_log::LogRequest;
use crate::observation::{ErrorKind, SourceError};

/// Longest wait for an answer to begin: the API server asks the kubelet first.
const ANSWER: Duration = Duration::from_secs(15);
/// Longest refusal that is read, bytes.
const MAX_REFUSAL: usize = 64 << 10;

/// An answer under conn.
pub struct ApiLogStream {
    body: Body,
    conn: ApiConnection,
    request: String,
}

impl ApiLogStream {
    /// Asks for a log; `query` is what is asked besides the container.
    pub async fn get(access: &ApiAccess, of: &LogRequest, query: &str) -> Result<Self, SourceFailure> {
        let mut denied = false;
        loop {
            let conn = access.connection().await?;
            match Self::get_by(&conn, of, query).await {
                // The files may have been rotated meanwhile.
                Err((StatusCode::UNAUTHORIZED, _)) if !std::mem::replace(&mut denied, true) => {
                    access.discard(&conn).await;
                }
                other => return other.map_err(|(_, failure)| failure),
            }
        }
    }

    async fn get_by(conn: &ApiConnection, of: &LogRequest, query: &str) -> Result<Self, (StatusCode, SourceFailure)> {
        let [namespace, pod, container] = [&of.namespace, &of.pod, &of.container].map(|name| encoded(name));
        let uri = format!("/api/v1/namespaces/{namespace}/pods/{pod}/log?container={container}&{query}");
        let request = format!("get pods/log of {}/{}", of.namespace.one_line(), of.pod.one_line());
        let none = |failure| (StatusCode::OK, failure);
        let sent = Request::get(uri)
            .body(Body::empty())
            .map_err(|e| none(failed(&format!("{request}: {e}"), ErrorKind::Other, "")))?;
        let response = match timeout(ANSWER, conn.client.send(sent)).await {
            Err(_) => return Err(none(timed_out(&request, conn, ANSWER))),
            Ok(Err(error)) => return Err(none(request_failed(&request, conn, &error))),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        if status == StatusCode::OK {
            return Ok(Self { body: response.into_body(), conn: conn.clone(), request });
        }
        let body = whole(response, MAX_REFUSAL, ANSWER).await.unwrap_or_default();
        Err((status, refused(&request, &conn.server, status, &body)))
    }

    /// The address of the server.
    pub fn server(&self) -> Arc<str> {
        self.conn.server.clone()
    }

    /// The next piece; None at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, SourceFailure> {
        let piece = chunk(&mut self.body).await.map_err(|broken| match broken {
            BodyError::Connection(error) => request_failed(&self.request, &self.conn, &error),
            BodyError::TimedOut(waited) => timed_out(&self.request, &self.conn, waited),
            BodyError::TooLong => failed(&self.request, ErrorKind::Malformed, ""),
        })?;
        Ok(piece.map(|piece| piece.to_vec()))
    }
}

/// What an answer other than 200 means. The message of a 400 is the kubelet's: that the container waits to be started, or
/// that there is no earlier run.
fn refused(request: &str, server: &str, status: StatusCode, body: &[u8]) -> SourceFailure {
    let message = status_message(body);
    let message = message.one_line();
    let tried = format!("{request} at {server}: {status} {message}");
    match status {
        StatusCode::UNAUTHORIZED => failed(&tried, ErrorKind::Denied, REFUSED_CREDENTIAL),
        StatusCode::FORBIDDEN => {
            let user = user(&message);
            let own = user.is_some_and(|user| user.starts_with("system:node:"));
            let why = if own { "A node's own credential may not. " } else { "" };
            let fix = format!(
                "{why}`get pods/log` is missing: give a credential that may with --kubeconfig, or grant it: kubectl create \
                 clusterrole kpodtrace-log --verb=get --resource=pods/log && kubectl create clusterrolebinding \
                 kpodtrace-log --clusterrole=kpodtrace-log --user={}",
                pasted(user)
            );
            SourceFailure::Forbidden(SourceError { tried: tried.into(), kind: ErrorKind::Denied, fix: fix.into() })
        }
        StatusCode::NOT_FOUND if message.is_empty() => failed(&tried, ErrorKind::Malformed, NO_API_SERVER),
        // The pod is deleted; one of the same name is another. The API server words the kubelet's own 404 otherwise, which one
        // that was started again gives for pods that it does not know yet.
        StatusCode::NOT_FOUND if message.starts_with("pods \"") => SourceFailure::Off(tried.into()),
        StatusCode::NOT_FOUND => {
            failed(&tried, ErrorKind::Other, "the kubelet may not know the pod yet: it is asked again")
        }
        _ if status.is_server_error() => {
            let fix = "the API server asks the kubelet, which may not answer: look at both";
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
    fn a_pod_that_is_gone_and_one_that_the_kubelet_does_not_know_yet() {
        let of = |message: &str| {
            let body = serde_json::json!({ "message": message }).to_string();
            refused("get pods/log of n/p", "https://a", StatusCode::NOT_FOUND, body.as_bytes())
        };
        assert!(matches!(of("pods \"p\" not found"), SourceFailure::Off(_)));
        let relayed = of("the server could not find the requested resource ( pods/log p)");
        assert!(matches!(&relayed, SourceFailure::Retry(error) if error.fix.contains("asked again")), "{relayed:?}");
    }
}
