//! Failures of a request to the API server that has no response: the innermost cause, and the remedy.

use std::error::Error;
use std::io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, TimedOut, UnexpectedEof};
use std::time::Duration;

use rustls::CertificateError as Bad;

use super::super::SourceFailure;
use super::super::error_chain::{find, has_io_kind, root_text};
use super::access::ApiConnection;
use crate::observation::{ErrorKind, SourceError};

/// The request failed, or its response broke off.
pub(super) fn request_failed(request: &str, conn: &ApiConnection, error: &(dyn Error + 'static)) -> SourceFailure {
    let (kind, fix) = remedy(error, &conn.server, conn.names_ca);
    let tried = format!("{request} at {}: {}", conn.server, root_text(error)).into();
    SourceFailure::Retry(SourceError { tried, kind, fix: fix.into() })
}

/// Nothing arrived in time.
pub(super) fn timed_out(request: &str, conn: &ApiConnection, waited: Duration) -> SourceFailure {
    let tried = format!("{request} at {}: no response within {}s", conn.server, waited.as_secs_f32()).into();
    let fix = "the API server hangs, or packets to it are dropped".into();
    SourceFailure::Retry(SourceError { tried, kind: ErrorKind::Timeout, fix })
}

fn remedy(error: &(dyn Error + 'static), server: &str, names_ca: bool) -> (ErrorKind, String) {
    if let Some(tls) = find::<rustls::Error>(error) {
        (ErrorKind::Other, certificate(tls, names_ca).into())
    } else if has_io_kind(error, &[ConnectionRefused]) {
        let fix = format!("nothing listens at {server}: check kube-apiserver (crictl ps --name kube-apiserver)");
        (ErrorKind::Unreachable, fix)
    } else if has_io_kind(error, &[TimedOut]) {
        let fix = format!("packets to {server} are dropped: check firewall, routes, and that the machine is up");
        (ErrorKind::Timeout, fix)
    } else if root_text(error).contains("lookup") {
        (ErrorKind::Unreachable, format!("cannot resolve the name in {server}: check DNS and /etc/hosts"))
    } else if has_io_kind(error, &[ConnectionReset, UnexpectedEof, BrokenPipe]) {
        (ErrorKind::Unreachable, "the API server, or a proxy in front of it, closed the connection".into())
    } else {
        (ErrorKind::Unreachable, format!("check that {server} is reachable from this node"))
    }
}

fn certificate(error: &rustls::Error, names_ca: bool) -> &'static str {
    let bad = match error {
        rustls::Error::InvalidCertificate(bad) => bad,
        rustls::Error::AlertReceived(_) => return "the API server rejects the client certificate of this credential",
        _ => return "the server does not speak TLS as an API server does",
    };
    match bad {
        Bad::UnknownIssuer if !names_ca => {
            "the kubeconfig names no CA: add the cluster's as certificate-authority (/etc/kubernetes/pki/ca.crt)"
        }
        Bad::UnknownIssuer | Bad::BadSignature => {
            "the server's certificate is not signed by the CA in this credential: the CA was changed, or this is another \
             cluster"
        }
        Bad::Expired | Bad::ExpiredContext { .. } => {
            "the API server's certificate has expired (kubeadm certs check-expiration), or this machine's clock is wrong"
        }
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => "correct this machine's clock",
        Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
            "the server's certificate has other names: use one of them, or set tls-server-name in the kubeconfig"
        }
        _ => "the server's certificate cannot be trusted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn the_remedy_depends_on_the_cause_below_what_wraps_it() {
        let wrapped = io::Error::other(io::Error::new(
            io::ErrorKind::InvalidData,
            rustls::Error::InvalidCertificate(Bad::UnknownIssuer),
        ));
        assert!(remedy(&wrapped, "s", false).1.contains("names no CA"));
        assert!(remedy(&wrapped, "s", true).1.contains("not signed by the CA in this credential"));
        let refused = io::Error::other(io::Error::from(ConnectionRefused));
        assert!(remedy(&refused, "s", true).1.contains("nothing listens at s"));
    }
}
