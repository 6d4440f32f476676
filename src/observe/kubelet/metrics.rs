//! `/metrics` of the kubelet, decoded line by line; a page that breaks off is not reported.

use std::time::Duration;

use reqwest::Response;

use super::super::SourceFailure;
use super::body::each_line;
use super::page_source::{KubeletPage, PageSource};
use super::request_error::unexpected_body;
use crate::decode::ScrapeBuilder;
use crate::observation::{Call, Fact};

/// Time between scrapes.
pub const METRICS_EVERY: Duration = Duration::from_secs(10);

/// The source of scrapes.
pub type MetricsSource = PageSource<MetricsPage>;

/// `/metrics`.
#[derive(Debug)]
pub struct MetricsPage;

impl KubeletPage for MetricsPage {
    const PATH: &str = "/metrics";
    const CALL: Call = Call::Metrics;
    const EVERY: Duration = METRICS_EVERY;

    async fn read(response: Response, what: &str) -> Result<Fact, SourceFailure> {
        let mut page = ScrapeBuilder::default();
        each_line(response, what, |line| page.line(line)).await?;
        let scrape = page.finish().map_err(|e| unexpected_body(what, &e.to_string()))?;
        Ok(Fact::Scrape(Box::new(scrape)))
    }
}
