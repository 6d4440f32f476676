//! The binary on a pseudo terminal: keys, sizes, signals, hang-up.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use kpodtrace::container_log::{LogCommand, LogStream, LogUpdate};
use kpodtrace::diagnose::DiagnosisCache;
use kpodtrace::model::Model;
use kpodtrace::observation::{Fact, Observation, Sequencer, Source, Time};
use kpodtrace::observe::discover::Root;
use kpodtrace::observe::{LogReader, OpenLog};
use kpodtrace::tui::{self, Feed};
use kpodtrace::view::NodeView;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

/// More than a loaded machine needs.
const PATIENCE: Duration = Duration::from_secs(20);

struct Session {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    keys: Option<Box<dyn Write + Send>>,
    bytes: Receiver<Vec<u8>>,
    seen: Vec<u8>,
    screen: vt100::Parser,
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

impl Session {
    fn start(program: &[&str], env: &[(&str, &str)]) -> Self {
        let pair = native_pty_system().openpty(size(24, 80)).unwrap();
        let mut command = CommandBuilder::new(program[0]);
        command.args(&program[1..]);
        command.cwd(env!("CARGO_MANIFEST_DIR"));
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        command.env("RUST_BACKTRACE", "0");
        env.iter().for_each(|(name, value)| command.env(name, value));
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let (to, bytes) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(n) = reader.read(&mut buffer) {
                if n == 0 || to.send(buffer[..n].to_vec()).is_err() {
                    return;
                }
            }
        });
        let screen = vt100::Parser::new(cells(24), cells(80), 0);
        Self { child, master: Some(pair.master), keys: Some(keys), bytes, seen: Vec::new(), screen }
    }

    fn demo() -> Self {
        let mut session = Self::start(&[env!("CARGO_BIN_EXE_kpodtrace"), "demo", "--speed", "20"], &[]);
        session.wait_for("PLEG");
        session.wait_for("▸s-");
        session
    }

    fn take(&mut self, limit: Duration) -> bool {
        let Ok(bytes) = self.bytes.recv_timeout(limit) else { return false };
        self.screen.process(&bytes);
        self.seen.extend(bytes);
        true
    }

    fn text(&self) -> String {
        self.screen.screen().contents()
    }

    fn wait(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !done(self) {
            self.take(Duration::from_millis(50));
            assert!(Instant::now() < end, "no {what} on\n{}", self.text());
        }
    }

    fn wait_for(&mut self, text: &str) {
        self.wait(text, |s| s.text().contains(text));
    }

    fn press(&mut self, keys: &str) {
        let writer = self.keys.as_mut().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    fn resize(&mut self, rows: u16, cols: u16) {
        self.master.as_ref().unwrap().resize(size(rows, cols)).unwrap();
        self.screen.screen_mut().set_size(cells(rows), cells(cols));
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.process_id().unwrap() as i32).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    fn stat(&self) -> Vec<String> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid().as_raw_nonzero())).unwrap();
        stat.rsplit(") ").next().unwrap().split(' ').map(str::to_owned).collect()
    }

    /// In hundredths of a second.
    fn processor_time(&self) -> u64 {
        self.stat()[11..13].iter().map(|t| t.parse::<u64>().unwrap()).sum()
    }

    /// The exit code, and all that was written until then.
    fn end(&mut self) -> u32 {
        let end = Instant::now() + PATIENCE;
        let code = loop {
            self.take(Duration::from_millis(20));
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.exit_code();
            }
            assert!(Instant::now() < end, "still running:\n{}", self.text());
        };
        while self.take(Duration::from_millis(100)) {}
        code
    }

    fn is_restored(&self) -> bool {
        let screen = self.screen.screen();
        let mouse = screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None;
        !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste() && !mouse
    }

    fn is_raw(&self) -> bool {
        let modes = self.master.as_ref().unwrap().get_termios().unwrap();
        !format!("{:?}", modes.local_flags).contains("ICANON")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

#[test]
fn keys_and_sizes() {
    // The recording pauses at its end, so a slow machine does not miss the expected screen.
    let mut s = Session::start(&[env!("CARGO_BIN_EXE_kpodtrace"), "--from", "assets/demo/incident.kpt"], &[]);
    s.wait_for("▸s-");
    assert!(s.screen.screen().alternate_screen() && s.screen.screen().hide_cursor() && s.is_raw());
    s.press("jj\r");
    s.wait_for("WHY");
    s.press("G");
    s.press("\x1b");
    s.wait_for("NAMESPACE/POD");
    s.press("r");
    s.wait_for("RUNBOOK");
    s.press("/pull secret");
    s.wait_for("shown");
    s.press("\r\r");
    s.wait_for("NEXT STEPS");
    s.press("\x1b");
    s.wait_for("search pull secret");
    s.press("\x1b");
    s.wait_for("NAMESPACE/POD");
    s.press("/healthy-web");
    s.wait("only what matches", |s| s.text().contains("/healthy-web") && s.text().contains("2 shown"));
    s.press("q");
    s.wait_for("/healthy-webq");
    s.press("\x1b");
    s.wait("all again", |s| s.text().contains("? help"));
    s.press("?");
    s.wait_for("EVERY PANE");
    s.press("?");
    s.wait_for("NAMESPACE/POD");
    s.press(":help\r");
    s.wait_for("EVERY PANE");
    s.press("?:nonsense\r");
    s.wait_for("no command nonsense");
    s.press(":runb\t\r");
    s.wait_for("CAUSE");
    s.press("1L");
    s.wait_for("log not in this recording");
    s.press("\x1b");
    s.wait_for("NAMESPACE/POD");
    s.press("1p");
    s.wait_for("PAUSED");
    s.press("p");
    s.resize(50, 160);
    s.wait_for("RESTARTS");
    s.resize(10, 40);
    s.wait_for("too small");
    s.resize(24, 80);
    s.wait_for("NAMESPACE/POD");
    s.press("q");
    assert_eq!(s.end(), 0);
    assert!(s.is_restored() && !s.is_raw());
}

#[test]
fn an_input_is_played_from_its_start_and_in_ascii() {
    let program = [env!("CARGO_BIN_EXE_kpodtrace"), "--from", "assets/demo/incident.kpt", "--speed", "20", "--ascii"];
    let mut s = Session::start(&program, &[]);
    s.wait_for("x20");
    s.wait_for(">s-");
    s.press("q");
    assert_eq!(s.end(), 0);
    assert!(s.seen.is_ascii());
}

#[test]
fn the_mouse_selects_opens_goes_to_tabs_and_is_given_back() {
    let mut s = Session::start(&[env!("CARGO_BIN_EXE_kpodtrace"), "--from", "assets/demo/incident.kpt"], &[]);
    s.wait_for("▸s-");
    assert_eq!(s.screen.screen().mouse_protocol_mode(), vt100::MouseProtocolMode::PressRelease);
    let row = s.text().lines().position(|l| l.starts_with('▸')).unwrap() + 1;
    // Columns and lines count from 1; a press, and a release.
    let click = |x: usize, y: usize| format!("\x1b[<0;{x};{y}M\x1b[<0;{x};{y}m");
    s.press(&click(5, row + 2));
    s.wait("the third row selected", |s| s.text().lines().nth(row + 1).is_some_and(|l| l.starts_with('▸')));
    s.press(&click(78, 24));
    s.wait_for("CAUSE");
    s.press("1");
    s.wait_for("NAMESPACE/POD");
    s.press(&(click(5, row) + &click(5, row)));
    s.wait_for("WHY");
    s.press("q");
    assert_eq!(s.end(), 0);
    assert!(s.is_restored());
}

#[test]
fn without_the_mouse_no_sequence_enables_it() {
    let args = [env!("CARGO_BIN_EXE_kpodtrace"), "--no-mouse", "--from", "assets/demo/incident.kpt"];
    let mut s = Session::start(&args, &[]);
    s.wait_for("▸s-");
    s.press("q");
    assert_eq!(s.end(), 0);
    let seen = String::from_utf8_lossy(&s.seen).into_owned();
    assert!(["?1000", "?1002", "?1003", "?1006", "?1015"].iter().all(|mode| !seen.contains(mode)));
}

#[test]
fn a_name_is_copied_by_the_terminal() {
    let args = [env!("CARGO_BIN_EXE_kpodtrace"), "--filter", "healthy-web", "--from", "assets/demo/incident.kpt"];
    let mut s = Session::start(&args, &[]);
    s.wait_for("2 shown");
    s.press("y");
    s.wait_for("copied: s-healthy-web/");
    let seen = String::from_utf8_lossy(&s.seen).into_owned();
    // `s-healthy-web/web` begins so, in base64.
    assert!(seen.contains("\x1b]52;c;cy1oZWFsdGh5LXdlYi93ZWIt"), "{seen:?}");
    s.press("q");
    assert_eq!(s.end(), 0);
}

#[test]
fn a_storm_of_sizes_ends_at_the_last() {
    let mut s = Session::start(&[env!("CARGO_BIN_EXE_kpodtrace"), "--from", "assets/demo/incident.kpt"], &[]);
    s.wait_for("▸s-");
    for i in 0..60 {
        s.resize(5 + i % 40, 20 + 3 * i);
        s.press(["j", "2", "1", "3", "\t"][usize::from(i) % 5]);
    }
    s.resize(24, 80);
    s.press("1");
    s.wait("the whole table", |s| s.text().contains("NAMESPACE/POD") && s.text().contains("6Runbook"));
    s.press("q");
    assert_eq!(s.end(), 0);
}

#[test]
fn nothing_is_written_while_nothing_changes() {
    let mut s = Session::start(&[env!("CARGO_BIN_EXE_kpodtrace"), "--from", "assets/demo/incident.kpt"], &[]);
    s.wait_for("NAMESPACE/POD");
    while s.take(Duration::from_millis(500)) {}
    let (before, spent) = (s.seen.len(), s.processor_time());
    // After the end of the recording no byte is written, and almost no CPU is used.
    while s.take(Duration::from_millis(2500)) {}
    assert_eq!(s.seen.len(), before);
    let spent = s.processor_time() - spent;
    assert!(spent <= 15, "{spent} hundredths of a second");
    s.press("\x0c");
    s.wait("a whole frame", |s| s.seen.len() > before + 1000);
    s.press("\x03");
    assert_eq!(s.end(), 0);
}

#[test]
fn signals_restore_the_terminal_and_set_the_exit_code() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130), (Signal::QUIT, 131)] {
        let mut s = Session::demo();
        s.signal(signal);
        assert_eq!(s.end(), code, "{signal:?}");
        assert!(s.is_restored() && !s.is_raw(), "{signal:?}");
    }
}

