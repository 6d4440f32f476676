//! The variables of a subject that texts and commands of the runbook use. An unknown one is absent.

use super::probe_command::probe_command;
use crate::model::{PodFacts, bare_id};
use crate::objects::Resource;
use crate::observation::Time;
use crate::pipeline::{LocatedPod, human_duration};
use crate::runbook::Vars;

/// Set if the newest run of the container in question has exited: the APIs return its log without `--previous`.
pub(super) const EXITED: &str = "exited";

/// The names of a pod, with `container` as the one in question.
pub(super) fn of_pod(placed: &LocatedPod, container: &str, runtime_unit: &str, now: Time) -> Vars {
    let (facts, place) = (&placed.facts, &placed.position);
    let mut vars = Vars::new();
    let mut put = |name: &str, value: &str| {
        if !value.is_empty() {
            vars.insert(name.to_owned(), value.to_owned());
        }
    };
    put("pod", &facts.name);
    put("namespace", &facts.namespace);
    put("uid", &facts.key);
    put("runtime_unit", runtime_unit);
    put("reason", &place.status.word);
    put("message", &place.reason.one_line());
    if let Some(since) = place.since {
        put("waited", &human_duration((now - since).max(crate::time::TimeDelta::zero())));
    }
    if let Some(sandbox) = facts.sandbox() {
        put("sandbox_id", &sandbox.id);
    }
    let in_question = place.containers.iter().find(|c| c.name == *container).or_else(|| {
        // No container is named: a failing one, or the only one.
        let troubled = place.containers.iter().max_by_key(|c| c.state == crate::pipeline::StageState::Failed);
        troubled.filter(|_| container.is_empty())
    });
    if let Some(c) = in_question {
        put("container", &c.name);
        put("image", &c.image);
        put("restarts", &c.restarts.to_string());
        if c.running_since.is_none() && c.last_exit.is_some() {
            put(EXITED, "true");
        }
        if let Some((code, ..)) = &c.last_exit {
            put("exit", &code.to_string());
            if let Some(name) = signal_name(*code) {
                put("signal_name", name);
            }
        }
        if let Some(id) = container_id(facts, &c.name) {
            put("container_id", &id);
        }
    }
    if let Some(pod) = facts.object() {
        put("node", &pod.spec.node_name);
        put("ip", &pod.status.pod_ip);
        put("runtime_class", &pod.spec.runtime_class_name);
        put("scheduler", &pod.spec.scheduler_name);
        put("finalizers", &pod.metadata.finalizers.joined(|f| f));
        let open = pod.spec.readiness_gates.iter().filter(|gate| !pod.status.is_true(&gate.condition_type));
        if let Some(c) = open.filter_map(|gate| pod.status.condition(&gate.condition_type)).next() {
            let message = c.message.one_line();
            let detail = [&*c.reason, message.trim_end_matches('.')].into_iter().filter(|part| !part.is_empty());
            let detail: String = detail.map(|part| format!(": {part}")).collect();
            put("gate_state", &format!("The condition is {}{detail}.", c.status));
        }
        put("gates", &pod.spec.scheduling_gates.joined(|g| &g.name));
        let spec = in_question.and_then(|c| {
            let mut all = pod.spec.containers.iter().chain(&pod.spec.init_containers);
            all.find(|spec| spec.name == c.name)
        });
        if let Some(spec) = spec {
            let own = spec.resources.limits.get(&Resource::Memory);
            put("memory_limit", &own.map(|limit| limit.to_string()).unwrap_or_default());
            let id = container_id(facts, &spec.name).unwrap_or_default();
            for (name, probe) in [
                ("liveness_command", &spec.liveness_probe),
                ("readiness_command", &spec.readiness_probe),
                ("startup_command", &spec.startup_probe),
            ] {
                let command = probe.as_ref().and_then(|p| probe_command(p, spec, &pod.status.pod_ip, &id));
                put(name, &command.unwrap_or_default());
            }
        }
        let policy = spec.map(|s| &s.restart_policy).filter(|own| !own.is_empty()).unwrap_or(&pod.spec.restart_policy);
        if policy == "Never" || pod.status.is_terminal() {
            let of_job = pod.metadata.owner_references.iter().any(|o| o.controller && o.kind == "Job");
            let why = if policy == "Never" { "restartPolicy is Never" } else { "The pod has finished" };
            let then = if of_job { " The Job creates another pod, up to its backoffLimit." } else { "" };
            put("restart_rule", &format!("{why}: the kubelet does not restart the container.{then}"));
            put("after_kill", "not restarted");
        }
        if let Some(owner) = pod.metadata.owner_references.iter().find(|o| o.controller) {
            put("owner", &format!("{}/{}", owner.kind.to_lowercase(), owner.name));
        }
        // With several claims, the one in question is unknown.
        let names = pod.spec.volumes.iter().map(|v| &v.persistent_volume_claim.claim_name);
        let mut claims = names.filter(|c| !c.is_empty());
        if let (Some(claim), None) = (claims.next(), claims.next()) {
            put("claim", claim);
        }
        if let Some(grace) = pod.metadata.deletion_grace_period_seconds.or(pod.spec.termination_grace_period_seconds) {
            put("grace", &grace.to_string());
        }
    }
    vars
}

