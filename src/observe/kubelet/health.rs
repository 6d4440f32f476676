//! Owns the asking of `/healthz` on the kubelet's loopback port, which needs no credential.
//! It must not take `ok` for more than a process that answers: it stays `ok` while PLEG is unhealthy.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::super::blocking::BlockingWorker;
use super::super::discover::PortProof;
use super::super::{Attempt, ObservationSink, SourceFailure, tls};
use super::body::read_prefix;
use super::client::{CONNECT_TIMEOUT, DEADLINE};
use super::request_error::{connect_failed, port_not_proven, retry, root, unexpected_body};
use super::timed_call::{ticks, timed_call};
use crate::decode::health_answer;
use crate::observation::{Call, ErrorKind, Fact, Health};
use reqwest::{Client, StatusCode};

/// Time between two questions.
pub const HEALTH_EVERY: Duration = Duration::from_secs(5);
/// `healthzBindAddress` and `healthzPort` by default.
pub const HEALTH_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 10248);
/// Most bytes kept of an answer: `ok`, or a line for each check.
const ANSWER: usize = 16 << 10;

/// The source of the kubelet's health.
#[derive(Debug)]
pub struct HealthSource {
    address: SocketAddr,
    every: Duration,
    deadline: Duration,
    client: Option<Client>,
    proof: Option<PortProof>,
    worker: BlockingWorker,
}

impl HealthSource {
    /// Asks `address`, which is [`HEALTH_ADDRESS`] unless the kubelet is configured otherwise.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            every: HEALTH_EVERY,
            deadline: DEADLINE,
            client: None,
            proof: None,
            worker: BlockingWorker::default(),
        }
    }

    /// The same, asking only while `proof` holds of who listens: it answers without a certificate.
    #[must_use]
    pub fn proven(self, proof: Option<PortProof>) -> Self {
        Self { proof, ..self }
    }

    /// The same with another time between two questions.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    /// The same with another deadline than [`DEADLINE`].
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    fn call(&self) -> String {
        format!("GET http://{}/healthz", self.address)
    }

    async fn health(&self, client: &Client) -> Result<Health, SourceFailure> {
        let what = self.call();
        self.prove(&what).await?;
        let sent = client.get(format!("http://{}/healthz", self.address)).send().await;
        let response = sent.map_err(|e| self.request_failed(&what, &e))?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND {
            return Err(unexpected_body(&what, "404: what listens there is no kubelet"));
        }
        let body = read_prefix(response, ANSWER).await;
        health_answer(&format!("{body}\n{}", status.as_u16())).ok_or_else(|| unexpected_body(&what, "no status"))
    }

    async fn prove(&self, what: &str) -> Result<(), SourceFailure> {
        let Some(proof) = self.proof.clone() else { return Ok(()) };
        let address = self.address;
        let checked = self.worker.run(self.deadline, move || proof.check(address)).await;
        let checked = checked.ok_or_else(|| retry(what, ErrorKind::Timeout, "not asked: /proc does not answer", ""))?;
        checked.map_err(|doubt| port_not_proven(what, &doubt, "see which process listens there: ss -ltnp"))
    }

    fn request_failed(&self, what: &str, error: &reqwest::Error) -> SourceFailure {
        let (kind, says, fix) =
            connect_failed(error, &format!("{}: the kubelet is down or uses another healthzPort", self.address));
        retry(what, kind, &says, &fix)
    }

    fn client(&mut self) -> Result<Client, SourceFailure> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        tls::install_provider();
        let built = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("kpodtrace/", env!("CARGO_PKG_VERSION")))
            // No certificate is ever needed: a machine without a store of CAs is none the worse.
            .tls_certs_only([])
            .build();
        let client = built.map_err(|e| retry(&self.call(), ErrorKind::Other, &root(&e), ""))?;
        Ok(self.client.insert(client).clone())
    }

    async fn observe(&mut self, out: &mut ObservationSink) -> Result<Infallible, SourceFailure> {
        let (what, client) = (self.call(), self.client()?);
        let mut ticks = ticks(self.every);
        loop {
            ticks.tick().await;
            let health = timed_call(out, Call::Healthz, &what, self.deadline, self.health(&client)).await?;
            out.set_live().await;
            out.emit(Fact::Health(health)).await;
        }
    }
}

impl Attempt for HealthSource {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        let Err(failure) = self.observe(out).await;
        failure
    }
}
