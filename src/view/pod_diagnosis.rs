//! The diagnosis of one pod: its own findings, and the fault of the node that explains them.

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
    /// The first finding to show: the node's fault if it explains the pod, else the pod's own best one.
    pub fn first(&self) -> Option<&Finding> {
        self.of_node.as_ref().or_else(|| self.own.top())
    }

    /// The runbook's entry of that, filled in with what the finding knows; none where the runbook has no such entry.
    pub fn entry(&self, book: &Runbook) -> Option<RunbookEntry> {
        let finding = self.first()?;
        Some(RunbookEntry::filled(book.cause(&finding.cause)?, finding))
    }
}
