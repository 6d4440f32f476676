//! The credential that the kubelet is shown, read from files. No secret is in a `Debug` text or an error.

use std::io;

use reqwest::header::HeaderValue;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::{ExposeSecret, SecretString};

use super::super::{SourceFailure, tls};
use crate::observation::{ErrorKind, SourceError};
use crate::trust::{KnownFile, distrust_of};

/// PEM text, or the file that contains it. A file is read again when it changes, since all of them are rotated.
#[derive(Clone, Debug)]
pub enum Pem {
    /// The file.
    File(KnownFile),
    /// The text itself, from a kubeconfig.
    Inline(SecretString),
}

/// How a client authenticates to the kubelet.
#[derive(Clone, Debug)]
pub enum KubeletAuth {
    /// Not at all: only a kubelet with anonymous access responds.
    None,
    /// With a client certificate. Certificate and key may be one file, as `kubelet-client-current.pem` is.
    ClientCert {
        /// The certificate, followed by its intermediates.
        cert: Pem,
        /// Its key.
        key: Pem,
    },
    /// With a bearer token.
    Token(SecretString),
    /// With a bearer token in a file, as of a mounted service account.
    TokenFile(KnownFile),
}

/// Certificates and key of a client.
pub(super) type ClientIdentity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl KubeletAuth {
    /// The files that contain it.
    pub(super) fn files(&self) -> Vec<&KnownFile> {
        match self {
            Self::None | Self::Token(_) => Vec::new(),
            Self::ClientCert { cert, key } => [cert, key].into_iter().filter_map(Pem::file).collect(),
            Self::TokenFile(file) => vec![file],
        }
    }

    /// The client certificate, if it is one. Blocks.
    pub(super) fn identity(&self) -> Result<Option<ClientIdentity>, SourceFailure> {
        let Self::ClientCert { cert, key } = self else { return Ok(None) };
        let key_pem = key.text()?;
        let Ok(private) = PrivateKeyDer::from_pem_slice(key_pem.expose_secret().as_bytes()) else {
            return Err(unusable(&key.name(), "no private key in PEM form"));
        };
        Ok(Some((cert.certificates()?, private)))
    }

    /// The `Authorization` header, if it is a token. Blocks.
    pub(super) fn header(&self) -> Result<Option<HeaderValue>, SourceFailure> {
        let (name, token) = match self {
            Self::None | Self::ClientCert { .. } => return Ok(None),
            Self::Token(token) => ("the token".into(), token.clone()),
            Self::TokenFile(file) => (file.to_string(), read(file)?),
        };
        let header = format!("Bearer {}", token.expose_secret().trim());
        let Ok(mut header) = HeaderValue::from_str(&header) else {
            return Err(unusable(&name, "not a token: it contains characters that a header must not contain"));
        };
        header.set_sensitive(true);
        Ok(Some(header))
    }
}

impl Pem {
    pub(super) fn file(&self) -> Option<&KnownFile> {
        match self {
            Self::File(file) => Some(file),
            Self::Inline(_) => None,
        }
    }

    fn name(&self) -> String {
        self.file().map_or_else(|| "the given PEM text".into(), KnownFile::to_string)
    }

    fn text(&self) -> Result<SecretString, SourceFailure> {
        match self {
            Self::File(file) => read(file),
            Self::Inline(text) => Ok(text.clone()),
        }
    }

    /// All certificates in it; keys in the same text are skipped. Blocks.
    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, SourceFailure> {
        let text = self.text()?;
        tls::certificates(text.expose_secret().as_bytes())
            .ok_or_else(|| unusable(&self.name(), "no certificate in PEM form"))
    }
}

fn read(file: &KnownFile) -> Result<SecretString, SourceFailure> {
    file.text().map(SecretString::from).map_err(|e| unreadable(file, &e))
}

fn unreadable(file: &KnownFile, error: &io::Error) -> SourceFailure {
    let failed = |kind, fix: &str| SourceError { tried: format!("read {file}: {error}").into(), kind, fix: fix.into() };
    if distrust_of(error).is_some() {
        let fix = "make it writable by root alone, or name another file: --kubeconfig, --kubelet-certificate";
        return SourceFailure::Retry(failed(ErrorKind::Denied, fix));
    }
    if error.kind() == io::ErrorKind::PermissionDenied {
        return SourceFailure::Forbidden(failed(
            ErrorKind::Denied,
            "run as root, or give a credential that you can read",
        ));
    }
    SourceFailure::Retry(failed(ErrorKind::Other, "name the file's path on this node"))
}

/// The files were not read in time.
pub(super) fn files_timed_out() -> SourceFailure {
    SourceFailure::Retry(SourceError {
        tried: "read certificates and credential: the file system does not respond".into(),
        kind: ErrorKind::Timeout,
        fix: "check the file system that contains them: stat -f /var/lib/kubelet/pki".into(),
    })
}

/// The file's content cannot be used.
pub(super) fn unusable(name: &str, why: &str) -> SourceFailure {
    SourceFailure::Retry(SourceError {
        tried: format!("{name}: {why}").into(),
        kind: ErrorKind::Malformed,
        fix: "name another file; this one is read again when it changes".into(),
    })
}
