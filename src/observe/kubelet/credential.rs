//! Owns what is shown to the kubelet to be let in, and the reading of it from files.
//! It must not keep a secret where a `Debug` or an error could print it. What reads files blocks.

use std::io;

use reqwest::header::HeaderValue;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::{ExposeSecret, SecretString};

use super::super::SourceFailure;
use crate::observation::{ErrorKind, SourceError};
use crate::trust::{FileStamp, KnownFile, distrust_of};

/// PEM text, or the file that holds it. A file is read again when it changes, since all of them are rotated.
#[derive(Clone, Debug)]
pub enum Pem {
    /// The file.
    File(KnownFile),
    /// The text itself, as a kubeconfig can hold it.
    Inline(SecretString),
}

/// What is shown to the kubelet.
#[derive(Clone, Debug)]
pub enum KubeletAuth {
    /// Nothing: only a kubelet with anonymous access answers.
    None,
    /// A client certificate. Certificate and key may be one file, as `kubelet-client-current.pem` is.
    ClientCert {
        /// Certificate, and the intermediates behind it.
        cert: Pem,
        /// Its key.
        key: Pem,
    },
    /// A bearer token.
    Token(SecretString),
    /// A bearer token in a file, as of a mounted service account.
    TokenFile(KnownFile),
}

/// Certificates and key of a client.
pub(super) type ClientIdentity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl KubeletAuth {
    /// Files that make it up.
    pub(super) fn files(&self) -> Vec<&KnownFile> {
        match self {
            Self::None | Self::Token(_) => Vec::new(),
            Self::ClientCert { cert, key } => [cert, key].into_iter().filter_map(Pem::file).collect(),
            Self::TokenFile(file) => vec![file],
        }
    }

    /// The client certificate, if it is one.
    pub(super) fn identity(&self) -> Result<Option<ClientIdentity>, SourceFailure> {
        let Self::ClientCert { cert, key } = self else { return Ok(None) };
        let key_pem = key.text()?;
        let Ok(private) = PrivateKeyDer::from_pem_slice(key_pem.expose_secret().as_bytes()) else {
            return Err(unusable(&key.name(), "no private key in PEM form"));
        };
        Ok(Some((cert.certificates()?, private)))
    }

    /// The `Authorization` header, if it is a token.
    pub(super) fn header(&self) -> Result<Option<HeaderValue>, SourceFailure> {
        let (name, token) = match self {
            Self::None | Self::ClientCert { .. } => return Ok(None),
            Self::Token(token) => ("the token".into(), token.clone()),
            Self::TokenFile(file) => (file.to_string(), read(file)?),
        };
        let header = format!("Bearer {}", token.expose_secret().trim());
        let Ok(mut header) = HeaderValue::from_str(&header) else {
            return Err(unusable(&name, "not a token: it holds characters that no token has"));
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

    /// All certificates in it; keys beside them are skipped.
    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, SourceFailure> {
        let text = self.text()?;
        let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.expose_secret().as_bytes()).collect();
        match all {
            Ok(all) if !all.is_empty() => Ok(all),
            _ => Err(unusable(&self.name(), "no certificate in PEM form")),
        }
    }
}

/// The stamp of every file, in order.
pub(super) fn stamps(files: &[&KnownFile]) -> Result<Vec<FileStamp>, SourceFailure> {
    files.iter().map(|file| file.stamp().map_err(|e| unreadable(file, &e))).collect()
}

fn read(file: &KnownFile) -> Result<SecretString, SourceFailure> {
    file.text().map(SecretString::from).map_err(|e| unreadable(file, &e))
}

fn unreadable(file: &KnownFile, error: &io::Error) -> SourceFailure {
    if distrust_of(error).is_some() {
        return SourceFailure::Retry(SourceError {
            tried: format!("read {file}: {error}").into(),
            kind: ErrorKind::Denied,
            fix: "give root alone write access to it, or name another file: --kubeconfig, --kubelet-ca".into(),
        });
    }
    let denied = error.kind() == io::ErrorKind::PermissionDenied;
    let tried = format!("read {file}: {error}").into();
    if denied {
        let fix = "run as root, or give credentials that this user may read".into();
        return SourceFailure::Forbidden(SourceError { tried, kind: ErrorKind::Denied, fix });
    }
    SourceFailure::Retry(SourceError {
        tried,
        kind: ErrorKind::Other,
        fix: "name the file where it is on this node".into(),
    })
}

/// The files cannot be read in time.
pub(super) fn files_timed_out() -> SourceFailure {
    SourceFailure::Retry(SourceError {
        tried: "read certificates and credential: no answer from the file system".into(),
        kind: ErrorKind::Timeout,
        fix: "look whether the file system that holds them answers".into(),
    })
}

pub(super) fn unusable(name: &str, why: &str) -> SourceFailure {
    SourceFailure::Retry(SourceError {
        tried: format!("{name}: {why}").into(),
        kind: ErrorKind::Malformed,
        fix: "name another file: this one is read again when it changes".into(),
    })
}
