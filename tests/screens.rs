//! The screens as text: the demo recording at several times and sizes must equal the files in `snapshots/`.
//! `KPODTRACE_BLESS=1 cargo test --test screens` writes the files; review the difference before committing it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::Path;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use kpodtrace::container_log::{LogLine, LogOrigin, LogUpdate, Stream};
use kpodtrace::observation::Source;
use kpodtrace::session::RecordedSession;
use kpodtrace::time::{Time, TimeDelta};
use kpodtrace::tui::{App, Keymap, Options, Theme, keys_markdown};
use kpodtrace::view::NodeView;
use ratatui::buffer::Buffer;

/// The text of a frame, without styles, without blanks at the ends of lines.
fn text(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let (mut line, mut skip) = (String::new(), 0);
        for x in 0..buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            if skip == 0 {
                line.push_str(symbol);
                skip = unicode_width::UnicodeWidthStr::width(symbol);
            }
            skip = skip.saturating_sub(1);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn moment(seconds: i64) -> NodeView {
    let mut session = RecordedSession::demo().unwrap();
    session.seek(session.span().0 + TimeDelta::seconds(seconds)).unwrap();
    session.moment()
}

fn press(app: &mut App, keys: &str) {
    for key in keys.chars() {
        let code = match key {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            c => KeyCode::Char(c),
        };
        app.event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }
}

fn check(name: &str, found: &str) {
    check_file(&format!("tests/snapshots/{name}.txt"), found);
}

fn check_file(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("KPODTRACE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} differs from {}; drawn now:\n{found}", path.display());
}

const SIZES: [(u16, u16); 2] = [(80, 24), (160, 50)];

fn app(theme: Theme) -> App {
    App::new(theme, &Options::default())
}

#[test]
fn the_incident() {
    for seconds in [20, 130, 225, 290] {
        let moment = moment(seconds);
        for (width, height) in SIZES {
            let mut app = app(Theme::new(true, false));
            app.show(moment.clone(), "demo: recorded 2026-11-29, ×1");
            check(&format!("list-{seconds:03}s-{width}x{height}"), &text(&app.draw(width, height)));
            press(&mut app, "\n");
            check(&format!("pod-{seconds:03}s-{width}x{height}"), &text(&app.draw(width, height)));
        }
    }
}

/// A small, a usual and a large terminal.
const PANES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

#[test]
fn the_panes_of_kubelet_node_and_events() {
    for seconds in [130, 225] {
        let moment = moment(seconds);
        for (width, height) in PANES {
            for (key, name) in [("3", "kubelet"), ("4", "node"), ("5", "events")] {
                let mut app = app(Theme::new(true, false));
                app.show(moment.clone(), "demo: recorded 2026-11-29, ×1");
                press(&mut app, key);
                check(&format!("{name}-{seconds:03}s-{width}x{height}"), &text(&app.draw(width, height)));
            }
        }
    }
}

#[test]
fn the_node_with_all_host_metrics() {
    let filesystem = |path: &str, id: u64, left_gib: u64| serde_json::json!({"path": path, "id": id, "size": 100u64 << 30, "available": left_gib << 30, "inodes": 6_000_000, "inodes_free": 5_100_000});
    let pods = common::moment_of(&common::capture("v2-qos"));
    let uses = |name: &str, mib: u64| {
        let uid = &pods.pods.iter().find(|p| p.facts.name == name).unwrap().facts.key;
        (Source::Machine, "pod-usage", serde_json::json!({"uid": uid, "memory": mib << 20, "cpu": mib + 7}))
    };
    let uid = pods.pods.iter().find(|p| p.facts.name == "guaranteed").unwrap().facts.key.replace('-', "_");
    let ago = |seconds: i64| pods.now - TimeDelta::seconds(seconds);
    let kill = "Memory cgroup out of memory: Killed process 4711 (stress) total-vm:99112kB, anon-rss:32768kB";
    let moment = common::with(
        "v2-qos",
        &[
            uses("besteffort", 2),
            uses("burstable", 900),
            uses("guaranteed", 30),
            (
                Source::Machine,
                "vitals",
                serde_json::json!({
                    "memory": {"total": 6_219_735_040u64, "available": 190 << 20},
                    "cpu": {"busy": 1000, "all": 9000},
                    "pressure": {"cpu": {"some": [3.2, 2.9, 1.4]}, "memory": {"some": [34.1, 12.0, 3.3], "full": [21.0, 7.5, 2.1]}},
                    "filesystems": [filesystem("/var/lib/kubelet", 1, 8), filesystem("/", 1, 8), filesystem("/var/lib/containerd", 2, 61)],
                    "oom_kills": 3
                }),
            ),
            (Source::Machine, "boot", serde_json::json!(ago(86_400 * 9))),
            (
                Source::Machine,
                "certificate",
                serde_json::json!({
                    "path": "/var/lib/kubelet/pki/kubelet-client-current.pem", "begins": ago(86_400 * 350), "ends": ago(-86_400 * 15)
                }),
            ),
            (
                Source::ApiLease,
                "lease",
                serde_json::json!({
                    "metadata": {"name": "node-b"}, "spec": {"leaseDurationSeconds": 40, "renewTime": ago(43)}
                }),
            ),
            (Source::ApiLease, "source-state", serde_json::json!({"state": "live", "since": ago(600)})),
            (
                Source::KernelLog,
                "log",
                serde_json::json!({
                    "at": ago(75), "severe": true, "uid": uid.replace('_', "-"), "what": {"is": "other", "message": kill}
                }),
            ),
        ],
    );
    for (width, height) in PANES {
        let mut app = app(Theme::new(true, false));
        app.show(moment.clone(), "live");
        press(&mut app, "4");
        check(&format!("node-metrics-{width}x{height}"), &text(&app.draw(width, height)));
    }
}

#[test]
fn the_runbook() {
    for (width, height) in SIZES {
        let mut app = app(Theme::new(true, false));
        app.show(moment(225), "demo: recorded 2026-11-29, ×1");
        press(&mut app, "r");
        check(&format!("runbook-{width}x{height}"), &text(&app.draw(width, height)));
        press(&mut app, "/pull secret\n");
        check(&format!("runbook-search-{width}x{height}"), &text(&app.draw(width, height)));
        press(&mut app, "\x1b");
        // The pod of a registry that requires a credential.
        press(&mut app, "/401/private\n\nr");
        check(&format!("runbook-entry-{width}x{height}"), &text(&app.draw(width, height)));
    }
}

/// The log of the crashing pod.
fn with_log(app: &mut App) {
    press(app, "/crashloop-exit1/exit1\nL");
    let at = |second: i64| Time::from_timestamp(1_796_000_000 + second, 0);
    let line = |second, stream, text: &str| LogLine { at: at(second), stream, text: text.into() };
    let origin = LogOrigin::File(
        "/var/log/pods/s-crashloop-exit1_exit1-always_6f0c1d2e-0b1c-4f4e-9d3a-5b0f6a7c8d9e/app/3.log".into(),
    );
    app.apply_log_update(LogUpdate::Opened { origin, restart: Some(3), has_older: true });
    let all = (0..60).map(|i| match i % 7 {
        3 => line(i, Stream::Err, "error: no such table: orders"),
        5 => line(i, Stream::Out, "    at com.example.shop.orders.OrderRepository.findAll(OrderRepository.java:117) ~[orders-1.4.2.jar!/:1.4.2], called by com.example.shop.orders.OrderService"),
        _ => line(i, Stream::Out, &format!("GET /orders/{i} 200")),
    });
    app.apply_log_update(LogUpdate::Lines(all.collect()));
    let origin = LogOrigin::File(
        "/var/log/pods/s-crashloop-exit1_exit1-always_6f0c1d2e-0b1c-4f4e-9d3a-5b0f6a7c8d9e/app/4.log".into(),
    );
    app.apply_log_update(LogUpdate::Restarted { restart: Some(4), origin });
    app.apply_log_update(LogUpdate::Lines((60..66).map(|i| line(i, Stream::Out, "starting")).collect()));
}

#[test]
fn the_log_of_a_container() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut app = app(Theme::new(true, false));
        app.show(moment(225), "demo: recorded 2026-11-29, ×1");
        with_log(&mut app);
        check(&format!("log-{width}x{height}"), &text(&app.draw(width, height)));
        press(&mut app, "/table\nN");
        app.apply_log_update(LogUpdate::Lines(vec![LogLine {
            at: None,
            stream: Stream::Unknown,
            text: "more".into(),
        }]));
        check(&format!("log-search-{width}x{height}"), &text(&app.draw(width, height)));
        press(&mut app, "\x1bv");
        app.apply_log_update(LogUpdate::Unavailable(vec![
            "/var/log/pods/s-crashloop-exit1_exit1-always_6f0c1d2e-0b1c-4f4e-9d3a-5b0f6a7c8d9e/app: permission denied: run as root".into(),
            "no credential for the API server was found; --kubeconfig names one".into(),
            "GET https://127.0.0.1:10250/containerLogs/s-crashloop-exit1/exit1-always/app: 401 Unauthorized".into(),
        ]));
        check(&format!("log-nowhere-{width}x{height}"), &text(&app.draw(width, height)));
    }
}

