//! Owns what comes next and when: restarts, pulls, the end of a grace period, the end of a startup probe's patience.
//! It must not count down: it gives a time, and says whether it is an estimate.

use std::collections::HashMap;

use super::container::{ContainerKind, ContainerPosition};
use super::place::{Next, NextKind};
use super::stage::{Stage, StageState};
use super::steps::Steps;
use super::terminating;
use crate::observation::Time;
use crate::text::Text;
use crate::time::TimeDelta;

/// First delay and limit of the image pull back-off, seconds (pkg/kubelet/images/image_manager.go).
const PULL_BACK_OFF_S: (i64, i64) = (10, 300);

pub(super) fn next(s: &Steps, stage: Stage) -> Option<Next> {
    if stage == Stage::Terminating {
        let at = s.pod?.metadata.deletion_timestamp?;
        return (!terminating::all_gone(s)).then_some(Next {
            kind: NextKind::GraceEnds,
            at: Some(at),
            estimated: false,
        });
    }
    if s.pod.is_some_and(|p| p.status.is_terminal()) {
        return None;
    }
    // Until the init containers are done, nothing else is started, whatever ended before them.
    let waits = |c: &&ContainerPosition| match c.kind {
        ContainerKind::Ephemeral => false,
        ContainerKind::App => stage != Stage::Init,
        ContainerKind::Init | ContainerKind::Sidecar => true,
    };
    let restart = s.containers.iter().filter(waits).filter_map(|c| c.retry_at).min();
    let restart = restart.map(|(at, estimated)| Next { kind: NextKind::Restart, at: Some(at), estimated });
    let pull = pull(s).map(|at| Next { kind: NextKind::Pull, at: Some(at), estimated: true });
    let startup = startup(s).map(|at| Next { kind: NextKind::StartupDeadline, at: Some(at), estimated: true });
    restart.or(pull).or(startup)
}

/// The kubelet does not say when it pulls again: the delay doubles with every failure that the events count.
fn pull(s: &Steps) -> Option<Time> {
    let waiting = s.containers.iter().filter(|c| c.stage == Stage::Image && c.state == StageState::Failed);
    let at = waiting.filter_map(|c| {
        let failures = || {
            let own = s.facts.events_of(&c.name).filter(|e| e.reason == "Failed");
            own.filter(|e| e.message.starts_with("Failed to pull image"))
        };
        let last = failures().filter_map(|e| e.last()).max()?;
        let count: u32 = failures().map(|e| e.times()).sum();
        let delay = PULL_BACK_OFF_S.0.checked_shl(count.saturating_sub(1).min(16)).unwrap_or(PULL_BACK_OFF_S.1);
        Some(last + TimeDelta::seconds(delay.min(PULL_BACK_OFF_S.1)))
    });
    at.min()
}

fn startup(s: &Steps) -> Option<Time> {
    let pod = s.pod?;
    let specs = pod.spec.containers.iter().chain(&pod.spec.init_containers);
    let places: HashMap<&Text, &ContainerPosition> =
        s.containers.iter().filter(|c| c.stage == Stage::Probes).map(|c| (&c.name, c)).collect();
    if places.is_empty() {
        return None;
    }
    let started: HashMap<&Text, Option<bool>> = pod.status.all_containers().map(|c| (&c.name, c.started)).collect();
    let at = specs.filter_map(|spec| {
        let probe = spec.startup_probe.as_ref()?;
        let place = places.get(&spec.name)?;
        let started = *started.get(&spec.name)?;
        let patience = probe
            .initial_delay_seconds
            .max(0)
            .saturating_add(probe.failure_threshold.max(1).saturating_mul(probe.period_seconds.max(1)));
        (started != Some(true)).then_some(place.running_since? + TimeDelta::seconds(patience))
    });
    at.min()
}
