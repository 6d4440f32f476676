//! `/healthz` on the kubelet's loopback port, which needs no credential. It stays `ok` while PLEG is unhealthy.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use reqwest::{Client, StatusCode};

use super::super::discover::PortProof;
use super::super::error_chain::root_text;
use super::super::{Attempt, ObservationSink, SourceFailure};
use super::body::read_prefix;
use super::http::{DEADLINE, client_builder};
use super::port_guard::PortGuard;
use super::request_error::{connect_failed, retry, unexpected_body};
use super::timed_call::{ticks, timed_call};
use crate::decode::health_answer;
use crate::observation::{Call, ErrorKind, Fact, Health};

/// Time between two requests.
pub const HEALTH_EVERY: Duration = Duration::from_secs(5);
/// Default of `healthzBindAddress` and `healthzPort`.
pub const HEALTH_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 10248);
/// Most bytes kept of a response: `ok`, or a line for each check.
const MAX_BODY: usize = 16 << 10;

/// The source of the kubelet's health.
#[derive(Debug)]
pub struct HealthSource {
    address: SocketAddr,
    every: Duration,
    deadline: Duration,
    client: Option<Client>,
    guard: PortGuard,
}

impl HealthSource {
    /// Sends requests to `address`, which is [`HEALTH_ADDRESS`] unless the kubelet is configured otherwise.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, every: HEALTH_EVERY, deadline: DEADLINE, client: None, guard: PortGuard::default() }
    }

    /// Sends only while `proof` holds for the process that listens: the port has no certificate.
    #[must_use]
    pub fn with_proof(self, proof: Option<PortProof>) -> Self {
        Self { guard: PortGuard::new(proof), ..self }
    }

    /// With another time between two requests.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    /// With another deadline than [`DEADLINE`].
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    fn describe(&self) -> String {
        format!("GET http://{}/healthz", self.address)
    }

    async fn health(&self, client: &Client) -> Result<Health, SourceFailure> {
        let what = self.describe();
        let fix = "find the process that listens there: ss -ltnp";
        self.guard.check(&what, self.address, self.deadline, fix).await?;
        let sent = client.get(format!("http://{}/healthz", self.address)).send().await;
        let response = sent.map_err(|e| connect_failed(&what, &e, self.address, "healthzPort"))?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND {
            return Err(unexpected_body(&what, "404: another program than the kubelet listens there"));
        }
        let body = read_prefix(response, MAX_BODY).await;
        health_answer(&format!("{body}\n{}", status.as_u16())).ok_or_else(|| unexpected_body(&what, "without a status"))
    }

    fn client(&mut self) -> Result<Client, SourceFailure> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        // Plain HTTP: without this, a machine that has no store of CAs fails here.
        let built = client_builder().tls_certs_only([]).build();
        let client = built.map_err(|e| retry(&self.describe(), ErrorKind::Other, &root_text(&e), ""))?;
        Ok(self.client.insert(client).clone())
    }

    async fn observe(&mut self, out: &mut ObservationSink) -> Result<Infallible, SourceFailure> {
        let (what, client) = (self.describe(), self.client()?);
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
