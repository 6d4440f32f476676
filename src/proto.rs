//! The code generated from `proto/`, for the CRI source alone.

/// CRI v1, the read-only calls.
#[allow(missing_docs, clippy::all)]
pub(crate) mod cri {
    include!(concat!(env!("OUT_DIR"), "/client/runtime.v1.rs"));
}

/// containerd's event service.
#[allow(missing_docs, clippy::all)]
pub(crate) mod events {
    include!(concat!(env!("OUT_DIR"), "/client/containerd.services.events.v1.rs"));
}

/// containerd's content service.
#[allow(missing_docs, clippy::all)]
pub(crate) mod content {
    include!(concat!(env!("OUT_DIR"), "/client/containerd.services.content.v1.rs"));
}
