//! Hostile twins: real processes of an unprivileged user that pose as the kubelet while root runs the binary. Nothing
//! of the twin's is run, read with root's rights, or sent anything. Only root can play both: `.ci/run` runs these.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The twin's user and group.
const TWIN: u32 = 65534;

/// The twin's own folder, as an emptyDir is to a pod.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        assert!(is_root(), "these tests need root");
        let dir = std::env::temp_dir().join(format!("kpodtrace-twin-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let home = Self(dir);
        home.give("");
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        self.give(name);
        path
    }

    fn give(&self, name: &str) {
        chown(self.path(name), Some(TWIN), Some(TWIN)).unwrap();
    }

    /// A kubeconfig whose plugin leaves a mark, and prints a credential.
    fn kubeconfig(&self, name: &str, server: &str) -> PathBuf {
        let mark = self.path("mark");
        let plugin = format!(
            "#!/bin/sh\nid -u >>{}\nenv >>{}\necho '{{\"status\":{{\"token\":\"t\"}}}}'\n",
            mark.display(),
            self.path("env").display()
        );
        let plugin = self.write("plugin", &plugin, 0o755);
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{server: '{server}', insecure-skip-tls-verify: true}}}}]\n\
             users:\n- name: u\n  user:\n    exec: {{apiVersion: client.authentication.k8s.io/v1, command: {}, interactiveMode: Never}}\n",
            plugin.display()
        );
        self.write(name, &text, 0o644)
    }

    fn was_run(&self) -> bool {
        self.path("mark").exists()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A process of the twin that is named kubelet; dropping the value kills it.
struct Twin(Child);

impl Twin {
    fn start(home: &Home, flags: &[&str]) -> Self {
        // A shell that waits, under the kubelet's name, with the kubelet's flags behind it.
        let program = home.path("kubelet");
        fs::copy("/bin/sh", &program).unwrap();
        home.give("kubelet");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(&program);
        command.args(["-c", "read x", "kubelet"]).args(flags).uid(TWIN).gid(TWIN).stdin(Stdio::piped());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Counts connections to a port, and keeps what they send first.
struct Ear {
    address: String,
    count: Arc<AtomicUsize>,
}

impl Ear {
    fn on(address: &str) -> Self {
        let server = TcpListener::bind(address).unwrap();
        let (address, count) = (server.local_addr().unwrap().to_string(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&count);
        thread::spawn(move || {
            for stream in server.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                let mut stream = stream;
                _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
                _ = stream.read(&mut [0; 64]);
                _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            }
        });
        Self { address, count }
    }

    fn received(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

fn kpodtrace(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kpodtrace"));
    // sudo may keep a home, and a PATH with folders of the user's in it.
    command.args(args).env_clear().env("HOME", "/root").env("PATH", "/tmp:/usr/bin:/bin").env("SENTINEL", "inherited");
    command.stdin(Stdio::null()).output().unwrap()
}

fn doctor(args: &[&str]) -> String {
    let out = kpodtrace(&[&["doctor", "--wait", "2s"], args].concat());
    String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
}

#[test]
#[ignore = "needs root: .ci/run runs it"]
fn a_process_that_calls_itself_kubelet_gets_nothing_run() {
    let home = Home::new("name");
    let api = Ear::on("127.0.0.1:0");
    let kubeconfig = home.kubeconfig("kubeconfig", &format!("https://{}", api.address));
    let twin = Twin::start(&home, &[&format!("--kubeconfig={}", kubeconfig.display()), "--hostname-override=evil"]);
    for command in ["pods", "doctor", "explain", "pleg", "node"] {
        kpodtrace(&[command, "--wait", "1s"]);
        assert!(!home.was_run() && api.received() == 0, "{command}");
    }
    let said = doctor(&[]);
    let refusal =
        format!("process {}, which has the name of a kubelet: not trusted: it runs as uid {TWIN}", twin.0.id());
    assert!(!said.contains("evil"), "{said}");
    assert!(!said.contains("kubelet:") || said.contains(&refusal) || said.contains("none is set up"), "{said}");
}

#[test]
#[ignore = "needs root: .ci/run runs it"]
fn a_plugin_is_run_as_root_from_roots_own_kubeconfig_alone_and_inherits_nothing() {
    let home = Home::new("plugin");
    let api = Ear::on("127.0.0.1:0");
    let kubeconfig = home.kubeconfig("kubeconfig", &format!("https://{}", api.address));
    let named = kubeconfig.to_str().unwrap();
    let said = doctor(&["--kubeconfig", named]);
    assert!(!home.was_run(), "{said}");
    assert!(said.contains("not run as root"), "{said}");
    // The same one once it is root's, as a control that the plugin would leave its mark.
    for path in ["", "kubeconfig", "plugin"] {
        chown(home.path(path), Some(0), Some(0)).unwrap();
    }
    let said = doctor(&["--kubeconfig", named]);
    assert!(home.was_run() && said.contains("was run, as configured in the kubeconfig"), "{said}");
    let env = fs::read_to_string(home.path("env")).unwrap();
    assert!(!env.contains("SENTINEL") && !env.contains("HOME=") && !env.contains("/tmp"), "{env}");
}

#[test]
#[ignore = "needs root: .ci/run runs it"]
fn ports_of_others_are_sent_nothing() {
    let home = Home::new("ports");
    let (kubelet, health) = (Ear::on("127.0.0.1:0"), Ear::on("127.0.0.1:10248"));
    let port = kubelet.address.rsplit(':').next().unwrap();
    let certificate = home.write("tls.crt", "", 0o644);
    let flags = [
        "--address=127.0.0.1",
        &format!("--port={port}"),
        &format!("--tls-cert-file={}", certificate.display()),
        "--healthz-port=10248",
    ];
    let _twin = Twin::start(&home, &flags);
    let usual = Ear::on("127.0.0.1:10250");
    // That this machine has a directory of a kubelet makes it a node.
    let _node = Node::new();
    let said = doctor(&[]);
    assert_eq!((kubelet.received(), health.received(), usual.received()), (0, 0, 0), "{said}");
    assert!(said.contains("is not proven to be the kubelet") && said.contains("not sent: process"), "{said}");
    // A control: what the user names is asked.
    doctor(&["--kubelet-endpoint", &usual.address, "--insecure-kubelet"]);
    assert!(usual.received() > 0);
}

#[test]
#[ignore = "needs root: .ci/run runs it"]
fn a_socket_of_others_is_not_the_runtimes() {
    let home = Home::new("socket");
    let path = home.path("containerd.sock");
    let _server = UnixListener::bind(&path).unwrap();
    home.give("containerd.sock");
    let endpoint = format!("unix://{}", path.display());
    let _twin = Twin::start(&home, &[&format!("--container-runtime-endpoint={endpoint}")]);
    assert!(!doctor(&[]).contains(&endpoint));
    // A control: what the user names is taken.
    assert!(doctor(&["--runtime-endpoint", &endpoint]).contains(&endpoint));
}

#[test]
#[ignore = "needs root: .ci/run runs it"]
fn a_home_that_is_not_roots_gives_no_credential_and_no_configuration() {
    let home = Home::new("home");
    let api = Ear::on("127.0.0.1:0");
    for folder in [".kube", ".config", ".config/kpodtrace"] {
        fs::create_dir_all(home.path(folder)).unwrap();
        home.give(folder);
    }
    home.kubeconfig(".kube/config", &format!("https://{}", api.address));
    home.write(".config/kpodtrace/config.toml", "theme = 'light'\n", 0o644);
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kpodtrace"));
        command.args(args).env("HOME", &home.0).env_remove("KUBECONFIG").env_remove("XDG_CONFIG_HOME");
        let out = command.stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
    };
    let said = run(&["doctor", "--wait", "1s"]);
    assert!(!home.was_run() && api.received() == 0, "{said}");
    assert!(said.contains(&format!("is owned by uid {TWIN}; to use it all the same: --kubeconfig FILE")), "{said}");
    let config = run(&["config"]);
    assert!(config.contains("is ignored: not trusted") && !config.contains("theme = \"light\""), "{config}");
}

/// The kubelet's directory on this machine, for as long as the value lives.
struct Node(bool);

impl Node {
    fn new() -> Self {
        let dir = Path::new("/var/lib/kubelet");
        Self(!dir.exists() && fs::create_dir_all(dir).is_ok())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.0 {
            _ = fs::remove_dir("/var/lib/kubelet");
        }
    }
}
