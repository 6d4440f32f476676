//! How a container exited: on its own, OOM-killed, by a signal, killed by the kubelet after a probe or a hook, or unknown.

use super::Subject;
use crate::model::{Exit, KeptLine, never_ran};
use crate::objects::{ContainerSpec, Event};
use crate::observation::{ContainerPhase, Source, Time};
use crate::pipeline::{ContainerKind, ContainerPosition, Stage, StageState};
use crate::runbook::{Signal, SignalKind};
use crate::text::Text;
use crate::thresholds::PROBE_KILL_WITHIN;

/// The word for an exit that no source observed.
const LOST: &str = "lost";

/// The last end of one container.
struct LastExit {
    at: Option<Time>,
    code: i32,
    reason: Text,
    message: Text,
}

pub(super) fn extract(s: &Subject, out: &mut Vec<Signal>) {
    for c in &s.placed.position.containers {
        if c.kind == ContainerKind::Ephemeral || !matters(s, c) {
            continue;
        }
        let Some((end, source)) = last_end(s, c) else { continue };
        let (word, by) = how(s, c, &end);
        // It runs again: an unknown exit explains only the restart of a healthy pod.
        let place = &s.placed.position;
        let well = (place.stage, place.state) == (Stage::Running, StageState::Active);
        if word == LOST && !well && (c.running_since.is_some() || place.stage == Stage::Sandbox) {
            continue;
        }
        // A container that exits 0 and is not restarted has completed.
        if word == "completed" && !s.is_restarted(c) {
            continue;
        }
        let text = if end.message.is_empty() { by } else { end.message.clone() };
        let signal = Signal::new(SignalKind::Ended, source, word, text).of(&c.name).code(i64::from(end.code));
        out.push(signal.times(c.restarts.max(1)).at(end.at));
    }
}

/// An exit counts while the container is not healthy, or if it is recent.
fn matters(s: &Subject, c: &ContainerPosition) -> bool {
    // It has done its work, however often: after a boot all of them run again.
    if c.kind == ContainerKind::Init && c.last_exit.as_ref().is_some_and(|(code, ..)| *code == 0) {
        return false;
    }
    let phase = s.facts.object().map(|p| p.status.phase.as_str()).unwrap_or_default();
    if phase == "Succeeded" {
        return false;
    }
    let failed = phase == "Failed";
    c.running_since.is_none() && (c.stage >= Stage::Running || failed || c.restarts > 0)
        || s.restarted_lately(c)
        || (c.restarts > 0 && !c.ready && c.kind != ContainerKind::Init)
}

fn last_end(s: &Subject, c: &ContainerPosition) -> Option<(LastExit, Source)> {
    let source = s.facts.object_source();
    let status = s.status(&c.name);
    let of_api = status.and_then(|st| {
        let ends = [&st.state.terminated, &st.last_state.terminated];
        let t = ends.into_iter().flatten().next()?;
        Some(LastExit { at: t.finished_at, code: t.exit_code, reason: t.reason.clone(), message: t.message.text() })
    });
    let of_runtime = s.facts.container(&c.name).filter(|r| r.phase == ContainerPhase::Exited).and_then(|r| {
        Some(LastExit { at: r.finished_at, code: r.exit_code?, reason: r.reason.clone(), message: r.message.text() })
    });
    match (of_api, of_runtime) {
        (Some(api), Some(runtime)) if runtime.at > api.at => Some((runtime, Source::Cri)),
        (Some(api), _) => Some((api, source)),
        (None, Some(runtime)) => Some((runtime, Source::Cri)),
        (None, None) => {
            let exit: &Exit = s.facts.exits_of(&c.name).next_back()?;
            let end = LastExit {
                at: exit.finished,
                code: exit.exit_code,
                reason: exit.reason.clone(),
                message: Text::default(),
            };
            Some((end, Source::Cri))
        }
    }
}

/// The word for the exit, and the text that proves it.
fn how(s: &Subject, c: &ContainerPosition, end: &LastExit) -> (&'static str, Text) {
    let none = Text::default();
    match end.reason.as_str() {
        "OOMKilled" => return ("oom", none),
        "ContainerStatusUnknown" | "Unknown" => return (LOST, none),
        reason if never_ran(reason) => return ("start-error", none),
        _ => {}
    }
    // A program may handle SIGTERM and exit with any code, 0 too: the sender of the signal decides.
    if let Some((word, by)) = killed_by_kubelet(s, c, end) {
        return (word, by);
    }
    if let Some(line) = kernel_oom(s, end) {
        return ("oom-suspected", line);
    }
    match end.code {
        0 => ("completed", none),
        137 => ("killed", none),
        143 => ("stopped", none),
        129..=165 => ("signal", none),
        _ => ("error", none),
    }
}