#[test]
fn stopped_and_continued() {
    let demo = format!(
        "set -m; {} demo --speed 20; echo stopped once; read x; fg; echo stopped twice; read x; fg",
        env!("CARGO_BIN_EXE_kpodtrace")
    );
    let mut s = Session::start(&["sh", "-c", &demo], &[]);
    s.wait_for("PLEG");
    s.press("\x1a");
    s.wait("the shell's screen", |s| s.is_restored() && !s.is_raw() && s.text().contains("stopped once"));
    s.press("\n");
    s.wait("the screen again", |s| s.screen.screen().alternate_screen() && s.is_raw());
    s.wait_for("PLEG");
    let children = format!("/proc/{0}/task/{0}/children", s.pid().as_raw_nonzero());
    let child = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(child).unwrap(), Signal::TSTP).unwrap();
    s.wait("the shell's screen", |s| s.is_restored() && !s.is_raw() && s.text().contains("stopped twice"));
    s.press("\n");
    s.wait("the screen again", |s| s.screen.screen().alternate_screen() && s.is_raw());
    s.wait_for("PLEG");
    s.press("q");
    assert_eq!(s.end(), 0);
    assert!(s.is_restored() && !s.is_raw());
}

#[test]
fn without_job_control_it_does_not_stop() {
    let mut s = Session::demo();
    s.press("\x1a?");
    s.wait_for("EVERY PANE");
    assert_ne!(s.stat()[0], "T");
    s.press("q");
    assert_eq!(s.end(), 0);
}

