//! One pod as a row of the table, and its health.

use super::format::next_text;
use crate::diagnose::{Finding, HEALTHY};
use crate::observation::Time;
use crate::pipeline::{LocatedPod, NextKind, Readiness, Stage, StageState, human_duration};
use crate::runbook::Confidence;
use crate::text::Text;
use crate::thresholds::{BACK_OFF_RESET, STAGE_SLOW};
use crate::time::TimeDelta;

/// Severity of a pod's state; higher is shown first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PodHealth {
    /// Ended as it should.
    Done,
    /// Running and Ready.
    Healthy,
    /// Running and Ready, and restarted not long ago.
    Unsteady,
    /// No data about its state.
    Unknown,
    /// On its way.
    Moving,
    /// On its way for long, or terminating beyond its grace.
    Slow,
    /// A stage failed.
    Failed,
}

impl PodHealth {
    /// True for what `--failing` keeps.
    pub fn is_failing(self) -> bool {
        self >= PodHealth::Slow
    }

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            PodHealth::Done => "done",
            PodHealth::Healthy => "well",
            PodHealth::Unsteady => "unsteady",
            PodHealth::Unknown => "unknown",
            PodHealth::Moving => "moving",
            PodHealth::Slow => "slow",
            PodHealth::Failed => "failed",
        }
    }
}

/// One pod as a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// UID.
    pub key: Text,
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// Node that it is bound to; empty when none is named.
    pub node: Text,
    /// READY, `1/2`.
    pub ready: String,
    /// The same, to sort by.
    pub readiness: Readiness,
    /// STATUS of kubectl.
    pub status: Text,
    /// RESTARTS of kubectl, `3 (27s ago)`.
    pub restarts: String,
    /// The same, to sort by.
    pub restarts_so_far: u32,
    /// AGE of kubectl.
    pub age: String,
    /// The same, to sort by.
    pub created: Option<Time>,
    /// State of each stage, in order.
    pub glyphs: Vec<StageState>,
    /// Where it stands.
    pub stage: Stage,
    /// The state there.
    pub state: StageState,
    /// For how long, as kubectl prints durations, `>2m10s` for a lower bound; empty when unknown.
    pub in_stage: String,
    /// The same, to sort by.
    pub in_stage_for: Option<TimeDelta>,
    /// What comes next, with its countdown; empty when nothing is known.
    pub next: String,
    /// What that is, and whether its time is known.
    pub next_kind: Option<(NextKind, bool)>,
    /// When, to sort by.
    pub next_at: Option<Time>,
    /// What the sources say is the matter, on one line.
    pub reason: String,
    /// Why, in a few words: the best finding's title, or the node's fault that explains it; empty when nothing is wrong.
    pub why: String,
    /// Cause id of that finding; empty when none was made.
    pub cause: Text,
    /// Its severity.
    pub health: PodHealth,
}

impl Row {
    /// The row of one pod at `now`.
    pub fn new(placed: &LocatedPod, now: Time) -> Self {
        let (facts, place) = (&placed.facts, &placed.position);
        let in_stage_for = place.since.map(|since| (now - since).max(TimeDelta::zero()));
        // The kubelet has no such time of a static pod; its mirror has.
        let api = || facts.api.as_ref().map(|held| &held.value);
        let created = facts.object().into_iter().chain(api()).find_map(|pod| pod.metadata.creation_timestamp);
        Self {
            key: facts.key.clone(),
            namespace: facts.namespace.clone(),
            name: facts.name.clone(),
            node: facts
                .object()
                .into_iter()
                .chain(api())
                .map(|pod| pod.spec.node_name.clone())
                .next()
                .unwrap_or_default(),
            ready: place.status.ready_text(),
            readiness: place.status.ready,
            status: place.status.word.clone(),
            restarts: place.status.restarts_text(now),
            restarts_so_far: place.status.restarts,
            created,
            age: created.map_or_else(|| "<unknown>".into(), |at| human_duration(now - at)),
            glyphs: place.stages.iter().map(|s| s.state).collect(),
            stage: place.stage,
            state: place.state,
            in_stage: in_stage_for.map(|lasted| at_least(place.since_at_latest, lasted)).unwrap_or_default(),
            in_stage_for,
            next: place.next.map(|next| next_text(&next, now)).unwrap_or_default(),
            next_kind: place.next.map(|next| (next.kind, next.at.is_some())),
            next_at: place.next.and_then(|next| next.at),
            reason: place.reason.one_line().into_owned(),
            why: String::new(),
            cause: Text::default(),
            health: health(placed, in_stage_for, now),
        }
    }

    /// Containers that are not ready, and those that are; nothing if that is unknown.
    pub fn missing_and_ready(&self) -> Option<(usize, usize)> {
        match self.readiness {
            Readiness::Counted { ready, total } => Some((total.saturating_sub(ready), ready)),
            Readiness::Unknown => None,
        }
    }

    /// The same, with why: its own best finding, or the node's fault that explains it.
    #[must_use]
    pub fn because(mut self, own: Option<&Finding>, of_node: Option<&Finding>) -> Self {
        if let Some(finding) = of_node {
            (self.why, self.cause) = (format!("node: {}", finding.title), finding.cause.clone());
        } else if let Some(finding) = own {
            self.cause = finding.cause.clone();
            if finding.cause != HEALTHY {
                let sure = if finding.confidence == Confidence::Possible { "possibly: " } else { "" };
                self.why = format!("{sure}{}", finding.title);
            }
        }
        self
    }
}

/// A duration; one that is a lower bound with `>`.
fn at_least(is_bound: bool, lasted: TimeDelta) -> String {
    format!("{}{}", if is_bound { ">" } else { "" }, human_duration(lasted))
}

fn health(placed: &LocatedPod, in_stage: Option<TimeDelta>, now: Time) -> PodHealth {
    let place = &placed.position;
    let slow = in_stage.is_some_and(|d| d >= STAGE_SLOW);
    match (place.stage, place.state) {
        _ if placed.facts.is_only_on_disk() => PodHealth::Unknown,
        (_, StageState::Failed) => PodHealth::Failed,
        (Stage::Running, StageState::Done) => PodHealth::Done,
        (Stage::Running, _) => {
            let last = place.status.last_restart.filter(|_| place.status.restarts > 0);
            let recent = last.is_some_and(|at| now - at < BACK_OFF_RESET);
            if recent { PodHealth::Unsteady } else { PodHealth::Healthy }
        }
        (Stage::Terminating, StageState::Done) => PodHealth::Done,
        (Stage::Terminating, _) => match place.next {
            Some(next) if next.kind == NextKind::GraceEnds && next.at.is_some_and(|at| at >= now) => PodHealth::Moving,
            _ if slow => PodHealth::Slow,
            _ => PodHealth::Moving,
        },
        _ if slow => PodHealth::Slow,
        _ => PodHealth::Moving,
    }
}

/// When waiting alone changes the health of a pod, if it ever does.
pub(super) fn turns_at(placed: &LocatedPod, now: Time) -> Option<Time> {
    let place = &placed.position;
    let in_stage = place.since.map(|since| now - since);
    match health(placed, in_stage, now) {
        PodHealth::Moving => Some(place.since? + STAGE_SLOW),
        PodHealth::Unsteady => Some(place.status.last_restart? + BACK_OFF_RESET),
        PodHealth::Done | PodHealth::Healthy | PodHealth::Unknown | PodHealth::Slow | PodHealth::Failed => None,
    }
}
