//! A runbook entry as text: in general with placeholders, or filled in for one finding.

use super::has_words;
use crate::diagnose::{Finding, RemedyStep, steps};
use crate::observation::NodePaths;
use crate::runbook::{Cause, Vars};
use crate::text::Text;

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub struct RunbookEntry {
    /// Cause id; of a finding its own, which may refine the entry's.
    pub id: Text,
    /// Stage of the cause, `node` or `any`.
    pub stage: &'static str,
    /// How bad.
    pub severity: &'static str,
    /// A few words.
    pub title: Text,
    /// What it means.
    pub explanation: Text,
    /// Words of Kubernetes that lead here.
    pub reasons: Vec<String>,
    /// What to do, in order.
    pub steps: Vec<RemedyStep>,
    /// Upstream documentation.
    pub docs: Vec<String>,
}

impl RunbookEntry {
    /// As the runbook has it.
    pub fn new(cause: &Cause) -> Self {
        let none = Vars::new();
        Self {
            id: Text::new(&cause.id),
            stage: cause.place.name(),
            severity: cause.severity.name(),
            title: cause.title.fill(&none).into(),
            explanation: cause.explanation.fill(&none).into(),
            reasons: cause.reasons.clone(),
            steps: steps(cause, &none, &NodePaths::default()),
            docs: cause.docs.clone(),
        }
    }

    /// The same for the subject of a finding.
    pub fn filled(cause: &Cause, finding: &Finding) -> Self {
        Self {
            id: finding.cause.clone(),
            title: finding.title.clone(),
            explanation: finding.explanation.clone(),
            steps: finding.steps.clone(),
            ..Self::new(cause)
        }
    }

    /// True when it has every word of `words` in id, title, explanation or reasons.
    pub fn matches(&self, words: &str) -> bool {
        has_words(words, || format!("{} {} {} {}", self.id, self.title, self.explanation, self.reasons.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_by_any_of_its_words() {
        let entry = RunbookEntry {
            id: "image.not-found".into(),
            stage: "image",
            severity: "error",
            title: "The image does not exist".into(),
            explanation: "The registry has no such tag.".into(),
            reasons: vec!["ErrImagePull".into()],
            steps: Vec::new(),
            docs: Vec::new(),
        };
        assert!(["", "  ", "IMAGE.not", "errimage exist", "tag registry"].iter().all(|words| entry.matches(words)));
        assert!(!entry.matches("image secret"));
    }
}
