//! Owns the one line that says what is the matter where the pod stands, in the sources' own words.
//! It must not diagnose: it quotes.

use super::container::{ContainerKind, ContainerPosition};
use super::late::{blocking_init, open_gates};
use super::stage::{Stage, StageState};
use super::steps::Steps;
use super::{last_event, terminating};
use crate::text::Text;

/// What the sources say is the matter; empty when nothing is.
pub(super) fn reason(s: &Steps, stage: Stage, state: StageState) -> Text {
    let text = match stage {
        Stage::Scheduling => scheduling(s),
        Stage::Admission => admission(s, state),
        Stage::Volumes => failure(s, &["FailedMount", "FailedAttachVolume", "FailedMapVolume"], |l| {
            l.sync_error.as_ref().map(|(_, e)| e.text())
        }),
        Stage::Sandbox => {
            failure(s, &["FailedCreatePodSandBox", "NetworkNotReady", "FailedPrepareDynamicResources"], |l| {
                l.sandbox_failed.as_ref().map(|(_, e)| e.text())
            })
        }
        Stage::Init => blocking_init(s).map(|c| of_container(s, c)),
        Stage::Image | Stage::Create | Stage::Start | Stage::Probes => {
            let here = s.apps().filter(|c| c.stage == stage);
            here.max_by_key(|c| c.state == StageState::Failed).map(|c| of_container(s, c))
        }
        Stage::Ready => ready(s),
        Stage::Running => running(s, state),
        Stage::Terminating => Some(terminating(s)),
    };
    text.unwrap_or_default()
}

fn scheduling(s: &Steps) -> Option<Text> {
    let pod = s.pod?;
    let condition = pod.status.condition("PodScheduled").filter(|c| !c.is_true());
    if !pod.spec.scheduling_gates.is_empty() {
        return Some(format!("held by scheduling gates: {}", pod.spec.scheduling_gates.joined(|g| &g.name)).into());
    }
    let event = s.facts.event(&["FailedScheduling"]).map(|e| e.message.text());
    condition
        .map(|c| c.message.text())
        .filter(|m| !m.is_empty())
        .or(event)
        .or(Some("no scheduler has tried it yet".into()))
}

fn admission(s: &Steps, state: StageState) -> Option<Text> {
    if state == StageState::Failed {
        return s.pod.map(|p| p.status.message.text());
    }
    Some("bound to the node; the kubelet has not taken it yet".into())
}

fn failure(s: &Steps, events: &[&str], log: impl Fn(&crate::model::PodLog) -> Option<Text>) -> Option<Text> {
    s.facts.event(events).map(|e| e.message.text()).or_else(|| s.facts.log.as_deref().and_then(log))
}

fn ready(s: &Steps) -> Option<Text> {
    let gates = open_gates(s);
    if !gates.is_empty() {
        return Some(format!("readiness gates not met: {}", gates.join(", ")).into());
    }
    let status = &s.pod?.status;
    let condition = status.condition("Ready").filter(|c| !c.is_true())?;
    if !condition.message.is_empty() {
        return Some(condition.message.text());
    }
    // pkg/controller/nodelifecycle marks the pods of a node that does not answer, and gives no reason.
    let marked = status.is_true("ContainersReady");
    marked
        .then(|| "the containers are ready and the pod is marked not ready, as for a node that does not answer".into())
}

fn running(s: &Steps, state: StageState) -> Option<Text> {
    if state != StageState::Failed {
        return None;
    }
    let failing = s.containers.iter().filter(|c| c.kind != ContainerKind::Ephemeral);
    let failing = failing.filter(|c| c.stage == Stage::Running && c.state == StageState::Failed);
    let worst = failing.max_by_key(|c| c.restarts).map(|c| of_container(s, c));
    let status = s.pod.map(|p| &p.status).filter(|st| !st.message.is_empty()).map(|st| st.message.text());
    if s.phase() == "Failed" { status.or(worst) } else { worst.or(status) }
}

fn terminating(s: &Steps) -> Text {
    let Some(pod) = s.pod else {
        return "gone from the API server; the runtime still has something of it".into();
    };
    if let Some(failure) = terminating::kill_failure(s) {
        return failure.text;
    }
    if terminating::all_gone(s) {
        let held = &pod.metadata.finalizers;
        return match held.is_empty() {
            true => "containers are gone; the kubelet cleans up".into(),
            false => format!("containers are gone; finalizers hold the object: {}", held.joined(|f| f)).into(),
        };
    }
    if let Some(event) = last_event(s.facts, &["FailedPreStopHook"], &[]) {
        return event.message.text();
    }
    let left: Vec<&str> = s.containers.iter().filter(|c| c.running_since.is_some()).map(|c| c.name.as_str()).collect();
    if left.is_empty() { "stopping the sandbox".into() } else { format!("stopping {}", left.join(", ")).into() }
}

/// A container's matter, with its name where the pod has several.
fn of_container(s: &Steps, c: &ContainerPosition) -> Text {
    let message = c.message.one_line();
    let text = if message.is_empty() { c.word.one_line() } else { message };
    let several = s.containers.iter().filter(|c| c.kind != ContainerKind::Ephemeral).count() > 1;
    if several { format!("{}: {text}", c.name).into() } else { text.as_ref().into() }
}
