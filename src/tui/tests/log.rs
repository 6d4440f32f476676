//! Tests of the log screen: container, follow, scroll, search, hostile input.

use super::*;
use crate::container_log::{Instance, LogCommand, LogLine, LogOrigin, LogRequest, LogUpdate, OlderLines, Stream};

/// A pod of three containers, the last one in a crash loop, and a healthy pod.
fn node() -> Node {
    let mut node = Node::new();
    node.pod("shop", "well", None);
    let pod = serde_json::json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "u-web", "creationTimestamp": "2026-09-21T10:00:00Z"},
        "spec": {"nodeName": "n", "initContainers": [{"name": "setup"}], "containers": [{"name": "proxy"}, {"name": "app"}]},
        "status": {"phase": "Running", "startTime": "2026-09-21T10:00:00Z",
            "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "False"}],
            "initContainerStatuses": [{"name": "setup", "ready": true,
                "state": {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": "2026-09-21T10:00:00Z", "finishedAt": "2026-09-21T10:00:01Z"}}}],
            "containerStatuses": [
                {"name": "app", "ready": false, "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                    "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": "2026-09-21T10:00:02Z", "finishedAt": "2026-09-21T10:00:03Z"}}},
                {"name": "proxy", "ready": true, "restartCount": 0, "state": {"running": {"startedAt": "2026-09-21T10:00:02Z"}}}]}});
    node.say(Source::ApiPods, Fact::Pod(serde_json::from_value(pod).unwrap()));
    node
}

fn opened() -> App {
    let mut app = app(false);
    app.show(node().moment(), "live");
    keys(&mut app, "L");
    app
}

fn begin(app: &mut App, has_older: bool) {
    let origin = LogOrigin::File("/var/log/pods/shop_web_u-web/app/3.log".into());
    app.apply_log_update(LogUpdate::Opened { origin, restart: Some(3), has_older });
}

fn line(text: &str) -> LogLine {
    LogLine { at: Time::from_timestamp(1_790_000_000, 0), stream: Stream::Out, text: text.into() }
}

fn numbered(from: usize, to: usize) -> Vec<LogLine> {
    (from..to).map(|i| line(&format!("line {i}"))).collect()
}

fn asked(app: &mut App) -> Vec<(String, Instance)> {
    let open = |ask| match ask {
        LogCommand::Open(request) => {
            let LogRequest { container, instance, .. } = *request;
            (container.to_string(), instance)
        }
        LogCommand::Older => ("older".into(), Instance::Current),
        LogCommand::Close => ("close".into(), Instance::Current),
    };
    app.take_log_commands().into_iter().map(open).collect()
}

#[test]
fn the_failing_container_is_first_and_a_closed_screen_reads_nothing() {
    use Instance::{Current, Previous};
    let mut app = opened();
    assert_eq!(asked(&mut app), [("app".to_owned(), Current)]);
    assert_eq!(app.context(), Context::Log);
    keys(&mut app, "v");
    assert_eq!(asked(&mut app), [("app".to_owned(), Previous)]);
    keys(&mut app, "vcccCv");
    let chosen = [("app", Current), ("setup", Current), ("proxy", Current), ("app", Current), ("proxy", Current)];
    assert_eq!(asked(&mut app), chosen.map(|(name, run)| (name.to_owned(), run)), "proxy has no restart");
    assert!(shows(&app.draw(80, 24), "no previous run known"));
    key(&mut app, KeyCode::Esc);
    assert_eq!((asked(&mut app), app.context()), (vec![("close".to_owned(), Current)], Context::Pane(PaneId::Pods)));
    keys(&mut app, "\n");
    key(&mut app, KeyCode::Enter);
    keys(&mut app, "l");
    key(&mut app, KeyCode::Esc);
    assert_eq!(app.context(), Context::Pane(PaneId::Pod), "back to the pane that opened it");
    keys(&mut app, "l3");
    let asks: Vec<_> = asked(&mut app).into_iter().map(|(what, _)| what).collect();
    assert_eq!(asks, ["app", "close", "app", "close"]);
    keys(&mut app, "1r:log");
    key(&mut app, KeyCode::Enter);
    assert_eq!((asked(&mut app)[0].0.as_str(), app.context()), ("app", Context::Log));
    key(&mut app, KeyCode::Esc);
    key(&mut app, KeyCode::Esc);
    assert_eq!(
        (asked(&mut app)[0].0.as_str(), app.context()),
        ("close", Context::Pane(PaneId::Pods)),
        "through the runbook"
    );
    keys(&mut app, ":log well");
    key(&mut app, KeyCode::Enter);
    assert_eq!(asked(&mut app), [("well".to_owned(), Current)]);
    keys(&mut app, ":log web");
    key(&mut app, KeyCode::Enter);
    let asks: Vec<_> = asked(&mut app).into_iter().map(|(what, _)| what).collect();
    assert_eq!(asks, ["close", "app"]);
    key(&mut app, KeyCode::Esc);
    key(&mut app, KeyCode::Esc);
    keys(&mut app, "L:log well");
    key(&mut app, KeyCode::Enter);
    key(&mut app, KeyCode::Esc);
    assert_eq!(app.context(), Context::Pane(PaneId::Pods), "the pane that opened the first log");
}

#[test]
fn scrolling_up_stops_following_and_the_end_resumes_it() {
    let mut app = opened();
    begin(&mut app, true);
    app.apply_log_update(LogUpdate::Lines(numbered(0, 200)));
    let drawn = app.draw(80, 24);
    assert!(shows(&drawn, "line 199") && shows(&drawn, "FOLLOW") && shows(&drawn, "container app 3 of 3"));
    assert!(shows(&drawn, "current run, restart 3") && shows(&drawn, "/var/log/pods/shop_web_u-web/app/3.log"));
    keys(&mut app, "k");
    app.apply_log_update(LogUpdate::Lines(numbered(200, 205)));
    let drawn = app.draw(80, 24);
    assert!(shows(&drawn, "5 new lines below") && !shows(&drawn, "line 204"), "{:?}", lines(&drawn));
    assert!(shows(&drawn, "line 198"));
    asked(&mut app);
    keys(&mut app, "g");
    let drawn = app.draw(80, 24);
    assert!(shows(&drawn, "line 0 ") && shows(&drawn, "reading older lines"));
    assert_eq!(asked(&mut app)[0].0, "older");
    keys(&mut app, "jkg");
    assert!(asked(&mut app).is_empty(), "once");
    app.apply_log_update(LogUpdate::Older {
        lines: (0..90).map(|i| line(&format!("older {i}"))).collect(),
        remaining: OlderLines::None,
    });
    let drawn = app.draw(80, 24);
    assert!(shows(&drawn, "line 0 ") && !shows(&drawn, "older lines"), "the cursor stays");
    keys(&mut app, "k");
    assert!(shows(&app.draw(80, 24), "older 89"));
    keys(&mut app, "G");
    app.apply_log_update(LogUpdate::Lines(numbered(205, 206)));
    let drawn = app.draw(80, 24);
    assert!(shows(&drawn, "FOLLOW") && shows(&drawn, "line 205"));
    keys(&mut app, "f");
    app.apply_log_update(LogUpdate::Lines(numbered(206, 207)));
    assert!(!shows(&app.draw(80, 24), "line 206"));
    keys(&mut app, "p");
    assert!(!app.reads_log(), "a paused screen takes no updates");
    key(&mut app, KeyCode::Esc);
    keys(&mut app, "L");
    assert!(app.reads_log(), "the screen is still empty");
    begin(&mut app, false);
    app.apply_log_update(LogUpdate::Lines(numbered(0, 2)));
    assert!(!app.reads_log() && shows(&app.draw(80, 24), "line 1"));
}

#[test]
fn a_search_selects_the_last_match_and_continues_cyclically() {
    let mut app = opened();
    begin(&mut app, false);
    app.apply_log_update(LogUpdate::Lines(vec![
        line("one ERROR"),
        line("two"),
        line("three error error"),
        line("four"),
    ]));
    app.draw(80, 24);
    keys(&mut app, "/error");
    key(&mut app, KeyCode::Enter);
    let drawn = app.draw(80, 24);
    assert!(shows(&drawn, "search error · 2 of 2 lines") && shows(&drawn, "▸"), "{:?}", lines(&drawn));
    let y = (0..24).find(|y| lines(&drawn)[*y as usize].contains("three error")).unwrap();
    let reversed = |x: u16| drawn[(x, y)].modifier.contains(ratatui::style::Modifier::REVERSED);
    let marked: String = (0..80).filter(|x| reversed(*x)).map(|x| drawn[(x, y)].symbol().to_owned()).collect();
    assert_eq!(marked, "errorerror", "both matches only");
    assert!(lines(&drawn).iter().any(|l| l.starts_with('*') && l.contains("one ERROR")), "color is not the only mark");
    keys(&mut app, "n");
    let drawn = app.draw(80, 24);
    assert!(shows(&drawn, "1 of 2 lines") && shows(&drawn, "continued from the top"));
    keys(&mut app, "N");
    assert!(shows(&app.draw(80, 24), "2 of 2 lines"));
    app.apply_log_update(LogUpdate::Lines(vec![line("an error again")]));
    assert!(shows(&app.draw(80, 24), "2 of 3 lines"), "new lines are searched too");
    keys(&mut app, "y");
    app.draw(80, 24);
    assert_eq!(app.take_copied().as_deref(), Some("three error error"));
    key(&mut app, KeyCode::Esc);
    assert!(!shows(&app.draw(80, 24), "search error") && app.context() == Context::Log);
    keys(&mut app, "n");
    assert!(shows(&app.draw(80, 24), "no search: press / to search"));
    keys(&mut app, "/Error");
    assert!(shows(&app.draw(80, 24), "0 lines"), "{:?}", lines(&app.draw(80, 24)));
}

#[test]
fn long_lines_are_wrapped_or_cut_and_every_row_is_reachable() {
    let mut app = opened();
    begin(&mut app, false);
    let long: String = (0..400).map(|i| format!("<{i:04}>")).collect();
    app.apply_log_update(LogUpdate::Lines(vec![line("before"), line(&long), line("behind")]));
    let mut seen = String::new();
    keys(&mut app, "g");
    for _ in 0..60 {
        seen.push_str(&lines(&app.draw(80, 24)).concat());
        keys(&mut app, "j");
    }
    let seen: String = seen.chars().filter(|c| !c.is_whitespace()).collect();
    for i in 0..400 {
        assert!(seen.contains(&format!("{i:04}")), "{i}");
    }
    assert!(shows(&app.draw(80, 24), "behind"));
    keys(&mut app, "wt");
    let drawn = app.draw(80, 24);
    assert!(shows(&drawn, "before") && shows(&drawn, "…") && shows(&drawn, "behind"));
    assert!(lines(&drawn).iter().filter(|l| l.contains("before")).all(|l| !l.contains(':')), "without times");
}

#[test]
fn paging_skips_no_line() {
    let mut app = opened();
    begin(&mut app, false);
    let long = |i: usize| line(&format!("<{i:03}>{}", "z".repeat(if i < 60 { 10 } else { i * 3 })));
    app.apply_log_update(LogUpdate::Lines((0..150).map(long).collect()));
    for (end, page) in [("g", KeyCode::PageDown), ("G", KeyCode::PageUp)] {
        keys(&mut app, end);
        let mut seen = String::new();
        for _ in 0..120 {
            seen.push_str(&lines(&app.draw(80, 24)).concat());
            key(&mut app, page);
        }
        let missed: Vec<_> = (0..150).filter(|i| !seen.contains(&format!("<{i:03}>"))).collect();
        assert!(missed.is_empty(), "{page:?}: {missed:?}");
    }
}

#[test]
fn dropped_skipped_and_unreadable_lines_are_reported() {
    let mut app = opened();
    assert!(shows(&app.draw(80, 24), "reading"));
    app.apply_log_update(LogUpdate::Unavailable(vec![
        "/var/log/pods: permission denied: run as root".into(),
        "get pods/log: 403".into(),
    ]));
    let drawn = app.draw(80, 24);
    for text in ["permission denied: run as root", "get pods/log: 403", "kubectl logs -n shop web -c app"] {
        assert!(shows(&drawn, text), "{text}");
    }
    keys(&mut app, "y");
    app.draw(80, 24);
    assert_eq!(app.take_copied().as_deref(), Some("kubectl logs -n shop web -c app"));
    begin(&mut app, false);
    assert!(shows(&app.draw(80, 24), "no output yet"));
    app.apply_log_update(LogUpdate::Skipped { lines: 1234, bytes: 0 });
    app.apply_log_update(LogUpdate::Lines(numbered(0, 3)));
    app.apply_log_update(LogUpdate::Restarted { restart: Some(4), origin: LogOrigin::File("/x/4.log".into()) });
    let drawn = app.draw(80, 24);
    assert!(shows(&drawn, "-- 1234 lines omitted") && shows(&drawn, "-- container restarted (restart 4)"));
    assert!(shows(&drawn, "current run, restart 4") && shows(&drawn, "/x/4.log"));
    app.apply_log_update(LogUpdate::Lines(numbered(0, 12_000)));
    let drawn = app.draw(80, 24);
    assert!(shows(&drawn, "older lines dropped (limit 10000 lines, 4 MiB)") && shows(&drawn, "line 11999"));
    app.show(Node::new().moment(), "live");
    assert!(shows(&app.draw(80, 24), "pod deleted") && shows(&app.draw(80, 24), "line 11999"));
}

#[test]
fn a_broken_or_closed_log_is_not_marked_as_followed() {
    let mut app = opened();
    begin(&mut app, false);
    app.apply_log_update(LogUpdate::Lines(numbered(0, 3)));
    app.apply_log_update(LogUpdate::Unavailable(vec!["no answer from the file system".into(), "no kubelet".into()]));
    let drawn = app.draw(160, 24);
    assert!(shows(&drawn, "line 2") && shows(&drawn, "no answer from the file system; no kubelet; retrying"));
    assert!(!shows(&drawn, "FOLLOW") && shows(&drawn, "app 3 of 3") && shows(&drawn, "no longer readable"));
    begin(&mut app, false);
    app.apply_log_update(LogUpdate::Lines(numbered(0, 3)));
    assert!(shows(&app.draw(160, 24), "FOLLOW"), "readable again");
    app.apply_log_update(LogUpdate::Closed("the container is gone".into()));
    let drawn = app.draw(160, 24);
    assert!(shows(&drawn, "-- the container is gone") && shows(&drawn, "log closed"));
    assert!(!shows(&drawn, "FOLLOW"));
}

#[test]
fn keys_before_the_first_frame_are_safe() {
    let mut app = opened();
    begin(&mut app, false);
    app.apply_log_update(LogUpdate::Lines(vec![line(&"x".repeat(9000)), line(&"y".repeat(9000))]));
    app.draw(80, 24);
    keys(&mut app, "Gjjkkkkjj");
    app.draw(80, 24);
    keys(&mut app, "Gj");
    assert!(shows(&app.draw(80, 24), "yyy"));
}

#[test]
fn hostile_lines_draw_at_every_size() {
    let mut node = hostile();
    for presses in ["L", "L/x", "Lg", "Lgw", "Lwt", "Lk/\u{202e}"] {
        let mut app = app(false);
        app.show(node.moment(), HOSTILE);
        keys(&mut app, presses);
        app.apply_log_update(LogUpdate::Opened {
            origin: LogOrigin::File(HOSTILE.into()),
            restart: None,
            has_older: true,
        });
        let lines: Vec<LogLine> = (0..30).map(|i| line(&HOSTILE.repeat(i))).collect();
        app.apply_log_update(LogUpdate::Lines(lines.clone()));
        app.apply_log_update(LogUpdate::Notice(HOSTILE.into()));
        app.apply_log_update(LogUpdate::Older { lines, remaining: OlderLines::Available });
        for width in (1..=100).step_by(3).chain([160]) {
            for height in (1..=40).step_by(2) {
                let drawn = app.draw(width, height);
                let plain = |c: char| !c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c);
                assert!(self::lines(&drawn).iter().all(|l| l.chars().all(plain)), "{width}x{height}");
            }
        }
        key(&mut app, KeyCode::PageUp);
        key(&mut app, KeyCode::PageDown);
        app.apply_log_update(LogUpdate::Unavailable(vec![HOSTILE.into()]));
        app.draw(80, 24);
    }
}

#[test]
fn credentials_are_visible_only_while_switched_on() {
    let mut app = opened();
    begin(&mut app, false);
    app.apply_log_update(LogUpdate::Lines(vec![line("dial postgres://app:hunter2@db/x")]));
    assert!(shows(&app.draw(80, 24), "postgres://app:[redacted]@db/x"));
    keys(&mut app, "x");
    assert!(shows(&app.draw(80, 24), "postgres://app:hunter2@db/x"));
    assert!(!app.view.line.clone().unwrap().contains("hunter2"), "the copied text has none");
    keys(&mut app, "x");
    assert!(!shows(&app.draw(80, 24), "hunter2"));
}
