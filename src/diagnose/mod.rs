//! Diagnosis: signals from the facts of a pod or of the node, the causes that they prove, and what to do. No I/O, no clock, and
//! no pass over all pods for one finding.

mod area;
mod cache;
mod commands;
mod extract;
mod finding;
mod judge;
mod probe_command;
mod scheduler;
mod shortage;
#[cfg(test)]
mod tests;
mod vars;

pub use cache::{Diagnoses, DiagnosisCache, fault_of_node};
pub use finding::{Diagnosis, Finding, HEALTHY, NOISE, RemedyStep, TRANSIENT, UNKNOWN, is_nothing};
pub use judge::steps;
pub use scheduler::{Schedule, ScheduleReason, split_schedule};
pub use vars::signal_name;

use crate::model::Snapshot;
use crate::objects::Condition;
use crate::observation::{NodePaths, Source, Time};
use crate::pipeline::{Evidence, LocatedPod, Stage, StageState};
use crate::runbook::{CauseScope, Confidence, Runbook, Severity, Signal, SignalKind, Vars};
use crate::text::Text;
use crate::thresholds::{BACK_OFF_RESET, STAGE_STUCK};
use crate::time::TimeDelta;
use judge::{JudgeContext, judge};

/// Parts of the names of conditions that are bad when they are true (node-problem-detector and its like).
const TROUBLE_WORDS: &[&str] = &[
    "Problem",
    "Pressure",
    "Unavailable",
    "Readonly",
    "Corrupt",
    "Deadlock",
    "Frequent",
    "Unhealthy",
    "Fail",
    "Error",
];

/// The inputs of a diagnosis.
#[derive(Clone, Copy)]
pub struct Diagnoser<'a> {
    /// Rules and texts.
    pub book: &'a Runbook,
    /// The state of the node.
    pub snapshot: &'a Snapshot,
    /// The time of the diagnosis.
    pub now: Time,
}

