//! What all TLS clients of the process share: the crypto provider, and how certificates are read from PEM.

use std::sync::OnceLock;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

static INSTALLED: OnceLock<()> = OnceLock::new();

/// Installs ring as the process's TLS provider, once; clients panic when built without one.
pub fn install_provider() {
    INSTALLED.get_or_init(|| {
        // It fails only if a provider is installed already, and ring is the only one in this program.
        _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// All certificates in PEM text; keys in the same text are skipped. None when there is no certificate, or a damaged one.
pub(super) fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    let all: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().ok()?;
    (!all.is_empty()).then_some(all)
}
