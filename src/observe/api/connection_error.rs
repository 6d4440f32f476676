//! Owns what it means when a request brings no answer: the cause under the layers of errors, and what to do about it.
//! It must not show more of an error than its innermost cause.

use std::error::Error;
use std::io;
use std::time::Duration;

use rustls::CertificateError as Bad;

use super::super::SourceFailure;
use super::access::ApiConnection;
use crate::observation::{ErrorKind, SourceError};

/// The request brought no answer, or the answer broke off.
pub(super) fn request_failed(request: &str, conn: &ApiConnection, error: &(dyn Error + 'static)) -> SourceFailure {
    let causes = causes(error);
    let cause = causes.last().map(ToString::to_string).unwrap_or_default();
    let (kind, fix) = remedy(&causes, &cause, &conn.server, conn.names_ca);
    let tried = format!("{} at {}: {cause}", request, conn.server).into();
    SourceFailure::Retry(SourceError { tried, kind, fix: fix.into() })
}

/// Nothing came in time.
pub(super) fn timed_out(request: &str, conn: &ApiConnection, waited: Duration) -> SourceFailure {
    let tried = format!("{} at {}: no answer within {} s", request, conn.server, waited.as_secs_f32()).into();
    let fix = "the API server hangs, or packets to it are dropped".into();
    SourceFailure::Retry(SourceError { tried, kind: ErrorKind::Timeout, fix })
}

/// Every error below `error`, outermost first; what an `io::Error` wraps is not its source, and is looked at all the
/// same.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut all = vec![error];
    let mut at = error;
    loop {
        let inner = at.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let next = match inner {
            Some(inner) => Some(inner as &'a (dyn Error + 'static)),
            None => at.source(),
        };
        let Some(next) = next else { return all };
        all.push(next);
        at = next;
    }
}

fn remedy(causes: &[&(dyn Error + 'static)], cause: &str, server: &str, names_ca: bool) -> (ErrorKind, String) {
    let io = |kind| causes.iter().any(|c| c.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == kind));
    if let Some(tls) = causes.iter().find_map(|c| c.downcast_ref::<rustls::Error>()) {
        return (ErrorKind::Other, certificate(tls, names_ca).into());
    }
    if io(io::ErrorKind::ConnectionRefused) {
        let fix = format!("nothing listens at {server}: is kube-apiserver up? (crictl ps --name kube-apiserver)");
        return (ErrorKind::Unreachable, fix);
    }
    if io(io::ErrorKind::TimedOut) {
        let fix = format!("packets to {server} are dropped: a firewall, a route, or a machine that is off");
        return (ErrorKind::Timeout, fix);
    }
    if cause.contains("lookup") {
        return (ErrorKind::Unreachable, format!("the name in {server} cannot be resolved: DNS, or /etc/hosts"));
    }
    let closed = [io::ErrorKind::ConnectionReset, io::ErrorKind::UnexpectedEof, io::ErrorKind::BrokenPipe];
    if closed.into_iter().any(io) {
        return (ErrorKind::Unreachable, "the API server or something on the conn to it closed the connection".into());
    }
    (ErrorKind::Unreachable, format!("see whether {server} can be reached from this node"))
}

fn certificate(error: &rustls::Error, names_ca: bool) -> &'static str {
    let bad = match error {
        rustls::Error::InvalidCertificate(bad) => bad,
        rustls::Error::AlertReceived(_) => return "the API server does not want this credential's client certificate",
        _ => return "what answers there does not speak TLS as an API server does",
    };
    match bad {
        Bad::UnknownIssuer if !names_ca => {
            "the kubeconfig names no CA: add the cluster's as certificate-authority (/etc/kubernetes/pki/ca.crt)"
        }
        Bad::UnknownIssuer | Bad::BadSignature => {
            "the server's certificate is not of the CA in this credential: the CA was changed, or this is another cluster"
        }
        Bad::Expired | Bad::ExpiredContext { .. } => {
            "the API server's certificate has expired (kubeadm certs check-expiration), or this machine's clock is wrong"
        }
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => "this machine's clock is wrong",
        Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
            "the server's certificate has other names: use one of them, or set tls-server-name in the kubeconfig"
        }
        _ => "the server's certificate cannot be trusted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_found_below_what_wraps_it() {
        let wrapped = io::Error::other(io::Error::new(
            io::ErrorKind::InvalidData,
            rustls::Error::InvalidCertificate(Bad::UnknownIssuer),
        ));
        let causes = causes(&wrapped);
        assert!(remedy(&causes, "", "s", false).1.contains("names no CA"));
        assert!(remedy(&causes, "", "s", true).1.contains("not of the CA in this credential"));
        let refused = io::Error::other(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert!(remedy(&super::causes(&refused), "", "s", true).1.contains("nothing listens at s"));
    }
}