#[test]
fn a_terminal_that_goes_away_ends_it_also_where_hang_ups_are_ignored() {
    let binary = env!("CARGO_BIN_EXE_kpodtrace");
    let ignoring = format!("trap '' HUP; exec {binary} demo --speed 20");
    for program in [&[binary, "demo", "--speed", "20"][..], &["sh", "-c", &ignoring]] {
        let mut s = Session::start(program, &[]);
        s.wait_for("PLEG");
        let pid = s.pid();
        drop(s.keys.take());
        drop(s.master.take());
        // The reader's thread holds the last handle until the next frame comes and finds its channel gone.
        let (_, nothing) = channel();
        s.bytes = nothing;
        let end = Instant::now() + Duration::from_secs(3);
        while s.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < end, "{program:?} still runs as {pid:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_blocked_terminal_does_not_delay_the_exit() {
    let pair = native_pty_system().openpty(size(50, 160)).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_kpodtrace"));
    command.args(["demo", "--speed", "50"]);
    command.env("TERM", "xterm");
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    // No reader: the terminal is full after one or two frames.
    thread::sleep(Duration::from_secs(2));
    let pid = Pid::from_raw(child.process_id().unwrap() as i32).unwrap();
    let begin = Instant::now();
    kill_process(pid, Signal::TERM).unwrap();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.exit_code();
        }
        assert!(begin.elapsed() < Duration::from_secs(5), "still running");
        thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(code, 143);
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}

