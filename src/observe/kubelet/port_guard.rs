//! Checks before each request that the process that listens on a port is the kubelet.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::Mutex;

use super::super::SourceFailure;
use super::super::blocking::BlockingWorker;
use super::super::discover::PortProof;
use super::request_error::{port_not_proven, retry};
use crate::observation::ErrorKind;

/// The proof that a port needs, if it needs one.
#[derive(Debug, Default)]
pub(super) struct PortGuard {
    /// None where only the certificate decides, or where the user named the address.
    proof: Option<PortProof>,
    /// Reads `/proc`, which may hang. Locked, since a worker runs one task at a time.
    worker: Mutex<BlockingWorker>,
}

impl PortGuard {
    /// A guard that demands `proof`.
    pub fn new(proof: Option<PortProof>) -> Self {
        Self { proof, worker: Mutex::default() }
    }

    /// Checks that the kubelet listens at `address`; `fix` is the remedy when another process may.
    ///
    /// # Errors
    /// When that is not proven, or not within `deadline`; nothing is sent then.
    pub async fn check(
        &self,
        what: &str,
        address: SocketAddr,
        deadline: Duration,
        fix: &str,
    ) -> Result<(), SourceFailure> {
        let Some(proof) = self.proof.clone() else { return Ok(()) };
        let worker = self.worker.lock().await;
        match worker.run(deadline, move || proof.check(address)).await {
            Some(checked) => checked.map_err(|doubt| port_not_proven(what, &doubt, fix)),
            None => {
                let fix = "find the process that blocks reads of /proc: ps -eo pid,stat,wchan,comm";
                Err(retry(what, ErrorKind::Timeout, "not sent: /proc does not respond", fix))
            }
        }
    }
}
