//! One pod and more of every captured scenario stands where an engineer who reads `kubectl describe` says it stands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use kpodtrace::pipeline::StageState;

#[test]
fn stages_as_read_from_describe() {
    let table = common::read_text(&common::fixtures().join("stages.tsv"));
    let mut wrong = Vec::new();
    let mut seen = 0;
    let mut scenario_moment: Option<(String, kpodtrace::view::NodeView)> = None;
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [scenario, namespace, pod, stage, state, done, why] = columns[..] else { panic!("bad row: {line}") };
        if scenario_moment.as_ref().is_none_or(|(name, _)| name != scenario) {
            scenario_moment = Some((scenario.into(), common::moment_of(&common::capture(scenario))));
        }
        let moment = &scenario_moment.as_ref().unwrap().1;
        seen += 1;
        let named = |p: &&kpodtrace::pipeline::LocatedPod| p.facts.namespace == namespace && p.facts.name == pod;
        let Some(placed) = moment.pods.iter().filter(named).max_by_key(|p| p.facts.api.is_some()) else {
            wrong.push(format!("{scenario} {pod}: not there"));
            continue;
        };
        let place = &placed.position;
        let stage_ok = place.stage.name() == stage;
        let state_ok = state == "?" || place.state.name() == state;
        let not_done: Vec<&str> = done
            .split(',')
            .filter(|d| !d.is_empty())
            .filter(|d| {
                let step = place.stages.iter().find(|s| s.stage.name() == *d).unwrap();
                !matches!(step.state, StageState::Done | StageState::Skipped)
            })
            .collect();
        if !stage_ok || !state_ok || !not_done.is_empty() {
            let steps: Vec<String> =
                place.stages.iter().map(|s| format!("{}={}", s.stage.name(), s.state.name())).collect();
            wrong.push(format!(
                "{scenario} {pod}: want {stage} {state}, is {} {}; not done {not_done:?}\n    {}\n    why: {why}",
                place.stage.name(),
                place.state.name(),
                steps.join(" ")
            ));
        }
    }
    assert!(seen > 100, "only {seen} rows");
    assert!(wrong.is_empty(), "{} of {seen} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}