#[test]
fn without_colour_there_is_none_and_without_utf8_all_is_ascii() {
    let env = [("NO_COLOR", "1"), ("LC_ALL", "C")];
    let mut s = Session::start(&[env!("CARGO_BIN_EXE_kpodtrace"), "demo", "--speed", "20"], &env);
    s.wait_for(">s-");
    s.press("q");
    s.end();
    assert!(s.seen.is_ascii());
    let text = String::from_utf8(s.seen.clone()).unwrap();
    let reversed = ["\x1b[7m", "\x1b[0;7m"].iter().any(|style| text.contains(style));
    assert!(reversed && !text.contains("\x1b[;m") && !text.contains("\x1b[m"));
    for sequence in text.split("\x1b[").skip(1).filter_map(|s| s.split_once('m')).map(|(codes, _)| codes) {
        let codes: Vec<u32> = sequence.split(';').map_while(|c| c.parse().ok()).collect();
        let colour = |c: &u32| matches!(c, 30..=38 | 40..=48 | 90..=107);
        assert!(!codes.iter().any(colour), "{sequence}");
    }
}

/// Run by the test below, as a separate process.
#[test]
#[ignore = "needs its own terminal"]
fn child_that_panics() {
    struct Bad(u32);
    impl Feed for Bad {
        fn pass(&mut self, _: Duration) -> bool {
            self.0 += 1;
            assert!(self.0 < 5, "the feed is broken");
            thread::spawn(|| panic!("a source is broken")).join().is_ok()
        }
        fn moment(&mut self) -> NodeView {
            NodeView::new(Model::default().snapshot(), &mut DiagnosisCache::default(), Time::UNIX_EPOCH)
        }
        fn wake_in(&mut self) -> Duration {
            Duration::from_millis(100)
        }
        fn title(&self) -> String {
            String::new()
        }
        fn log(&mut self, _: LogCommand) {}
        fn log_news(&mut self) -> Vec<LogUpdate> {
            Vec::new()
        }
    }
    tui::run(Box::new(Bad(0)), tui::Options::default()).unwrap();
}

/// Run by the test below, as a separate process: the first or the second node view never arrives.
#[test]
#[ignore = "needs its own terminal"]
fn child_that_never_has_done() {
    struct Busy {
        quick: u32,
    }
    impl Feed for Busy {
        fn pass(&mut self, _: Duration) -> bool {
            true
        }
        fn moment(&mut self) -> NodeView {
            let end = Instant::now() + Duration::from_secs(600);
            while self.quick == 0 && Instant::now() < end {
                std::hint::spin_loop();
            }
            self.quick = self.quick.saturating_sub(1);
            NodeView::new(Model::default().snapshot(), &mut DiagnosisCache::default(), Time::UNIX_EPOCH)
        }
        fn wake_in(&mut self) -> Duration {
            Duration::from_millis(100)
        }
        fn title(&self) -> String {
            "busy".into()
        }
        fn log(&mut self, _: LogCommand) {}
        fn log_news(&mut self) -> Vec<LogUpdate> {
            Vec::new()
        }
    }
    let quick = std::env::var("TEST_QUICK").unwrap().parse().unwrap();
    let ended = tui::run(Box::new(Busy { quick }), tui::Options::default());
    std::process::exit(ended.map_or_else(|error| error.exit_code(), |()| 0));
}

