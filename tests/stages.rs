//! At least one pod of every captured scenario is in the stage that an engineer has read from `kubectl describe`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use kpodtrace::pipeline::StageState;

#[test]
fn stages_as_read_from_describe() {
    let table = common::read_text(&common::fixtures().join("stages.tsv"));
    let mut wrong = Vec::new();
    let mut seen = 0;
    let mut current: Option<(String, kpodtrace::view::NodeView)> = None;
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [scenario, namespace, pod, stage, state, done, reason] = columns[..] else { panic!("bad row: {line}") };
        if current.as_ref().is_none_or(|(name, _)| name != scenario) {
            current = Some((scenario.into(), common::moment_of(&common::capture(scenario))));
        }
        let view = &current.as_ref().unwrap().1;
        seen += 1;
        let is_named = |p: &&kpodtrace::pipeline::LocatedPod| p.facts.namespace == namespace && p.facts.name == pod;
        let Some(located) = view.pods.iter().filter(is_named).max_by_key(|p| p.facts.api.is_some()) else {
            wrong.push(format!("{scenario} {pod}: not found"));
            continue;
        };
        let position = &located.position;
        let stage_ok = position.stage.name() == stage;
        let state_ok = state == "?" || position.state.name() == state;
        let not_done: Vec<&str> = done
            .split(',')
            .filter(|d| !d.is_empty())
            .filter(|d| {
                let progress = position.stages.iter().find(|s| s.stage.name() == *d).unwrap();
                !matches!(progress.state, StageState::Done | StageState::Skipped)
            })
            .collect();
        if !stage_ok || !state_ok || !not_done.is_empty() {
            let stages: Vec<String> =
                position.stages.iter().map(|s| format!("{}={}", s.stage.name(), s.state.name())).collect();
            wrong.push(format!(
                "{scenario} {pod}: want {stage} {state}, is {} {}; not done {not_done:?}\n    {}\n    reason: {reason}",
                position.stage.name(),
                position.state.name(),
                stages.join(" ")
            ));
        }
    }
    assert!(seen > 100, "only {seen} rows");
    assert!(wrong.is_empty(), "{} of {seen} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}
