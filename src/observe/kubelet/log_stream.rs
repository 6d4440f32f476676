//! A container's log from the kubelet (`/containerLogs`): the request, and the response in chunks.

use reqwest::Response;
use tokio::time::timeout;

use super::super::SourceFailure;
use super::super::url_path::encode_segment;
use super::KubeletClient;
use super::request_error::body_interrupted;
use super::timed_call::timed_out;
use crate::container_log::LogRequest;

/// A response in progress.
pub struct KubeletLogStream {
    response: Response,
    what: String,
    length: usize,
}

impl KubeletLogStream {
    /// Requests a log; `query` holds the options.
    pub async fn get(client: &KubeletClient, of: &LogRequest, query: &str) -> Result<Self, SourceFailure> {
        let [namespace, pod, container] = [&of.namespace, &of.pod, &of.container].map(|name| encode_segment(name));
        let path = format!("/containerLogs/{namespace}/{pod}/{container}");
        let what = client.describe(&path);
        let result = timeout(client.deadline(), client.get_log(&path, &format!("?{query}"))).await;
        let response = result.unwrap_or_else(|_| Err(timed_out(&what, client.deadline())))?;
        Ok(Self { response, what, length: 0 })
    }

    /// The next chunk; None at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, SourceFailure> {
        let chunk = self.response.chunk().await.map_err(|error| body_interrupted(&self.what, self.length, &error))?;
        Ok(chunk.map(|chunk| {
            self.length = self.length.saturating_add(chunk.len());
            chunk.to_vec()
        }))
    }
}
