//! Tests of the screen without a terminal: sizes, selection, hostile names, bytes.

mod asked;
mod first;
mod idle;
mod log;
mod panes;

use crate::time::TimeDelta;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;

use super::*;
use crate::diagnose::DiagnosisCache;
use crate::model::Model;
use crate::observation::{Call, ErrorKind, Fact, Observation, Sequencer, Source, SourceError, SourceState, Time};
use crate::view::NodeView;

/// A node of hand-made observations.
struct Node {
    model: Model,
    rounds: DiagnosisCache,
    sources: Vec<(Source, Sequencer)>,
    now: Time,
}

impl Node {
    fn new() -> Self {
        let now = Time::from_timestamp(1_790_000_000, 0).unwrap();
        Self { model: Model::default(), rounds: DiagnosisCache::default(), sources: Vec::new(), now }
    }

    fn sequencer(&mut self, source: Source) -> &mut Sequencer {
        let found = self.sources.iter().position(|(s, _)| *s == source).unwrap_or_else(|| {
            self.sources.push((source, Sequencer::new(source)));
            self.sources.len() - 1
        });
        &mut self.sources[found].1
    }

    fn say(&mut self, source: Source, fact: Fact) {
        let now = self.now;
        let mono = (now.timestamp() - 1_790_000_000) as u64 * 1_000_000;
        let stamp = self.sequencer(source).stamp(mono, now);
        self.model.apply(Observation { stamp, fact });
    }

    /// A full listing begins.
    fn list(&mut self, source: Source) {
        let now = self.now;
        let stamp = self.sequencer(source).next_epoch(0, now);
        self.model.apply(Observation { stamp, fact: Fact::EpochBegin });
    }

    fn pod(&mut self, namespace: &str, name: &str, waiting: Option<(&str, &str)>) {
        let state = match waiting {
            Some((reason, message)) => serde_json::json!({"waiting": {"reason": reason, "message": message}}),
            None => serde_json::json!({"running": {"startedAt": "2026-09-21T10:00:00Z"}}),
        };
        let pod = serde_json::json!({
            "metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}/{name}"),
                "creationTimestamp": "2026-09-21T10:00:00Z"},
            "spec": {"nodeName": "n", "containers": [{"name": name, "image": name}]},
            "status": {"phase": if waiting.is_some() { "Pending" } else { "Running" }, "qosClass": name,
                "startTime": "2026-09-21T10:00:00Z",
                "conditions": [{"type": "PodScheduled", "status": "True"},
                    {"type": "Ready", "status": if waiting.is_some() { "False" } else { "True" }}],
                "containerStatuses": [{"name": name, "image": name, "ready": waiting.is_none(), "state": state}]}});
        self.say(Source::ApiPods, Fact::Pod(serde_json::from_value(pod).unwrap()));
    }

    fn moment(&mut self) -> NodeView {
        NodeView::new(self.model.snapshot(), &mut self.rounds, self.now)
    }
}

const HOSTILE: &str = "x\x1b]0;owned\x07\x1b[31m\u{9b}2J\u{202e}\x07\r\n\tロジ\u{1f469}\u{200d}\u{1f680}e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{fe0f}\x1b]52;c;aGk=\x07\x7f";

