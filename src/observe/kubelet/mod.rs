//! Owns the kubelet's own HTTP: its pages behind TLS on 10250, and `/healthz` on loopback.
//! It must not send anything but GET, nor have two requests of one source in flight.

mod body;
mod client;
mod configz;
mod credential;
#[doc(hidden)]
pub mod fuzzing;
mod health;
mod log_stream;
mod metrics;
mod pods;
mod request_error;
mod status_error;
mod timed_call;
mod trust;

pub use client::{CONNECT_TIMEOUT, DEADLINE, KubeletClient, KubeletEndpoint};
pub use configz::{CONFIGZ_EVERY, ConfigzSource};
pub use credential::{KubeletAuth, Pem};
pub use health::{HEALTH_ADDRESS, HEALTH_EVERY, HealthSource};
pub(super) use log_stream::KubeletLogStream;
pub use metrics::{METRICS_EVERY, MetricsSource};
pub use pods::{PODS_EVERY, PodsSource};
pub use trust::KubeletTrust;