fn killed_by_kubelet(s: &Subject, c: &ContainerPosition, end: &LastExit) -> Option<(&'static str, Text)> {
    let grace = s.facts.object().and_then(|p| p.spec.termination_grace_period_seconds).unwrap_or(30);
    // Repeats are folded into one event: the exit is between the first and the last of them. An unknown time does not
    // contradict.
    let near = |event: &Event| {
        let after = |line: Option<Time>| Some((end.at? - line?).num_seconds());
        after(event.first()).is_none_or(|s| s >= -PROBE_KILL_WITHIN.num_seconds())
            && after(event.last()).is_none_or(|s| s <= grace + PROBE_KILL_WITHIN.num_seconds())
    };
    let killing = s.facts.events_of(&c.name).filter(|e| e.reason == "Killing");
    for event in killing {
        let text = event.message.to_lowercase();
        let word = match () {
            () if text.contains("liveness probe") => "liveness",
            () if text.contains("startup probe") => "startup",
            () if text.contains("poststarthook") => "hook",
            () => continue,
        };
        if near(event) {
            return Some((word, event.message.text()));
        }
    }
    if s.facts.events_of(&c.name).any(|e| e.reason == "FailedPostStartHook" && near(e)) {
        return Some(("hook", Text::default()));
    }
    let own = s.facts.log_lines().filter(|line| line.source == Source::KubeletLog);
    let told = own.filter_map(|line| Some((probe_verdict(s, &line.text, &c.name)?, line)));
    let within = |line: &KeptLine| {
        end.at.is_some_and(|at| {
            (at - line.first).num_seconds() >= -PROBE_KILL_WITHIN.num_seconds()
                && (at - line.at).num_seconds() <= grace + PROBE_KILL_WITHIN.num_seconds()
        })
    };
    told.filter(|(_, line)| within(line)).last().map(|(word, line)| (word, line.text.text()))
}

/// The kubelet's log lines about a container that it kills for a probe: the verdict, or the reason of the kill
/// (`computePodActions` and `syncLoopIteration`, from level 1 on). The verdict names the pod alone.
fn probe_verdict(s: &Subject, text: &str, container: &str) -> Option<&'static str> {
    ["liveness", "startup"].into_iter().find(|word| {
        let verdict = text.starts_with("SyncLoop (probe)") && text.contains("unhealthy") && text.contains(word);
        verdict && alone_has(s, word, container)
            || text.contains(&format!("Container {container} failed {word} probe, will be restarted"))
    })
}

/// No other container of the pod can be meant by a verdict of that probe.
fn alone_has(s: &Subject, probe: &str, container: &str) -> bool {
    let specs = s.facts.object().into_iter().flat_map(|p| p.spec.init_containers.iter().chain(&p.spec.containers));
    let has =
        |c: &&ContainerSpec| if probe == "liveness" { c.liveness_probe.is_some() } else { c.startup_probe.is_some() };
    let mut having = specs.filter(has).map(|c| &c.name).peekable();
    if having.peek().is_none() {
        return s.placed.position.containers.len() == 1;
    }
    having.all(|name| name == container)
}

/// The kernel's line that it OOM-killed a process of this pod, for a container whose status does not report it.
fn kernel_oom(s: &Subject, end: &LastExit) -> Option<Text> {
    if end.code == 0 {
        return None;
    }
    let own = s.facts.log_lines().filter(|l| l.source == Source::KernelLog);
    let oom = own.filter(|l| {
        l.text.contains("oom-kill") || l.text.contains("out of memory") || l.text.contains("Out of memory")
    });
    let near =
        |at: Time| end.at.is_none_or(|ended| (ended - at).num_seconds().abs() <= PROBE_KILL_WITHIN.num_seconds());
    oom.filter(|l| near(l.at)).map(|l| l.text.text()).last()
}

#[cfg(test)]
mod tests {
    use crate::time::TimeDelta;
    use serde_json::json;

    use super::*;
    use crate::observation::{Fact, LogLevel, LogRecord};
    use crate::pipeline::tests::fixture::Node;

