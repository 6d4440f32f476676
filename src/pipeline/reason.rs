//! The reason of a position: one line, quoted from the sources.

use super::container::{ContainerKind, ContainerPosition};
use super::evidence::last_event;
use super::input::{PodInput, SANDBOX_FAILURES, VOLUME_FAILURES};
use super::stage::{Stage, StageState};
use super::terminating;
use crate::model::PodLog;
use crate::text::Text;

/// What fails, or what the pod waits for, in the words of the source; empty if nothing.
pub(super) fn reason(input: &PodInput, stage: Stage, state: StageState) -> Text {
    let text = match stage {
        Stage::Scheduling => scheduling(input),
        Stage::Admission => admission(input, state),
        Stage::Volumes => failure(input, &VOLUME_FAILURES, |l| l.sync_error.as_ref().map(|(_, e)| e.text())),
        Stage::Sandbox => failure(input, &SANDBOX_FAILURES, |l| l.sandbox_failed.as_ref().map(|(_, e)| e.text())),
        Stage::Init => input.blocking_init().map(|c| of_container(input, c)),
        Stage::Image | Stage::Create | Stage::Start | Stage::Probes => {
            let here = input.apps().filter(|c| c.stage == stage);
            here.max_by_key(|c| c.state == StageState::Failed).map(|c| of_container(input, c))
        }
        Stage::Ready => ready(input),
        Stage::Running => running(input, state),
        Stage::Terminating => Some(terminating(input)),
    };
    text.unwrap_or_default()
}

fn scheduling(input: &PodInput) -> Option<Text> {
    let pod = input.pod?;
    let condition = pod.status.condition("PodScheduled").filter(|c| !c.is_true());
    if !pod.spec.scheduling_gates.is_empty() {
        return Some(format!("scheduling gates: {}", pod.spec.scheduling_gates.joined(|g| &g.name)).into());
    }
    let event = input.facts.event(&["FailedScheduling"]).map(|e| e.message.text());
    condition.map(|c| c.message.text()).filter(|m| !m.is_empty()).or(event).or(Some("no scheduling attempt yet".into()))
}

fn admission(input: &PodInput, state: StageState) -> Option<Text> {
    if state == StageState::Failed {
        return input.pod.map(|p| p.status.message.text());
    }
    Some("bound to the node, not yet accepted by the kubelet".into())
}

fn failure(input: &PodInput, events: &[&str], log: impl Fn(&PodLog) -> Option<Text>) -> Option<Text> {
    input.facts.event(events).map(|e| e.message.text()).or_else(|| input.facts.log.as_deref().and_then(log))
}

fn ready(input: &PodInput) -> Option<Text> {
    let gates = input.open_gates();
    if !gates.is_empty() {
        return Some(format!("readiness gates not met: {}", gates.join(", ")).into());
    }
    let status = &input.pod?.status;
    let condition = status.condition("Ready").filter(|c| !c.is_true())?;
    if !condition.message.is_empty() {
        return Some(condition.message.text());
    }
    // pkg/controller/nodelifecycle marks the pods of an unresponsive node, without a reason.
    let is_marked = status.is_true("ContainersReady");
    is_marked.then(|| "containers are ready; pod marked not ready, as for an unresponsive node".into())
}

fn running(input: &PodInput, state: StageState) -> Option<Text> {
    if state != StageState::Failed {
        return None;
    }
    let failing = input.containers.iter().filter(|c| c.kind != ContainerKind::Ephemeral);
    let failing = failing.filter(|c| c.stage == Stage::Running && c.state == StageState::Failed);
    let worst = failing.max_by_key(|c| c.restarts).map(|c| of_container(input, c));
    let status = input.pod.map(|p| &p.status).filter(|st| !st.message.is_empty()).map(|st| st.message.text());
    if input.phase() == "Failed" { status.or(worst) } else { worst.or(status) }
}

fn terminating(input: &PodInput) -> Text {
    let Some(pod) = input.pod else {
        return "gone from the API server; the runtime still has containers or a sandbox".into();
    };
    if let Some(failure) = terminating::kill_failure(input) {
        return failure.text;
    }
    if terminating::is_all_stopped(input) {
        let finalizers = &pod.metadata.finalizers;
        return match finalizers.is_empty() {
            true => "containers are gone; kubelet cleanup pending".into(),
            false => format!("containers are gone; waiting for finalizers: {}", finalizers.joined(|f| f)).into(),
        };
    }
    if let Some(event) = last_event(input.facts, &["FailedPreStopHook"], &[]) {
        return event.message.text();
    }
    let left: Vec<&str> =
        input.containers.iter().filter(|c| c.running_since.is_some()).map(|c| c.name.as_str()).collect();
    if left.is_empty() { "stopping the sandbox".into() } else { format!("stopping {}", left.join(", ")).into() }
}

/// The message or state of a container, with its name if the pod has several.
fn of_container(input: &PodInput, c: &ContainerPosition) -> Text {
    let message = c.message.one_line();
    let text = if message.is_empty() { c.word.one_line() } else { message };
    let several = input.containers.iter().filter(|c| c.kind != ContainerKind::Ephemeral).count() > 1;
    if several { format!("{}: {text}", c.name).into() } else { text.as_ref().into() }
}
