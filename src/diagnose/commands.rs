//! Commands of the runbook name the default places of a node. Here they get the places that discovery found on this node.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::vars::EXITED;
use crate::observation::NodePaths;
use crate::runbook::{Template, Vars, quoted};

/// Sockets that crictl tries without a flag (cri-tools, cmd/crictl/main.go).
const CRICTL_DEFAULTS: [&str; 3] =
    ["/run/containerd/containerd.sock", "/run/crio/crio.sock", "/var/run/cri-dockerd.sock"];

const CONFIG: &str = "/var/lib/kubelet/config.yaml";
const ROOT_DIR: &str = "/var/lib/kubelet";
const POD_LOGS: &str = "/var/log/pods";
const MANIFESTS: &str = "/etc/kubernetes/manifests";
const HEALTHZ: &str = "127.0.0.1:10248";

/// Lines of a log file that are read where a command would read a span of the journal.
const LOG_LINES: &str = "5000";

/// What is replaced: tools, units in commands of systemd, and the default places, the longer ones first.
static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = concat!(
        r"(?P<several>\bjournalctl -u kubelet -u )",
        r"|(?P<journal>\bjournalctl -u kubelet(?: --since \S+| --no-pager| -n \d+| -f\b)*)",
        r"|(?P<unit>\bsystemctl (?:status|restart|start|show|cat) kubelet\b)",
        r"|(?P<before>^|[\s(;|&])(?P<tool>crictl|kubectl)(?P<after>\s|$)",
        r"|(?P<place>/var/lib/kubelet/config\.yaml|/var/lib/kubelet\b|/var/log/pods\b|/etc/kubernetes/manifests\b|127\.0\.0\.1:10248\b)",
    );
    Regex::new(pattern).ok()
});

/// The same command for the log of the newest run, if that run has exited. While it runs, `--previous` names the run that failed;
/// later it names the run before that one, or none (`validateContainerLogStatus`, pkg/kubelet/kubelet_pods.go).
pub(super) fn for_failed_run(command: &Template, vars: &Vars) -> Template {
    if vars.contains_key(EXITED) { command.map_plain(|text| text.replace(" --previous", "")) } else { command.clone() }
}

/// The command that reads the log of a container with this program, if kubectl is not allowed to: the kubelet's credential has no
/// `get pods/log`, but its log files are on this node.
pub(super) fn log_command(command: &str, paths: &NodePaths) -> Option<String> {
    let (namespace, rest) = command.strip_prefix("kubectl -n ")?.split_once(" logs ")?;
    let (pod, flags) = rest.split_once(' ')?;
    let is_one = paths.is_kubelet_credential && !flags.contains("--all-containers") && !flags.contains(['|', ';', '&']);
    is_one.then(|| format!("kpodtrace logs {namespace}/{pod} {flags}"))
}