    /// How an end is taken whose container was killed for its liveness probe from `first` to `last` seconds from now.
    fn word(first: i64, last: i64, times: u32) -> &'static str {
        let mut node = Node::new();
        let at = |s: i64| node.at + TimeDelta::seconds(s);
        let ended = json!({"exitCode": 1, "reason": "Error", "startedAt": at(-30), "finishedAt": at(-10)});
        let pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"},
            "spec": {"nodeName": "w", "restartPolicy": "Always", "containers": [{"name": "c"}],
                "terminationGracePeriodSeconds": 1},
            "status": {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 4,
                "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": ended}}]}});
        let event = json!({"metadata": {"name": "p.1", "namespace": "n"}, "reason": "Killing", "type": "Normal",
            "involvedObject": {"kind": "Pod", "namespace": "n", "name": "p", "uid": "u", "fieldPath": "spec.containers{c}"},
            "message": "Container c failed liveness probe, will be restarted", "count": times,
            "firstTimestamp": at(first), "lastTimestamp": at(last)});
        let (pod, event) = (serde_json::from_value(pod).unwrap(), serde_json::from_value(event).unwrap());
        node.list(Source::ApiPods, vec![Fact::Pod(pod)]);
        node.list(Source::ApiEvents, vec![Fact::Event(event)]);
        let (placed, snapshot) = (node.located(), node.snapshot());
        let subject = Subject::new(&placed, &snapshot, node.at);
        let c = &placed.position.containers[0];
        how(&subject, c, &last_end(&subject, c).unwrap().0).0
    }

    #[test]
    fn a_kill_explains_only_an_end_that_it_can_have_brought() {
        assert_eq!(word(-12, -12, 1), "liveness");
        assert_eq!(word(-600, -12, 9), "liveness", "one of several that were folded");
        assert_eq!(word(-600, -300, 9), "error", "the last of them was long before");
        assert_eq!(word(-2000, -2000, 1), "error");
    }

    #[test]
    fn a_kill_that_only_the_log_shows_is_not_an_oom_kill() {
        let word = |line: &str| {
            let mut node = Node::new();
            let at = |s: i64| node.at + TimeDelta::seconds(s);
            let ended = json!({"exitCode": 137, "reason": "Error", "startedAt": at(-90), "finishedAt": at(-10)});
            let pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"},
                "spec": {"nodeName": "w", "restartPolicy": "Always", "containers": [{"name": "c"}]},
                "status": {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 4,
                    "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": ended}}]}});
            let entry = LogRecord::new(at(-40), LogLevel::Info, line).of_pod("n/p", "u");
            node.list(Source::ApiPods, vec![Fact::Pod(serde_json::from_value(pod).unwrap())]);
            node.report(Source::KubeletLog, Fact::LogRecord(Box::new(entry)));
            let (placed, snapshot) = (node.located(), node.snapshot());
            let subject = Subject::new(&placed, &snapshot, node.at);
            let c = &placed.position.containers[0];
            how(&subject, c, &last_end(&subject, c).unwrap().0).0
        };
        assert_eq!(word("SyncLoop (probe) probe=liveness status=unhealthy"), "liveness");
        assert_eq!(
            word("Message for Container of pod containerMessage=Container c failed startup probe, will be restarted"),
            "startup"
        );
        assert_eq!(word("SyncLoop (probe) probe=readiness status=not ready"), "killed");
        assert_eq!(word("Container other failed liveness probe, will be restarted"), "killed");
        assert_eq!(word("Container my-c failed liveness probe, will be restarted"), "killed", "c is not my-c");
    }

    #[test]
    fn a_verdict_that_names_no_container_blames_the_only_one_that_has_the_probe() {
        let word = |own: bool, other: bool| {
            let mut node = Node::new();
            let at = |s: i64| node.at + TimeDelta::seconds(s);
            let container = |name: &str, probed: bool| {
                if probed {
                    json!({"name": name, "livenessProbe": {"periodSeconds": 1}})
                } else {
                    json!({"name": name})
                }
            };
            let ended = json!({"exitCode": 137, "reason": "Error", "startedAt": at(-90), "finishedAt": at(-10)});
            let pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"},
                "spec": {"nodeName": "w", "restartPolicy": "Always", "containers": [container("c", own), container("d", other)]},
                "status": {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 4,
                    "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": ended}}]}});
            let entry = LogRecord::new(at(-40), LogLevel::Info, "SyncLoop (probe) probe=liveness status=unhealthy")
                .of_pod("n/p", "u");
            node.list(Source::ApiPods, vec![Fact::Pod(serde_json::from_value(pod).unwrap())]);
            node.report(Source::KubeletLog, Fact::LogRecord(Box::new(entry)));
            let (placed, snapshot) = (node.located(), node.snapshot());
            let subject = Subject::new(&placed, &snapshot, node.at);
            let c = &placed.position.containers[0];
            how(&subject, c, &last_end(&subject, c).unwrap().0).0
        };
        assert_eq!(word(true, false), "liveness");
        assert_eq!(word(false, true), "killed", "the other one's probe");
        assert_eq!(word(true, true), "killed", "either may be meant");
    }
}