impl Diagnoser<'_> {
    /// When time alone changes the diagnosis: at a threshold of a rule, when a stage takes too long, when a restart is no
    /// longer recent.
    fn holds_until(&self, placed: &LocatedPod, signals: &[Signal]) -> Option<Time> {
        let crossings = signals.iter().filter_map(|s| {
            let lasted = s.code.filter(|_| matches!(s.kind, SignalKind::Position | SignalKind::Watched))?;
            let next = self.book.next_threshold(s.kind, lasted)?;
            Some(self.now + TimeDelta::seconds(next.saturating_sub(lasted)))
        });
        let patience = placed.position.since.map(|since| since + STAGE_STUCK + TimeDelta::seconds(1));
        let exits = placed.position.containers.iter().filter_map(|c| c.last_exit.as_ref()?.2);
        let history = exits.map(|at| at + BACK_OFF_RESET);
        crossings.chain(patience).chain(history).filter(|at| *at > self.now).min()
    }

    /// Why a pod is at its stage.
    pub fn pod(&self, placed: &LocatedPod) -> Diagnosis {
        let signals = extract::of_pod(placed, self.snapshot, self.now);
        let unit = self.runtime_unit();
        let stage = placed.position.stage;
        let worked_out = self.worked_out(placed);
        let vars = |container: &str| {
            let mut vars = worked_out.clone();
            vars.extend(vars::of_pod(placed, container, unit, self.now));
            vars
        };
        let bench = JudgeContext {
            paths: self.paths(),
            book: self.book,
            stage: Some(stage),
            vars: &vars,
            next: placed.position.next,
            of_node: false,
        };
        let is_healthy =
            stage == Stage::Running && matches!(placed.position.state, StageState::Active | StageState::Done);
        let findings = without_noise(judge(&bench, &signals), is_healthy);
        if !findings.is_empty() {
            let holds_until = self.holds_until(placed, &signals);
            return Diagnosis { findings, signals, holds_until };
        }
        let place = &placed.position;
        let waited = place.since.map_or(0, |since| (self.now - since).num_seconds());
        let moving =
            !matches!(place.state, StageState::Failed | StageState::Unknown) && waited <= STAGE_STUCK.num_seconds();
        let cause = if is_healthy {
            HEALTHY
        } else if moving {
            TRANSIENT
        } else {
            UNKNOWN
        };
        let evidence: Vec<Evidence> =
            place.progress(stage).map(|s| s.evidence.clone()).unwrap_or_default().into_iter().rev().take(3).collect();
        let finding = self.plain(cause, stage.name(), &vars(""), evidence);
        let holds_until = self.holds_until(placed, &signals);
        Diagnosis { findings: vec![Finding { next: place.next, ..finding }], signals, holds_until }
    }

    /// Variables that the pod's own facts do not give: shortages, the holder of its reserved name, its node.
    fn worked_out(&self, placed: &LocatedPod) -> Vars {
        let mut vars = Vars::new();
        for (name, sentence) in shortage::shortages(placed, self.snapshot) {
            vars.insert(name.to_owned(), sentence);
        }
        if placed.position.stage < Stage::Start {
            vars.extend(vars::held_by(&placed.facts).map(|holder| ("held_by".to_owned(), holder)));
        }
        let here = self.snapshot.node_name();
        if placed.facts.object().is_none() && !here.is_empty() {
            vars.insert("node".to_owned(), here.to_string());
        }
        vars
    }

    /// What is wrong with the node. With `only_logs` no object of it is known, and every line counts.
    pub fn node(&self, name: &str, only_logs: bool) -> Diagnosis {
        let signals = extract::of_node(self.snapshot, self.now, only_logs);
        let vars = vars::of_node(name, self.runtime_unit());
        let quiet = if only_logs { extract::quiet(self.snapshot) } else { None };
        let plain = quiet.map(|evidence| self.plain(HEALTHY, CauseScope::Node.name(), &vars, vec![evidence]));
        self.without_place(signals, &vars, !only_logs, plain)
    }

    /// The diagnosis of a pod that no source has as an object: from logs and events.
    pub fn named(&self, namespace: &str, name: &str) -> Diagnosis {
        let signals = extract::of_name(self.snapshot, namespace, name, self.now);
        let mut vars = vars::of_node("", self.runtime_unit());
        vars.insert("pod".to_owned(), name.to_owned());
        if !namespace.is_empty() {
            vars.insert("namespace".to_owned(), namespace.to_owned());
        }
        let standing = extract::standing(self.snapshot, namespace, name, self.now);
        let plain = standing.map(|(event, cause, stage)| {
            let text = format!("{}: {}", event.reason, event.message);
            self.plain(cause, stage.name(), &vars, vec![Evidence::new(Source::ApiEvents, event.last(), text)])
        });
        self.without_place(signals, &vars, false, plain)
    }

    /// `plain` is the finding if no rule proves a fault.
    fn without_place(&self, signals: Vec<Signal>, vars: &Vars, of_node: bool, plain: Option<Finding>) -> Diagnosis {
        let with = |_: &str| vars.clone();
        let ready = self
            .snapshot
            .node
            .as_ref()
            .is_some_and(|n| n.status.conditions.iter().any(|c| c.kind == "Ready" && c.is_true()));
        let bench =
            JudgeContext { paths: self.paths(), book: self.book, stage: None, vars: &with, next: None, of_node };
        let findings = without_noise(judge(&bench, &signals), of_node && ready);
        if !findings.is_empty() {
            return Diagnosis { findings, signals, holds_until: None };
        }
        let known = self.snapshot.node.is_some() || self.snapshot.kubelet.scraped_at().is_some();
        let is_healthy = known && !vars.contains_key("pod");
        let troubled: Vec<Evidence> = if of_node { self.unexplained() } else { Vec::new() };
        let cause = if is_healthy && troubled.is_empty() { HEALTHY } else { UNKNOWN };
        let finding = plain.unwrap_or_else(|| self.plain(cause, CauseScope::Node.name(), vars, troubled));
        Diagnosis { findings: vec![finding], signals, holds_until: None }
    }

    /// Conditions of the node, those of agents included, whose names report a failure.
    fn unexplained(&self) -> Vec<Evidence> {
        let conditions = self.snapshot.node.iter().flat_map(|n| &n.status.conditions);
        let without_noise = conditions.filter(|c| c.is_true() && TROUBLE_WORDS.iter().any(|w| c.kind.contains(w)));
        let text = |c: &Condition| format!("{}={}, {}: {}", c.kind, c.status, c.reason, c.message);
        without_noise.map(|c| Evidence::new(Source::ApiNode, c.last_transition_time, text(c))).collect()
    }

    /// A finding without a rule.
    fn plain(&self, cause: &str, stage: &'static str, vars: &Vars, evidence: Vec<Evidence>) -> Finding {
        let entry = self.book.cause(cause);
        let fill = |text: Option<&crate::runbook::Template>, otherwise: &str| -> Text {
            text.map_or_else(|| otherwise.into(), |t| t.fill(vars).into())
        };
        let confidence = if cause == UNKNOWN { Confidence::Possible } else { Confidence::Likely };
        Finding {
            cause: cause.into(),
            stage,
            confidence,
            severity: entry.map_or(Severity::Warning, |e| e.severity),
            title: fill(entry.map(|e| &e.title), "Unknown: not enough data"),
            explanation: fill(entry.map(|e| &e.explanation), "The available data does not show a cause."),
            container: Text::default(),
            evidence,
            events: Vec::new(),
            next: None,
            steps: entry.map(|e| steps(e, vars, self.paths())).unwrap_or_default(),
            docs: entry.map(|e| e.docs.clone()).unwrap_or_default(),
        }
    }

    fn paths(&self) -> &NodePaths {
        &self.snapshot.machine.paths
    }

    /// The systemd unit of the container runtime, without `.service`.
    fn runtime_unit(&self) -> &str {
        let found = self.paths().runtime_unit.as_str();
        if !found.is_empty() {
            return found.strip_suffix(".service").unwrap_or(found);
        }
        let version = self.snapshot.node.as_ref().map(|n| n.status.node_info.container_runtime_version.as_str());
        let name = version.or(self.snapshot.runtime.as_ref().map(|r| r.name.as_str())).unwrap_or_default();
        match name.split(':').next().unwrap_or_default() {
            "cri-o" | "crio" => "crio",
            "docker" => "docker",
            _ => "containerd",
        }
    }
}

/// The findings of a subject; none if it is healthy and only noise was found.
fn without_noise(findings: Vec<Finding>, is_healthy: bool) -> Vec<Finding> {
    if is_healthy && findings.iter().all(|f| f.cause == NOISE) { Vec::new() } else { findings }
}