/// The command for a node with these places.
pub(super) fn on_node(command: &Template, paths: &NodePaths) -> Template {
    match &*TOKEN {
        Some(token) if *paths != NodePaths::default() => command
            .map_plain(|text| token.replace_all(text, |found: &Captures<'_>| replacement(found, paths)).into_owned()),
        _ => command.clone(),
    }
}

fn replacement(found: &Captures<'_>, paths: &NodePaths) -> String {
    let text = &found[0];
    if let Some(tool) = found.name("tool") {
        return format!("{}{}{}", &found["before"], with_flag(tool.as_str(), paths), &found["after"]);
    }
    if found.name("journal").is_some() {
        return journal(text, paths);
    }
    if found.name("unit").is_some() {
        return match unit(paths) {
            Some(unit) => text.replace("kubelet", unit),
            None => text.to_owned(),
        };
    }
    let place = |known: &str| if known.is_empty() { text.to_owned() } else { quoted(known) };
    match text {
        CONFIG => place(&paths.kubelet_config),
        ROOT_DIR => place(&paths.kubelet_root),
        POD_LOGS => place(&paths.pod_logs),
        MANIFESTS => place(&paths.static_pods),
        HEALTHZ => place(&paths.healthz),
        _ => text.to_owned(),
    }
}

/// The tool with the flag that it needs on this node.
fn with_flag(tool: &str, paths: &NodePaths) -> String {
    match tool {
        "crictl" if !paths.runtime_socket.is_empty() && !CRICTL_DEFAULTS.contains(&&*paths.runtime_socket) => {
            format!("crictl -r {}", quoted(&format!("unix://{}", paths.runtime_socket)))
        }
        "kubectl" if !paths.kubeconfig.is_empty() => format!("kubectl --kubeconfig {}", quoted(&paths.kubeconfig)),
        _ => tool.to_owned(),
    }
}

/// The kubelet's unit without `.service`.
fn unit(paths: &NodePaths) -> Option<&str> {
    let unit = paths.kubelet_unit.as_str();
    Some(unit.strip_suffix(".service").unwrap_or(unit)).filter(|unit| !unit.is_empty())
}

/// The kubelet's log: a file has no spans of time, so its last lines are read.
fn journal(text: &str, paths: &NodePaths) -> String {
    if paths.kubelet_log.is_empty() {
        return unit(paths).map_or_else(|| text.to_owned(), |unit| text.replace("-u kubelet", &format!("-u {unit}")));
    }
    let file = quoted(&paths.kubelet_log);
    if text.ends_with(" -f") { format!("tail -F {file}") } else { format!("tail -n {LOG_LINES} {file}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapted(command: &str, paths: &NodePaths) -> String {
        on_node(&Template::read(command).unwrap(), paths).command(&Vars::from([("uid".to_owned(), "5b2f".to_owned())]))
    }

    #[test]
    fn the_log_of_an_exited_run_is_not_that_of_a_previous_one() {
        let command = Template::read("kubectl -n n logs p -c c --previous --tail=80").unwrap();
        let with = |vars: &Vars| for_failed_run(&command, vars).command(vars);
        assert_eq!(with(&Vars::new()), "kubectl -n n logs p -c c --previous --tail=80");
        let exited = Vars::from([(EXITED.to_owned(), "true".to_owned())]);
        assert_eq!(with(&exited), "kubectl -n n logs p -c c --tail=80");
    }

    #[test]
    fn commands_name_the_places_of_the_node() {
        let k3s = NodePaths {
            runtime_socket: "/run/k3s/containerd/containerd.sock".into(),
            kubeconfig: "/etc/rancher/k3s/k3s.yaml".into(),
            kubelet_config: "/etc/k3s kubelet.yaml".into(),
            kubelet_root: "/data/kubelet".into(),
            pod_logs: "/data/logs".into(),
            static_pods: "/data/manifests".into(),
            healthz: "127.0.0.1:20248".into(),
            kubelet_unit: "k3s.service".into(),
            ..NodePaths::default()
        };
        for (command, expected) in [
            ("crictl ps -a", "crictl -r unix:///run/k3s/containerd/containerd.sock ps -a"),
            (
                "nsenter -t $(crictl inspect x) -n ss",
                "nsenter -t $(crictl -r unix:///run/k3s/containerd/containerd.sock inspect x) -n ss",
            ),
            ("kubectl get pods -A", "kubectl --kubeconfig /etc/rancher/k3s/k3s.yaml get pods -A"),
            ("grep x /var/lib/kubelet/config.yaml", "grep x '/etc/k3s kubelet.yaml'"),
            ("ls /var/lib/kubelet/pods/{uid}/volumes", "ls /data/kubelet/pods/5b2f/volumes"),
            ("ls /var/log/pods", "ls /data/logs"),
            ("ls /etc/kubernetes/manifests", "ls /data/manifests"),
            ("curl http://127.0.0.1:10248/healthz", "curl http://127.0.0.1:20248/healthz"),
            (
                "journalctl -u kubelet --since -1h --no-pager | grep x",
                "journalctl -u k3s --since -1h --no-pager | grep x",
            ),
            ("systemctl restart kubelet", "systemctl restart k3s"),
            ("ls /usr/local/bin/mykubectl-x /opt/crictl.d", "ls /usr/local/bin/mykubectl-x /opt/crictl.d"),
        ] {
            assert_eq!(adapted(command, &k3s), expected);
        }
        let file = NodePaths { kubelet_log: "/var/log/kubelet.log".into(), ..NodePaths::default() };
        assert_eq!(
            adapted("journalctl -u kubelet --since -1h --no-pager | grep x", &file),
            "tail -n 5000 /var/log/kubelet.log | grep x"
        );
        assert_eq!(adapted("journalctl -u kubelet -f", &file), "tail -F /var/log/kubelet.log");
        let own = NodePaths { is_kubelet_credential: true, ..NodePaths::default() };
        let log = "kubectl -n shop logs web-0 -c app --previous --tail=80";
        assert_eq!(log_command(log, &own).as_deref(), Some("kpodtrace logs shop/web-0 -c app --previous --tail=80"));
        assert_eq!(log_command(log, &NodePaths::default()), None);
        assert_eq!(log_command("kubectl -n shop get pod web-0", &own), None);
        let defaults = NodePaths { runtime_socket: "/run/containerd/containerd.sock".into(), ..NodePaths::default() };
        assert_eq!(adapted("crictl ps", &defaults), "crictl ps");
    }
}