#[test]
fn ascii_holds_nothing_else() {
    let mut app = app(Theme::new(true, true));
    app.show(moment(225), "demo: ×1");
    let list = text(&app.draw(80, 24));
    press(&mut app, "\n");
    let pod = text(&app.draw(80, 24));
    press(&mut app, "r");
    let entry = text(&app.draw(80, 24));
    press(&mut app, "\x1b\x1b");
    with_log(&mut app);
    press(&mut app, "/table\n");
    let log = text(&app.draw(80, 24));
    press(&mut app, "\x1b\x1b?");
    let help = text(&app.draw(80, 24));
    for screen in [&list, &pod, &entry, &log, &help] {
        assert!(screen.is_ascii(), "{screen}");
    }
    check("list-ascii-80x24", &list);
    check("help-ascii-80x24", &help);
}

#[test]
fn what_is_asked_of_the_table() {
    for (width, height) in SIZES {
        let mut app = app(Theme::new(true, false));
        app.show(moment(225), "demo: recorded 2026-11-29, ×1");
        press(&mut app, "/status:back !ns:s-crashloop-exit1\n");
        app.draw(width, height);
        press(&mut app, "ssS");
        check(&format!("asked-{width}x{height}"), &text(&app.draw(width, height)));
        press(&mut app, "\x1b/pod:x");
        check(&format!("asked-wrong-{width}x{height}"), &text(&app.draw(width, height)));
        press(&mut app, "\x1b:so");
        check(&format!("palette-{width}x{height}"), &text(&app.draw(width, height)));
    }
}

#[test]
fn the_help_of_each_pane() {
    let mut app = app(Theme::new(true, false));
    app.show(moment(225), "demo: recorded 2026-11-29, ×1");
    for pane in ["1", "2", "6"] {
        press(&mut app, pane);
        press(&mut app, "?");
        check(&format!("help-{pane}-80x60"), &text(&app.draw(80, 60)));
        press(&mut app, "?");
    }
}

#[test]
fn the_documentation_of_the_keys_is_the_table() {
    check_file("docs/keys.md", &keys_markdown(&Keymap::default()));
}
