//! STATUS, READY and RESTARTS of a pod from the best source.

use super::catch_up::with_runtime_state;
use super::container::ContainerPosition;
use super::input::PodInput;
use super::status::{KubectlStatus, Readiness, kubectl_status};
use crate::observation::{ContainerPhase, Source};

/// The status columns, and the source that they are computed from.
pub(super) fn pod_status(input: &PodInput) -> (KubectlStatus, Source) {
    let Some(pod) = input.pod else { return (runtime_status(input), Source::Cri) };
    match with_runtime_state(input.facts) {
        Some(pod) => (kubectl_status(&pod, input.api_minor), Source::Cri),
        None => (kubectl_status(pod, input.api_minor), input.object_source()),
    }
}

/// The columns of a pod that only the runtime reports: `~` marks a STATUS that is estimated from its containers. It never
/// claims more than they prove: an init container that runs and an app container that is not ready look the same here.
fn runtime_status(input: &PodInput) -> KubectlStatus {
    let phase = |c: &ContainerPosition| input.facts.container(&c.name).map(|c| c.phase);
    let running = input.containers.iter().filter(|c| phase(c) == Some(ContainerPhase::Running)).count();
    let exited = input.containers.iter().filter(|c| c.running_since.is_none()).filter_map(|c| c.last_exit.as_ref());
    // As in kubectl, a failure takes precedence over an exit with code 0.
    let last_exit = exited.max_by_key(|(code, _, at)| (*code != 0, *at));
    let word = match last_exit {
        // Deleted from the API server; the kubelet still stops and removes its containers and sandbox.
        _ if input.is_orphan() => "~Terminating".to_owned(),
        _ if input.containers.is_empty() && !input.facts.sandboxes.iter().any(|s| s.ready) => "~Stopped".to_owned(),
        _ if input.containers.is_empty() => "~ContainerCreating".to_owned(),
        _ if running > 0 => format!("~{running} of {} running", input.containers.len()),
        Some((_, reason, _)) if !reason.is_empty() => format!("~{}", reason.one_line()),
        Some((code, ..)) => format!("~ExitCode:{code}"),
        None => "~Exited".to_owned(),
    };
    KubectlStatus {
        word: word.into(),
        ready: Readiness::Unknown,
        restarts: input.containers.iter().map(|c| c.restarts).sum(),
        last_restart: None,
    }
}
