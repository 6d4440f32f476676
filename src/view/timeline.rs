//! Owns a pod's life as a row of phases over time, from what its sources still know.
//! It must not invent a phase between two times that nobody told: it stays what it was.

use crate::model::nonzero_time;
use crate::observation::Time;
use crate::pipeline::{ContainerKind, LocatedPod, Stage, StageState};

/// What a pod was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelinePhase {
    /// No container is being made yet.
    Pending,
    /// An image is on its way.
    Pulling,
    /// Containers are made and started, or not ready yet.
    Starting,
    /// Ready.
    Ready,
    /// A container has failed and is not back yet.
    Failing,
    /// Asked to stop.
    Terminating,
    /// Ended for good.
    Ended,
}

impl TimelinePhase {
    /// The name in JSON and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            TimelinePhase::Pending => "pending",
            TimelinePhase::Pulling => "pulling",
            TimelinePhase::Starting => "starting",
            TimelinePhase::Ready => "ready",
            TimelinePhase::Failing => "failing",
            TimelinePhase::Terminating => "terminating",
            TimelinePhase::Ended => "ended",
        }
    }
}

/// One stretch of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineSpan {
    /// What.
    pub phase: TimelinePhase,
    /// From.
    pub from: Time,
    /// To; of the last one, now.
    pub to: Time,
}

/// Intervals that are known of a pod.
struct PodTimes {
    created: Time,
    pulls: Vec<(Time, Time)>,
    starts: Option<Time>,
    ready: Option<Time>,
    unready: Option<Time>,
    failing: Vec<(Time, Time)>,
    stopping: Option<Time>,
    ended: Option<Time>,
}

/// A pod's life up to the moment, oldest first; none when nobody says when it began.
pub fn timeline(placed: &LocatedPod, now: Time) -> Vec<TimelineSpan> {
    let Some(known) = PodTimes::of(placed, now) else { return Vec::new() };
    let mut bounds: Vec<Time> = known.bounds().filter(|at| *at > known.created && *at < now).collect();
    bounds.extend([known.created, now.max(known.created)]);
    bounds.sort();
    bounds.dedup();
    let mut out: Vec<TimelineSpan> = Vec::new();
    for pair in bounds.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let phase = known.phase(from);
        match out.last_mut() {
            Some(last) if last.phase == phase => last.to = to,
            _ => out.push(TimelineSpan { phase, from, to }),
        }
    }
    out
}

impl PodTimes {
    fn of(placed: &LocatedPod, now: Time) -> Option<Self> {
        let (facts, place) = (&placed.facts, &placed.position);
        let object = facts.object();
        let begun = |stage| place.progress(stage).and_then(|s| s.since);
        let created = object.and_then(|pod| pod.metadata.creation_timestamp);
        let created = created.or(begun(Stage::Admission)).or(facts.sandboxes.last().and_then(|s| s.created_at))?;
        let image = place.progress(Stage::Image);
        let pulls = image.and_then(|s| Some((s.since?, s.until.unwrap_or(now)))).into_iter().collect();
        let begins = [begun(Stage::Create), begun(Stage::Start), begun(Stage::Init)];
        let first = place.containers.iter().filter_map(|c| c.first_started).min();
        let starts = begins.into_iter().flatten().chain(first).min();
        let condition = object.and_then(|pod| pod.status.condition("Ready"));
        let (is_ready, turned) = condition.map_or((false, None), |c| (c.is_true(), c.last_transition_time));
        let ready = facts.first_ready.or(turned.filter(|_| is_ready));
        let unready = turned.filter(|_| !is_ready && ready.is_some());
        let meta = object.map(|pod| &pod.metadata);
        let stopping = meta.and_then(|m| {
            let grace = crate::time::TimeDelta::seconds(m.deletion_grace_period_seconds.unwrap_or(0));
            Some(m.deletion_timestamp? - grace)
        });
        let over = object.is_some_and(|pod| pod.status.is_terminal());
        let ended = facts.exits.iter().filter_map(|e| e.finished).max().filter(|_| over);
        Some(Self { created, pulls, starts, ready, unready, failing: failing(placed, now), stopping, ended })
    }

    fn bounds(&self) -> impl Iterator<Item = Time> {
        let spans = self.pulls.iter().chain(&self.failing).flat_map(|(from, to)| [*from, *to]);
        let points = [self.starts, self.ready, self.unready, self.stopping, self.ended];
        spans.chain(points.into_iter().flatten())
    }

    /// What it was doing from that time on.
    fn phase(&self, at: Time) -> TimelinePhase {
        let after = |time: Option<Time>| time.is_some_and(|t| t <= at);
        let within = |spans: &[(Time, Time)]| spans.iter().any(|(from, to)| *from <= at && at < *to);
        match () {
            () if after(self.ended) => TimelinePhase::Ended,
            () if after(self.stopping) => TimelinePhase::Terminating,
            () if within(&self.failing) => TimelinePhase::Failing,
            () if within(&self.pulls) => TimelinePhase::Pulling,
            () if after(self.ready) && !after(self.unready) => TimelinePhase::Ready,
            () if after(self.starts) || after(self.ready) => TimelinePhase::Starting,
            () => TimelinePhase::Pending,
        }
    }
}

/// From each end of a container that should run on to its next start, and since when a stage before that has failed.
fn failing(placed: &LocatedPod, now: Time) -> Vec<(Time, Time)> {
    let mut spans = Vec::new();
    for container in &placed.position.containers {
        let runs_on = matches!(container.kind, ContainerKind::App | ContainerKind::Sidecar);
        let exits: Vec<_> = placed.facts.exits_of(&container.name).collect();
        for exit in exits.iter().filter(|e| runs_on || e.exit_code != 0) {
            let Some(end) = nonzero_time(exit.finished) else { continue };
            // What never ran for long starts and ends in one second.
            let others = exits.iter().filter(|e| e.id != exit.id);
            let starts = others.filter_map(|e| nonzero_time(e.started)).chain(container.running_since);
            let back = starts.filter(|start| *start >= end).min().unwrap_or(now);
            spans.push((end, back));
        }
    }
    // In `running` the containers' ends say it finer.
    let failed = placed.position.state == StageState::Failed && placed.position.stage < Stage::Running;
    spans.extend(placed.position.since.filter(|_| failed).map(|since| (since, now)));
    spans
}
