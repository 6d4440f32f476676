//! Owns why one pod stands where it stands, as it is shown: its own findings, and the node's fault that explains it.
//! It must not choose among them: `diagnose` has put them in order.

use std::sync::Arc;

use super::RunbookEntry;
use crate::diagnose::{Diagnosis, Finding};
use crate::runbook::Runbook;

/// Why, for one pod.
#[derive(Clone, Debug, PartialEq)]
pub struct PodDiagnosis {
    /// Its own findings, best first.
    pub own: Arc<Diagnosis>,
    /// The node's fault that explains it.
    pub of_node: Option<Finding>,
}

impl PodDiagnosis {
    /// What is told first: the node's fault where it explains the pod, else the best of its own findings.
    pub fn first(&self) -> Option<&Finding> {
        self.of_node.as_ref().or_else(|| self.own.top())
    }

    /// The runbook's entry of that, filled in with what the finding knows; none where the runbook has no such entry.
    pub fn entry(&self, book: &Runbook) -> Option<RunbookEntry> {
        let finding = self.first()?;
        Some(RunbookEntry::filled(book.cause(&finding.cause)?, finding))
    }
}