#[test]
fn keys_and_signals_are_answered_however_long_a_moment_takes() {
    let this = std::env::current_exe().unwrap();
    let args = [this.to_str().unwrap(), "--ignored", "--exact", "child_that_never_has_done", "--nocapture"];
    let start = |quick: &str| Session::start(&args, &[("TEST_QUICK", quick)]);
    // A tenth of a second is meant; the machine may be loaded.
    let soon =
        |begin: Instant, what: &str| assert!(begin.elapsed() < Duration::from_secs(5), "{what}: {:?}", begin.elapsed());
    let mut s = start("1");
    s.wait_for("busy");
    let begin = Instant::now();
    s.press("?");
    s.wait_for("EVERY PANE");
    s.press("?");
    s.wait_for("NAMESPACE/POD");
    soon(begin, "help");
    let begin = Instant::now();
    s.press("\x03");
    assert_eq!(s.end(), 0);
    soon(begin, "Ctrl-C");
    assert!(s.is_restored() && !s.is_raw());
    for quick in ["0", "1"] {
        let mut s = start(quick);
        s.wait("the screen", |s| s.screen.screen().alternate_screen());
        let begin = Instant::now();
        s.signal(Signal::TERM);
        assert_eq!(s.end(), 143);
        soon(begin, "SIGTERM");
        assert!(s.is_restored() && !s.is_raw());
    }
}

#[test]
fn an_input_beyond_every_bound_keeps_neither_keys_nor_signals_waiting() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pty-bounds");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("finalizers.json");
    let finalizers: Vec<String> = (0..110_000).map(|i| format!(r#""x.y/{i}""#)).collect();
    let pod = format!(
        r#"{{"kind":"List","items":[{{"kind":"Pod","metadata":{{"name":"held","namespace":"t","uid":"u",
        "creationTimestamp":"2026-11-30T12:00:00Z","deletionTimestamp":"2026-11-30T12:00:00Z","finalizers":[{}]}},
        "spec":{{"nodeName":"w","containers":[{{"name":"c"}}]}},"status":{{"phase":"Running"}}}}]}}"#,
        finalizers.join(",")
    );
    std::fs::write(&path, pod).unwrap();
    let args = [env!("CARGO_BIN_EXE_kpodtrace"), "--from", path.to_str().unwrap()];
    let mut s = Session::start(&args, &[]);
    s.wait_for("t/held");
    s.press("\r");
    s.wait_for("109,936 of 110,000 finalizers left out");
    s.press("q");
    assert_eq!(s.end(), 0);
    // While it is read.
    let mut s = Session::start(&args, &[]);
    let begin = Instant::now();
    s.signal(Signal::TERM);
    s.end();
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert!(s.is_restored() && !s.is_raw());
}

/// Run by the test below, as a separate process: one pod, with its log below a folder of the test.
#[test]
#[ignore = "needs its own terminal"]
fn child_that_shows_a_log() {
    struct OnePod {
        model: Model,
        logs: LogReader,
        open: Option<OpenLog>,
    }
    impl Feed for OnePod {
        fn pass(&mut self, _: Duration) -> bool {
            false
        }
        fn moment(&mut self) -> NodeView {
            NodeView::new(self.model.snapshot(), &mut DiagnosisCache::default(), kpodtrace::time::Time::now())
        }
        fn wake_in(&mut self) -> Duration {
            Duration::from_secs(1)
        }
        fn title(&self) -> String {
            String::new()
        }
        fn log(&mut self, ask: LogCommand) {
            match ask {
                LogCommand::Open(request) => self.open = Some(self.logs.open(*request)),
                LogCommand::Older => self.open.iter_mut().for_each(LogStream::request_older),
                LogCommand::Close => self.open = None,
            }
        }
        fn log_news(&mut self) -> Vec<LogUpdate> {
            self.open.as_mut().map(LogStream::take_updates).unwrap_or_default()
        }
    }
    let mut model = Model::default();
    let pod = r#"{"metadata":{"name":"web","namespace":"shop","uid":"u1"},"spec":{"nodeName":"n","containers":[{"name":"app"}]}}"#;
    let stamp = Sequencer::new(Source::ApiPods).stamp(0, kpodtrace::time::Time::now());
    model.apply(Observation { stamp, fact: Fact::Pod(serde_json::from_str(pod).unwrap()) });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let root = Root::new(std::env::var("TEST_ROOT").unwrap());
    let logs = LogReader::new(runtime.handle().clone(), root, Err("no API server".into()), Err("no kubelet".into()));
    thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
    tui::run(Box::new(OnePod { model, logs, open: None }), tui::Options::default()).unwrap();
}

