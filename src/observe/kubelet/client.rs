//! The client of the kubelet's TLS port: the credential, and its renewal when files change. It sends only GET.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::ring;

use super::super::SourceFailure;
use super::super::client_cache::{Built, ClientCache, FILES_DEADLINE, StampedFiles};
use super::super::discover::PortProof;
use super::body;
use super::credential::{KubeletAuth, files_timed_out, unusable};
use super::http::{DEADLINE, KubeletEndpoint, client_builder};
use super::port_guard::PortGuard;
use super::request_error::request_failed;
use super::status_error::{not_served, refused};
use super::trust::KubeletTrust;

/// Remedy for a port that is not proven to be the kubelet's.
const NAME_THE_PORT: &str = "to use it anyway, name it: --kubelet-endpoint ADDRESS:PORT";
/// Most bytes read of a body that explains an error.
const MAX_EXPLANATION: usize = 2048;
/// The kubelet's mux for a path that it does not serve (net/http).
const NO_SUCH_PATH: &str = "404 page not found";

/// Sends requests to one kubelet. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct KubeletClient {
    settings: Arc<ClientSettings>,
    cache: ClientCache<KubeletConnection>,
    deadline: Duration,
}

#[derive(Debug)]
struct ClientSettings {
    endpoint: KubeletEndpoint,
    trust: KubeletTrust,
    auth: KubeletAuth,
    guard: PortGuard,
}

/// A client, and the header with its token. `Debug` shows neither: both hold a credential.
#[derive(Clone)]
struct KubeletConnection {
    client: Client,
    authorization: Option<HeaderValue>,
}

impl KubeletClient {
    /// A client that connects with the first request; files that cannot be read fail that request, and are read again for the
    /// next.
    pub fn new(endpoint: KubeletEndpoint, trust: KubeletTrust, auth: KubeletAuth) -> Self {
        Self::with_proof(endpoint, trust, auth, None)
    }

    /// A client that sends only while `proof` holds for the process that listens.
    pub fn with_proof(
        endpoint: KubeletEndpoint,
        trust: KubeletTrust,
        auth: KubeletAuth,
        proof: Option<PortProof>,
    ) -> Self {
        let settings = ClientSettings { endpoint, trust, auth, guard: PortGuard::new(proof) };
        Self { settings: Arc::new(settings), cache: ClientCache::new(Duration::ZERO), deadline: DEADLINE }
    }

    /// The same client with another deadline than [`DEADLINE`].
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Which server it accepts as the kubelet.
    pub fn trust(&self) -> &KubeletTrust {
        &self.settings.trust
    }

    /// The kubelet's address.
    pub fn address(&self) -> SocketAddr {
        self.settings.endpoint.address
    }

    pub(super) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The request for `path` in errors.
    pub(super) fn describe(&self, path: &str) -> String {
        format!("GET https://{}{path}", self.address())
    }

    /// The response with status 200, its body not yet read. The caller sets the deadline.
    pub(super) async fn get(&self, path: &str) -> Result<Response, SourceFailure> {
        let response = self.send(path, "").await?;
        let status = response.status();
        if status == StatusCode::OK {
            return Ok(response);
        }
        let body = body::read_prefix(response, MAX_EXPLANATION).await;
        Err(refused(&self.describe(path), status, &body, &self.settings.auth))
    }

    /// A container's log, its body not yet read; errors do not show `query`. The caller sets the deadline.
    pub(super) async fn get_log(&self, path: &str, query: &str) -> Result<Response, SourceFailure> {
        let response = self.send(path, query).await?;
        let status = response.status();
        if status == StatusCode::OK {
            return Ok(response);
        }
        let body = body::read_prefix(response, MAX_EXPLANATION).await;
        Err(match status {
            // The kubelet serves the path; the pod, the container or its previous run does not exist.
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND if body.trim() != NO_SUCH_PATH => {
                not_served(&self.describe(path), status, &body)
            }
            _ => refused(&self.describe(path), status, &body, &self.settings.auth),
        })
    }

    async fn send(&self, path: &str, query: &str) -> Result<Response, SourceFailure> {
        let ClientSettings { endpoint, trust, guard, .. } = &*self.settings;
        let what = self.describe(path);
        guard.check(&what, endpoint.address, self.deadline, NAME_THE_PORT).await?;
        let KubeletConnection { client, authorization } = self.cache.get(|_| self.build()).await?;
        let mut request = client.get(format!("https://{}{path}{query}", endpoint.address));
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        request.send().await.map_err(|e| request_failed(&what, &e, endpoint, trust))
    }

    async fn build(&self) -> Result<Built<KubeletConnection>, SourceFailure> {
        let settings = Arc::clone(&self.settings);
        let built = self.cache.worker().run(FILES_DEADLINE.min(self.deadline), move || settings.build()).await;
        built.unwrap_or_else(|| Err(files_timed_out()))
    }
}

impl ClientSettings {
    /// The client of the files' current contents. Blocks.
    fn build(&self) -> Result<Built<KubeletConnection>, SourceFailure> {
        let files = StampedFiles::new(self.trust.file().into_iter().chain(self.auth.files()).cloned());
        let client = client_builder().tls_backend_preconfigured(self.tls()?).build();
        let client = client.map_err(|_| unusable("TLS", "cannot build the client"))?;
        let client = KubeletConnection { client, authorization: self.auth.header()? };
        Ok(Built { client, files, expires_at: None })
    }

    fn tls(&self) -> Result<ClientConfig, SourceFailure> {
        let provider = Arc::new(ring::default_provider());
        let verifier = self.trust.verifier(&self.endpoint.node, &provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| unusable("TLS", &e.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match self.auth.identity()? {
            Some((certs, key)) => builder
                .with_client_auth_cert(certs, key)
                .map_err(|_| unusable("the client certificate", "the key does not match the certificate"))?,
            None => builder.with_no_client_auth(),
        };
        // A resumed session would not verify the certificate again.
        config.resumption = Resumption::disabled();
        Ok(config)
    }
}
