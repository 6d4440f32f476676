//! Exit of the program: a blocked terminal is restored, and every child process exits.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

/// More than a loaded machine needs; an idle one needs a second.
const PATIENCE: Duration = Duration::from_secs(20);

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "{what}");
        sleep(Duration::from_millis(20));
    }
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(id as i32).unwrap()
}

#[test]
fn a_terminal_that_takes_nothing_is_given_back() {
    for signal in [None, Some(Signal::TERM), Some(Signal::HUP)] {
        let pair =
            native_pty_system().openpty(PtySize { rows: 60, cols: 200, pixel_width: 0, pixel_height: 0 }).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_kpodtrace"));
        command.args(["demo", "--speed", "40"]);
        command.cwd(env!("CARGO_MANIFEST_DIR"));
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        let mut child = pair.slave.spawn_command(command).unwrap();
        let is_raw = || !format!("{:?}", pair.master.get_termios().unwrap().local_flags).contains("ICANON");
        until("the screen begins", is_raw);
        // No reader: a few frames of this size fill the buffer of the kernel.
        sleep(Duration::from_secs(3));
        match signal {
            None => pair.master.take_writer().unwrap().write_all(b"q").unwrap(),
            Some(signal) => kill_process(pid(child.process_id().unwrap()), signal).unwrap(),
        }
        until("it ends", || child.try_wait().unwrap().is_some());
        assert!(!is_raw(), "{signal:?}: the modes are given back");
        let mut reader = pair.master.try_clone_reader().unwrap();
        drop(pair.slave);
        let (mut seen, mut buffer) = (Vec::new(), [0; 65536]);
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            seen.extend_from_slice(&buffer[..count]);
        }
        let seen = String::from_utf8_lossy(&seen);
        assert!(
            seen.ends_with("\x1b[?1049l"),
            "{signal:?}: the previous screen is restored: {:?}",
            &seen[seen.len().saturating_sub(80)..]
        );
    }
}

/// A directory with a credential plugin that notes its process and never ends, and the kubeconfig that names it.
fn plugin(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let script = "#!/bin/sh\necho $$ >>PIDS\nexec sleep 600\n";
    let file = dir.join("plugin");
    let config = format!(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
         clusters: [{{name: k, cluster: {{server: 'https://127.0.0.1:1', insecure-skip-tls-verify: true}}}}]\n\
         users: [{{name: u, user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: {}}}}}}}]\n",
        file.display()
    );
    std::fs::write(dir.join("config"), config).unwrap();
    std::fs::write(&file, script.replace("PIDS", dir.join("pids").to_str().unwrap())).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    dir
}

#[test]
fn what_was_started_ends_with_the_program() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::KILL] {
        let dir = plugin(&format!("started-{}", signal.as_raw()));
        let file = |name: &str| dir.join(name).to_str().unwrap().to_owned();
        let mut child = Command::new(env!("CARGO_BIN_EXE_kpodtrace"))
            .args(["record", "-o", &file("x.kpt"), "--node", "n", "--runtime-endpoint", &file("none.sock")])
            .args(["--kubeconfig", &file("config")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pids = || std::fs::read_to_string(dir.join("pids")).unwrap_or_default();
        until("the plugin runs", || pids().ends_with('\n'));
        let lives = |id: &str| {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
            // A zombie counts as exited.
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        assert!(pids().lines().all(lives), "it runs");
        kill_process(pid(child.id()), signal).unwrap();
        child.wait().unwrap();
        until("the started processes have exited", || !pids().lines().any(lives));
    }
}

#[test]
fn it_starts_a_program_only_for_its_parent() {
    let args = ["--become-program-of", &std::process::id().to_string(), "echo", "became"];
    let output = Command::new(env!("CARGO_BIN_EXE_kpodtrace")).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(output.stdout.is_empty(), "{output:?}");
}
