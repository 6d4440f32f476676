//! Owns the reading of `/configz`, the settings that the kubelet runs with.
//! It must not read configuration files: what runs may be another thing.

use std::convert::Infallible;
use std::time::Duration;

use super::super::{Attempt, Failure, Outlet};
use super::KubeletClient;
use super::ask::{ask, ticks};
use super::body::whole;
use super::fault::not_understood;
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

    async fn config(&self) -> Result<KubeletConfig, Failure> {
        let what = self.client.call(PATH);
        let page = whole(self.client.get(PATH).await?, &what).await?;
        kubelet_config(&page).map_err(|e| not_understood(&what, &e.to_string()))
    }

    async fn observe(&self, out: &mut Outlet) -> Result<Infallible, Failure> {
        let what = self.client.call(PATH);
        let mut ticks = ticks(self.every);
        out.verified(self.client.trust().is_verified()).await;
        loop {
            ticks.tick().await;
            let config = ask(out, Call::Configz, &what, self.client.deadline(), self.config()).await?;
            out.live().await;
            out.say(Fact::KubeletConfig(Box::new(config))).await;
        }
    }
}

impl Attempt for ConfigzSource {
    async fn attempt(&mut self, out: &mut Outlet) -> Failure {
        let Err(failure) = self.observe(out).await;
        failure
    }
}
