//! The position of a pod that only the disk shows: the stage that it has reached at least. No stage is active or failed,
//! as a directory outlives the process that created it.

use std::collections::BTreeSet;

use super::container::{ContainerKind, ContainerPosition};
use super::container_position::container_position;
use super::evidence::Evidence;
use super::position::PipelinePosition;
use super::stage::{Stage, StageProgress, StageState};
use super::status::{KubectlStatus, Readiness};
use crate::model::PodFacts;
use crate::objects::ContainerSpec;
use crate::observation::{Source, Time};
use crate::text::Text;

/// STATUS of a pod whose state is unknown, as in kubectl.
const UNKNOWN: &str = "Unknown";

/// The position of a pod that only the disk shows.
pub(super) fn locate(facts: &PodFacts) -> PipelinePosition {
    let stages: Vec<StageProgress> = Stage::ALL.into_iter().map(|stage| progress(facts, stage)).collect();
    let stage = stage(facts);
    let containers = containers(facts);
    let status = KubectlStatus {
        word: UNKNOWN.into(),
        ready: Readiness::Unknown,
        restarts: containers.iter().map(|c| c.restarts).sum(),
        last_restart: None,
    };
    PipelinePosition {
        stage,
        state: StageState::Unknown,
        since: None,
        since_at_latest: false,
        reason: reason(facts),
        next: None,
        containers,
        stages,
        status,
        status_from: Source::Machine,
    }
}

/// The stage that the pod has reached at least.
fn stage(facts: &PodFacts) -> Stage {
    match facts.dir.as_deref() {
        None => Stage::Admission,
        Some(dir) if dir.containers.iter().any(|c| c.restarts.is_some()) => Stage::Running,
        Some(dir) if !dir.containers.is_empty() => Stage::Create,
        Some(dir) if dir.logs => Stage::Sandbox,
        Some(_) => Stage::Volumes,
    }
}

fn progress(facts: &PodFacts, stage: Stage) -> StageProgress {
    let mut progress = StageProgress::new(stage, StageState::Unknown);
    let on_disk = |at: Option<Time>, text: String| Evidence::new(Source::Machine, at, text);
    let dir = facts.dir.as_deref();
    match stage {
        Stage::Scheduling if facts.is_static() => progress.state = StageState::Skipped,
        Stage::Scheduling if dir.is_some() => progress.state = StageState::Done,
        Stage::Admission => {
            let manifest = facts.manifest.as_ref().map(|m| on_disk(None, format!("static manifest {}", m.file)));
            progress.evidence.extend(manifest);
            if let Some(dir) = dir.filter(|dir| dir.kubelet || dir.logs) {
                progress.state = StageState::Done;
                progress.until = dir.since;
                progress.evidence.extend(Evidence::of_pod_dir(dir));
            }
        }
        Stage::Volumes => {
            let dir = dir.filter(|dir| dir.kubelet || dir.logs);
            progress.evidence.extend(dir.and_then(Evidence::of_volume_dirs));
            if dir.is_some_and(|dir| dir.logs) {
                progress.state = StageState::Done;
                progress.evidence.push(on_disk(None, "log directory exists (created after the volumes)".into()));
            }
        }
        Stage::Sandbox if dir.is_some_and(|dir| !dir.containers.is_empty()) => {
            progress.state = StageState::Done;
            progress.evidence.push(on_disk(None, "container log directories exist (created in a sandbox)".into()));
        }
        Stage::Running => {
            let logs = dir.into_iter().flat_map(|dir| &dir.containers);
            let logs = logs.filter_map(|c| Some(on_disk(None, format!("{}: log file {}.log", c.name, c.restarts?))));
            progress.evidence.extend(logs);
        }
        _ => {}
    }
    progress
}

fn reason(facts: &PodFacts) -> Text {
    let Some(dir) = facts.dir.as_deref() else {
        let runtime = if facts.complete.cri { "not in the runtime" } else { "no data from the runtime" };
        return format!("only from disk: static manifest; {runtime}").into();
    };
    let what = match (dir.kubelet, dir.logs) {
        (true, true) => "kubelet directory and logs",
        (true, false) => "kubelet directory, no logs",
        _ => "logs, no kubelet directory",
    };
    let name = if facts.namespace.is_empty() { "; name unknown, shown by UID" } else { "" };
    format!("only from disk: {what}{name}").into()
}

/// The containers with logs, and those of the manifest. It is unknown which of them are init containers.
fn containers(facts: &PodFacts) -> Vec<ContainerPosition> {
    let logs = facts.dir.iter().flat_map(|dir| &dir.containers);
    let manifest = facts.manifest.iter().flat_map(|m| &m.containers);
    let logged: Vec<(&Text, Option<u32>)> = logs.map(|c| (&c.name, c.restarts)).collect();
    let names: BTreeSet<&Text> = logged.iter().map(|(name, _)| *name).collect();
    let more = manifest.filter(|name| !names.contains(name)).map(|name| (name, None));
    let all: Vec<(&Text, Option<u32>)> = logged.iter().copied().chain(more).collect();
    let position = |(name, log): (&Text, Option<u32>)| {
        let spec = ContainerSpec { name: name.clone(), ..ContainerSpec::default() };
        let mut position = container_position(facts, &spec, None, ContainerKind::App, "");
        position.stage = if log.is_some() { Stage::Running } else { Stage::Image };
        (position.state, position.word, position.restarts) = (StageState::Unknown, "unknown".into(), log.unwrap_or(0));
        let text = log.map(|n| format!("log file {n}.log"));
        position.evidence.extend(text.map(|text| Evidence::new(Source::Machine, None, text)));
        position
    };
    all.into_iter().map(position).collect()
}
