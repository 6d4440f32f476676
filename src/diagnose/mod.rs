//! Owns why: signals from what is known of a pod or of the node, the causes they prove, and what to do about them.
//! It must not do I/O or ask for the time, and no finding may cost a pass over all pods.

mod area;
mod extract;
mod finding;
mod judge;
mod rounds;
mod scheduler;
mod shortage;
#[cfg(test)]
mod tests;
mod vars;

pub use finding::{Diagnosis, Finding, HEALTHY, NOISE, TRANSIENT, Todo, UNKNOWN, is_nothing};
pub use judge::steps;
pub use rounds::{Found, Rounds, fault_of_node};
pub use scheduler::{Reason, Schedule, split};
pub use vars::signal_name;

use crate::model::Snapshot;
use crate::objects::Condition;
use crate::observation::{Source, Time};
use crate::pipeline::{Evidence, LocatedPod, Stage, StageState};
use crate::runbook::{Confidence, Kind, Place, Runbook, Severity, Signal, Vars};
use crate::text::Text;
use crate::time::TimeDelta;
use judge::{Bench, judge};

/// A restart is remembered as long as the kubelet remembers its back-off, seconds (twice MaxCrashLoopBackOff).
pub const UNSTEADY_S: i64 = 600;
/// A stage that should pass by itself is not alarming for so long, seconds.
const PATIENCE_S: i64 = 120;

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

/// What a diagnosis is made with.
#[derive(Clone, Copy)]
pub struct Doctor<'a> {
    /// Rules and words.
    pub book: &'a Runbook,
    /// What is known.
    pub snapshot: &'a Snapshot,
    /// The time at which it is asked.
    pub now: Time,
}

impl Doctor<'_> {
    /// When waiting alone changes what is to be said: a number of seconds that a rule asks for, the end of our patience, the
    /// moment from which a restart is history.
    fn holds_until(&self, placed: &LocatedPod, signals: &[Signal]) -> Option<Time> {
        let crossings = signals.iter().filter_map(|s| {
            let lasted = s.code.filter(|_| matches!(s.kind, Kind::Place | Kind::Watched))?;
            let next = self.book.next_threshold(s.kind, lasted)?;
            Some(self.now + TimeDelta::seconds(next.saturating_sub(lasted)))
        });
        let patience = placed.position.since.map(|since| since + TimeDelta::seconds(PATIENCE_S + 1));
        let exits = placed.position.containers.iter().filter_map(|c| c.last_exit.as_ref()?.2);
        let history = exits.map(|at| at + TimeDelta::seconds(UNSTEADY_S));
        crossings.chain(patience).chain(history).filter(|at| *at > self.now).min()
    }

    /// Why a pod stands where it stands.
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
        let bench =
            Bench { book: self.book, stage: Some(stage), vars: &vars, next: placed.position.next, of_node: false };
        let well = stage == Stage::Running && matches!(placed.position.state, StageState::Active | StageState::Done);
        let findings = told(judge(&bench, &signals), well);
        if !findings.is_empty() {
            let holds_until = self.holds_until(placed, &signals);
            return Diagnosis { findings, signals, holds_until };
        }
        let place = &placed.position;
        let waited = place.since.map_or(0, |since| (self.now - since).num_seconds());
        let moving = !matches!(place.state, StageState::Failed | StageState::Unknown) && waited <= PATIENCE_S;
        let cause = if well {
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

    /// Names that the pod's own facts do not hold: what it is short of, who holds its name, where it is.
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

    /// What is wrong with the node. `only_logs` says that no object is known of it, so that every line counts.
    pub fn node(&self, name: &str, only_logs: bool) -> Diagnosis {
        let signals = extract::of_node(self.snapshot, self.now, only_logs);
        let vars = vars::of_node(name, self.runtime_unit());
        let quiet = if only_logs { extract::quiet(self.snapshot) } else { None };
        let plain = quiet.map(|line| {
            let evidence = vec![Evidence::new(line.source, Some(line.at), line.text.clone())];
            self.plain(HEALTHY, Place::Node.name(), &vars, evidence)
        });
        self.without_place(signals, &vars, !only_logs, plain)
    }

    /// What logs and events say of something that no source has as an object.
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

    /// `plain` is what is told when no rule tells a fault, where something says so.
    fn without_place(&self, signals: Vec<Signal>, vars: &Vars, of_node: bool, plain: Option<Finding>) -> Diagnosis {
        let with = |_: &str| vars.clone();
        let ready = self
            .snapshot
            .node
            .as_ref()
            .is_some_and(|n| n.status.conditions.iter().any(|c| c.kind == "Ready" && c.is_true()));
        let bench = Bench { book: self.book, stage: None, vars: &with, next: None, of_node };
        let findings = told(judge(&bench, &signals), of_node && ready);
        if !findings.is_empty() {
            return Diagnosis { findings, signals, holds_until: None };
        }
        let known = self.snapshot.node.is_some() || self.snapshot.kubelet.scraped_at().is_some();
        let well = known && !vars.contains_key("pod");
        let troubled: Vec<Evidence> = if of_node { self.unexplained() } else { Vec::new() };
        let cause = if well && troubled.is_empty() { HEALTHY } else { UNKNOWN };
        let finding = plain.unwrap_or_else(|| self.plain(cause, Place::Node.name(), vars, troubled));
        Diagnosis { findings: vec![finding], signals, holds_until: None }
    }

    /// Conditions of the node, its agents' own among them, that say by their names that something is broken.
    fn unexplained(&self) -> Vec<Evidence> {
        let conditions = self.snapshot.node.iter().flat_map(|n| &n.status.conditions);
        let told = conditions.filter(|c| c.is_true() && TROUBLE_WORDS.iter().any(|w| c.kind.contains(w)));
        let text = |c: &Condition| format!("{}={}, {}: {}", c.kind, c.status, c.reason, c.message);
        told.map(|c| Evidence::new(Source::ApiNode, c.last_transition_time, text(c))).collect()
    }

    /// An answer that no rule gives.
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
            title: fill(entry.map(|e| &e.title), "Not enough to tell"),
            explanation: fill(entry.map(|e| &e.explanation), "What is known does not say why."),
            container: Text::default(),
            evidence,
            events: Vec::new(),
            next: None,
            steps: entry.map(|e| steps(e, vars)).unwrap_or_default(),
            docs: entry.map(|e| e.docs.clone()).unwrap_or_default(),
        }
    }

    /// The systemd unit of the container runtime.
    fn runtime_unit(&self) -> &'static str {
        let version = self.snapshot.node.as_ref().map(|n| n.status.node_info.container_runtime_version.as_str());
        let name = version.or(self.snapshot.runtime.as_ref().map(|r| r.name.as_str())).unwrap_or_default();
        match name.split(':').next().unwrap_or_default() {
            "cri-o" | "crio" => "crio",
            "docker" => "docker",
            _ => "containerd",
        }
    }
}

/// What is told of a subject: whoever asks about one that is well wants to hear that, not of noise.
fn told(findings: Vec<Finding>, well: bool) -> Vec<Finding> {
    if well && findings.iter().all(|f| f.cause == NOISE) { Vec::new() } else { findings }
}
