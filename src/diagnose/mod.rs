//! Owns why: signals from what is known of a pod or of the node, the causes they prove, and what to do about them.
//! It must not do I/O or ask for the time, and no finding may cost a pass over all pods.

mod area;
mod extract;
mod finding;
mod judge;
mod rounds;
mod scheduler;
#[cfg(test)]
mod tests;
mod vars;

pub use finding::{Diagnosis, Finding, HEALTHY, TRANSIENT, Todo, UNKNOWN};
pub use judge::steps;
pub use rounds::{Found, Rounds, fault_of_node};
pub use scheduler::{Reason, Schedule, split};
pub use vars::signal_name;

use chrono::TimeDelta;

use crate::model::Snapshot;
use crate::observation::Time;
use crate::pipeline::{Evidence, Placed, Stage, StageState};
use crate::runbook::{Confidence, Kind, Runbook, Severity, Vars};
use crate::text::Text;
use judge::{Bench, judge};

/// A restart is remembered as long as the kubelet remembers its back-off, seconds (twice MaxCrashLoopBackOff).
pub const UNSTEADY_S: i64 = 600;
/// A stage that should pass by itself is not alarming for so long, seconds.
const PATIENCE_S: i64 = 120;

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
    fn holds_until(&self, placed: &Placed, signals: &[crate::runbook::Signal]) -> Option<Time> {
        let crossings = signals.iter().filter_map(|s| {
            let lasted = s.code.filter(|_| matches!(s.kind, Kind::Place | Kind::Watched))?;
            let next = self.book.next_threshold(s.kind, lasted)?;
            self.now.checked_add_signed(TimeDelta::seconds(next - lasted))
        });
        let patience = placed.place.since.map(|since| since + TimeDelta::seconds(PATIENCE_S + 1));
        let exits = placed.place.containers.iter().filter_map(|c| c.last_exit.as_ref()?.2);
        let history = exits.map(|at| at + TimeDelta::seconds(UNSTEADY_S));
        crossings.chain(patience).chain(history).filter(|at| *at > self.now).min()
    }

    /// Why a pod stands where it stands.
    pub fn pod(&self, placed: &Placed) -> Diagnosis {
        let signals = extract::of_pod(placed, self.snapshot, self.now);
        let unit = self.runtime_unit();
        let vars = |container: &str| {
            let mut vars = vars::of_pod(placed, container, unit, self.now);
            let here = Some(self.snapshot.node_name()).filter(|name| !name.is_empty());
            if let Some(name) = here.filter(|_| placed.facts.object().is_none()) {
                vars.entry("node".to_owned()).or_insert_with(|| name.to_string());
            }
            vars
        };
        let stage = placed.place.stage;
        let bench = Bench { book: self.book, stage: Some(stage), vars: &vars, next: placed.place.next, of_node: false };
        let findings = judge(&bench, &signals);
        if !findings.is_empty() {
            let holds_until = self.holds_until(placed, &signals);
            return Diagnosis { findings, signals, holds_until };
        }
        let place = &placed.place;
        let waited = place.since.map_or(0, |since| (self.now - since).num_seconds());
        let moving = !matches!(place.state, StageState::Failed | StageState::Unknown) && waited <= PATIENCE_S;
        let cause = match (stage, place.state) {
            (Stage::Running, StageState::Active | StageState::Done) => HEALTHY,
            _ if moving => TRANSIENT,
            _ => UNKNOWN,
        };
        let evidence: Vec<Evidence> =
            place.step(stage).map(|s| s.evidence.clone()).unwrap_or_default().into_iter().rev().take(3).collect();
        let finding = self.plain(cause, stage.name(), &vars(""), evidence);
        let holds_until = self.holds_until(placed, &signals);
        Diagnosis { findings: vec![Finding { next: place.next, ..finding }], signals, holds_until }
    }

    /// What is wrong with the node. `only_logs` says that no object is known of it, so that every line counts.
    pub fn node(&self, name: &str, only_logs: bool) -> Diagnosis {
        let signals = extract::of_node(self.snapshot, self.now, only_logs);
        let vars = vars::of_node(name, self.runtime_unit());
        self.without_place(signals, &vars, !only_logs)
    }

    /// What logs and events say of something that no source has as an object.
    pub fn named(&self, namespace: &str, name: &str) -> Diagnosis {
        let signals = extract::of_name(self.snapshot, namespace, name);
        let mut vars = vars::of_node("", self.runtime_unit());
        vars.insert("pod".to_owned(), name.to_owned());
        if !namespace.is_empty() {
            vars.insert("namespace".to_owned(), namespace.to_owned());
        }
        self.without_place(signals, &vars, false)
    }

    fn without_place(&self, signals: Vec<crate::runbook::Signal>, vars: &Vars, of_node: bool) -> Diagnosis {
        let with = |_: &str| vars.clone();
        let findings = judge(&Bench { book: self.book, stage: None, vars: &with, next: None, of_node }, &signals);
        if !findings.is_empty() {
            return Diagnosis { findings, signals, holds_until: None };
        }
        let known = self.snapshot.node.is_some() || self.snapshot.kubelet.scraped_at().is_some();
        let well = known && vars.get("pod").is_none();
        let cause = if well { HEALTHY } else { UNKNOWN };
        Diagnosis { findings: vec![self.plain(cause, "node", vars, Vec::new())], signals, holds_until: None }
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
