//! Signals in the events of a pod whose object no source has: only its events show its stage.

use super::events::{schedule, signals};
use super::stage_of;
use crate::diagnose::scheduler::split_schedule;
use crate::diagnose::{HEALTHY, TRANSIENT};
use crate::model::Snapshot;
use crate::objects::Event;
use crate::objects::limits::EVENTS_OF_ONE;
use crate::observation::{Source, Time};
use crate::pipeline::Stage;
use crate::runbook::Signal;
use crate::thresholds::STAGE_STUCK;

/// Events of successful steps, each with the last stage that it proves done.
const DONE: [(&str, Stage); 5] = [
    ("Scheduled", Stage::Scheduling),
    ("Pulling", Stage::Sandbox),
    ("Pulled", Stage::Image),
    ("Created", Stage::Create),
    ("Started", Stage::Start),
];

/// The signals of its events that no later event contradicts.
pub(super) fn extract(snapshot: &Snapshot, namespace: &str, name: &str, now: Time, out: &mut Vec<Signal>) {
    let own: Vec<&Event> = of_name(snapshot, namespace, name).take(EVENTS_OF_ONE).collect();
    let mut scheduled = false;
    for event in &own {
        if is_over(event, &own) || is_stale(event, now) {
            continue;
        }
        // The newest attempt alone counts.
        if event.reason == "FailedScheduling" {
            if !std::mem::replace(&mut scheduled, true) {
                schedule(&split_schedule(&event.message), Source::ApiEvents, event.last(), event.times(), out);
            }
            continue;
        }
        let (about, plain) = signals(event);
        out.extend(about);
        out.push(plain);
    }
}

/// For a pod without a failing event: the newest event, the cause id and the stage that it shows.
pub(in crate::diagnose) fn standing<'a>(
    snapshot: &'a Snapshot,
    namespace: &str,
    name: &str,
    now: Time,
) -> Option<(&'a Event, &'static str, Stage)> {
    let newest = of_name(snapshot, namespace, name).find(|event| !is_stale(event, now) && event.reason != "BackOff")?;
    let lately = newest.last().is_some_and(|at| (now - at).num_seconds() <= STAGE_STUCK.num_seconds());
    let (cause, stage) = match newest.reason.as_str() {
        "Started" => (HEALTHY, Stage::Running),
        "Killing" if lately && newest.message.starts_with("Stopping container") => (TRANSIENT, Stage::Terminating),
        "Scheduled" if lately => (TRANSIENT, Stage::Volumes),
        "Pulling" if lately => (TRANSIENT, Stage::Image),
        "Pulled" if lately => (TRANSIENT, Stage::Create),
        "Created" if lately => (TRANSIENT, Stage::Start),
        _ => return None,
    };
    Some((newest, cause, stage))
}

/// A failing readiness probe repeats its event each period: one without a repeat for longer succeeds again.
fn is_stale(event: &Event, now: Time) -> bool {
    let long_ago = event.last().is_some_and(|at| (now - at).num_seconds() > STAGE_STUCK.num_seconds());
    long_ago && event.reason == "Unhealthy" && event.message.starts_with("Readiness")
}

fn of_name<'a>(snapshot: &'a Snapshot, namespace: &str, name: &str) -> impl Iterator<Item = &'a Event> {
    let (namespace, name) = (namespace.to_owned(), name.to_owned());
    snapshot.events_of_unknown_pods.iter().map(|event| &**event).filter(move |event| {
        let about = &event.involved_object;
        about.name == *name && (namespace.is_empty() || about.namespace == *namespace)
    })
}

fn is_over(event: &Event, all: &[&Event]) -> bool {
    let Some(stage) = stage(event) else { return false };
    let container = event.involved_object.container();
    let later = |other: &&&Event| newer(other.last(), event.last());
    all.iter().filter(later).any(|other| {
        let same = container.is_none() || other.involved_object.container() == container;
        DONE.iter().any(|(reason, done)| other.reason == *reason && same && *done >= stage)
    })
}

fn stage(event: &Event) -> Option<Stage> {
    match event.reason.as_str() {
        "FailedScheduling" => Some(Stage::Scheduling),
        _ => stage_of(signals(event).0?.kind),
    }
}

fn newer(a: Option<Time>, b: Option<Time>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a > b)
}

#[cfg(test)]
mod tests {
    use crate::time::TimeDelta;
    use serde_json::json;

    use crate::diagnose::Diagnoser;
    use crate::observation::{Fact, Source};
    use crate::pipeline::tests::fixture::Node;
    use crate::runbook::Runbook;

    /// The top cause of a pod that only events describe: reason, message and age in seconds of each.
    fn top_cause(events: &[(&str, &str, i64)]) -> (String, &'static str) {
        let mut node = Node::new();
        let event = |(i, (reason, message, age)): (usize, &(&str, &str, i64))| {
            let at = node.at - TimeDelta::seconds(*age);
            let event = json!({"metadata": {"name": format!("p.{i}"), "namespace": "n", "uid": format!("e{i}")},
                "involvedObject": {"kind": "Pod", "namespace": "n", "name": "p", "uid": "u"}, "type": "Warning",
                "reason": reason, "message": message, "firstTimestamp": at, "lastTimestamp": at, "count": 1});
            Fact::Event(serde_json::from_value(event).unwrap())
        };
        let facts = events.iter().enumerate().map(event).collect();
        node.list(Source::ApiEvents, facts);
        let (snapshot, book) = (node.snapshot(), Runbook::builtin());
        let diagnosis = Diagnoser { book, snapshot: &snapshot, now: node.at }.named("n", "p");
        let top = diagnosis.top().unwrap();
        (top.cause.to_string(), top.stage)
    }

    const NO_CPU: (&str, &str, i64) = ("FailedScheduling", "0/2 nodes are available: 2 Insufficient cpu.", 300);

    #[test]
    fn events_alone_say_where_it_stands() {
        assert_eq!(top_cause(&[NO_CPU]), ("sched.insufficient-cpu".into(), "scheduling"));
        let scheduled = ("Scheduled", "Successfully assigned n/p to w", 200);
        let mount = ("FailedMount", r#"MountVolume.SetUp failed for volume "c" : configmap "c" not found"#, 20);
        assert_eq!(top_cause(&[NO_CPU, scheduled, mount]), ("volume.configmap-not-found".into(), "volumes"));
    }

    #[test]
    fn what_a_later_event_has_left_behind_is_over() {
        let pull = ("Failed", r#"Failed to pull image "a": rpc error: code = NotFound desc = a: not found"#, 200);
        assert_eq!(top_cause(&[pull]).0, "image.not-found");
        let started = ("Started", "Started container c", 90);
        assert_eq!(
            top_cause(&[pull, ("Pulled", "Successfully pulled", 100), started]),
            ("none.healthy".into(), "running")
        );
        let unready =
            |age| ("Unhealthy", "Readiness probe failed: dial tcp 10.0.0.1:80: connect: connection refused", age);
        assert_eq!(top_cause(&[("Started", "Started container c", 700), unready(690)]).0, "none.healthy", "long ago");
        assert_eq!(top_cause(&[("Started", "Started container c", 700), unready(9)]).0, "probe.readiness-failing");
        assert_eq!(top_cause(&[("Killing", "Stopping container c", 9)]), ("none.transient".into(), "terminating"));
        assert_eq!(top_cause(&[("Pulling", "Pulling image", 9)]), ("none.transient".into(), "image"));
        assert_eq!(top_cause(&[]).0, "unknown");
    }
}
