//! Owns what it means when a request brings no answer, or half of one.
//! It must not show a URL with anything but an address and a path, nor a header.

use std::error::Error;
use std::io;

use rustls::CertificateError;

use super::super::SourceFailure;
use super::super::discover::PortDoubt;
use super::client::KubeletEndpoint;
use super::trust::KubeletTrust;
use crate::observation::{ErrorKind, SourceError};
use crate::text::Text;

/// The request brought no answer.
pub(super) fn request_failed(
    what: &str,
    error: &reqwest::Error,
    endpoint: &KubeletEndpoint,
    trust: &KubeletTrust,
) -> SourceFailure {
    let (kind, says, fix) = match find::<rustls::Error>(error) {
        Some(tls) => tls_fault(tls, &endpoint.node, trust),
        None => connect_failed(error, &format!("{}: the kubelet is down or uses another port", endpoint.address)),
    };
    retry(what, kind, &says, &fix)
}

/// Kind, words and fix when TCP brought nothing; `nobody` says who is not there when a connection is refused.
pub(super) fn connect_failed(error: &reqwest::Error, nobody: &str) -> (ErrorKind, String, String) {
    const LOOK: &str = "systemctl status kubelet";
    let refused = find(error).is_some_and(|e: &io::Error| e.kind() == io::ErrorKind::ConnectionRefused);
    if refused {
        let fix = format!("nothing listens on {nobody} ({LOOK})");
        (ErrorKind::Unreachable, "connection refused".into(), fix)
    } else if error.is_timeout() {
        let fix = format!("the kubelet hangs, or packets to it are dropped ({LOOK})");
        (ErrorKind::Timeout, "no connection in time".into(), fix)
    } else {
        (ErrorKind::Unreachable, root(error), format!("see whether the kubelet runs ({LOOK})"))
    }
}

/// The answer ended early.
pub(super) fn body_interrupted(what: &str, length: usize, error: &reqwest::Error) -> SourceFailure {
    let says = format!("the answer broke off after {length} bytes ({})", root(error));
    retry(what, ErrorKind::Malformed, &says, "the kubelet stopped while it answered, or it is no kubelet")
}

/// The answer is whole and not what it should be.
pub(super) fn unexpected_body(what: &str, why: &str) -> SourceFailure {
    let fix = "look at what listens there: a kubelet answers otherwise";
    retry(what, ErrorKind::Malformed, &format!("the answer is {why}"), fix)
}

/// Nothing was sent: who listens there is not proven to be the kubelet.
pub(super) fn port_not_proven(what: &str, doubt: &PortDoubt, otherwise: &str) -> SourceFailure {
    const LOOK: &str = "systemctl status kubelet";
    let says = format!("not asked: {doubt}");
    match doubt {
        PortDoubt::NoKubelet | PortDoubt::Nobody => {
            retry(what, ErrorKind::Unreachable, &says, &format!("start the kubelet ({LOOK})"))
        }
        PortDoubt::Other(_) | PortDoubt::OtherNetwork | PortDoubt::Hidden => {
            retry(what, ErrorKind::Denied, &says, otherwise)
        }
    }
}

pub(super) fn retry(what: &str, kind: ErrorKind, says: &str, fix: &str) -> SourceFailure {
    SourceFailure::Retry(SourceError { tried: format!("{what}: {says}").into(), kind, fix: fix.into() })
}

fn tls_fault(error: &rustls::Error, node: &Text, trust: &KubeletTrust) -> (ErrorKind, String, String) {
    const PIN: &str = "on the node itself pin the kubelet's own certificate, /var/lib/kubelet/pki/kubelet.crt";
    let file = trust.file().map_or_else(|| "the given CA".into(), ToString::to_string);
    match error {
        rustls::Error::InvalidCertificate(why) => {
            let (says, fix) = match why {
                CertificateError::ApplicationVerificationFailure => (
                    format!("its certificate is not the one in {file}"),
                    format!(
                        "the kubelet serves another certificate than {file} (kubelet.crt, kubelet-server-current.pem or \
                         tlsCertFile of its configuration), or something else listens there"
                    ),
                ),
                CertificateError::UnknownIssuer => (
                    format!("its certificate is not signed by {file}"),
                    format!("without serverTLSBootstrap a kubelet signs its certificate itself: {PIN}"),
                ),
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                    (format!("its certificate is not for {node}"), format!("give the node's name, or {PIN}"))
                }
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    ("its certificate is expired".into(), format!("renew the kubelet's serving certificate, or {PIN}"))
                }
                other => (format!("its certificate is refused: {other}"), PIN.into()),
            };
            (ErrorKind::Other, says, fix)
        }
        rustls::Error::AlertReceived(alert) => (
            ErrorKind::Denied,
            format!("it ended the TLS handshake ({alert:?})"),
            "the client certificate is not of this cluster, or its key does not fit: give another".into(),
        ),
        rustls::Error::InvalidMessage(_) => (
            ErrorKind::Malformed,
            "what answers does not speak TLS".into(),
            "the kubelet's port with TLS is 10250: give its address".into(),
        ),
        other => (ErrorKind::Other, format!("TLS: {other}"), PIN.into()),
    }
}

/// The first error of that type in the chain of causes.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = cause(error);
    }
    None
}

/// What the innermost error says, which names neither a URL nor a header.
pub(super) fn root(error: &(dyn Error + 'static)) -> String {
    if find(error).is_some_and(|e: &io::Error| e.kind() == io::ErrorKind::UnexpectedEof) {
        return "the connection ended early".into();
    }
    let mut last = error;
    while let Some(next) = cause(last) {
        last = next;
    }
    last.to_string().chars().take(200).collect()
}

/// An I/O error does not count what it wraps as its source.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}
