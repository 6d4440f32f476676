//! kpodtrace: where every pod on a Kubernetes node stands in the kubelet's sync pipeline, for how long, and why.

pub mod decode;
pub mod objects;
pub mod observation;
pub mod record;
pub mod text;
