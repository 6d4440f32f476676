//! Owns which of the node's log lines are over: what somebody who answers now contradicts, and what would have come again.
//! It must not judge a line that is not the node's own: what is said of a pod is weighed against where that pod stands.

use crate::model::{Line, Snapshot};
use crate::observation::{Source, Time};

/// A kubelet or a runtime whose trouble lasts says so again sooner than that, seconds: the rarest rounds, image collection and
/// node status, are five minutes apart.
const LINE_AGE_S: i64 = 900;
/// The sync loop says every five seconds that it is blocked (pkg/kubelet/kubelet.go syncLoop); nothing is blocked that has not
/// said so for so long, seconds.
const LOOP_AGE_S: i64 = 20;
/// Renewals of the lease, node status and watches that fail are tried again within a minute, and said again, seconds.
const API_AGE_S: i64 = 120;
/// Words of calls to the API server.
const OF_API: [&str; 9] =
    ["/api/v1/", "/apis/", "API server", "lease", "node status", "getting node", "current node", "list *", "watch *"];
/// Words of a runtime that is not there.
const OF_RUNTIME: [&str; 4] = ["dial unix", "container runtime is down", "PLEG is not healthy", "RuntimeReady=false"];

/// True for a line that says nothing of the node as it is now.
pub(super) fn is_over(line: &Line, snapshot: &Snapshot, now: Time) -> bool {
    let text = line.text.as_str();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let after = |sign: Option<Time>| sign.is_some_and(|sign| sign > line.at);
    match line.source {
        Source::KubeletLog if says_api(text) => {
            after(reached_api(snapshot)) || (now - line.at).num_seconds() > API_AGE_S
        }
        Source::KubeletLog if says(&OF_RUNTIME) && after(runtime_answered(snapshot)) => true,
        Source::KubeletLog if text.contains("Skipping pod synchronization") => is_loop_over(line.at, now),
        Source::KubeletLog | Source::RuntimeLog => (now - line.at).num_seconds() > LINE_AGE_S,
        _ => false,
    }
}

/// True for a line about a call to the API server.
pub(super) fn says_api(text: &str) -> bool {
    OF_API.iter().any(|word| text.contains(word))
}

/// True when the sync loop goes on again: it last said `at` that it is blocked.
pub(super) fn is_loop_over(at: Time, now: Time) -> bool {
    (now - at).num_seconds() > LOOP_AGE_S
}

/// When the kubelet last wrote something to the API server that it writes by itself.
fn reached_api(snapshot: &Snapshot) -> Option<Time> {
    let lease = snapshot.lease.as_ref().and_then(|lease| lease.spec.renew_time);
    let own = |c: &&crate::objects::Condition| c.kind == "Ready" && c.reason != "NodeStatusUnknown";
    let ready = snapshot.node.iter().flat_map(|node| node.status.conditions.iter()).find(own);
    lease.max(ready.and_then(|c| c.last_heartbeat_time))
}

/// When the runtime last answered us; that it hangs since then is another trouble.
fn runtime_answered(snapshot: &Snapshot) -> Option<Time> {
    snapshot.sources.get(&Source::Cri)?.last_answer
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diagnose::Rounds;
    use crate::observation::{Fact, LogEntry, LogKind};
    use crate::pipeline::tests::fixture::Node;
    use crate::time::TimeDelta;

    fn says(node: &mut Node, text: &str) {
        let what = LogKind::Other { message: text.into() };
        let entry = LogEntry { at: node.at, severe: true, pod: "".into(), uid: "".into(), what };
        node.report(Source::KubeletLog, Fact::Log(Box::new(entry)));
    }

    fn causes(node: &mut Node) -> Vec<String> {
        let (snapshot, now) = (node.snapshot(), node.at);
        let node = Rounds::default().make(&[], &snapshot, now).node;
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
        says(&mut node, down);
        says(&mut node, refused);
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
        let blocked =
            LogKind::LoopBlocked { error: "container runtime status check may not have completed yet".into() };
        let entry = LogEntry { at: node.at, severe: true, pod: "".into(), uid: "".into(), what: blocked };
        node.report(Source::KubeletLog, Fact::Log(Box::new(entry)));
        assert_eq!(causes(&mut node)[0], "none.transient.kubelet-starting");
        wait(&mut node, LOOP_AGE_S + 1);
        assert!(!causes(&mut node).contains(&"none.transient.kubelet-starting".into()));
        says(&mut node, "Unable to register node with API server: Unauthorized");
        assert_eq!(causes(&mut node)[0], "node.registration");
        wait(&mut node, API_AGE_S + 1);
        assert!(!causes(&mut node).contains(&"node.registration".into()));
    }
}
