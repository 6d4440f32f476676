//! Recording: what is lost when the program is killed, how it ends otherwise, standard output, and very many events.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kpodtrace::model::EVENTS_KEPT;
use kpodtrace::observation::{Fact, Observation, Sequencer, Source, Time};
use kpodtrace::record::{RecordHeader, RecordReader, RecordWriter};
use kpodtrace::session::{RecordedSession, write_recording};
use kpodtrace::time::TimeDelta;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(30);

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("kpodtrace-recording-{}-{name}", std::process::id()));
        _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).unwrap();
        Self(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn command(dir: &Dir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kpodtrace"));
    command.current_dir(&dir.0).args(args).stdin(Stdio::null());
    command
}

/// A recorder of a node of which only the kubelet's log is there.
struct Recording<'a> {
    child: Child,
    log: fs::File,
    dir: &'a Dir,
}

impl<'a> Recording<'a> {
    fn start(dir: &'a Dir) -> Self {
        let config = "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n\
            users: [{name: u, user: {token: t}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n";
        fs::write(dir.path("config"), config).unwrap();
        let log = fs::File::create(dir.path("kubelet.log")).unwrap();
        let (config, file) = (dir.path("config"), dir.path("kubelet.log"));
        let args = ["record", "-o", "node.kpt", "--node", "n", "--kubeconfig", &config, "--kubelet-log", &file];
        let args = [&args[..], &["--runtime-endpoint", "unix:///nonexistent/r.sock"]].concat();
        let child = command(dir, &args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let recording = Self { child, log, dir };
        let begin = Instant::now();
        while !recording.file().exists() {
            assert!(begin.elapsed() < PATIENCE, "it records");
            std::thread::sleep(Duration::from_millis(20));
        }
        recording
    }

    fn file(&self) -> PathBuf {
        self.dir.0.join("node.kpt")
    }

    /// Writes a line every 50 ms for so long; gives when each was written.
    fn ticks(&mut self, time: Duration) -> Vec<Instant> {
        let (begin, mut written) = (Instant::now(), Vec::new());
        while begin.elapsed() < time {
            let now = Time::now().format("%m%d %H:%M:%S").to_string();
            writeln!(self.log, "E{now}.000000    1 x.go:1] \"tick {}!\"", written.len()).unwrap();
            written.push(Instant::now());
            std::thread::sleep(Duration::from_millis(50));
        }
        written
    }

    fn end(mut self, signal: Signal) -> (String, Option<i32>) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (text, self.child.wait().unwrap().code())
    }
}

/// The highest tick of a recording.
fn last_tick(path: &Path) -> Option<usize> {
    let reader = RecordReader::open(path).unwrap();
    let mut last = None;
    for index in 0..reader.frames().len() {
        for observation in reader.frame(index).unwrap().observations() {
            if let Fact::LogRecord(record) = observation.fact
                && let Some((_, rest)) = record.message.split_once("tick ")
            {
                last = last.max(rest.split_once('!').and_then(|(n, _)| n.parse().ok()));
            }
        }
    }
    last
}

#[test]
fn a_killed_recorder_loses_at_most_a_second() {
    let dir = Dir::new("killed");
    let mut recording = Recording::start(&dir);
    let written = recording.ticks(Duration::from_secs(6));
    let (path, killed) = (recording.file(), Instant::now());
    recording.end(Signal::KILL);
    let last = last_tick(&path).expect("something was recorded");
    let lost = killed - written[last];
    // One second, half a second between two checks of the log file, and the same again for a busy machine.
    assert!(lost < Duration::from_secs(3), "{lost:?} lost of {:?}", written.len());
    let mut session = RecordedSession::open(&path).unwrap();
    assert!(!session.problems().is_empty(), "it says that it has no end");
    session.moment();
}

#[test]
fn a_signal_ends_a_recording_with_all_that_was_observed() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let dir = Dir::new(&format!("signal-{}", signal.as_raw()));
        let mut recording = Recording::start(&dir);
        recording.ticks(Duration::from_millis(300));
        let path = recording.file();
        let (said, code) = recording.end(signal);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(" frames, "), "{said}");
        let reader = RecordReader::open(&path).unwrap();
        assert!(reader.is_complete(), "{:?}", reader.problems());
    }
}

fn incident() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hostile/far-times.json").to_owned()
}

#[test]
fn a_recording_goes_to_standard_output() {
    let dir = Dir::new("stdout");
    let output = command(&dir, &["record", "--from", &incident(), "-o", "-"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("standard output: "), "{said}");
    let reader = RecordReader::from_bytes("stdout", output.stdout).unwrap();
    assert!(reader.is_complete() && !reader.frames().is_empty(), "{:?}", reader.problems());
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 0, "no file was made");
}

