//! Which server the client accepts as the kubelet. There is no fallback to a weaker check than the configured one.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::super::SourceFailure;
use super::credential::{Pem, unusable};
use crate::trust::KnownFile;

/// Which server is accepted as the kubelet.
#[derive(Clone, Debug)]
pub enum KubeletTrust {
    /// The server with the key of a certificate in this file: the kubelet's own, on the node itself. Names and dates are not
    /// checked: the self-signed `kubelet.crt` is used beyond its year, and the file is the proof.
    Pinned {
        /// The file, such as `/var/lib/kubelet/pki/kubelet.crt`.
        cert: KnownFile,
    },
    /// A server with a certificate for the node's name, signed by this CA.
    ClusterCa {
        /// The CA's certificates.
        pem: Pem,
    },
    /// A certificate that the user named: the kubelet's own, or its CA's.
    Named {
        /// Either of them.
        pem: Pem,
    },
    /// Any server. Only with the flag that disables verification.
    Insecure,
}

impl KubeletTrust {
    /// False when any server is accepted, which must be shown.
    pub fn is_verified(&self) -> bool {
        !matches!(self, Self::Insecure)
    }

    pub(super) fn file(&self) -> Option<&KnownFile> {
        match self {
            Self::Pinned { cert } => Some(cert),
            Self::ClusterCa { pem } | Self::Named { pem } => pem.file(),
            Self::Insecure => None,
        }
    }

    /// The verifier for the kubelet of `node`. Blocks.
    pub(super) fn verifier(&self, node: &str, provider: &Arc<CryptoProvider>) -> Result<Verifier, SourceFailure> {
        let accept = match self {
            Self::Insecure => Accept::Any,
            Self::Pinned { cert } => Accept::These(Pem::File(cert.clone()).certificates()?),
            Self::ClusterCa { pem } => signed_for(node, pem.certificates()?, provider)?,
            Self::Named { pem } => {
                let certificates = pem.certificates()?;
                // A certificate that is not a CA can still be the kubelet's own.
                let signed = signed_for(node, certificates.clone(), provider).ok().map(Box::new);
                Accept::Either(certificates, signed)
            }
        };
        Ok(Verifier { accept, provider: Arc::clone(provider) })
    }
}

fn signed_for(
    node: &str,
    authorities: Vec<CertificateDer<'static>>,
    provider: &Arc<CryptoProvider>,
) -> Result<Accept, SourceFailure> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities);
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
    let inner = built.map_err(|e| unusable("the cluster CA", &e.to_string()))?;
    let Ok(node) = ServerName::try_from(node.to_owned()) else {
        return Err(unusable(&format!("node name `{node}`"), "not valid as a name in a certificate"));
    };
    Ok(Accept::SignedFor { node, inner })
}

/// Verifies certificates; signatures are always checked, so a copied certificate is not accepted.
#[derive(Debug)]
pub(super) struct Verifier {
    accept: Accept,
    provider: Arc<CryptoProvider>,
}

#[derive(Debug)]
enum Accept {
    These(Vec<CertificateDer<'static>>),
    /// The connection goes to an address; the certificate is for the node.
    SignedFor {
        node: ServerName<'static>,
        inner: Arc<WebPkiServerVerifier>,
    },
    /// One of these, or signed by them.
    Either(Vec<CertificateDer<'static>>, Option<Box<Accept>>),
    Any,
}

impl Accept {
    fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let is_one_of = |pinned: &[CertificateDer<'_>]| pinned.iter().any(|p| p.as_ref() == end_entity.as_ref());
        match self {
            Accept::Any => Ok(ServerCertVerified::assertion()),
            Accept::These(pinned) | Accept::Either(pinned, _) if is_one_of(pinned) => {
                Ok(ServerCertVerified::assertion())
            }
            Accept::These(_) | Accept::Either(_, None) => {
                Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
            }
            Accept::Either(_, Some(signed)) => signed.verify(end_entity, intermediates, ocsp_response, now),
            Accept::SignedFor { node, inner } => {
                inner.verify_server_cert(end_entity, intermediates, node, ocsp_response, now)
            }
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.accept.verify(end_entity, intermediates, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
