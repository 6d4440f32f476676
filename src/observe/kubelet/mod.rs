//! The kubelet's HTTP endpoints: its pages behind TLS on port 10250, and `/healthz` on loopback. Only GET is sent, and each
//! source has one request in flight at most.

mod body;
mod client;
mod configz;
mod credential;
#[doc(hidden)]
pub mod fuzzing;
mod health;
mod http;
mod log_stream;
mod metrics;
mod page_source;
mod pods;
mod port_guard;
mod request_error;
mod status_error;
mod timed_call;
mod trust;

pub use client::KubeletClient;
pub use configz::{CONFIGZ_EVERY, ConfigzPage, ConfigzSource};
pub use credential::{KubeletAuth, Pem};
pub use health::{HEALTH_ADDRESS, HEALTH_EVERY, HealthSource};
pub use http::{CONNECT_TIMEOUT, DEADLINE, KubeletEndpoint};
pub(super) use log_stream::KubeletLogStream;
pub use metrics::{METRICS_EVERY, MetricsPage, MetricsSource};
pub use page_source::{KubeletPage, PageSource};
pub use pods::{PODS_EVERY, PodsSource};
pub use trust::KubeletTrust;
