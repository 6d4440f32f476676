//! Owns the place of a pod that only the disk shows: how far it came at least, and that nobody says how it fares.
//! It must not say of any stage that it is under way or failed: a directory outlives what made it.

use std::collections::BTreeSet;

use super::container::{ContainerKind, ContainerPosition, place_container};
use super::evidence::Evidence;
use super::place::PipelinePosition;
use super::stage::{Stage, StageProgress, StageState};
use super::status::KubectlStatus;
use crate::model::PodFacts;
use crate::objects::ContainerSpec;
use crate::observation::{PodDir, Source, Time};
use crate::text::Text;

/// STATUS where nobody knows it, as kubectl writes it.
const UNKNOWN: &str = "Unknown";

pub(super) fn place(facts: &PodFacts) -> PipelinePosition {
    let steps: Vec<StageProgress> = Stage::ALL.into_iter().map(|stage| step(facts, stage)).collect();
    let stage = stage(facts);
    let containers = containers(facts);
    let status = KubectlStatus {
        word: UNKNOWN.into(),
        ready: 0,
        total: containers.len(),
        restarts: containers.iter().map(|c| c.restarts).sum(),
        last_restart: None,
    };
    PipelinePosition {
        stage,
        state: StageState::Unknown,
        since: None,
        reason: reason(facts),
        next: None,
        containers,
        stages: steps,
        status,
        status_from: Source::Machine,
    }
}

/// The stage that it reached at least.
fn stage(facts: &PodFacts) -> Stage {
    match facts.dir.as_deref() {
        None => Stage::Admission,
        Some(dir) if dir.containers.iter().any(|c| c.restarts.is_some()) => Stage::Running,
        Some(dir) if !dir.containers.is_empty() => Stage::Create,
        Some(dir) if dir.logs => Stage::Sandbox,
        Some(_) => Stage::Volumes,
    }
}

fn step(facts: &PodFacts, stage: Stage) -> StageProgress {
    let mut step = StageProgress::new(stage, StageState::Unknown);
    let says = |at: Option<Time>, text: String| Evidence::new(Source::Machine, at, text);
    let dir = facts.dir.as_deref();
    match stage {
        Stage::Scheduling if facts.is_static() => step.state = StageState::Skipped,
        Stage::Scheduling if dir.is_some() => step.state = StageState::Done,
        Stage::Admission => {
            let manifest = facts.manifest.as_ref().map(|m| says(None, format!("static manifest {}", m.file)));
            step.evidence.extend(manifest);
            if let Some(dir) = dir.filter(|dir| dir.kubelet || dir.logs) {
                step.state = StageState::Done;
                step.until = dir.since;
                step.evidence.extend(admitted(dir));
            }
        }
        Stage::Volumes => {
            let dir = dir.filter(|dir| dir.kubelet || dir.logs);
            step.evidence.extend(dir.and_then(volumes));
            if dir.is_some_and(|dir| dir.logs) {
                step.state = StageState::Done;
                step.evidence
                    .push(says(None, "there is a log directory, which is made once the volumes are there".into()));
            }
        }
        Stage::Sandbox if dir.is_some_and(|dir| !dir.containers.is_empty()) => {
            step.state = StageState::Done;
            step.evidence.push(says(None, "containers have log directories, which are made in a sandbox".into()));
        }
        Stage::Running => {
            let logs = dir.into_iter().flat_map(|dir| &dir.containers);
            let logs = logs.filter_map(|c| Some(says(None, format!("{}: log file {}.log", c.name, c.restarts?))));
            step.evidence.extend(logs);
        }
        _ => {}
    }
    step
}

/// The kubelet's directory of a pod, whatever else shows it: it was taken in.
pub(super) fn admitted(dir: &PodDir) -> Option<Evidence> {
    dir.kubelet.then(|| Evidence::new(Source::Machine, dir.since, "the kubelet has a directory of the pod"))
}

/// The kubelet's directories of a pod's volumes. Each is made before its volume is mounted there.
pub(super) fn volumes(dir: &PodDir) -> Option<Evidence> {
    let names: Vec<&str> = dir.volumes.iter().map(Text::as_str).collect();
    (!names.is_empty())
        .then(|| Evidence::new(Source::Machine, None, format!("volume directories: {}", names.join(", "))))
}

fn reason(facts: &PodFacts) -> Text {
    let Some(dir) = facts.dir.as_deref() else {
        let silent = if facts.complete.cri { "the runtime has nothing of it" } else { "nobody says whether it runs" };
        return format!("only from disk: a static manifest; {silent}").into();
    };
    let what = match (dir.kubelet, dir.logs) {
        (true, true) => "the kubelet's directory and logs",
        (true, false) => "the kubelet's directory, and no logs",
        _ => "logs, and no directory of the kubelet's any more",
    };
    let name = if facts.namespace.is_empty() { "; its name is not known, this is its UID" } else { "" };
    format!("only from disk: {what}{name}").into()
}

/// Those that have logs, else those of the manifest; which of them are init containers is not known.
fn containers(facts: &PodFacts) -> Vec<ContainerPosition> {
    let logs = facts.dir.iter().flat_map(|dir| &dir.containers);
    let manifest = facts.manifest.iter().flat_map(|m| &m.containers);
    let known: Vec<(&Text, Option<u32>)> = logs.map(|c| (&c.name, c.restarts)).collect();
    let names: BTreeSet<&Text> = known.iter().map(|(name, _)| *name).collect();
    let more = manifest.filter(|name| !names.contains(name)).map(|name| (name, None));
    let all: Vec<(&Text, Option<u32>)> = known.iter().copied().chain(more).collect();
    let place = |(name, log): (&Text, Option<u32>)| {
        let spec = ContainerSpec { name: name.clone(), ..ContainerSpec::default() };
        let mut place = place_container(facts, &spec, None, ContainerKind::App, "");
        place.stage = if log.is_some() { Stage::Running } else { Stage::Image };
        (place.state, place.word, place.restarts) = (StageState::Unknown, "unknown".into(), log.unwrap_or(0));
        let text = log.map(|n| format!("log file {n}.log"));
        place.evidence.extend(text.map(|text| Evidence::new(Source::Machine, None, text)));
        place
    };
    all.into_iter().map(place).collect()
}
