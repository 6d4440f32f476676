//! STATUS, READY and RESTARTS of a pod from the best source.

use super::catch_up::with_runtime_state;
use super::container::{ContainerKind, ContainerPosition};
use super::input::PodInput;
use super::status::{KubectlStatus, kubectl_status};
use crate::observation::{ContainerPhase, Source};
use crate::text::Text;

/// The status columns, and the source that they are computed from.
pub(super) fn pod_status(input: &PodInput) -> (KubectlStatus, Source) {
    let Some(pod) = input.pod else { return (runtime_status(input), Source::Cri) };
    match with_runtime_state(input.facts) {
        Some(pod) => (kubectl_status(&pod, input.api_minor), Source::Cri),
        None => (kubectl_status(pod, input.api_minor), input.object_source()),
    }
}

/// The columns of a pod that only the runtime reports, in kubectl's words.
fn runtime_status(input: &PodInput) -> KubectlStatus {
    let phase = |c: &ContainerPosition| input.facts.container(&c.name).map(|c| c.phase);
    let counted = || input.containers.iter().filter(|c| c.kind != ContainerKind::Init);
    let ready = counted().filter(|c| phase(c) == Some(ContainerPhase::Running)).count();
    let exited = input.containers.iter().filter(|c| c.running_since.is_none()).filter_map(|c| c.last_exit.as_ref());
    // As in kubectl, a failure takes precedence over an exit with code 0.
    let last_exit = exited.max_by_key(|(code, _, at)| (*code != 0, *at));
    let word: Text = match last_exit {
        _ if input.containers.is_empty() => "ContainerCreating".into(),
        _ if ready > 0 => "Running".into(),
        Some((_, reason, _)) if !reason.is_empty() => reason.clone(),
        Some((code, ..)) => format!("ExitCode:{code}").into(),
        None => "Exited".into(),
    };
    KubectlStatus {
        word,
        ready,
        total: counted().count(),
        restarts: input.containers.iter().map(|c| c.restarts).sum(),
        last_restart: None,
    }
}
