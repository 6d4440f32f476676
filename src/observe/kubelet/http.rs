//! The HTTP client of the kubelet's ports, as its pages and its health endpoint share it.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::ClientBuilder;

use super::super::tls;
use crate::text::Text;

/// Longest time for TCP and TLS together: the kubelet is on this machine.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest time from a request to the end of its response.
pub const DEADLINE: Duration = Duration::from_secs(8);

/// Where a kubelet listens, and for which node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeletEndpoint {
    /// On the node itself 127.0.0.1:10250.
    pub address: SocketAddr,
    /// The node's name, which a certificate signed by the cluster's CA must be valid for.
    pub node: Text,
}

/// A client without proxy, redirects and retries of its own.
pub(super) fn client_builder() -> ClientBuilder {
    tls::install_provider();
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("kpodtrace/", env!("CARGO_PKG_VERSION")))
}
