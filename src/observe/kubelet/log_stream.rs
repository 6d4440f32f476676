//! Owns the log of a container as the kubelet serves it: the request, and the answer piece by piece.
//! It must not decode or keep a line.

use reqwest::Response;
use tokio::time::timeout;

use super::super::SourceFailure;
use super::super::api::encoded;
use super::KubeletClient;
use super::request_error::body_interrupted;
use super::timed_call::timed_out;
use crate::container_log::LogRequest;

/// An answer under way.
pub struct KubeletLogStream {
    response: Response,
    what: String,
    length: usize,
}

impl KubeletLogStream {
    /// Asks for a log; `query` is what is asked.
    pub async fn get(client: &KubeletClient, of: &LogRequest, query: &str) -> Result<Self, SourceFailure> {
        let [namespace, pod, container] = [&of.namespace, &of.pod, &of.container].map(|name| encoded(name));
        let path = format!("/containerLogs/{namespace}/{pod}/{container}");
        let what = client.call(&path);
        let answer = timeout(client.deadline(), client.get_log(&path, &format!("?{query}"))).await;
        let response = answer.unwrap_or_else(|_| Err(timed_out(&what, client.deadline())))?;
        Ok(Self { response, what, length: 0 })
    }

    /// The next piece; None at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, SourceFailure> {
        let piece = self.response.chunk().await.map_err(|error| body_interrupted(&self.what, self.length, &error))?;
        Ok(piece.map(|piece| {
            self.length = self.length.saturating_add(piece.len());
            piece.to_vec()
        }))
    }
}
