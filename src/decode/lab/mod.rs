//! Formats of the lab's captures and incidents (feature `lab-formats`): output of `crictl` and `ctr`, OTLP as JSON, HTTP
//! responses with their headers.

mod crictl;
mod crictl_images;
mod crictl_info;
mod ctr_active;
mod http_response;
mod otlp;

pub use crictl::{container_details, containers, sandbox_details, sandboxes};
pub use crictl_images::{image_fs, images};
pub use crictl_info::runtime_status;
pub use ctr_active::active_ingests;
pub use http_response::health_response;
pub use otlp::spans;

use super::{DecodeError, nullable};
