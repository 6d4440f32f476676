//! Live commands and the processes that they start run with low priority and are killed first.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

struct Doctor {
    child: Child,
    dir: PathBuf,
}

impl Doctor {
    /// `doctor --watch` with a kubeconfig whose credential plugin writes what it runs with, and then waits.
    fn start() -> Self {
        let dir = std::env::temp_dir().join(format!("kpodtrace-guest-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let plugin = dir.join("plugin");
        let told = dir.join("told");
        let script = format!(
            "#!/bin/sh\ncut -d' ' -f19 /proc/self/stat >{0}.part\ncat /proc/self/oom_score_adj >>{0}.part\nmv {0}.part {0}\n\
             exec sleep 60\n",
            told.display()
        );
        fs::write(&plugin, script).unwrap();
        fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755)).unwrap();
        let config = format!(
            "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{server: 'https://127.0.0.1:1', insecure-skip-tls-verify: true}}}}]\n\
             users: [{{name: u, user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: {}}}}}}}]\n",
            plugin.display()
        );
        fs::write(dir.join("config"), config).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_kpodtrace"))
            .args([
                "doctor",
                "--watch",
                "--wait",
                "1s",
                "--node",
                "n",
                "--runtime-endpoint",
                "unix:///nonexistent/k.sock",
            ])
            .arg("--kubeconfig")
            .arg(dir.join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, dir }
    }
}

impl Drop for Doctor {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
        _ = fs::remove_dir_all(&self.dir);
    }
}

/// The 19th field of `/proc/PID/stat` (proc(5)).
fn nice_of(stat: &Path) -> Option<i32> {
    let text = fs::read_to_string(stat).ok()?;
    text.rsplit(") ").next()?.split(' ').nth(16)?.parse().ok()
}

#[test]
fn the_process_and_its_children_have_low_priority() {
    let nice = nice_of(Path::new("/proc/self/stat")).unwrap().max(10);
    let mut doctor = Doctor::start();
    let told = doctor.dir.join("told");
    let end = Instant::now() + PATIENCE;
    while !told.exists() {
        assert!(Instant::now() < end, "the plugin was not run");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(fs::read_to_string(told).unwrap(), format!("{nice}\n1000\n"), "a child");

    let process = PathBuf::from(format!("/proc/{}", doctor.child.id()));
    assert_eq!(fs::read_to_string(process.join("oom_score_adj")).unwrap(), "1000\n");
    let threads = fs::read_dir(process.join("task")).unwrap().map(|task| task.unwrap().path());
    // A thread that has exited has none.
    let nices: Vec<i32> = threads.filter_map(|task| nice_of(&task.join("stat"))).collect();
    assert!(nices.len() > 1 && nices.iter().all(|n| *n == nice), "every thread: {nices:?}");

    let lines = BufReader::new(doctor.child.stdout.take().unwrap()).lines();
    let line = lines.map(Result::unwrap).find(|line| line.starts_with("priority: "));
    assert_eq!(line.unwrap(), format!("priority: nice {nice}, oom_score_adj 1000"));
}

#[test]
fn a_recorded_input_changes_nothing() {
    let command = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_kpodtrace"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(args)
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    assert!(!command(&["doctor", "--from", "assets/demo/incident.kpt"]).contains("priority: "));
}
