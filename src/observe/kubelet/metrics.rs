//! Owns the scraping of `/metrics`, line by line.
//! It must not keep a page, nor tell of one that broke off.

use std::convert::Infallible;
use std::time::Duration;

use super::super::{Attempt, ObservationSink, SourceFailure};
use super::KubeletClient;
use super::body::each_line;
use super::request_error::unexpected_body;
use super::timed_call::{ticks, timed_call};
use crate::decode::ScrapeBuilder;
use crate::observation::{Call, Fact, Scrape};

/// Time between scrapes.
pub const METRICS_EVERY: Duration = Duration::from_secs(10);
const PATH: &str = "/metrics";

/// The source of scrapes.
#[derive(Debug)]
pub struct MetricsSource {
    client: KubeletClient,
    every: Duration,
}

impl MetricsSource {
    /// Scrapes with `client` every [`METRICS_EVERY`].
    pub fn new(client: KubeletClient) -> Self {
        Self { client, every: METRICS_EVERY }
    }

    /// The same with another time between scrapes.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    async fn scrape(&self) -> Result<Scrape, SourceFailure> {
        let what = self.client.call(PATH);
        let response = self.client.get(PATH).await?;
        let mut page = ScrapeBuilder::default();
        each_line(response, &what, |line| page.line(line)).await?;
        page.finish().map_err(|e| unexpected_body(&what, &e.to_string()))
    }

    async fn observe(&self, out: &mut ObservationSink) -> Result<Infallible, SourceFailure> {
        let what = self.client.call(PATH);
        let mut ticks = ticks(self.every);
        out.set_verified(self.client.trust().is_verified()).await;
        loop {
            ticks.tick().await;
            let scrape = timed_call(out, Call::Metrics, &what, self.client.deadline(), self.scrape()).await?;
            out.set_live().await;
            out.emit(Fact::Scrape(Box::new(scrape))).await;
        }
    }
}

impl Attempt for MetricsSource {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        let Err(failure) = self.observe(out).await;
        failure
    }
}
