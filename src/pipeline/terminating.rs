//! The last stage: from the deletion request until the object is gone.

use super::evidence::{Evidence, last_event};
use super::input::PodInput;
use super::stage::{Stage, StageProgress, StageState};
use crate::observation::{ContainerPhase, Source};
use crate::time::TimeDelta;

/// From the deletion request until the object is gone.
pub(super) fn terminating(input: &PodInput) -> StageProgress {
    let mut progress = StageProgress::new(Stage::Terminating, StageState::Waiting);
    if input.is_orphan() {
        progress.state = if is_all_stopped(input) { StageState::Done } else { StageState::Active };
        progress.evidence.push(Evidence::new(Source::ApiPods, None, "pod is no longer in the API server"));
        return progress;
    }
    let Some(pod) = input.pod else { return progress };
    let Some(deadline) = pod.metadata.deletion_timestamp else { return progress };
    // deletionTimestamp is the deadline: the request came one grace period before.
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0).max(0);
    progress.since = Some(deadline - TimeDelta::seconds(grace));
    progress.state = StageState::Active;
    progress.evidence.push(Evidence::new(
        input.object_source(),
        progress.since,
        format!("deletion requested, grace {grace}s"),
    ));
    if let Some((at, container, grace)) = input.facts.log.as_ref().and_then(|l| l.killing.as_ref()) {
        let text = format!("Killing container {container} with a grace period of {grace}s");
        progress.evidence.push(Evidence::new(Source::KubeletLog, Some(*at), text));
    }
    let hook = last_event(input.facts, &["FailedPreStopHook"], &[]);
    progress.evidence.extend(hook.map(|e| Evidence::event(e)));
    let failure = kill_failure(input);
    if failure.is_some() {
        progress.state = StageState::Failed;
    } else if is_all_stopped(input) && !pod.metadata.finalizers.is_empty() {
        progress.state = StageState::Waiting;
    }
    progress.evidence.extend(failure);
    progress
}

/// The last failure to stop the pod or its sandbox since the deletion request. The kubelet rarely reports it as an event,
/// but always logs it.
pub(super) fn kill_failure(input: &PodInput) -> Option<Evidence> {
    let metadata = &input.pod?.metadata;
    let grace = metadata.deletion_grace_period_seconds.unwrap_or(0).max(0);
    let since = metadata.deletion_timestamp? - TimeDelta::seconds(grace);
    let event = input.facts.event(&["FailedKillPod"]).filter(|e| e.last() >= Some(since)).map(|e| Evidence::event(e));
    let log = input.facts.log.as_ref().and_then(|l| l.sync_error.as_ref());
    let log = log.filter(|(at, error)| *at >= since && error.contains("error killing"));
    event.or(log.map(|(at, error)| Evidence::new(Source::KubeletLog, Some(*at), error.clone())))
}

/// No container and no sandbox of the pod is left on the node, as far as the sources report.
pub(super) fn is_all_stopped(input: &PodInput) -> bool {
    let in_runtime = !input.facts.containers.is_empty() || !input.facts.sandboxes.is_empty();
    if input.facts.complete.cri && in_runtime {
        let alive = |phase| matches!(phase, ContainerPhase::Running | ContainerPhase::Created);
        return !input.facts.containers.iter().any(|c| alive(c.phase))
            && !input.facts.sandboxes.iter().any(|x| x.ready);
    }
    let has_stopped = |p: &crate::objects::Pod| !p.status.is_any_running();
    input.pod.is_none_or(|p| p.status.is_terminal() || has_stopped(p))
}