/// Pods, events, a node and sources in which every string is hostile, or long.
fn hostile() -> Node {
    let mut node = Node::new();
    let long = HOSTILE.repeat(20);
    for (i, text) in [HOSTILE, long.as_str(), "日本語の名前", "👩‍🚀🏳️‍🌈", &"x".repeat(253)].into_iter().enumerate()
    {
        node.pod(text, text, Some((text, text)));
        let event = serde_json::json!({
            "metadata": {"name": text, "uid": format!("e{i}"), "creationTimestamp": "2026-09-21T10:00:00Z"},
            "involvedObject": {"kind": text, "uid": format!("{text}/{text}"), "fieldPath": format!("spec.containers{{{text}}}")},
            "reason": text, "message": text, "type": text, "count": 7});
        node.say(Source::ApiEvents, Fact::Event(serde_json::from_value(event).unwrap()));
    }
    let object = serde_json::json!({
        "metadata": {"name": HOSTILE, "uid": "n"}, "spec": {"unschedulable": true},
        "status": {"conditions": [{"type": "Ready", "status": "False", "reason": HOSTILE, "message": HOSTILE}],
            "nodeInfo": {"kubeletVersion": HOSTILE, "containerRuntimeVersion": HOSTILE}}});
    node.say(Source::ApiNode, Fact::Node(serde_json::from_value(object).unwrap()));
    let error = SourceError { tried: HOSTILE.into(), kind: ErrorKind::Other, fix: HOSTILE.into() };
    node.say(Source::Spans, Fact::SourceState(SourceState::Off { why: HOSTILE.into() }));
    node.say(Source::KubeletPods, Fact::SourceState(SourceState::Retrying { at: None, error: error.clone() }));
    node.say(Source::KubeletLog, Fact::SourceState(SourceState::Forbidden { error }));
    node.say(Source::Cri, Fact::CallBegin(Call::CriList));
    let pull = serde_json::json!({"reference": HOSTILE, "offset": 1});
    node.say(Source::Pulls, Fact::Pull(serde_json::from_value(pull).unwrap()));
    node.now += TimeDelta::seconds(60);
    node
}

fn app(ascii: bool) -> App {
    App::new(Theme::new(true, ascii), &Options::default())
}

fn key(app: &mut App, code: KeyCode) -> LoopAction {
    app.event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn keys(app: &mut App, keys: &str) {
    keys.chars().for_each(|c| _ = key(app, KeyCode::Char(c)));
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let row = |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
    (0..buffer.area.height).map(row).collect()
}

fn shows(buffer: &Buffer, text: &str) -> bool {
    lines(buffer).iter().any(|line| line.contains(text))
}

#[test]
fn no_size_is_too_small_and_the_selection_stays_in_the_table() {
    let (moment, none) = (hostile().moment(), Node::new().moment());
    for (moment, presses) in [
        (
            &moment,
            &[
                "G", "\nG", "?G", "/x", "/a:b", "r", "rG\nG", "\nrG", "r/i", "r/zzz", "3G", "4G", "5G", ":", ":pod x",
                "ssSy",
            ][..],
        ),
        (&none, &["f", "r", "2y", "3", "4", "5", ":pod "]),
    ] {
        for press in presses {
            let mut app = app(false);
            app.show(moment.clone(), HOSTILE);
            for c in press.chars() {
                key(&mut app, if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) });
            }
            for width in (1..=100).chain([160, 300]) {
                for height in 1..=40 {
                    app.draw(width, height);
                    let shown = app.screen.as_ref().unwrap().shown.len();
                    assert!(
                        app.panes.pods.cursor.index < shown.max(1)
                            && app.panes.pods.cursor.top <= app.panes.pods.cursor.index,
                        "{width}x{height}"
                    );
                }
            }
        }
    }
    app(false).draw(0, 0);
}

#[test]
fn the_selection_follows_the_pod_and_else_the_top() {
    let mut node = Node::new();
    for i in 0..1000 {
        node.pod("ns", &format!("pod-{i:04}"), None);
    }
    let mut app = app(false);
    app.show(node.moment(), "");
    app.draw(80, 24);
    node.pod("ns", "pod-0500", Some(("ErrImagePull", "")));
    app.show(node.moment(), "");
    assert!(lines(&app.draw(80, 24)).iter().any(|l| l.starts_with("▸ns/pod-0500")), "the worst pod, while at the top");
    keys(&mut app, "jj");
    assert!(lines(&app.draw(80, 24)).iter().any(|l| l.starts_with("▸ns/pod-0001")));
    node.pod("aaa", "first", Some(("ErrImagePull", "")));
    app.show(node.moment(), "");
    assert!(lines(&app.draw(80, 24)).iter().any(|l| l.starts_with("▸ns/pod-0001")), "rows above do not move it");
    keys(&mut app, "G");
    assert!(lines(&app.draw(80, 24)).iter().any(|l| l.starts_with("▸ns/pod-0999")));
    node.say(Source::ApiPods, Fact::PodGone("ns/pod-0999".into()));
    app.show(node.moment(), "");
    assert!(lines(&app.draw(80, 24)).iter().any(|l| l.starts_with("▸ns/pod-0998")), "its place when it is gone");
    keys(&mut app, "g");
    assert_eq!((app.panes.pods.cursor.index, app.panes.pods.selected.clone()), (0, None));
}

