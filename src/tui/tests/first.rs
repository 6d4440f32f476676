//! Tests of the screen before the first lists are complete.

use super::*;

fn drawn(node: &mut Node) -> String {
    let mut app = app(false);
    app.show(node.moment(), "live: n");
    lines(&app.draw(120, 30)).join("\n")
}

#[test]
fn an_empty_table_lists_pending_sources() {
    let mut node = Node::new();
    assert!(drawn(&mut node).contains("no source has responded"));
    node.say(Source::ApiPods, Fact::SourceState(SourceState::Connecting));
    node.say(Source::Cri, Fact::SourceState(SourceState::Connecting));
    node.say(Source::Cri, Fact::CallBegin(Call::CriList));
    node.now += TimeDelta::seconds(2);
    let screen = drawn(&mut node);
    let wanted = "no pods yet, waiting for the first list: api-pods connecting 2s · cri call in flight 2s";
    assert!(screen.contains(wanted) && screen.contains("0 pods so far"), "{screen}");
    assert!(screen.contains("◐api-pods connecting 2s") && screen.contains("◐cri call in flight 2s"), "{screen}");

    let error = SourceError { tried: "dial".into(), kind: ErrorKind::Unreachable, fix: "".into() };
    node.say(Source::Cri, Fact::SourceState(SourceState::Retrying { at: None, error }));
    node.list(Source::ApiPods);
    let screen = drawn(&mut node);
    assert!(screen.contains("waiting for the first list: api-pods 0 so far"), "{screen}");
    node.say(Source::ApiPods, Fact::SourceState(SourceState::Live { since: node.now }));
    node.say(Source::ApiPods, Fact::EpochEnd);
    let screen = drawn(&mut node);
    assert!(screen.contains("no pods on this node: api-pods live for 0s · cri retrying"), "{screen}");
    assert!(screen.contains("0 pods ") && !screen.contains("so far"), "{screen}");
}

#[test]
fn a_list_that_comes_in_pages_counts_up() {
    let mut node = Node::new();
    node.say(Source::ApiEvents, Fact::SourceState(SourceState::Connecting));
    node.list(Source::ApiPods);
    node.say(Source::ApiPods, Fact::SourceState(SourceState::Live { since: node.now }));
    node.say(Source::ApiPods, Fact::Remaining { count: 300 });
    node.pod("shop", "a", None);
    node.pod("shop", "b", None);
    node.now += TimeDelta::seconds(3);
    let screen = drawn(&mut node);
    assert!(screen.contains("2 pods so far") && screen.contains("◐api-pods 2 of 302 so far, 3s"), "{screen}");
    assert!(screen.contains("◐api-events connecting 3s"), "{screen}");
    node.say(Source::ApiPods, Fact::EpochEnd);
    let screen = drawn(&mut node);
    assert!(screen.contains("2 pods ") && !screen.contains("so far") && screen.contains("●api-pods 0s"), "{screen}");
}
