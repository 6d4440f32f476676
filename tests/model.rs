//! The fold converges: in whatever order the sources come, however often a thing is said, whatever `now` is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use kpodtrace::diagnose::Rounds;
use kpodtrace::model::Model;
use kpodtrace::observation::{Observation, Source, Time};
use kpodtrace::view::NodeView;
use proptest::prelude::*;

/// All of the incident, or as much as is received until `until`.
fn incident(until: &str) -> Vec<Observation> {
    let until: Time = until.parse().unwrap();
    let mut all = common::imported(&common::fixtures().join("incident")).observations;
    all.retain(|o| o.stamp.wall <= until);
    all
}

fn fold(observations: impl IntoIterator<Item = Observation>) -> Model {
    let mut model = Model::default();
    observations.into_iter().for_each(|o| model.apply(o));
    model
}

fn json(model: &Model) -> serde_json::Value {
    serde_json::to_value(model).unwrap()
}

/// The sources' observations, each in its own order, drawn from one another's queues as `picks` says.
fn interleaved(observations: &[Observation], picks: &[u8]) -> Vec<Observation> {
    let mut queues: Vec<Vec<Observation>> = Vec::new();
    for source in Source::ALL {
        let own: Vec<_> = observations.iter().filter(|o| o.stamp.source == source).rev().cloned().collect();
        if !own.is_empty() {
            queues.push(own);
        }
    }
    let mut out = Vec::with_capacity(observations.len());
    let mut turn = 0;
    while !queues.is_empty() {
        let pick = picks[turn % picks.len()];
        let queue = (pick as usize) % queues.len();
        // Runs of different lengths: one, or many from the same source.
        for _ in 0..=(pick >> 4) * 8 {
            out.extend(queues[queue].pop());
        }
        queues.retain(|q| !q.is_empty());
        turn += 1;
    }
    out
}

#[test]
fn sources_in_any_order_give_the_same_model() {
    let observations = incident("2026-11-29T12:43:30Z");
    let mut expected = fold(observations.clone());
    let pods = expected.snapshot().pods;
    let expected = json(&expected);
    // One source after the other, in both directions, is the furthest from how they came.
    let mut by_source = observations.clone();
    by_source.sort_by_key(|o| o.stamp.source);
    let mut backwards = observations.clone();
    backwards.sort_by_key(|o| std::cmp::Reverse(o.stamp.source));
    for order in [by_source, backwards] {
        let mut model = fold(order);
        assert_eq!(model.snapshot().pods, pods);
        assert!(json(&model) == expected, "the models differ");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn any_interleaving_gives_the_same_model(picks in prop::collection::vec(any::<u8>(), 1..60)) {
        let observations = incident("2026-11-29T12:40:45Z");
        let mut expected = fold(observations.clone());
        let mut model = fold(interleaved(&observations, &picks));
        prop_assert!(model.snapshot().pods == expected.snapshot().pods, "the joined pods differ");
        prop_assert!(json(&model) == json(&expected), "the models differ");
    }
}

#[test]
fn what_was_said_before_changes_nothing() {
    let observations = incident("2026-11-29T12:42:30Z");
    let expected = json(&fold(observations.clone()));
    let twice = observations.iter().flat_map(|o| [o.clone(), o.clone()]);
    assert!(json(&fold(twice)) == expected, "each twice");
    let mut again = fold(observations.clone());
    observations.into_iter().for_each(|o| again.apply(o));
    assert!(json(&again) == expected, "all of it twice");
}

#[test]
fn a_keyframe_is_the_whole_state() {
    let observations = incident("2026-11-29T12:43:30Z");
    let (early, late) = observations.split_at(observations.len() / 2);
    let mut straight = fold(early.to_vec());
    let text = serde_json::to_string(&straight).unwrap();
    let mut read: Model = serde_json::from_str(&text).unwrap();
    read.reindex();
    assert_eq!(read.snapshot().pods, straight.snapshot().pods);
    for observation in late {
        straight.apply(observation.clone());
        read.apply(observation.clone());
    }
    assert_eq!(read.snapshot().pods, straight.snapshot().pods);
    assert!(json(&read) == json(&straight), "the models differ after going on");
}

#[test]
fn joining_again_only_what_was_touched_misses_nothing() {
    let mut often = Model::default();
    for (i, observation) in incident("2026-11-29T12:41:00Z").into_iter().enumerate() {
        often.apply(observation);
        if i % 7 == 0 {
            often.snapshot();
        }
    }
    let mut anew: Model = serde_json::from_str(&serde_json::to_string(&often).unwrap()).unwrap();
    anew.reindex();
    assert_eq!(often.snapshot().pods, anew.snapshot().pods);
}

#[test]
fn any_now_is_possible_and_no_duration_is_negative() {
    let mut model = fold(incident("2026-11-29T12:43:30Z"));
    let mut rounds = Rounds::default();
    let end: Time = "2026-11-29T12:43:30Z".parse().unwrap();
    let hours = [0, -1, 1, -24 * 400, 24 * 400, -24 * 365 * 100, 24 * 365 * 100];
    for now in hours.map(|h| end + kpodtrace::time::TimeDelta::hours(h)).into_iter().chain([Time::MIN, Time::MAX]) {
        let moment = NodeView::new(model.snapshot(), &mut rounds, now);
        let (header, pleg) = (moment.header(), moment.pleg());
        assert!(!pleg.verdict(now).is_empty() && header.now == now);
        assert!(moment.next_change().is_none_or(|at| at > now));
        for row in moment.rows() {
            assert!(row.in_stage_for.is_none_or(|d| d >= kpodtrace::time::TimeDelta::zero()), "{row:?}");
        }
        for placed in moment.pods.iter() {
            for step in &placed.position.stages {
                assert!(step.took_ms().is_none_or(|ms| ms >= 0), "{step:?}");
            }
        }
    }
}