#[test]
fn a_filter_applies_at_once_and_reports_no_match() {
    let mut node = Node::new();
    node.pod("shop", "web", None);
    node.pod("shop", "db", Some(("ErrImagePull", "")));
    let mut app = app(false);
    app.show(node.moment(), "");
    keys(&mut app, "/we");
    assert_eq!(app.screen.as_ref().unwrap().shown.len(), 1);
    keys(&mut app, "qj");
    assert!(shows(&app.draw(80, 24), "no pod matches the filter"));
    key(&mut app, KeyCode::Backspace);
    key(&mut app, KeyCode::Backspace);
    assert_eq!(key(&mut app, KeyCode::Enter), LoopAction::Draw);
    assert!(shows(&app.draw(80, 24), "filter we"));
    app.event(&Event::Paste("q\x1b[31m".into()));
    assert_eq!(app.panes.pods.filter.words, "we", "pasted text runs no action");
    key(&mut app, KeyCode::Esc);
    keys(&mut app, "f");
    assert_eq!(app.screen.as_ref().unwrap().shown.len(), 1);
    assert!(shows(&app.draw(80, 24), "failing or slow"));
    assert!(shows(&self::app(false).draw(80, 24), "no data yet"));
}

#[test]
fn without_pods_the_failing_sources_are_listed() {
    let mut node = Node::new();
    let error = SourceError { tried: "refused".into(), kind: ErrorKind::Unreachable, fix: "".into() };
    node.say(Source::ApiPods, Fact::SourceState(SourceState::Retrying { at: None, error }));
    let mut app = app(false);
    app.show(node.moment(), "");
    assert!(shows(&app.draw(80, 24), "no pods yet: api-pods retrying: refused"));
}

#[test]
fn an_open_pod_that_is_gone_stays() {
    let mut node = Node::new();
    node.pod("shop", "web", None);
    let mut app = app(false);
    app.show(node.moment(), "");
    key(&mut app, KeyCode::Enter);
    assert!(shows(&app.draw(80, 24), "STAGES") && !shows(&app.draw(80, 24), "gone"));
    node.say(Source::ApiPods, Fact::PodGone("shop/web".into()));
    app.show(node.moment(), "");
    let frame = app.draw(80, 24);
    assert!(shows(&frame, "shop/web  gone") && shows(&frame, "STAGES"));
    key(&mut app, KeyCode::Esc);
    assert!(shows(&app.draw(80, 24), "no pods yet"));
}

#[test]
fn the_runbook_opens_at_what_is_wrong_and_goes_back_there() {
    let mut node = Node::new();
    node.pod("shop", "web", Some(("ErrImagePull", "429 Too Many Requests: toomanyrequests")));
    let mut app = app(false);
    app.show(node.moment(), "");
    keys(&mut app, "r");
    let all = app.panes.runbook.shown().len();
    assert!(all > 20 && shows(&app.draw(80, 24), "RUNBOOK"));
    keys(&mut app, "/IMAGE.not");
    let found = app.panes.runbook.shown().len();
    assert!((1..all).contains(&found) && app.panes.pods.filter.words.is_empty());
    key(&mut app, KeyCode::Enter);
    key(&mut app, KeyCode::Enter);
    assert!(shows(&app.draw(80, 24), "NEXT STEPS") && shows(&app.draw(80, 24), "image.not"));
    key(&mut app, KeyCode::Esc);
    assert!(shows(&app.draw(80, 24), "search IMAGE.not"), "the list with its search");
    key(&mut app, KeyCode::Esc);
    assert!(shows(&app.draw(80, 24), "▸shop/web"));
    key(&mut app, KeyCode::Enter);
    let cause = app.panes.pod.open.as_ref().and_then(|o| o.why.as_ref()?.first()).unwrap().cause.clone();
    assert!(shows(&app.draw(80, 24), "WHY"));
    keys(&mut app, "r");
    assert_eq!(app.panes.runbook.page.as_ref().map(|p| p.entry.id.clone()), Some(cause));
    key(&mut app, KeyCode::Esc);
    assert!(app.pane == PaneId::Pod && shows(&app.draw(80, 24), "WHY"));
}

