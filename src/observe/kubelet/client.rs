//! Owns the connection to the kubelet's port: TLS, the credential, and their renewal when files change.
//! It must not send anything but GET, follow a redirect, use a proxy, or ask a name server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use tokio::sync::Mutex;

use super::super::blocking::BlockingWorker;
use super::super::discover::PortProof;
use super::super::{SourceFailure, tls};
use super::body;
use super::credential::{KubeletAuth, files_timed_out, stamps, unusable};
use super::request_error::{port_not_proven, request_failed};
use super::status_error::{not_served, refused};
use super::trust::KubeletTrust;
use crate::text::Text;
use crate::trust::FileStamp;

/// Longest time for TCP and TLS together. It is one machine.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest time from a request to the end of its answer.
pub const DEADLINE: Duration = Duration::from_secs(8);
/// How a server that is not proven can be asked all the same.
const NAME_IT: &str = "to ask it all the same: --kubelet-endpoint ADDRESS:PORT";
/// Most bytes read of a body that explains a failure.
const EXPLANATION: usize = 2048;

/// Where a kubelet listens, and for whom it works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeletEndpoint {
    /// On the node itself 127.0.0.1:10250.
    pub address: SocketAddr,
    /// The node's name, which a certificate of the cluster CA must be for.
    pub node: Text,
}

/// Asks one kubelet. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct KubeletClient {
    shared: Arc<Shared>,
    deadline: Duration,
}

#[derive(Debug)]
struct Shared {
    endpoint: KubeletEndpoint,
    trust: KubeletTrust,
    auth: KubeletAuth,
    /// That who listens is the kubelet; absent where only the certificate decides.
    proof: Option<PortProof>,
    built: Mutex<Option<Built>>,
    /// Reads the files: their file system may hang.
    worker: BlockingWorker,
}

#[derive(Clone, Debug)]
struct Built {
    files: Vec<FileStamp>,
    client: Client,
    header: Option<HeaderValue>,
}

impl KubeletClient {
    /// A client that connects when it is first asked; files that cannot be read are told then, and read again.
    pub fn new(endpoint: KubeletEndpoint, trust: KubeletTrust, auth: KubeletAuth) -> Self {
        Self::with_proof(endpoint, trust, auth, None)
    }

    /// A client that asks only while `proof` holds of who listens.
    pub fn with_proof(
        endpoint: KubeletEndpoint,
        trust: KubeletTrust,
        auth: KubeletAuth,
        proof: Option<PortProof>,
    ) -> Self {
        let shared =
            Shared { endpoint, trust, auth, proof, built: Mutex::new(None), worker: BlockingWorker::default() };
        Self { shared: Arc::new(shared), deadline: DEADLINE }
    }

    /// The same client with another deadline than [`DEADLINE`].
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Whom it takes for the kubelet.
    pub fn trust(&self) -> &KubeletTrust {
        &self.shared.trust
    }

    /// Where it asks.
    pub fn address(&self) -> SocketAddr {
        self.shared.endpoint.address
    }

    pub(super) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// What a call of `path` is called in errors.
    pub(super) fn call(&self, path: &str) -> String {
        format!("GET https://{}{path}", self.shared.endpoint.address)
    }

    /// The answer with status 200, its body not yet read. The caller owns the deadline.
    pub(super) async fn get(&self, path: &str) -> Result<Response, SourceFailure> {
        let response = self.send(path, "").await?;
        let status = response.status();
        if status == StatusCode::OK {
            return Ok(response);
        }
        let body = body::read_prefix(response, EXPLANATION).await;
        Err(refused(&self.call(path), status, &body, &self.shared.auth))
    }

    /// A container's log, its body not yet read; `query` is not told in errors. The caller owns the deadline.
    pub(super) async fn get_log(&self, path: &str, query: &str) -> Result<Response, SourceFailure> {
        let response = self.send(path, query).await?;
        let status = response.status();
        let body = match status {
            StatusCode::OK => return Ok(response),
            _ => body::read_prefix(response, EXPLANATION).await,
        };
        Err(match status {
            // The page is there: the pod is not, or the container, or its earlier run.
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND if body.trim() != "404 page not found" => {
                not_served(&self.call(path), status, &body)
            }
            _ => refused(&self.call(path), status, &body, &self.shared.auth),
        })
    }

    async fn send(&self, path: &str, query: &str) -> Result<Response, SourceFailure> {
        let Shared { endpoint, trust, .. } = &*self.shared;
        let what = self.call(path);
        let built = self.built().await?;
        let mut request = built.client.get(format!("https://{}{path}{query}", endpoint.address));
        if let Some(header) = built.header {
            request = request.header(AUTHORIZATION, header);
        }
        request.send().await.map_err(|e| request_failed(&what, &e, endpoint, trust))
    }

    /// The client of the files as they are now.
    async fn built(&self) -> Result<Built, SourceFailure> {
        let mut built = self.shared.built.lock().await;
        let (shared, known) = (Arc::clone(&self.shared), built.clone());
        let build = move || shared.build(known);
        let now = self.shared.worker.run(self.deadline, build).await.unwrap_or_else(|| Err(files_timed_out()))?;
        Ok(built.insert(now).clone())
    }
}

impl Shared {
    /// The client of the files as they are now: `known`, if they are what they were. Blocks.
    fn build(&self, known: Option<Built>) -> Result<Built, SourceFailure> {
        if let Some(proof) = &self.proof {
            let what = format!("GET https://{}", self.endpoint.address);
            proof.check(self.endpoint.address).map_err(|doubt| port_not_proven(&what, &doubt, NAME_IT))?;
        }
        let files: Vec<_> = self.trust.file().into_iter().chain(self.auth.files()).collect();
        let files = stamps(&files)?;
        if let Some(known) = known.filter(|known| known.files == files) {
            return Ok(known);
        }
        Ok(Built { files, client: self.client()?, header: self.auth.header()? })
    }

    fn client(&self) -> Result<Client, SourceFailure> {
        tls::install_provider();
        let provider = Arc::new(ring::default_provider());
        let config = self.tls(provider)?;
        let built = Client::builder()
            .tls_backend_preconfigured(config)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("kpodtrace/", env!("CARGO_PKG_VERSION")))
            .build();
        built.map_err(|_| unusable("TLS", "the client could not be made"))
    }

    fn tls(&self, provider: Arc<CryptoProvider>) -> Result<ClientConfig, SourceFailure> {
        let verifier = self.trust.verifier(&self.endpoint.node, &provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| unusable("TLS", &e.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match self.auth.identity()? {
            Some((certs, key)) => builder
                .with_client_auth_cert(certs, key)
                .map_err(|_| unusable("the client certificate", "certificate and key do not fit each other"))?,
            None => builder.with_no_client_auth(),
        };
        // A resumed session would not look at the certificate again.
        config.resumption = Resumption::disabled();
        Ok(config)
    }
}
