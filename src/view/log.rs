//! Containers with a log, the one to open first, and the commands that print a log elsewhere.

use super::PodDiagnosis;
use crate::container_log::{Instance, LogRequest, NewestRun};
use crate::observation::ContainerPhase;
use crate::pipeline::{ContainerPosition, LocatedPod, StageState};
use crate::runbook::quoted;
use crate::text::Text;

/// A container with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogChoice {
    /// Its name.
    pub name: Text,
    /// `init`, `sidecar`, `app` or `ephemeral`.
    pub kind: &'static str,
    /// Its state in a word.
    pub word: Text,
    /// How often it was started again.
    pub restarts: u32,
    /// What its newest run does.
    pub newest: NewestRun,
    /// Runtime ids of its known runs, newest first.
    pub ids: Vec<Text>,
}

/// The containers of a pod, in the order of its place.
pub fn log_choices(placed: &LocatedPod) -> Vec<LogChoice> {
    let ids = |name: &Text| placed.facts.containers_of(name).map(|c| c.id.clone()).collect();
    let choice = |c: &ContainerPosition| LogChoice {
        name: c.name.clone(),
        kind: c.kind.name(),
        word: c.word.clone(),
        restarts: c.restarts,
        newest: newest_run(placed, &c.name),
        ids: ids(&c.name),
    };
    placed.position.containers.iter().map(choice).collect()
}

/// The container that fails: the finding's, else one that failed, else the last to exit with an error, else one that ran
/// and is not ready, else the first that ran.
pub fn first_choice(placed: &LocatedPod, why: Option<&PodDiagnosis>) -> usize {
    let containers = &placed.position.containers;
    let named = why.and_then(|why| why.own.top()).map(|finding| &finding.container).filter(|name| !name.is_empty());
    let ended = |c: &ContainerPosition| c.last_exit.as_ref().filter(|(code, ..)| *code != 0).map(|(_, _, at)| *at);
    let crashed = containers.iter().enumerate().filter_map(|(i, c)| Some((ended(c)?, i)));
    let counts = |c: &&ContainerPosition| matches!(c.kind.name(), "app" | "sidecar");
    let first = |of: &dyn Fn(&ContainerPosition) -> bool| containers.iter().position(of);
    named
        .and_then(|name| first(&|c| c.name == *name))
        .or_else(|| first(&|c| c.state == StageState::Failed))
        .or_else(|| crashed.max().map(|(_, i)| i))
        .or_else(|| first(&|c| counts(&c) && c.ran && !c.ready))
        .or_else(|| first(&|c| counts(&c) && c.ran))
        .or_else(|| first(&|c| counts(&c)))
        .unwrap_or(0)
}

/// The log of a container.
pub fn log_request(placed: &LocatedPod, container: &Text, instance: Instance, follow: bool) -> LogRequest {
    let facts = &placed.facts;
    LogRequest {
        namespace: facts.namespace.clone(),
        pod: facts.name.clone(),
        uid: facts.key.clone(),
        container: container.clone(),
        instance,
        newest: newest_run(placed, container),
        follow,
    }
}

fn newest_run(placed: &LocatedPod, container: &Text) -> NewestRun {
    let status = placed.facts.object().and_then(|pod| pod.status.all_containers().find(|c| c.name == *container));
    match status.map(|status| &status.state) {
        Some(state) if state.running.is_some() => NewestRun::Running,
        Some(state) if state.waiting.is_some() => NewestRun::Waiting,
        Some(_) => NewestRun::Exited,
        None if placed.facts.container(container).is_some_and(|c| c.phase == ContainerPhase::Running) => {
            NewestRun::Running
        }
        None => NewestRun::Exited,
    }
}

/// The commands that print a log: where there is an API server, and on the node.
pub fn log_commands(request: &LogRequest, choice: Option<&LogChoice>) -> Vec<String> {
    let [namespace, pod, container] =
        [&request.namespace, &request.pod, &request.container].map(|name| quoted(&name.one_line()));
    let (flag, run) = match (request.instance, request.newest) {
        (Instance::Current, _) => (Some(""), 0),
        (Instance::Previous, NewestRun::Waiting) => (None, 1),
        (Instance::Previous, _) => (Some(" --previous"), 1),
    };
    let kubectl = flag.map(|flag| format!("kubectl logs -n {namespace} {pod} -c {container}{flag}"));
    let mut commands: Vec<String> = kubectl.into_iter().collect();
    let id = choice.and_then(|choice| choice.ids.get(run));
    commands.extend(id.map(|id| format!("crictl logs {}", quoted(&id.one_line()))));
    commands
}

/// What was left out, in words.
pub fn left_out(lines: u64, bytes: u64) -> String {
    let lines = if lines > 0 { super::plural(lines, "line") } else { String::new() };
    let bytes = if bytes > 0 { super::bytes(bytes) } else { String::new() };
    let both = [lines, bytes].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" and ");
    format!("{both} omitted: logged faster than they can be shown")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::observation::{Fact, Source};
    use crate::pipeline::tests::fixture::Node;

    #[test]
    fn the_failing_container_is_the_first_choice() {
        let at = Node::new().at;
        let running = |name: &str, ready: bool| json!({"name": name, "ready": ready, "restartCount": 0, "state": {"running": {}}});
        let crashed = json!({"name": "web", "ready": false, "restartCount": 3,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"exitCode": 2, "reason": "Error", "startedAt": at, "finishedAt": at}}});
        let pod = |statuses: serde_json::Value| {
            json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"},
                "spec": {"nodeName": "w", "initContainers": [{"name": "setup"}],
                    "containers": [{"name": "side"}, {"name": "web"}]},
                "status": {"phase": "Running", "containerStatuses": statuses}})
        };
        let chosen = |statuses| {
            let mut node = Node::new();
            node.list(Source::ApiPods, vec![Fact::Pod(serde_json::from_value(pod(statuses)).unwrap())]);
            let placed = crate::pipeline::PodLocator::default().locate_all(&node.snapshot(), node.at).remove(0);
            log_choices(&placed)[first_choice(&placed, None)].name.to_string()
        };
        assert_eq!(chosen(json!([running("side", true), crashed])), "web");
        assert_eq!(chosen(json!([running("side", true), running("web", false)])), "web");
        assert_eq!(chosen(json!([running("side", true), running("web", true)])), "side");
        assert_eq!(chosen(json!([])), "side");
    }

    #[test]
    fn commands_are_whole_and_hold_no_second_one() {
        let request = |instance| LogRequest {
            namespace: "shop".into(),
            pod: "web-0; reboot".into(),
            uid: "u".into(),
            container: "app".into(),
            instance,
            newest: NewestRun::Running,
            follow: true,
        };
        let ids = vec!["new".into(), "old".into()];
        let choice = LogChoice {
            name: "app".into(),
            kind: "app",
            word: "".into(),
            restarts: 1,
            newest: NewestRun::Running,
            ids,
        };
        let commands = log_commands(&request(Instance::Previous), Some(&choice));
        assert_eq!(commands, ["kubectl logs -n shop 'web-0; reboot' -c app --previous", "crictl logs old"]);
        let current = log_commands(&request(Instance::Current), Some(&choice));
        assert_eq!(current[1], "crictl logs new");
        let waiting = LogRequest { newest: NewestRun::Waiting, ..request(Instance::Previous) };
        assert_eq!(log_commands(&waiting, Some(&choice)), ["crictl logs old"], "kubectl has no such run");
    }
}