#[test]
fn the_name_of_an_open_pod_is_never_cut() {
    let (mut node, name) = (Node::new(), "abcdefghi-".repeat(25));
    node.pod("shop", &name, None);
    let mut app = app(false);
    app.show(node.moment(), "");
    key(&mut app, KeyCode::Enter);
    let text: String = lines(&app.draw(80, 40)).concat();
    assert!(text.contains(&format!("shop/{name}")), "{text}");
    keys(&mut app, "G");
    let image: String = lines(&app.draw(80, 40)).iter().map(|l| l.trim()).collect();
    assert!(image.contains(&name));
}

#[test]
fn a_paused_screen_does_not_change() {
    let mut node = Node::new();
    node.pod("shop", "web", None);
    let mut app = app(false);
    app.show(node.moment(), "");
    keys(&mut app, "p");
    let before = app.draw(80, 24);
    assert!(shows(&before, "PAUSED"));
    node.pod("shop", "db", None);
    app.show(node.moment(), "");
    assert_eq!(app.draw(80, 24), before);
    keys(&mut app, "p");
    app.show(node.moment(), "");
    assert!(shows(&app.draw(80, 24), "shop/db"));
}

#[test]
fn nothing_changed_is_not_a_byte() {
    let mut app = app(false);
    app.show(hostile().moment(), "t");
    let mut painter = Painter::new();
    assert!(painter.paint(app.draw(80, 24)).is_some());
    assert_eq!(painter.paint(app.draw(80, 24)), None);
    app.show(hostile().moment(), "t");
    assert_eq!(painter.paint(app.draw(80, 24)), None, "the same node view computed again");
    keys(&mut app, "j");
    let step = painter.paint(app.draw(80, 24)).unwrap();
    assert!(step.len() < 2000, "two rows: {} bytes", step.len());
    painter.forget();
    assert!(painter.paint(app.draw(80, 24)).unwrap().len() > 2000);
    assert!(painter.paint(app.draw(81, 24)).unwrap().starts_with(b"\x1b[0m\x1b[2J"), "another size");
}

/// Only what we write: cursor positions, styles, clear, hide; and of control characters those that move the cursor by one,
/// which no cell has.
fn assert_ours(bytes: &[u8], frame: &Buffer) {
    assert!(frame.content.iter().all(|cell| !cell.symbol().contains(char::is_control)));
    let text = std::str::from_utf8(bytes).unwrap();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_control() && c != '\n' && c != '\x08') {
        rest = &rest[start..];
        let sequence = rest.strip_prefix("\x1b[").unwrap_or_else(|| panic!("{:?}", &rest[..rest.len().min(40)]));
        let end = sequence.find(|c: char| !matches!(c, '0'..='9' | ';' | '?')).unwrap();
        assert!(
            matches!(&sequence[end..=end], "H" | "A" | "B" | "C" | "D" | "m" | "J" | "l"),
            "{:?}",
            &sequence[..=end]
        );
        rest = &sequence[end + 1..];
    }
    let hidden = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    assert!(!text.contains(hidden));
}

#[derive(Default)]
struct Callbacks(Vec<String>);

impl vt100::Callbacks for Callbacks {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.0.push(format!("title {title:?}"));
    }
    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, name: &[u8]) {
        self.0.push(format!("icon {name:?}"));
    }
    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], data: &[u8]) {
        self.0.push(format!("clipboard {data:?}"));
    }
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("bell".into());
    }
}

