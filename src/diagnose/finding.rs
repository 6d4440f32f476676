//! The result of a diagnosis: causes with evidence, confidence, texts and steps, best first.

use crate::observation::Time;
use crate::pipeline::{Evidence, Next};
use crate::runbook::{Confidence, Severity, Signal};
use crate::text::Text;

/// One step of a remedy, with its variables filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemedyStep {
    /// What it is for.
    pub text: Text,
    /// The command, quoted for the shell.
    pub command: Option<Text>,
    /// What it does to the node or the pod; absent if it only reads.
    pub disrupts: Option<Text>,
}

/// One cause that the evidence supports.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Cause id.
    pub cause: Text,
    /// Stage, or `node`.
    pub stage: &'static str,
    /// Confidence.
    pub confidence: Confidence,
    /// Severity.
    pub severity: Severity,
    /// Headline.
    pub title: Text,
    /// What it means for this subject.
    pub explanation: Text,
    /// The container it is about; empty for the pod or the node.
    pub container: Text,
    /// Evidence, newest first.
    pub evidence: Vec<Evidence>,
    /// The events that it is based on, also those that repeat the evidence.
    pub events: Vec<Signal>,
    /// What happens next without a change.
    pub next: Option<Next>,
    /// What to do.
    pub steps: Vec<RemedyStep>,
    /// Upstream documentation.
    pub docs: Vec<String>,
}

impl Finding {
    /// The title, with the container that it does not name itself: `The certificate is refused (container app)`.
    pub fn headline(&self) -> Text {
        let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let mut words = self.title.split(|c| !is_part(c));
        match self.container.is_empty() || words.any(|word| word == self.container.as_str()) {
            true => self.title.clone(),
            false => format!("{} (container {})", self.title, self.container).into(),
        }
    }
}

/// The diagnosis of one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// Causes, best first; never empty.
    pub findings: Vec<Finding>,
    /// The signals that rules were matched against.
    pub signals: Vec<Signal>,
    /// When time alone changes it.
    pub holds_until: Option<Time>,
}

/// Cause id: not enough evidence.
pub const UNKNOWN: &str = "unknown";
/// Cause id: no fault found.
pub const HEALTHY: &str = "none.healthy";
/// Cause id: harmless messages only.
pub const NOISE: &str = "none.noise";
/// Cause id: in progress, passes on its own.
pub const TRANSIENT: &str = "none.transient";

/// The cause reports no fault. One that passes on its own and has a name, as a kubelet that is starting, is shown with the
/// faults: it explains why nothing progresses.
pub fn is_nothing(cause: &str) -> bool {
    cause.starts_with("none.") && !cause.starts_with("none.transient.")
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headline_names_the_container_once() {
        let of = |title: &str, container: &str| {
            let (title, container) = (Text::new(title), Text::new(container));
            let (cause, explanation) = (Text::default(), Text::default());
            let (confidence, severity, next) = (Confidence::Certain, Severity::Error, None);
            let (evidence, events, steps, docs) = Default::default();
            let stage = "image";
            Finding {
                cause,
                stage,
                confidence,
                severity,
                title,
                explanation,
                container,
                evidence,
                events,
                next,
                steps,
                docs,
            }
            .headline()
        };
        assert_eq!(of("The image is not there", ""), "The image is not there");
        assert_eq!(of("The image is not there", "app"), "The image is not there (container app)");
        assert_eq!(of("my-app was killed at its memory limit", "my-app"), "my-app was killed at its memory limit");
        assert_eq!(of("A mapped file is gone", "map"), "A mapped file is gone (container map)", "no part of a word");
    }
}
