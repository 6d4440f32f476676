//! Owns the last stage: from the request to stop until the object is gone.
//! It must not say that something waits for the kubelet when the API server's finalizers hold it.

use super::evidence::{Evidence, last_event};
use super::stage::{Stage, StageProgress, StageState};
use super::steps::Steps;
use crate::observation::{ContainerPhase, Source};
use crate::time::TimeDelta;

pub(super) fn terminating(s: &Steps) -> StageProgress {
    let mut step = StageProgress::new(Stage::Terminating, StageState::Waiting);
    if s.is_orphan() {
        step.state = if all_gone(s) { StageState::Done } else { StageState::Active };
        step.evidence.push(Evidence::new(Source::ApiPods, None, "the API server has no such pod any more"));
        return step;
    }
    let Some(pod) = s.pod else { return step };
    let Some(deadline) = pod.metadata.deletion_timestamp else { return step };
    // deletionTimestamp is the deadline: the request came one grace period before.
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0).max(0);
    step.since = Some(deadline - TimeDelta::seconds(grace));
    step.state = StageState::Active;
    step.evidence.push(Evidence::new(super::early::api(s), step.since, format!("deletion requested, grace {grace}s")));
    if let Some((at, container, grace)) = s.facts.log.as_ref().and_then(|l| l.killing.as_ref()) {
        let text = format!("Killing container {container} with a grace period of {grace}s");
        step.evidence.push(Evidence::new(Source::KubeletLog, Some(*at), text));
    }
    let hook = last_event(s.facts, &["FailedPreStopHook"], &[]);
    step.evidence.extend(hook.map(|e| Evidence::event(e)));
    let failure = kill_failure(s);
    if failure.is_some() {
        step.state = StageState::Failed;
    } else if all_gone(s) && !pod.metadata.finalizers.is_empty() {
        step.state = StageState::Waiting;
    }
    step.evidence.extend(failure);
    step
}

/// The last failure to stop the pod or its sandbox since it was asked to stop. Events about it are rare: the kubelet's
/// log has every one.
pub(super) fn kill_failure(s: &Steps) -> Option<Evidence> {
    let metadata = &s.pod?.metadata;
    let grace = metadata.deletion_grace_period_seconds.unwrap_or(0).max(0);
    let since = metadata.deletion_timestamp? - TimeDelta::seconds(grace);
    let event = s.facts.event(&["FailedKillPod"]).filter(|e| e.last() >= Some(since)).map(|e| Evidence::event(e));
    let log = s.facts.log.as_ref().and_then(|l| l.sync_error.as_ref());
    let log = log.filter(|(at, error)| *at >= since && error.contains("error killing"));
    event.or(log.map(|(at, error)| Evidence::new(Source::KubeletLog, Some(*at), error.clone())))
}

/// Nothing of the pod is left on the node, as far as the sources show.
pub(super) fn all_gone(s: &Steps) -> bool {
    let in_runtime = !s.facts.containers.is_empty() || !s.facts.sandboxes.is_empty();
    if s.facts.complete.cri && in_runtime {
        let alive = |phase| matches!(phase, ContainerPhase::Running | ContainerPhase::Created);
        return !s.facts.containers.iter().any(|c| alive(c.phase)) && !s.facts.sandboxes.iter().any(|x| x.ready);
    }
    let ended = |p: &crate::objects::Pod| !p.status.is_any_running();
    s.pod.is_none_or(|p| p.status.is_terminal() || ended(p))
}
