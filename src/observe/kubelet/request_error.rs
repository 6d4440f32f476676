//! Failures of a request to the kubelet that has no response, or half of one. They show the address and the path only.

use std::io;
use std::net::SocketAddr;

use rustls::CertificateError;

use super::super::SourceFailure;
use super::super::discover::PortDoubt;
use super::super::error_chain::{find, has_io_kind, root_text};
use super::http::KubeletEndpoint;
use super::trust::KubeletTrust;
use crate::observation::{ErrorKind, SourceError};
use crate::text::Text;

/// Command that shows why a kubelet does not respond.
const SHOW_UNIT: &str = "systemctl status kubelet";

/// The request to the TLS port failed.
pub(super) fn request_failed(
    what: &str,
    error: &reqwest::Error,
    endpoint: &KubeletEndpoint,
    trust: &KubeletTrust,
) -> SourceFailure {
    let Some(tls) = find::<rustls::Error>(error) else {
        return connect_failed(what, error, endpoint.address, "port");
    };
    let (kind, problem, fix) = tls_error(tls, &endpoint.node, trust);
    retry(what, kind, &problem, &fix)
}

/// TCP failed, or nothing came back; `port` is the name of the setting that may be another on this node.
pub(super) fn connect_failed(what: &str, error: &reqwest::Error, address: SocketAddr, port: &str) -> SourceFailure {
    if has_io_kind(error, &[io::ErrorKind::ConnectionRefused]) {
        let fix = format!("nothing listens on {address}: the kubelet is down or uses another {port} ({SHOW_UNIT})");
        retry(what, ErrorKind::Unreachable, "connection refused", &fix)
    } else if error.is_timeout() {
        let fix = format!("the kubelet hangs, or packets to it are dropped ({SHOW_UNIT})");
        retry(what, ErrorKind::Timeout, "connecting timed out", &fix)
    } else {
        let fix = format!("check that the kubelet is running ({SHOW_UNIT})");
        retry(what, ErrorKind::Unreachable, &root_text(error), &fix)
    }
}

/// The response broke off.
pub(super) fn body_interrupted(what: &str, length: usize, error: &reqwest::Error) -> SourceFailure {
    let problem = format!("the response broke off after {length} bytes ({})", root_text(error));
    let fix = "the kubelet stopped while responding, or another program listens there";
    retry(what, ErrorKind::Malformed, &problem, fix)
}

/// The response is complete, and not what the kubelet sends.
pub(super) fn unexpected_body(what: &str, why: &str) -> SourceFailure {
    let fix = "check which program listens there (ss -ltnp): a kubelet responds differently";
    retry(what, ErrorKind::Malformed, &format!("the response is {why}"), fix)
}

/// Nothing was sent: the process that listens is not proven to be the kubelet.
pub(super) fn port_not_proven(what: &str, doubt: &PortDoubt, fix: &str) -> SourceFailure {
    let problem = format!("not sent: {doubt}");
    match doubt {
        PortDoubt::NoKubelet => {
            retry(what, ErrorKind::NotRunning, &problem, &format!("start the kubelet ({SHOW_UNIT})"))
        }
        // A process that only has the name must not hide that the kubelet is down.
        PortDoubt::Nobody | PortDoubt::Unproven(_) => {
            retry(what, ErrorKind::Unreachable, &problem, &format!("start the kubelet ({SHOW_UNIT})"))
        }
        PortDoubt::Other(_) | PortDoubt::OtherNetwork | PortDoubt::Hidden => {
            retry(what, ErrorKind::Denied, &problem, fix)
        }
    }
}

pub(super) fn retry(what: &str, kind: ErrorKind, problem: &str, fix: &str) -> SourceFailure {
    SourceFailure::Retry(SourceError { tried: format!("{what}: {problem}").into(), kind, fix: fix.into() })
}

/// Kind, problem and remedy of a failed TLS handshake.
fn tls_error(error: &rustls::Error, node: &Text, trust: &KubeletTrust) -> (ErrorKind, String, String) {
    const PIN: &str = "on the node itself pin the kubelet's own certificate, /var/lib/kubelet/pki/kubelet.crt";
    let file = trust.file().map_or_else(|| "the given CA".into(), ToString::to_string);
    match error {
        rustls::Error::InvalidCertificate(why) => {
            let (problem, fix) = match why {
                CertificateError::ApplicationVerificationFailure => (
                    format!("its certificate is not the one in {file}"),
                    format!(
                        "the kubelet serves another certificate than {file} (kubelet.crt, kubelet-server-current.pem or \
                         tlsCertFile of its configuration), or another program listens there"
                    ),
                ),
                CertificateError::UnknownIssuer => (
                    format!("its certificate is not signed by {file}"),
                    format!("without serverTLSBootstrap a kubelet signs its own certificate: {PIN}"),
                ),
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                    (format!("its certificate is not for {node}"), format!("give the node's name, or {PIN}"))
                }
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    ("its certificate has expired".into(), format!("renew the kubelet's serving certificate, or {PIN}"))
                }
                other => (format!("its certificate is not accepted: {other}"), PIN.into()),
            };
            (ErrorKind::Other, problem, fix)
        }
        rustls::Error::AlertReceived(alert) => (
            ErrorKind::Denied,
            format!("it aborted the TLS handshake ({alert:?})"),
            "the client certificate is from another cluster, or its key does not match: give another".into(),
        ),
        rustls::Error::InvalidMessage(_) => (
            ErrorKind::Malformed,
            "the server does not speak TLS".into(),
            "give the address of the kubelet's TLS port, 10250 by default".into(),
        ),
        other => (ErrorKind::Other, format!("TLS: {other}"), PIN.into()),
    }
}