#[test]
fn a_terminal_is_not_recorded_to() {
    use portable_pty::{CommandBuilder, PtySize, native_pty_system};
    let pair = native_pty_system().openpty(PtySize { rows: 24, cols: 200, ..PtySize::default() }).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_kpodtrace"));
    command.args(["record", "--from", &incident(), "-o", "-"]);
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut said = Vec::new();
    // The end of a terminal is an error.
    _ = pair.master.try_clone_reader().unwrap().read_to_end(&mut said);
    let said = String::from_utf8_lossy(&said);
    assert!(!child.wait().unwrap().success());
    assert!(said.contains("it is a terminal") && said.contains("redirect it to a file or a pipe"), "{said}");
}

#[test]
fn a_full_disk_and_a_closed_pipe_are_reported() {
    let dir = Dir::new("full");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(&dir, &["record", "--from", &incident(), "-o", "-"]).stdout(full).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("free disk space"), "{said}");
    let (reader, pipe) = std::io::pipe().unwrap();
    drop(reader);
    let output = command(&dir, &["record", "--from", &incident(), "-o", "-"]).stdout(pipe).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("standard output was closed by its reader"), "{said}");
}

/// A disk that takes so many bytes.
struct Disk {
    bytes: std::rc::Rc<std::cell::RefCell<Vec<u8>>>,
    size: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut held = self.bytes.borrow_mut();
        let len = bytes.len().min(self.size - held.len());
        held.extend_from_slice(&bytes[..len]);
        if len == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(len) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_was_written_before_the_disk_was_full_is_read() {
    let import = common::imported(Path::new(&incident()));
    let at = import.end;
    let mut sequencer = Sequencer::new(Source::Cri);
    let observations: Vec<Observation> =
        (0..20_000).map(|i| Observation { stamp: sequencer.stamp(i * 10_000, at), fact: Fact::Alive }).collect();
    let mut whole = RecordWriter::create(Vec::new(), &RecordHeader::new("n".into(), at)).unwrap();
    write_recording(&mut whole, &observations).unwrap();
    let len = whole.finish().unwrap().len() - 30;
    for size in [200, len / 4, len / 2, len - 100, len] {
        let bytes = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let disk = Disk { bytes: bytes.clone(), size };
        let mut writer = RecordWriter::create(disk, &RecordHeader::new("n".into(), at)).unwrap();
        let error = write_recording(&mut writer, &observations).unwrap_err();
        assert!(error.remedy().contains("readable up to that byte"), "{error}");
        let reader = RecordReader::from_bytes("full", bytes.borrow().clone()).unwrap();
        assert!(!reader.is_complete());
        for index in 0..reader.frames().len() {
            reader.state(index).unwrap();
        }
    }
}

#[test]
fn a_hundred_and_fifty_thousand_events_are_recorded_and_read_back() {
    const COUNT: u64 = 150_000;
    let begin: Time = "2026-11-29T12:00:00Z".parse().unwrap();
    let mut sequencer = Sequencer::new(Source::ApiEvents);
    let event = |i: u64| {
        let value = json!({
            "metadata": {"name": format!("p{i}.17"), "namespace": "d", "uid": format!("00000000-0000-4000-8000-{i:012}")},
            "involvedObject": {"kind": "Pod", "namespace": "d", "name": format!("p{}", i / 3), "uid": format!("u{}", i / 3)},
            "reason": "BackOff", "type": "Warning", "count": 5, "lastTimestamp": begin + TimeDelta::milliseconds(i as i64),
            "message": format!("Back-off pulling image \"registry.example.com/team/app:{i}\": ErrImagePull: not found {i}"),
        });
        Fact::Event(Box::new(serde_json::from_value(value).unwrap()))
    };
    let mut observations: Vec<Observation> = Vec::new();
    for i in 0..COUNT {
        // All within two seconds, like a first list; then a state is due repeatedly.
        let stamp = sequencer.stamp(i * 12, begin);
        observations.push(Observation { stamp, fact: event(i) });
    }
    for i in 1..3 {
        let stamp = sequencer.stamp(i * 40_000_000, begin + TimeDelta::seconds(i as i64 * 40));
        observations.push(Observation { stamp, fact: Fact::Alive });
    }
    let mut writer = RecordWriter::create(Vec::new(), &RecordHeader::new("n".into(), begin)).unwrap();
    assert_eq!(write_recording(&mut writer, &observations).unwrap(), 0, "none is too long");
    let bytes = writer.finish().unwrap();
    let dir = Dir::new("events");
    fs::write(dir.0.join("events.kpt"), &bytes).unwrap();
    let reader = RecordReader::from_bytes("events", bytes).unwrap();
    assert!(reader.is_complete(), "{:?}", reader.problems());
    let count = |index| reader.frame(index).unwrap().observations().count() as u64;
    assert_eq!((0..reader.frames().len()).map(count).sum::<u64>(), COUNT + 2);
    let mut session = RecordedSession::open(&dir.0.join("events.kpt")).unwrap();
    let moment = session.moment();
    assert_eq!(moment.snapshot.sources[&Source::ApiEvents].dropped, COUNT - EVENTS_KEPT as u64);
    assert!(kpodtrace::report::notes(&moment).join("\n").contains("api-events: 130000 older events dropped"));
}
