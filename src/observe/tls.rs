//! Owns the choice of the process's one TLS provider.
//! It must not decide whom to trust: each client does.

use std::sync::OnceLock;

static INSTALLED: OnceLock<()> = OnceLock::new();

/// Installs ring as the process's TLS provider, once; clients panic when built without one.
pub fn install_provider() {
    INSTALLED.get_or_init(|| {
        // It fails only if one is installed already, and ring is the only one in this program.
        _ = rustls::crypto::ring::default_provider().install_default();
    });
}
