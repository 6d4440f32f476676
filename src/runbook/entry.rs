//! A cause's entry in the runbook: texts, steps, severity and confidence. Rules prove it.

use serde::{Deserialize, Serialize};

use super::template::Template;
use crate::pipeline::Stage;

/// What a cause affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseScope {
    /// That stage of the pipeline.
    Stage(Stage),
    /// The node's fault and not one pod's.
    Node,
    /// A pod at any stage.
    Any,
}

impl CauseScope {
    /// Reads the name of a stage, `node` or `any`.
    pub fn read(name: &str) -> Option<Self> {
        match name {
            "node" => Some(CauseScope::Node),
            "any" => Some(CauseScope::Any),
            name => Stage::ALL.into_iter().find(|s| s.name() == name).map(CauseScope::Stage),
        }
    }

    /// The name in the runbook and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            CauseScope::Stage(stage) => stage.name(),
            CauseScope::Node => "node",
            CauseScope::Any => "any",
        }
    }
}

/// How bad a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// No fault, or one that passes on its own.
    Info,
    /// Something is not as it should be, and it works.
    Warning,
    /// It does not work.
    Error,
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// The evidence is consistent with it.
    Possible,
    /// The evidence strongly suggests it.
    Likely,
    /// The evidence proves it.
    Certain,
}

impl Confidence {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Possible => "possible",
            Confidence::Likely => "likely",
            Confidence::Certain => "certain",
        }
    }
}

impl Severity {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// The effect of a step on the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It only reads.
    ReadOnly,
    /// It changes something; the text names it.
    Disrupts(String),
}

/// One thing to do.
#[derive(Clone, Debug)]
pub struct RunbookStep {
    /// What it is for.
    pub text: Template,
    /// The command; absent for advice.
    pub run: Option<Template>,
    /// What it does.
    pub effect: Effect,
}

/// The runbook's entry for one cause.
#[derive(Clone, Debug)]
pub struct Cause {
    /// Stable id, such as `image.not-found`.
    pub id: String,
    /// What it affects.
    pub place: CauseScope,
    /// How bad.
    pub severity: Severity,
    /// A few words.
    pub title: Template,
    /// What it means.
    pub explanation: Template,
    /// What to do, in order.
    pub steps: Vec<RunbookStep>,
    /// Upstream documentation.
    pub docs: Vec<String>,
    /// Words of Kubernetes that lead here: waiting reasons, statuses, event reasons.
    pub reasons: Vec<String>,
    /// Stages at which this cause of the node explains a failing pod.
    pub explains: Vec<Stage>,
    /// Causes that are only a consequence of this one, or the same failure in general words, when this one is certain.
    pub excludes: Vec<String>,
}
