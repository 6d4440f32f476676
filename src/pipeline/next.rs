//! The next action of the kubelet or the runtime for a pod, and when: restart, pull, kill.

use std::collections::HashMap;

use super::back_off::estimated_pull;
use super::container::{ContainerKind, ContainerPosition};
use super::input::PodInput;
use super::stage::{Stage, StageState};
use super::terminating;
use crate::observation::Time;
use crate::text::Text;
use crate::time::TimeDelta;

/// The kind of the next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextKind {
    /// A restart of a container in back-off, at this time at the earliest.
    Restart,
    /// The next attempt to pull the image, estimated.
    Pull,
    /// The end of the termination grace period, when the runtime sends SIGKILL.
    GraceEnds,
    /// The time at which the kubelet kills the container if its startup probe has not passed.
    StartupDeadline,
}

impl NextKind {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            NextKind::Restart => "restart-not-before",
            NextKind::Pull => "pull-retry",
            NextKind::GraceEnds => "grace-ends",
            NextKind::StartupDeadline => "startup-deadline",
        }
    }
}

/// The next action, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// What happens.
    pub kind: NextKind,
    /// When; None while the kubelet does not respond.
    pub at: Option<Time>,
    /// The time is computed, not reported by a source.
    pub estimated: bool,
}

/// The next action for a pod in `stage`.
pub(super) fn next(input: &PodInput, stage: Stage) -> Option<Next> {
    if stage == Stage::Terminating {
        let at = input.pod?.metadata.deletion_timestamp?;
        return (!terminating::is_all_stopped(input)).then_some(Next {
            kind: NextKind::GraceEnds,
            at: Some(at),
            estimated: false,
        });
    }
    if input.is_terminal() {
        return None;
    }
    // No app container starts before the init containers have completed, even if it has exited before.
    let may_restart = |c: &&ContainerPosition| match c.kind {
        ContainerKind::Ephemeral => false,
        ContainerKind::App => stage != Stage::Init,
        ContainerKind::Init | ContainerKind::Sidecar => true,
    };
    let restart = input.containers.iter().filter(may_restart).filter_map(|c| c.retry_at).min();
    let restart = restart.map(|(at, estimated)| Next { kind: NextKind::Restart, at: Some(at), estimated });
    let pull = next_pull(input).map(|at| Next { kind: NextKind::Pull, at: Some(at), estimated: true });
    let startup =
        startup_deadline(input).map(|at| Next { kind: NextKind::StartupDeadline, at: Some(at), estimated: true });
    restart.or(pull).or(startup)
}

/// The kubelet does not report when it pulls next. The events count the failures, each of which doubles the delay.
fn next_pull(input: &PodInput) -> Option<Time> {
    let waiting = input.containers.iter().filter(|c| c.stage == Stage::Image && c.state == StageState::Failed);
    let at = waiting.filter_map(|c| {
        let failures = || {
            let own = input.facts.events_of(&c.name).filter(|e| e.reason == "Failed");
            own.filter(|e| e.message.starts_with("Failed to pull image"))
        };
        let last = failures().filter_map(|e| e.last()).max()?;
        let count: u32 = failures().map(|e| e.times()).sum();
        Some(estimated_pull(last, count))
    });
    at.min()
}

/// When the kubelet kills the first container whose startup probe has not passed.
fn startup_deadline(input: &PodInput) -> Option<Time> {
    let pod = input.pod?;
    let specs = pod.spec.containers.iter().chain(&pod.spec.init_containers);
    let probing: HashMap<&Text, &ContainerPosition> =
        input.containers.iter().filter(|c| c.stage == Stage::Probes).map(|c| (&c.name, c)).collect();
    if probing.is_empty() {
        return None;
    }
    let started: HashMap<&Text, Option<bool>> = pod.status.all_containers().map(|c| (&c.name, c.started)).collect();
    let at = specs.filter_map(|spec| {
        let probe = spec.startup_probe.as_ref()?;
        let position = probing.get(&spec.name)?;
        let started = *started.get(&spec.name)?;
        let allowed = probe
            .initial_delay_seconds
            .max(0)
            .saturating_add(probe.failure_threshold.max(1).saturating_mul(probe.period_seconds.max(1)));
        (started != Some(true)).then_some(position.running_since? + TimeDelta::seconds(allowed))
    });
    at.min()
}
