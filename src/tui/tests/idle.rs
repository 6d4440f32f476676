//! Owns the tests of how many bytes a clock that runs costs, and a node on which much happens.

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

fn busy() -> Node {
    let mut node = Node::new();
    for i in 0..110 {
        // Some young, so that their ages move every second.
        let waiting = (i % 5 == 0).then_some(("CrashLoopBackOff", "back-off 5m0s restarting failed container"));
        node.pod("shop", &format!("pod-{i:03}-6d4cf56db6-x2xkq"), waiting);
    }
    node
}

#[test]
fn a_clock_that_runs_costs_less_than_a_kilobyte_a_second() {
    let mut node = busy();
    node.now += TimeDelta::hours(2);
    let per_second = bytes(&mut node, 120, |_, _| {}) / 120;
    assert!((1..1000).contains(&per_second), "{per_second} bytes a second");
}

#[test]
fn ages_that_all_move_every_second_cost_little() {
    let per_second = bytes(&mut busy(), 100, |_, _| {}) / 100;
    assert!(per_second < 2000, "{per_second} bytes a second");
}

#[test]
fn ten_pods_that_change_every_second_cost_less_than_eight() {
    let change = |node: &mut Node, second: usize| {
        for i in 0..10 {
            let at = (second * 10 + i) % 110;
            let waiting = (second % 2 == 0).then_some(("ErrImagePull", "rpc error: code = NotFound"));
            node.pod("shop", &format!("pod-{at:03}-6d4cf56db6-x2xkq"), waiting);
        }
    };
    let per_second = bytes(&mut busy(), 60, change) / 60;
    assert!(per_second < 8000, "{per_second} bytes a second");
}
