//! Which of the node's own log lines no longer hold: a source that responds contradicts them, or they would have been
//! repeated.

use crate::diagnose::area;
use crate::model::{KeptLine, Snapshot};
use crate::observation::{Source, Time};
use crate::runbook::SignalKind;
use crate::thresholds::{API_LINE_CURRENT, LOG_LINE_CURRENT, LOOP_BLOCKED, MANIFEST_LINE_CURRENT};

/// Words of calls to the API server.
const OF_API: [&str; 9] =
    ["/api/v1/", "/apis/", "API server", "lease", "node status", "getting node", "current node", "list *", "watch *"];
/// Words of a runtime that does not respond.
const OF_RUNTIME: [&str; 4] = ["dial unix", "container runtime is down", "PLEG is not healthy", "RuntimeReady=false"];

/// The line does not describe the present state of the node.
pub(super) fn is_over(line: &KeptLine, snapshot: &Snapshot, now: Time) -> bool {
    let text = line.text.as_str();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let after = |sign: Option<Time>| sign.is_some_and(|sign| sign > line.at);
    match line.source {
        Source::KubeletLog if is_about_api(text) => {
            after(reached_api(snapshot)) || (now - line.at).num_seconds() > API_LINE_CURRENT.num_seconds()
        }
        Source::KubeletLog if has(&OF_RUNTIME) && after(runtime_answered(snapshot)) => true,
        Source::KubeletLog if text.contains("Skipping pod synchronization") => is_loop_over(line.at, now),
        Source::KubeletLog if (now - line.at).num_seconds() > MANIFEST_LINE_CURRENT.num_seconds() => {
            area::area(text) == Some(SignalKind::Static)
                || (now - line.at).num_seconds() > LOG_LINE_CURRENT.num_seconds()
        }
        Source::KubeletLog | Source::RuntimeLog => (now - line.at).num_seconds() > LOG_LINE_CURRENT.num_seconds(),
        _ => false,
    }
}

/// True for a message about a runtime that does not respond, if the runtime has responded since.
pub(super) fn is_runtime_back(text: &str, at: Option<Time>, snapshot: &Snapshot) -> bool {
    let is_about = OF_RUNTIME.iter().any(|word| text.contains(word)) || text.contains("docker daemon");
    is_about && runtime_answered(snapshot).is_some_and(|answered| at.is_none_or(|at| answered > at))
}

/// True for a line about a call to the API server.
pub(super) fn is_about_api(text: &str) -> bool {
    // A whole word: "please check config file" names no lease.
    let starts_word = |at: usize| !text.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric));
    OF_API.iter().any(|word| text.match_indices(word).any(|(at, _)| starts_word(at)))
}

/// The sync loop has resumed: it last reported at `at` that it is blocked.
pub(super) fn is_loop_over(at: Time, now: Time) -> bool {
    (now - at).num_seconds() > LOOP_BLOCKED.num_seconds()
}

/// When the kubelet last wrote its lease or its node status to the API server.
fn reached_api(snapshot: &Snapshot) -> Option<Time> {
    let lease = snapshot.lease.as_ref().and_then(|lease| lease.spec.renew_time);
    let own = |c: &&crate::objects::Condition| c.kind == "Ready" && c.reason != "NodeStatusUnknown";
    let ready = snapshot.node.iter().flat_map(|node| node.status.conditions.iter()).find(own);
    lease.max(ready.and_then(|c| c.last_heartbeat_time))
}

/// When the runtime last responded to kpodtrace; a later hang is another failure.
fn runtime_answered(snapshot: &Snapshot) -> Option<Time> {
    snapshot.sources.get(&Source::Cri)?.last_answer
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diagnose::DiagnosisCache;
    use crate::observation::{Fact, LogLevel, LogRecord};
    use crate::pipeline::tests::fixture::Node;
    use crate::time::TimeDelta;

    fn log(node: &mut Node, text: &str) {
        let entry = LogRecord::new(node.at, LogLevel::Error, text);
        node.report(Source::KubeletLog, Fact::LogRecord(Box::new(entry)));
    }

    fn causes(node: &mut Node) -> Vec<String> {
        let (snapshot, now) = (node.snapshot(), node.at);
        let node = DiagnosisCache::default().make(&[], &snapshot, now).node;
        node.findings.iter().map(|f| f.cause.to_string()).collect()
    }

    fn wait(node: &mut Node, seconds: i64) {
        node.at += TimeDelta::seconds(seconds);
    }

    #[test]
    fn a_runtime_that_answers_is_not_down_and_a_renewed_lease_came_through() {
        let mut node = Node::new();
        node.list(Source::Cri, Vec::new());
        let down = r#"Failed to get image status: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: no such file or directory""#;
        let refused = r#"Failed to update lease: Put "https://10.0.0.1:6443/apis/coordination.k8s.io/v1/x": dial tcp 10.0.0.1:6443: connect: connection refused"#;
        wait(&mut node, 1);
        log(&mut node, down);
        log(&mut node, refused);
        let told = causes(&mut node);
        assert!(told.contains(&"runtime.down".into()) && told.contains(&"node.api-unreachable".into()), "{told:?}");
        wait(&mut node, 1);
        node.report(Source::Cri, Fact::Alive);
        let at = node.at;
        let lease = json!({"metadata": {"name": "w"}, "spec": {"renewTime": at, "leaseDurationSeconds": 40}});
        node.list(Source::ApiLease, vec![Fact::Lease(serde_json::from_value(lease).unwrap())]);
        assert_eq!(causes(&mut node), ["unknown"], "no fault is left to tell");
    }

    #[test]
    fn what_would_have_come_again_is_over_when_it_does_not() {
        let mut node = Node::new();
        let blocked = LogRecord::new(node.at, LogLevel::Error, "Skipping pod synchronization");
        let entry = blocked.with("err", "container runtime status check may not have completed yet");
        node.report(Source::KubeletLog, Fact::LogRecord(Box::new(entry)));
        assert_eq!(causes(&mut node)[0], "none.transient.kubelet-starting");
        wait(&mut node, LOOP_BLOCKED.num_seconds() + 1);
        assert!(!causes(&mut node).contains(&"none.transient.kubelet-starting".into()));
        log(&mut node, "Unable to register node with API server: Unauthorized");
        assert_eq!(causes(&mut node)[0], "node.registration");
        wait(&mut node, API_LINE_CURRENT.num_seconds() + 1);
        assert!(!causes(&mut node).contains(&"node.registration".into()));
    }
}
