//! `/configz` of the kubelet: the settings in effect, which may differ from the configuration file.

use std::time::Duration;

use reqwest::Response;

use super::super::SourceFailure;
use super::body::read_all;
use super::page_source::{KubeletPage, PageSource};
use super::request_error::unexpected_body;
use crate::decode::kubelet_config;
use crate::observation::{Call, Fact};

/// Time between two requests: the settings change only when the kubelet restarts.
pub const CONFIGZ_EVERY: Duration = Duration::from_secs(600);

/// The source of the kubelet's settings.
pub type ConfigzSource = PageSource<ConfigzPage>;

/// `/configz`.
#[derive(Debug)]
pub struct ConfigzPage;

impl KubeletPage for ConfigzPage {
    const PATH: &str = "/configz";
    const CALL: Call = Call::Configz;
    const EVERY: Duration = CONFIGZ_EVERY;

    async fn read(response: Response, what: &str) -> Result<Fact, SourceFailure> {
        let config = kubelet_config(&read_all(response, what).await?);
        let config = config.map_err(|e| unexpected_body(what, &e.to_string()))?;
        Ok(Fact::KubeletConfig(Box::new(config)))
    }
}
