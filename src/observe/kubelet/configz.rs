//! Owns the reading of `/configz`, the settings that the kubelet runs with.
//! It must not read configuration files: what runs may be another thing.

use std::convert::Infallible;
use std::time::Duration;

use super::super::{Attempt, ObservationSink, SourceFailure};
use super::KubeletClient;
use super::body::read_all;
use super::request_error::unexpected_body;
use super::timed_call::{ticks, timed_call};
use crate::decode::kubelet_config;
use crate::observation::{Call, Fact, KubeletConfig};

/// Time between two looks at the settings: they change only when the kubelet is started anew.
pub const CONFIGZ_EVERY: Duration = Duration::from_secs(600);
const PATH: &str = "/configz";

/// The source of the kubelet's settings.
#[derive(Debug)]
pub struct ConfigzSource {
    client: KubeletClient,
    every: Duration,
}

impl ConfigzSource {
    /// Asks `client` at once and every [`CONFIGZ_EVERY`].
    pub fn new(client: KubeletClient) -> Self {
        Self { client, every: CONFIGZ_EVERY }
    }

    /// The same with another time between two looks.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    async fn config(&self) -> Result<KubeletConfig, SourceFailure> {
        let what = self.client.call(PATH);
        let page = read_all(self.client.get(PATH).await?, &what).await?;
        kubelet_config(&page).map_err(|e| unexpected_body(&what, &e.to_string()))
    }

    async fn observe(&self, out: &mut ObservationSink) -> Result<Infallible, SourceFailure> {
        let what = self.client.call(PATH);
        let mut ticks = ticks(self.every);
        out.set_verified(self.client.trust().is_verified()).await;
        loop {
            ticks.tick().await;
            let config = timed_call(out, Call::Configz, &what, self.client.deadline(), self.config()).await?;
            out.set_live().await;
            out.emit(Fact::KubeletConfig(Box::new(config))).await;
        }
    }
}

impl Attempt for ConfigzSource {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        let Err(failure) = self.observe(out).await;
        failure
    }
}