#[test]
fn hostile_strings_write_only_what_is_ours() {
    for (ascii, width, height) in [(false, 80, 24), (false, 160, 50), (true, 80, 24)] {
        let cells = |n| std::num::NonZeroU16::new(n).unwrap();
        let mut parser = vt100::Parser::new_with_callbacks(cells(height), cells(width), 0, Callbacks::default());
        let (mut app, mut painter) = (app(ascii), Painter::new());
        app.show(hostile().moment(), HOSTILE);
        for press in [
            "", "j", "\n", "G", "y", "r", "G", "\x1b\x1b", "j", "\n", "g", "\x1b", "r", "/", "\x1b\x1b", "y", "3", "4",
            "5", "/", "\x1b", "1", ":", "\x1b", "/", "x", "?",
        ] {
            for c in press.chars() {
                let code = match c {
                    '\n' => KeyCode::Enter,
                    '\x1b' => KeyCode::Esc,
                    c => KeyCode::Char(c),
                };
                key(&mut app, code);
            }
            app.event(&Event::Paste(HOSTILE.into()));
            let frame = app.draw(width, height);
            let expected = lines(&frame)[0].trim_end().to_owned();
            let bytes = painter.paint(frame.clone()).unwrap_or_default();
            assert_ours(&bytes, &frame);
            assert!(!ascii || bytes.is_ascii());
            parser.process(&bytes);
            let contents = parser.screen().contents();
            let first = contents.lines().next().unwrap_or_default().trim_end().to_owned();
            // Behind a wide character the buffer has an empty cell that the terminal has not.
            let plain = |s: &str| s.replace(' ', "");
            assert_eq!(plain(&first), plain(&expected));
        }
        assert!(parser.callbacks().0.is_empty(), "{:?}", parser.callbacks().0);
    }
}

#[test]
fn without_colour_no_frame_has_a_colour() {
    let mut app = App::new(Theme::new(false, false), &Options::default());
    app.show(hostile().moment(), "t");
    for _ in 0..2 {
        let frame = app.draw(160, 50);
        let plain =
            |c: &ratatui::buffer::Cell| c.fg == ratatui::style::Color::Reset && c.bg == ratatui::style::Color::Reset;
        assert!(frame.content.iter().all(plain));
        assert!(frame.content.iter().any(|c| !c.modifier.is_empty()));
        key(&mut app, KeyCode::Enter);
    }
}

#[test]
fn names_of_any_script_leave_the_columns_where_they_are() {
    let mut app = app(false);
    app.show(hostile().moment(), "t");
    let frame = app.draw(160, 50);
    let heading = (0..50).find(|&y| lines(&frame)[y as usize].contains("NAMESPACE/POD")).unwrap();
    let ready = (0..160).find(|&x| frame[(x, heading)].symbol() == "R").unwrap();
    for y in heading + 1..heading + 6 {
        assert_eq!(frame[(ready, y)].symbol(), "0", "{}", lines(&frame)[y as usize]);
        assert_eq!(frame[(ready + 1, y)].symbol(), "/");
    }
}

#[test]
fn an_expired_lease_is_shown() {
    let mut node = Node::new();
    let renewed = node.now;
    let object =
        serde_json::json!({"metadata": {"name": "n"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    node.say(Source::ApiNode, Fact::Node(serde_json::from_value(object).unwrap()));
    let lease =
        serde_json::json!({"metadata": {"name": "n"}, "spec": {"leaseDurationSeconds": 40, "renewTime": renewed}});
    node.say(Source::ApiLease, Fact::SourceState(SourceState::Live { since: renewed }));
    node.say(Source::ApiLease, Fact::Lease(serde_json::from_value(lease).unwrap()));
    let mut shown = |seconds| {
        node.now = renewed + TimeDelta::seconds(seconds);
        let mut app = app(false);
        app.show(node.moment(), "");
        shows(&app.draw(100, 24), "Ready  lease expired: not renewed for 41s")
    };
    assert!(!shown(40));
    assert!(shown(41));
}