/// The names of a node.
pub(super) fn of_node(name: &str, runtime_unit: &str) -> Vars {
    let pairs = [("node", name), ("runtime_unit", runtime_unit)];
    pairs.into_iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

/// What holds the name that the runtime reports as reserved: a container or sandbox that the runtime lists can be removed; one
/// that it does not list is still being created.
pub(super) fn held_by(facts: &PodFacts) -> Option<String> {
    let waiting = facts.object().into_iter().flat_map(|p| p.status.all_containers());
    let waiting = waiting.filter_map(|c| c.state.waiting.as_ref()).map(|w| &w.message);
    let id = waiting.chain(facts.events.iter().map(|e| &e.message)).find_map(|text| holder(text))?;
    if let Some(c) = facts.containers.iter().find(|c| c.id.starts_with(id)) {
        return Some(format!("container {} of attempt {} ({}, {id})", c.name, c.attempt, c.phase.name()));
    }
    if let Some(s) = facts.sandboxes.iter().find(|s| s.id.starts_with(id)) {
        let state = if s.ready { "ready" } else { "not ready" };
        return Some(format!("the sandbox of attempt {} ({state}, {id})", s.attempt));
    }
    let unlisted = if facts.complete.cri { ", which the runtime does not list: creation in progress" } else { "" };
    Some(format!("{id}{unlisted}"))
}

/// The id behind `is reserved for "` (containerd) or `already in use by container "` (CRI-O, cri-dockerd).
fn holder(text: &str) -> Option<&str> {
    let behind = ["is reserved for ", "already in use by container ", "already in use by "];
    let rest = behind.iter().find_map(|words| text.split_once(words))?.1.trim_start_matches(['\\', '"']);
    let id = rest.split(|c: char| !c.is_ascii_hexdigit()).next()?;
    (id.len() >= 4).then_some(id)
}

fn container_id(facts: &PodFacts, name: &str) -> Option<String> {
    if let Some(container) = facts.container(name) {
        return Some(container.id.to_string());
    }
    let status = facts.object()?.status.all_containers().find(|c| c.name == *name)?;
    let id = bare_id(&status.container_id);
    (!id.is_empty()).then(|| id.to_owned())
}

/// The signal behind an exit code over 128, by its number on Linux.
pub fn signal_name(exit_code: i32) -> Option<&'static str> {
    Some(match exit_code - 128 {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        31 => "SIGSYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Fact, Source};
    use crate::pipeline::tests::fixture::Node;

    #[test]
    fn a_claim_is_named_only_when_the_pod_uses_one() {
        let claim = |claims: &[&str]| {
            let volume = |c: &&str| serde_json::json!({"name": c, "persistentVolumeClaim": {"claimName": c}});
            let volumes: Vec<_> = claims.iter().map(volume).collect();
            let pod = serde_json::json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"},
                "spec": {"volumes": volumes, "containers": [{"name": "c"}]}, "status": {"phase": "Pending"}});
            let mut node = Node::new();
            node.list(Source::ApiPods, vec![Fact::Pod(serde_json::from_value(pod).unwrap())]);
            of_pod(&node.located(), "c", "containerd", Time::UNIX_EPOCH).get("claim").cloned()
        };
        assert_eq!(claim(&["data"]).as_deref(), Some("data"));
        assert_eq!(claim(&["data", "logs"]), None);
    }

    #[test]
    fn who_holds_a_reserved_name() {
        let message =
            r#"failed to reserve container name \"c_p_n_u_1\": name \"c_p_n_u_1\" is reserved for \"9f8e7d6c\""#;
        assert_eq!(holder(message), Some("9f8e7d6c"));
        assert_eq!(holder("name is reserved"), None);
        let pod = serde_json::json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"},
            "spec": {"nodeName": "w", "containers": [{"name": "c"}]},
            "status": {"phase": "Pending", "containerStatuses": [{"name": "c", "state":
                {"waiting": {"reason": "CreateContainerError", "message": message}}}]}});
        let container = serde_json::json!({"id": "9f8e7d6c0000", "sandbox": "s", "name": "c", "pod": "p",
            "namespace": "n", "uid": "u", "attempt": 1, "phase": "created"});
        let mut node = Node::new();
        node.list(Source::ApiPods, vec![Fact::Pod(serde_json::from_value(pod).unwrap())]);
        node.list(Source::Cri, Vec::new());
        let said = |node: &mut Node| held_by(&node.located().facts).unwrap();
        assert_eq!(said(&mut node), "9f8e7d6c, which the runtime does not list: creation in progress");
        node.list(Source::Cri, vec![Fact::Container(serde_json::from_value(container).unwrap())]);
        assert_eq!(said(&mut node), "container c of attempt 1 (created, 9f8e7d6c)");
    }
}
