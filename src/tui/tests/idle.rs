//! Tests of the number of bytes written per second.

use super::*;

/// Bytes of `seconds` frames after the first, one a second, while `change` happens before each.
fn bytes(node: &mut Node, seconds: usize, mut change: impl FnMut(&mut Node, usize)) -> usize {
    let (mut app, mut painter) = (app(false), Painter::new());
    app.show(node.moment(), "live: n");
    painter.paint(app.draw(160, 50)).unwrap();
    let mut total = 0;
    for second in 0..seconds {
        node.now += TimeDelta::seconds(1);
        change(node, second);
        app.show(node.moment(), "live: n");
        total += painter.paint(app.draw(160, 50)).map_or(0, |bytes| bytes.len());
    }
    total
}

/// A full node: of 110 pods `failing` crash, each with a countdown and the age of its last restart. All are `old` seconds
/// old.
fn full(old: i64, failing: i64) -> Node {
    let mut node = Node::new();
    let at = |seconds: i64| node.now - TimeDelta::seconds(seconds);
    let mut pods = Vec::new();
    for i in 0..110 {
        let name = format!("pod-{i:03}-6d4cf56db6-x2xkq");
        let ended =
            serde_json::json!({"exitCode": 1, "reason": "Error", "startedAt": at(i + 2), "finishedAt": at(i + 1)});
        let (phase, state, last, restarts) = match i * failing % 110 < failing {
            true => ("Running", serde_json::json!({"waiting": {"reason": "CrashLoopBackOff"}}), ended, 7),
            false => ("Running", serde_json::json!({"running": {"startedAt": at(old)}}), serde_json::Value::Null, 0),
        };
        let ready = if restarts == 0 { "True" } else { "False" };
        pods.push(serde_json::json!({
            "metadata": {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": at(old)},
            "spec": {"nodeName": "n", "restartPolicy": "Always", "containers": [{"name": "app", "image": "x"}]},
            "status": {"phase": phase, "startTime": at(old),
                "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": ready}],
                "containerStatuses": [{"name": "app", "image": "x", "ready": restarts == 0, "state": state,
                    "lastState": {"terminated": last}, "restartCount": restarts}]}}));
    }
    pods.into_iter().for_each(|pod| node.say(Source::ApiPods, Fact::Pod(serde_json::from_value(pod).unwrap())));
    node
}

#[test]
fn a_clock_that_runs_costs_less_than_a_kilobyte_a_second() {
    let per_second = bytes(&mut full(7200, 20), 100, |_, _| {}) / 100;
    assert!((1..400).contains(&per_second), "{per_second} bytes a second");
}

#[test]
fn ages_that_all_move_every_second_cost_less_than_a_kilobyte_a_second() {
    for (old, failing) in [(10, 20), (1, 110), (7200, 110)] {
        let per_second = bytes(&mut full(old, failing), 100, |_, _| {}) / 100;
        assert!((1..1000).contains(&per_second), "{per_second} bytes a second when {failing} fail, {old} s old");
    }
}

#[test]
fn ten_pods_that_change_every_second_cost_less_than_eight_kilobytes() {
    let change = |node: &mut Node, second: usize| {
        for i in 0..10 {
            let at = (second * 10 + i) % 110;
            let waiting = second.is_multiple_of(2).then_some(("ErrImagePull", "rpc error: code = NotFound"));
            node.pod("shop", &format!("pod-{at:03}-6d4cf56db6-x2xkq"), waiting);
        }
    };
    let per_second = bytes(&mut full(7200, 20), 60, change) / 60;
    assert!(per_second < 8000, "{per_second} bytes a second");
}
