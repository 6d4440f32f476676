//! Owns the documents `Explanation` and `RunbookEntryList`.
//! It must not name a field otherwise than `docs/json.md` does.

use std::sync::Arc;

use serde::Serialize;

use super::json::{API_VERSION, DocumentHead, EvidenceJson, known};
use super::json_pods::NextJson;
use crate::diagnose::{Finding, Todo};
use crate::runbook::Cause;
use crate::text::Text;
use crate::view::{ExplainedSubject, NodeView, RunbookEntry};

/// Subjects with their findings, best first.
#[derive(Debug, Serialize)]
pub struct Explanation {
    #[serde(flatten)]
    head: DocumentHead,
    subjects: Vec<SubjectJson>,
}

#[derive(Debug, Serialize)]
struct SubjectJson {
    kind: Text,
    namespace: Option<Text>,
    name: Text,
    status: Option<Text>,
    stage: &'static str,
    explained_by_node: Option<NodeCauseJson>,
    findings: Vec<FindingJson>,
}

/// The node's fault that explains a pod.
#[derive(Debug, Serialize)]
struct NodeCauseJson {
    cause: Text,
    title: Text,
}

#[derive(Debug, Serialize)]
struct FindingJson {
    cause: Text,
    stage: &'static str,
    confidence: &'static str,
    severity: &'static str,
    title: Text,
    explanation: Text,
    container: Option<Text>,
    evidence: Vec<EvidenceJson>,
    next: Option<NextJson>,
    steps: Vec<StepJson>,
    docs: Vec<String>,
}

#[derive(Debug, Serialize)]
struct StepJson {
    text: Text,
    command: Option<Text>,
    disrupts: Option<Text>,
}

/// The explanation of these subjects.
pub fn explain_json(moment: &NodeView, subjects: &[ExplainedSubject]) -> Explanation {
    let subject = |e: &ExplainedSubject| SubjectJson {
        kind: e.kind.clone(),
        namespace: known(&e.namespace),
        name: e.name.clone(),
        status: known(&e.status),
        stage: e.stage,
        explained_by_node: e.of_node.as_ref().map(|f| NodeCauseJson { cause: f.cause.clone(), title: f.title.clone() }),
        findings: e.diagnosis.findings.iter().map(FindingJson::from).collect(),
    };
    Explanation { head: DocumentHead::new("Explanation", moment), subjects: subjects.iter().map(subject).collect() }
}

impl From<&Finding> for FindingJson {
    fn from(f: &Finding) -> Self {
        Self {
            cause: f.cause.clone(),
            stage: f.stage,
            confidence: f.confidence.name(),
            severity: f.severity.name(),
            title: f.title.clone(),
            explanation: f.explanation.clone(),
            container: known(&f.container),
            evidence: f.evidence.iter().map(EvidenceJson::from).collect(),
            next: f.next.map(NextJson::from),
            steps: f.steps.iter().map(StepJson::from).collect(),
            docs: f.docs.clone(),
        }
    }
}

impl From<&Todo> for StepJson {
    fn from(t: &Todo) -> Self {
        Self { text: t.text.clone(), command: t.command.clone(), disrupts: t.disrupts.clone() }
    }
}

/// Entries of the runbook.
#[derive(Debug, Serialize)]
pub struct EntryList {
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    kind: &'static str,
    entries: Vec<EntryJson>,
}

#[derive(Debug, Serialize)]
struct EntryJson {
    cause: Text,
    stage: &'static str,
    severity: &'static str,
    title: Text,
    explanation: Text,
    reasons: Vec<String>,
    steps: Vec<StepJson>,
    docs: Vec<String>,
}

/// Entries as the runbook has them, with places to fill in angle brackets.
pub fn entry_json(causes: &[Arc<Cause>]) -> EntryList {
    let entry = |c: &Arc<Cause>| {
        let entry = RunbookEntry::new(c);
        EntryJson {
            cause: entry.id,
            stage: entry.stage,
            severity: entry.severity,
            title: entry.title,
            explanation: entry.explanation,
            reasons: entry.reasons,
            steps: entry.steps.iter().map(StepJson::from).collect(),
            docs: entry.docs,
        }
    };
    EntryList { api_version: API_VERSION, kind: "RunbookEntryList", entries: causes.iter().map(entry).collect() }
}