#[test]
fn a_log_is_opened_followed_searched_and_closed() {
    let root = std::env::temp_dir().join(format!("kpodtrace-pty-{}", std::process::id()));
    let dir = root.join("var/log/pods/shop_web_u1/app");
    std::fs::create_dir_all(&dir).unwrap();
    let write = |file: &str, text: &str| {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(dir.join(file)).unwrap();
        writeln!(file, "2026-03-02T09:00:00Z stdout F {text}").unwrap();
    };
    (0..100).for_each(|i| write("0.log", &format!("\u{1b}[31mline {i}\u{1b}[0m \u{1b}]52;c;aGk=\u{7}")));
    let this = std::env::current_exe().unwrap();
    let args = [this.to_str().unwrap(), "--ignored", "--exact", "child_that_shows_a_log", "--nocapture"];
    let mut s = Session::start(&args, &[("TEST_ROOT", root.to_str().unwrap())]);
    s.wait_for("shop/web");
    s.press("L");
    s.wait_for("line 99");
    assert!(s.text().contains("FOLLOW") && s.text().contains("shop_web_u1/app/0.log"), "{}", s.text());
    write("0.log", "what came later");
    s.wait_for("what came later");
    s.press("/LINE 1");
    s.wait_for("0 lines");
    s.press("\x7f\x7f\x7f\x7f\x7f\x7fline 1\r");
    s.wait_for("11 of 11 lines");
    s.press("N");
    s.wait_for("10 of 11 lines");
    write("1.log", "of the next run");
    s.wait_for("1 new line below");
    s.press("G");
    s.wait("the next run", |s| {
        s.text().contains("-- container restarted (restart 1)") && s.text().contains("of the next run")
    });
    s.press("v");
    s.wait_for("previous run, restart 0");
    // The first forgets the search.
    s.press("\x1b");
    s.wait("no search", |s| !s.text().contains("search line 1"));
    s.press("\x1b");
    s.wait_for("NAMESPACE/POD");
    s.press("q");
    s.end();
    assert!(s.is_restored());
    let hostile = [&b"\x1b]52"[..], b"\x1b[31mline"];
    assert!(hostile.iter().all(|bytes| !s.seen.windows(bytes.len()).any(|seen| seen == *bytes)));
    _ = std::fs::remove_dir_all(root);
}

#[test]
fn a_panic_is_printed_on_a_restored_terminal() {
    let this = std::env::current_exe().unwrap();
    let args = [this.to_str().unwrap(), "--ignored", "--exact", "child_that_panics", "--nocapture"];
    let mut s = Session::start(&args, &[]);
    s.wait("the screen", |s| s.screen.screen().alternate_screen());
    s.end();
    assert!(s.is_restored() && !s.is_raw());
    assert!(s.text().contains("the feed is broken") && s.text().contains("a source is broken"), "{}", s.text());
}

#[test]
fn an_unusable_terminal_names_an_alternative() {
    let mut s = Session::start(&[env!("CARGO_BIN_EXE_kpodtrace"), "demo"], &[("TERM", "dumb")]);
    assert_eq!(s.end(), 3);
    assert!(s.text().contains("kpodtrace pods") && !s.screen.screen().alternate_screen());
}

#[test]
fn a_slow_start_names_what_it_waits_for() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pty-wait");
    _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    // It accepts connections and never responds.
    let socket = dir.join("mute.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let endpoint = format!("unix://{}", socket.display());
    let args =
        [env!("CARGO_BIN_EXE_kpodtrace"), "pods", "--node", "n", "--runtime-endpoint", &endpoint, "--wait", "2s"];
    let mut s = Session::start(&args, &[]);
    s.wait_for("waiting for ");
    s.wait_for("cri ");
    s.wait_for("kpodtrace doctor, which lists what each source needs");
    assert_eq!(s.end(), 3);
}
