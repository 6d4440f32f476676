//! Owns what a diagnosis says: causes with evidence, confidence, words and steps, best first.
//! It must not decide: it is filled in by `judge`.

use crate::observation::Time;
use crate::pipeline::{Evidence, Next};
use crate::runbook::{Confidence, Severity, Signal};
use crate::text::Text;

/// One thing to do, filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// What it is for.
    pub text: Text,
    /// The command, quoted for the shell.
    pub command: Option<Text>,
    /// What it does to the node or the pod; absent when it only looks.
    pub disrupts: Option<Text>,
}

/// One cause that the evidence supports.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Cause id.
    pub cause: Text,
    /// Stage, or `node`.
    pub stage: &'static str,
    /// How sure.
    pub confidence: Confidence,
    /// How bad.
    pub severity: Severity,
    /// A few words.
    pub title: Text,
    /// What it means here.
    pub explanation: Text,
    /// The container it is about; empty for the pod or the node.
    pub container: Text,
    /// What says so, newest first.
    pub evidence: Vec<Evidence>,
    /// What happens next by itself.
    pub next: Option<Next>,
    /// What to do.
    pub steps: Vec<Todo>,
    /// Upstream documentation.
    pub docs: Vec<String>,
}

/// What is to be said of one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// Causes, best first; never empty.
    pub findings: Vec<Finding>,
    /// What it was made from: what rules can look for.
    pub signals: Vec<Signal>,
    /// When waiting alone changes it.
    pub holds_until: Option<Time>,
}

/// The id of an answer that says that the evidence does not suffice.
pub const UNKNOWN: &str = "unknown";
/// The id of the answer that nothing is wrong.
pub const HEALTHY: &str = "none.healthy";
/// The id of the answer that what alarms is no fault.
pub const NOISE: &str = "none.noise";
/// The id of the answer that it heals by itself.
pub const TRANSIENT: &str = "none.transient";

impl Diagnosis {
    /// The best of them.
    pub fn top(&self) -> Option<&Finding> {
        self.findings.first()
    }

    /// Nothing needs to be done.
    pub fn is_quiet(&self) -> bool {
        self.top().is_none_or(|f| f.cause.starts_with("none."))
    }
}
