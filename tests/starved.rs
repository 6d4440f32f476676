//! The binary in unusual environments: environment variables, low limits of open files, closed standard streams.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const NO_TEXT: &[u8] = b"hunter2\xff";

fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Flags that name a node at which nothing answers.
fn node(dir: &Path) -> Vec<String> {
    let config = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n\
        clusters: [{name: k, cluster: {server: \"https://admin:hunter2@127.0.0.1:1\", insecure-skip-tls-verify: true}}]\n\
        users: [{name: u, user: {token: swordfish}}]\n";
    std::fs::write(dir.join("config"), config).unwrap();
    std::fs::write(dir.join("log"), "").unwrap();
    let flag = |name: &str, file: &str| [name.to_owned(), dir.join(file).to_str().unwrap().to_owned()];
    let mut flags =
        [flag("--kubeconfig", "config"), flag("--runtime-endpoint", "none.sock"), flag("--kubelet-log", "log")]
            .concat();
    flags.extend(["--node".into(), "n".into(), "--wait".into(), "500ms".into()]);
    flags
}

fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kpodtrace"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    command
}

fn words(output: &Output) -> String {
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!text.contains("panicked"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains("swordfish"), "{text}");
    text
}

#[test]
fn a_variable_that_is_not_utf8_is_reported_by_name() {
    let flags = node(&scratch("environment"));
    let with = |name: &str| binary().arg("pods").args(&flags).env(name, OsStr::from_bytes(NO_TEXT)).output().unwrap();
    let unused = with("SOME_PASSWORD");
    let text = words(&unused);
    assert!(unused.status.code() == Some(3) && text.contains("no source of pods has responded"), "{text}");
    for name in ["KUBECONFIG", "HTTPS_PROXY", "CONTAINER_RUNTIME_ENDPOINT"] {
        let refused = with(name);
        let text = words(&refused);
        assert_eq!(refused.status.code(), Some(2), "{text}");
        assert!(text.contains(&format!("the value of the environment variable {name} is not UTF-8")), "{text}");
    }
    assert!(words(&with("HOME")).contains("HOME is not UTF-8 and is not used"));
    for name in ["TERM", "LC_ALL", "XDG_CONFIG_HOME", "NO_COLOR"] {
        words(
            &binary()
                .args(["pods", "--from", "assets/demo/incident.kpt"])
                .env(name, OsStr::from_bytes(NO_TEXT))
                .output()
                .unwrap(),
        );
    }
}

#[test]
fn the_password_of_a_server_is_not_shown() {
    let flags = node(&scratch("server"));
    for command in ["doctor", "pods"] {
        let output = binary().arg(command).args(&flags).output().unwrap();
        assert!(words(&output).contains("https://127.0.0.1:1"), "{}", words(&output));
    }
    let proxied =
        binary().arg("doctor").args(&flags).env("HTTPS_PROXY", "http://me:hunter2@127.0.0.1:2").output().unwrap();
    words(&proxied);
}

#[test]
fn a_low_limit_of_open_files_is_reported() {
    let dir = scratch("files");
    let flags = node(&dir);
    let limited = |limit: usize, args: &[&str]| {
        let program = format!("ulimit -n {limit}; exec \"$@\"");
        let mut command = Command::new("sh");
        command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
        command.args(["-c", &program, "sh", env!("CARGO_BIN_EXE_kpodtrace")]).args(args).output().unwrap()
    };
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let recording = dir.join("x.kpt");
    for limit in [5, 6, 7, 8, 12, 20, 30] {
        for command in
            [&["pods"][..], &["doctor"], &["logs", "x"], &["record", "--for", "1s", "-o", recording.to_str().unwrap()]]
        {
            let output = limited(limit, &[command, &flags].concat());
            let text = words(&output);
            assert_eq!(output.status.code(), Some(3), "{limit} {command:?}: {text}");
            assert!(
                text.contains(&format!("too many open files (limit {limit})")) && text.contains("ulimit -n"),
                "{text}"
            );
        }
        let output = limited(limit, &["pods", "--from", "assets/demo/incident.kpt"]);
        words(&output);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{limit}: {output:?}");
    }
}

#[test]
fn closed_streams_end_nothing_early() {
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let program = format!("exec \"$@\" {closed}");
        let mut command = Command::new("sh");
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        command.args([
            "-c",
            &program,
            "sh",
            env!("CARGO_BIN_EXE_kpodtrace"),
            "pods",
            "--from",
            "assets/demo/incident.kpt",
        ]);
        let output = command.output().unwrap();
        words(&output);
        assert_eq!(output.status.code(), Some(0), "{closed}: {output:?}");
    }
}
